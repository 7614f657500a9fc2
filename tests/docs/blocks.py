"""The documents, and the blocks of code in them.

A block of shell commands is run by the tests, in the order of its page. Comments that no reader
sees say what else the tests have to know:

    <!-- run: CODE -->         run here, too; several lines if need be
    <!-- not run: WHY -->      the block below only has to be well-formed
    <!-- needs: PROGRAM -->    a page that is passed over where the program is not installed
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
DOCS = PROJECT / "docs"
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *DOCS.rglob("*.md")])
#: Written by the program; what is in them is checked where they are made.
GENERATED = sorted([DOCS / "reference.md", *(DOCS / "reference").glob("*.md")])
WRITTEN = [document for document in DOCUMENTS if document not in GENERATED]
SHELL = ("sh", "console")

_PART = re.compile(
    r"^(?P<indent> *)```(?P<language>\S*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$"
    r"|^ *<!--(?P<comment>.*?)-->$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    document: Path
    line: int
    language: str
    text: str
    #: Why it is not run; empty if it is.
    not_run: str = ""
    #: For the tests only; they wait for a controller that is still starting.
    is_hidden: bool = False

    def __str__(self) -> str:
        return f"{name_of(self.document)}:{self.line}"


def name_of(document: Path) -> str:
    return str(document.relative_to(PROJECT))


def blocks(document: Path) -> list[Block]:
    return list(_blocks(document, document.read_text(encoding="utf-8")))


def _blocks(document: Path, text: str) -> Iterator[Block]:
    not_run = ""
    for part in _PART.finditer(text):
        line = text.count("\n", 0, part.start()) + 1
        if part["comment"] is None:
            yield Block(document, line, part["language"], part["text"], not_run)
            not_run = ""
            continue
        kind, _, rest = part["comment"].strip().partition(":")
        if kind == "run":
            yield Block(document, line, "sh", rest, is_hidden=True)
        elif kind == "not run":
            not_run = rest.strip()


def needed_programs(document: Path) -> list[str]:
    return re.findall(r"^<!-- needs: (\S+) -->$", document.read_text(encoding="utf-8"), re.M)


def blocks_in(languages: tuple[str, ...], documents: list[Path] = DOCUMENTS) -> list[Block]:
    return [
        block for document in documents for block in blocks(document) if block.language in languages
    ]
