"""The page about the architecture lists exactly the existing folders."""

import re

from tests.cases import for_each
from tests.docs.blocks import DOCS, PROJECT
from tests.test_layers import MAY_IMPORT

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
PACKAGE = PROJECT / "src" / "leverframe"


def folders_in(place: str) -> set[str]:
    found = (PROJECT / place).iterdir()
    return {x.name for x in found if x.is_dir() and x.name != "__pycache__"}


@for_each(
    ("place", "above"),
    [
        ("src/leverframe", ""),
        ("src/leverframe/interface", "interface/"),
        ("src/leverframe/server", "server/"),
        ("src/leverframe/host", "host/"),
        ("src/leverframe/fleet", "fleet/"),
        ("src/leverframe/web", ""),
        ("src/leverframe/web/lib", "lib/"),
        ("docs", ""),
    ],
)
def test_every_folder_has_its_line(place: str, above: str) -> None:
    missing = {name for name in folders_in(place) if f"`{above}{name}/" not in PAGE}
    # A room whose files have a line has no other line.
    assert missing - {name for name in missing if f"`{name}/*.py`" in PAGE} == set()


def test_every_module_beside_the_folders_has_its_line() -> None:
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert {name for name in modules if f"`{name}`" not in PAGE} == set()


def rows_of_rooms() -> list[str]:
    """The parts in the table of the rooms, from the top; a row may name several."""
    cells = re.findall(r"^\| (`\w+/.*?) \| (?:yes)? ?\|", PAGE, re.MULTILINE)
    return [part for cell in cells for part in re.findall(r"`([\w/]+?)/(?:\*\.py)?`", cell)]


def test_table_of_rooms_has_every_part() -> None:
    parts = MAY_IMPORT.keys() - {"__init__", "__main__"}
    assert parts == set(rows_of_rooms())


def test_each_room_imports_only_rooms_above_it() -> None:
    rooms = list(dict.fromkeys(part.partition("/")[0] for part in rows_of_rooms()))
    below = {
        (part, known)
        for part, knows in MAY_IMPORT.items()
        for known in knows
        if not part.startswith("__")
        and rooms.index(known.partition("/")[0]) > rooms.index(part.partition("/")[0])
    }
    # The servers speak to the controller, the process assembles both; bytes need no device; the
    # kit of tests records units.
    assert {known for _, known in below} == {
        "host/controller",
        "devices/wire",
        "testing/recordings",
    }


def test_every_named_file_and_folder_exists() -> None:
    named = set(re.findall(r"`([\w/]+(?:/|\.(?:py|js|md)))`", PAGE))
    places = (PROJECT, PACKAGE, PACKAGE / "web", PACKAGE / "web" / "lib", PACKAGE / "web" / "pages")
    places += (DOCS, PROJECT / "tests", PROJECT / "tools", PACKAGE / "interface" / "table")
    named -= {"web/pages/NAME.js"}
    assert {x for x in named if not any((place / x).exists() for place in places)} == set()
