"""The written reference: up to date, and complete."""

import functools
import re
from pathlib import Path

import pytest

from docs._ext.__main__ import main
from docs._ext.commands_page import table_titles, tables_of
from docs._ext.markdown import anchor, code, prose, table
from docs._ext.pages import list_packaged_files, pages
from docs._ext.settings_page import field_comments, places_in_tree
from docs._ext.trials import ALL_SETTINGS, any_index, settings_changed, settings_of_fields
from leverframe.core.profile import Profile, spans_in_words
from leverframe.core.settings import SECRETS, Settings
from leverframe.core.tree import defaults, leaves
from leverframe.host.command_line.listings import list_all_tasks
from leverframe.interface import status_files
from leverframe.interface.descriptions.schemas import REFUSALS
from leverframe.interface.table.lookup import SECTIONS, TABLE
from leverframe.server.routes.endpoints import ENDPOINTS

DOCS = Path(__file__).parent.parent / "docs"
#: Building them takes two seconds, and they are the same each time.
built = functools.cache(pages)
packaged = functools.cache(list_packaged_files)

#: Settings that no command changes: which version the controller is.
WITHOUT_COMMAND = {"profile.hw", "profile.sw"}


def commands() -> str:
    return built()["reference/commands.md"]


def settings() -> str:
    return built()["reference/settings.md"]


@pytest.fixture(autouse=True)
def build_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs._ext.__main__.pages", built)
    monkeypatch.setattr("docs._ext.__main__.list_packaged_files", packaged)


def line_about(page: str, start: str) -> str:
    return next(line for line in page.splitlines() if line.startswith(start))


def row_named(line: str) -> int:
    return next(number for number, row in enumerate(TABLE) if row.line.endswith(line))


def test_reference_in_the_repository_is_up_to_date() -> None:
    assert main(["--check", str(DOCS.parent)]) == 0


def test_stale_or_missing_page_fails_the_check_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    (tmp_path / "docs" / "reference" / "http.md").write_text("old", encoding="utf-8")
    (tmp_path / "docs" / "reference.md").unlink()
    assert main(["--check", str(tmp_path)]) == 1
    complaints = capsys.readouterr().err
    assert complaints.count("out of date") == 2
    assert "http.md" in complaints
    assert "reference.md" in complaints


def test_every_row_is_in_the_reference_in_the_order_of_the_table() -> None:
    headings = re.findall(r"^### `((?:GET|POST) .*)`$", commands(), re.MULTILINE)
    assert headings == [row.line for row in TABLE]


def test_every_row_has_a_description_and_an_example() -> None:
    for row in TABLE:
        assert prose(row.doc) in commands()
    assert commands().count("\n- Example: ") == len(TABLE)


def test_every_code_is_in_the_reference_with_the_versions_that_have_it() -> None:
    titles = table_titles()
    for used in tables_of(TABLE):
        section = commands().partition(f"### {titles[id(used)]}\n")[2].partition("\n#")[0]
        for known in used.codes:
            assert (
                f"| {known.number} | {code(known.word)} | {spans_in_words(known.when)} |" in section
            )


def test_tables_of_codes_have_headings_of_their_own() -> None:
    titles = list(table_titles().values())
    assert len(titles) == len(set(titles))


def test_links_within_the_page_of_commands_lead_somewhere() -> None:
    headings = {anchor(heading) for heading in re.findall(r"^#+ (.*)$", commands(), re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]*)\)", commands())) <= headings


def test_other_limits_of_other_versions_are_listed() -> None:
    section = commands().partition("### `GET /stm.cgi?pwmf=<A><B>`")[2]
    assert line_about(section, "| `B`").startswith(
        "| `B` | 1 to 1000000; HW 3.5+ before SW 1.49e or HW 3.0: 50 to 100000 |"
    )


def test_removed_command_is_described_for_a_version_that_has_it() -> None:
    section = commands().partition("### `GET /inpa.cgi?diffzsel=<A><B>`")[2].partition("###")[0]
    assert "- Versions: HW 3.5+ before SW 1.49 or HW 3.0" in section
    assert "- Allowed values are for HW 3.9 SW 1.45b" in section


def test_every_setting_is_in_the_reference() -> None:
    paths = {any_index(path) for path, _ in leaves(defaults(Profile()))}
    report = set(re.findall(r"^\| `([^`]*)` \|", settings(), re.MULTILINE))
    assert paths <= report
    assert {place.path for place in places_in_tree() if place.is_leaf} == report


