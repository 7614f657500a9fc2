"""Rules for the source of the pages that can be read off the text."""

import re
from importlib import resources
from pathlib import Path

import pytest

WEB = Path(str(resources.files("leverframe.web")))
MODULES = sorted(path for path in WEB.rglob("*.js") if "vendor" not in path.parts)
COLUMNS = 100
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


every_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(WEB)))


@every_module
def test_a_module_says_what_it_is(path: Path) -> None:
    assert text_of(path).startswith("// ")


@every_module
def test_no_line_is_too_long(path: Path) -> None:
    long = [number for number, line in _numbered(path) if len(line) > COLUMNS]
    assert long == []


def _numbered(path: Path) -> list[tuple[int, str]]:
    return list(enumerate(text_of(path).splitlines(), start=1))


@every_module
def test_nothing_is_written_that_the_browser_is_told_to_refuse(path: Path) -> None:
    assert not re.search(r"\sstyle=|\beval\(|new Function|innerHTML|document\.write", text_of(path))


@every_module
def test_only_one_module_knows_addresses(path: Path) -> None:
    code = COMMENT.sub("", text_of(path))
    assert path.name == "api.js" or not re.search(r'["`]/(?:\w+\.cgi|api/|json/|web/)', code)


@every_module
def test_no_question_of_the_browser_is_asked(path: Path) -> None:
    assert not re.search(r"(?<![.\w#])(?:confirm|alert|prompt)\(", text_of(path))
