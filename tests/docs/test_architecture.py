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
        ("src/leverframe/commands", "commands/"),
        ("src/leverframe/servers", "servers/"),
        ("src/leverframe/storage", "storage/"),
        ("src/leverframe/web", ""),
        ("src/leverframe/web/lib", "lib/"),
        ("docs", ""),
    ],
)
def test_every_folder_has_its_line(place: str, above: str) -> None:
    missing = {name for name in folders_in(place) if f"`{above}{name}/" not in PAGE}
    assert missing - {"servers", "web"} == set()


def test_every_module_beside_the_folders_has_its_line() -> None:
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert {name for name in modules if f"`{name}`" not in PAGE} == set()


def test_each_part_imports_only_parts_above_it() -> None:
    rows = re.findall(r"^\| `(\w+)(?:/\S*|\.py)` \| (?:yes)? ?\|", PAGE, re.MULTILINE)
    places = {part: place for place, part in reversed([*enumerate(rows)])}
    # The pages are not Python and have their own table.
    assert MAY_IMPORT.keys() - {"web"} == places.keys()
    assert {
        (part, known)
        for part, place in places.items()
        for known in MAY_IMPORT[part]
        if places[known] >= place
    } == set()


def test_every_named_file_and_folder_exists() -> None:
    named = set(re.findall(r"`([\w/]+(?:/|\.(?:py|js|md)))`", PAGE))
    places = (PROJECT, PACKAGE, PACKAGE / "web", PACKAGE / "command_line", PACKAGE / "web" / "lib")
    places += (PACKAGE / "config", DOCS, PROJECT / "tests", PACKAGE / "web" / "pages")
    named -= {"web/pages/NAME.js"}
    assert {x for x in named if not any((place / x).exists() for place in places)} == set()