def test_every_section_of_the_settings_has_its_heading() -> None:
    assert re.findall(r"^## `(.*)`$", settings(), re.MULTILINE) == list(Settings.__struct_fields__)


def test_secrets_are_marked_and_nothing_else_is() -> None:
    marked = re.findall(r"^\| `([^`]*)` .*A secret\. \|$", settings(), re.MULTILINE)
    assert set(marked) == SECRETS


def test_setting_shows_its_default_its_command_and_its_comment() -> None:
    assert line_about(settings(), "| `outputs.*.return_time`") == (
        "| `outputs.*.return_time` | `0` | `ortime` | Seconds after which an output is switched "
        "off automatically; 0 means never. |"
    )


def test_default_that_differs_by_position_is_shown_for_each() -> None:
    assert "| `[true, false, false, false]` |" in line_about(
        settings(), "| `oled.screens.*.active`"
    )
    assert '| `"admin"` |' in line_about(settings(), "| `access.admin.name`")


def test_lengths_of_lists_are_listed_by_version() -> None:
    assert "`power` has this many places: 6 (HW 3.5+ SW 1.49+), 4 (HW" in settings()
    assert "`rules` has up to 20 entries" in settings()


def test_comments_are_read_from_the_lines_above_a_field() -> None:
    source = (
        "class A(Node, frozen=True):\n    x: int = 0\n    #: One\n    #: two.\n    y: int = 0\n"
    )
    assert field_comments(source) == {("A", "x"): "", ("A", "y"): "One two."}


def test_every_setting_can_be_changed_by_a_command() -> None:
    changed = {path for row in TABLE for path in settings_changed(row)}
    report = {place.path for place in places_in_tree() if place.is_leaf}
    assert report - changed == WITHOUT_COMMAND
    assert changed - report == {ALL_SETTINGS}


def test_rows_that_name_settings_change_these_and_no_others() -> None:
    leaf_paths = {place.path for place in places_in_tree() if place.is_leaf}
    for row in TABLE:
        if row.sets and row.run is None:
            named = {
                any_index(re.sub(r"{.}", "0", x)) for paths in row.sets.values() for x in paths
            }
            named = {x if x in leaf_paths else x.rpartition(".")[0] for x in named}
            assert set(settings_changed(row)) == named, row.line


def test_settings_of_the_fields_of_a_rule_are_found() -> None:
    found = settings_of_fields(TABLE[row_named("<N>*<O>*<P>")])
    assert found["B"] == ["rules.*.source"]
    assert found["G"] == ["rules.*.action"]
    assert found["P"] == ["rules.*.mode"]
    assert "A" not in found


def test_fields_selected_by_an_index_have_no_description() -> None:
    row = TABLE[row_named("?atout=<A>*<B>")]
    assert settings_of_fields(row) == {}
    assert settings_changed(row) == ["outputs.*.on_time", "outputs.*.off_time"]


def test_every_status_and_path_is_in_the_reference() -> None:
    page = built()["reference/http.md"]
    assert [status for status in REFUSALS if f"\n| {status} |" not in page] == []
    ways = {x.path if "GET" in x.methods else f"{x.methods[0]} {x.path}" for x in ENDPOINTS}
    assert [way for way in ways if f"`{way}`" not in page] == []


def test_every_key_of_every_file_is_in_the_reference() -> None:
    page = built()["reference/files.md"]
    assert [x.key for x in status_files.describe() if f"\n| {code(x.key)} |" not in page] == []


def test_every_option_of_the_command_line_is_in_the_reference() -> None:
    page = built()["reference/command-line.md"]
    for documented in list_all_tasks():
        _, _, rest = page.rpartition(f"# `leverframe {documented.words}`\n")
        section = rest.partition("\n#")[0]
        assert [x.usage for x in documented.options if f"| {code(x.usage)} |" not in section] == []


def test_sections_hold_the_whole_table_in_order() -> None:
    assert tuple(row for _, rows in SECTIONS for row in rows) == TABLE


def test_bar_in_a_cell_does_not_end_it() -> None:
    assert table(("a",), [("x|y",)]).splitlines()[-1] == "| x\\|y |"


def test_prose_is_escaped_outside_of_code_only() -> None:
    assert prose("joined by * and `a*b`") == r"joined by \* and `a*b`"
