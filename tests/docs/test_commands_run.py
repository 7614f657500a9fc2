"""Every shell command in the documents works as it is written."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import PROGRAM_FOLDERS
from tests.docs.blocks import (
    SHELL,
    WRITTEN,
    Block,
    blocks,
    blocks_in,
    blocks_of,
    name_of,
    programs_of,
)
from tests.docs.shell_page import run_page

PAGES = [
    document
    for document in WRITTEN
    if any(block.language in SHELL and not block.not_run for block in blocks(document))
]


#: The page that users read first; the other pages run in thorough runs.
FIRST = "README.md"


@pytest.mark.needs_program("curl")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if name_of(page) == FIRST else pytest.mark.thorough)
        for page in PAGES
    ],
    ids=name_of,
)
def test_commands_of_a_page_work(page: Path, tmp_path: Path) -> None:
    for program in programs_of(page):
        if shutil.which(program, path=PROGRAM_FOLDERS) is None:
            pytest.skip(f"needs the program {program}; see requirements/debian.txt")
    done = run_page(blocks(page), tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]


def test_failing_command_fails_its_page(tmp_path: Path) -> None:
    block = Block(WRITTEN[0], 1, "sh", "true\ntest 8080 = 8080\nfalse\necho never\n")
    done = run_page([block], tmp_path)
    assert done.returncode == 1
    assert "never" not in done.stdout


@pytest.mark.parametrize(
    ("where", "text", "status"),
    [
        ("said", "all is well", 0),
        ("said", "all is better", 1),
        ("written", "some words", 0),
        ("written", "other words", 1),
        ("missing", "words", 1),
    ],
)
def test_command_without_its_effect_fails_the_run_of_its_page(
    where: str, text: str, status: int, tmp_path: Path
) -> None:
    code = "echo all is well\necho some words > written\n"
    block = Block(WRITTEN[0], 1, "sh", code, effects=((where, text),))
    done = run_page([block], tmp_path, patience_s=1)
    assert done.returncode == status
    assert ("NO EFFECT" in done.stdout) is (status == 1)


def test_effects_are_read_from_below_their_block() -> None:
    page = '```sh\ncurl x\n```\n\n<!-- effect:\nsaid => a => b\n/api/state => "OUT0":1\n-->\n'
    (block,) = blocks_of(WRITTEN[0], page)
    assert block.effects == (("said", "a => b"), ("/api/state", '"OUT0":1'))


def test_every_command_of_a_page_has_an_effect() -> None:
    typed = [x for x in blocks_in(SHELL, WRITTEN) if not (x.not_run or x.is_hidden)]
    assert [f"{x}: {x.commands()}" for x in typed if len(x.effects) < len(x.commands())] == []


def test_every_block_that_is_not_run_has_a_reason() -> None:
    assert [str(x) for x in blocks_in(SHELL) if x.not_run and len(x.not_run.split()) < 2] == []
