"""The documents, and the blocks of code in them.

A block of shell commands is run by the tests, in the order of its page. Comments that no reader
sees say what else the tests have to know:

    <!-- run: CODE -->         run here, too; several lines if need be
    <!-- not run: WHY -->      the block below only has to be well-formed
    <!-- needs: PROGRAM -->    a page that is passed over where the program is not installed
    <!-- effect: LINES -->     what the block above has done, one line for each of its commands:
                               `said => TEXT` that it printed this text,
                               `/api/state => TEXT` that the controller at port 8080 shows it there
                               (`8081/api/state` another one), `FILE => TEXT` that a file holds it
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
DOCS = PROJECT / "docs"
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *DOCS.rglob("*.md")])
#: Written by the program; what is in them is checked where they are made.
GENERATED = sorted([DOCS / "reference.md", *(DOCS / "reference").glob("*.md")])
WRITTEN = [document for document in DOCUMENTS if document not in GENERATED]
SHELL = ("sh", "console")

#: Programs whose commands have an effect to look for, where a command begins.
_COMMAND = re.compile(
    r"(?:^|[;|(]|&&|\bdo\b)[ \t]*"
    r"(curl|leverframe|python3|mbpoll|tftp|mosquitto_\w+|snmp\w+)\b",
    re.MULTILINE,
)
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
    #: What it has to have done: where that shows, and the text there.
    effects: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{name_of(self.document)}:{self.line}"

    def commands(self) -> list[str]:
        """The commands in it that do or show something, by their program; comments do not count."""
        code = re.sub(r"#.*", "", self.text.replace("\\\n", " "))
        return _COMMAND.findall(code)


def name_of(document: Path) -> str:
    return str(document.relative_to(PROJECT))


def blocks(document: Path) -> list[Block]:
    return blocks_of(document, document.read_text(encoding="utf-8"))


def blocks_of(document: Path, text: str) -> list[Block]:
    found: list[Block] = []
    not_run = ""
    for part in _PART.finditer(text):
        line = text.count("\n", 0, part.start()) + 1
        if part["comment"] is None:
            found.append(Block(document, line, part["language"], part["text"], not_run))
            not_run = ""
            continue
        kind, _, rest = part["comment"].strip().partition(":")
        if kind == "run":
            found.append(Block(document, line, "sh", rest, is_hidden=True))
        elif kind == "not run":
            not_run = rest.strip()
        elif kind == "effect":
            found[-1] = replace(found[-1], effects=tuple(_effects(rest)))
    return found


def _effects(lines: str) -> Iterator[tuple[str, str]]:
    for line in filter(None, map(str.strip, lines.splitlines())):
        where, arrow, text = line.partition(" => ")
        assert all((where, arrow, text)), f"{line!r} is no effect: WHERE => TEXT"
        yield where, text


def needed_programs(document: Path) -> list[str]:
    return re.findall(r"^<!-- needs: (\S+) -->$", document.read_text(encoding="utf-8"), re.M)


def blocks_in(languages: tuple[str, ...], documents: list[Path] = DOCUMENTS) -> list[Block]:
    return [
        block for document in documents for block in blocks(document) if block.language in languages
    ]
