"""Every shell command in the documents works when it is typed as it stands."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import PROGRAM_FOLDERS
from tests.docs.blocks import SHELL, WRITTEN, Block, blocks, blocks_in, name_of, needed_programs
from tests.docs.shell_page import run_page

PAGES = [
    document
    for document in WRITTEN
    if any(block.language in SHELL and not block.not_run for block in blocks(document))
]


#: What everybody reads first; the others are typed in thorough runs.
FIRST = ("README.md", "docs/tutorial.md")


@pytest.mark.needs_program("curl")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if name_of(page) in FIRST else pytest.mark.thorough)
        for page in PAGES
    ],
    ids=name_of,
)
def test_what_a_page_says_to_type_works(page: Path, tmp_path: Path) -> None:
    for program in needed_programs(page):
        if shutil.which(program, path=PROGRAM_FOLDERS) is None:
            pytest.skip(f"needs the program {program}; see requirements/debian.txt")
    done = run_page(blocks(page), tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]


def test_what_fails_in_a_page_fails_its_run(tmp_path: Path) -> None:
    block = Block(WRITTEN[0], 1, "sh", "true\ntest 8080 = 8080\nfalse\necho never\n")
    done = run_page([block], tmp_path)
    assert done.returncode == 1
    assert "never" not in done.stdout


def test_every_block_that_is_not_run_says_why() -> None:
    assert [str(x) for x in blocks_in(SHELL) if x.not_run and len(x.not_run.split()) < 2] == []
