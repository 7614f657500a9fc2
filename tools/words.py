"""Check the English of names, comments, docstrings, messages, documents and pages.

`words.py [PATH...]` lists each offence as `FILE:LINE: KIND: TEXT`, and exits with status 1 if there
are any. Without paths it checks all files of the repository, and reports unused exceptions.

`words.toml` has the words, with what to write instead, and the exceptions with their reasons.
A function may not be named by a participle, except properties: `list_rows`, not `listed`.
"""

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

RULES = Path(__file__).with_suffix(".toml")
#: Generated files, files of others, examples of bad input, and the list of words itself.
NOT_CHECKED = (
    *("docs/reference/*", "tests/fixtures/*", "*/vendor/*", "*/node_modules/*", "requirements/*"),
    *("*package-lock.json", "tools/words.toml"),
)
#: Kinds of files whose whole text is checked.
TEXTS = {".md", ".js", ".mjs", ".html", ".css", ".toml", ".sh", ".service", ".lua", ".1", ".ts"}
#: Texts of pages: an object for each sentence, or for each language.
PAGE_WORDS = ("src/leverframe/web/words/*.json", "src/leverframe/server/routes/*.json")
#: What can separate two words: blanks, line ends, comment markers, and `_` in names.
GAP = r"(?:\s|_|[#/*:](?=\s))+"
_FUNCTION = re.compile(r"\bdef (\w+)")
_CLASS = re.compile(r"\bclass (\w+)")
_LETTERS_SHOWN = 60


@dataclass(frozen=True)
class Offence:
    place: str
    line: int
    kind: str
    #: The text around the word, and the word itself.
    text: str
    word: str

    def __str__(self) -> str:
        return f"{self.place}:{self.line}: {self.kind}: {self.text}"


@dataclass(frozen=True)
class Allowed:
    """An allowed offence: in these files, if `text` is empty or contains the offence."""

    place: str
    text: str
    reason: str

    def covers(self, offence: Offence) -> bool:
        return (
            fnmatchcase(offence.place, self.place)
            and (_letters(offence.word) in _letters(self.text) or not self.text)
            and self.text in offence.text
        )


@dataclass(frozen=True)
class Rules:
    #: The replacement of each word, by the pattern of the word.
    words: Mapping[str, str]
    parameters: Collection[str]
    participles: Collection[str]
    no_participles: Collection[str]
    allowed: Sequence[Allowed]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        words = "|".join(self.words).replace(" ", GAP)
        return re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.IGNORECASE)

    @cached_property
    def parameter(self) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{'|'.join(self.parameters)})\s*[,:=)]")

    def is_participle(self, name: str) -> bool:
        first = name.strip("_").partition("_")[0]
        if first in self.no_participles or name.startswith("test_"):
            return False
        return first in self.participles or (first.endswith("ed") and len(first) > 3)


def read_rules(file: Path = RULES) -> Rules:
    content: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return Rules(
        content["words"],
        content["parameters"],
        frozenset(content["participles"]),
        frozenset(content["no_participles"]),
        [Allowed(one["in"], one["text"], one["reason"]) for one in content.get("allowed", ())],
    )


def find_offences(root: Path, files: Sequence[str], rules: Rules) -> Iterator[Offence]:
    """Find the offences in files below a folder, including allowed ones."""
    for place in files:
        if any(fnmatchcase(place, pattern) for pattern in NOT_CHECKED):
            continue
        if place.endswith(".py"):
            yield from _in_python(place, (root / place).read_text(encoding="utf-8"), rules)
        elif any(fnmatchcase(place, pattern) for pattern in PAGE_WORDS):
            yield from _in_page_words(place, (root / place).read_text(encoding="utf-8"), rules)
        elif Path(place).suffix in TEXTS or Path(place).name == "Makefile":
            yield from _in_text(place, (root / place).read_text(encoding="utf-8"), rules)


def _in_text(
    place: str, text: str, rules: Rules, kind: str = "text", line: int = 1
) -> Iterator[Offence]:
    for match in rules.pattern.finditer(text):
        around = text[max(0, match.start() - _LETTERS_SHOWN) : match.end() + _LETTERS_SHOWN]
        number = line + text.count("\n", 0, match.start())
        yield Offence(place, number, kind, " ".join(around.split()), " ".join(match[0].split()))


def _in_page_words(place: str, text: str, rules: Rules) -> Iterator[Offence]:
    """Check the English texts of a page, by the line of their key."""
    lines = text.splitlines()
    for key, value in json.loads(text).items():
        if isinstance(value, dict):
            english = "\n".join(value.values()) if key == "en" else value.get("en", "")
            line = next((n for n, one in enumerate(lines, 1) if f'"{key}"' in one), 1)
            yield from (
                Offence(place, line, "page", found.text, found.word)
                for found in _in_text(place, english, rules)
            )


def _in_python(place: str, source: str, rules: Rules) -> Iterator[Offence]:
    # Parsing takes most of the time, and most files have nothing that requires it.
    text = "\n".join([source, *map(_split_words, _CLASS.findall(source))])
    has_words = rules.pattern.search(text) is not None
    has_participles = any(map(rules.is_participle, _FUNCTION.findall(source)))
    if not (has_words or has_participles or rules.parameter.search(source)):
        return
    tree = ast.parse(source)
    for node in ast.walk(tree):
        yield from _in_node(place, node, rules)
    if has_words:
        yield from _in_comments(place, source, rules)


def _in_node(place: str, node: ast.AST, rules: Rules) -> Iterator[Offence]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if rules.is_participle(node.name) and not _is_property(node):
            yield Offence(place, node.lineno, "participle", node.name, node.name)
        arguments = node.args
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if one.arg in rules.parameters:
                yield Offence(place, one.lineno, "parameter", f"{node.name}({one.arg})", one.arg)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _in_text(place, node.value, rules, "text", node.lineno)
    name = _split_words(_name_of(node))
    if match := rules.pattern.search(name):
        word = match[0].replace(" ", "_")
        yield Offence(place, getattr(node, "lineno", 1), "name", _name_of(node), word)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _name_of(node: ast.AST) -> str:
    """Return the name that a node defines: of a function, class, parameter or variable."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.arg(arg=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
    return ""


def _split_words(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name)


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = [ast.unparse(one) for one in node.decorator_list]
    return any("property" in mark or mark.endswith((".setter", ".deleter")) for mark in marks)


def _in_comments(place: str, source: str, rules: Rules) -> Iterator[Offence]:
    """Check comments; comments in consecutive lines are one text."""
    first, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != first + len(lines):
            yield from _in_text(place, "\n".join(lines), rules, "comment", first)
            first, lines = token.start[0], []
        lines.append(token.string)
    yield from _in_text(place, "\n".join(lines), rules, "comment", first)


def judge(offences: Iterator[Offence], rules: Rules) -> tuple[list[Offence], list[Allowed]]:
    """Return the offences that no exception covers, and the exceptions that cover no offence."""
    left, used = [], set[Allowed]()
    for offence in offences:
        covering = [one for one in rules.allowed if one.covers(offence)]
        used.update(covering)
        if not covering:
            left.append(offence)
    return left, [one for one in rules.allowed if one not in used]


def list_files(root: Path, paths: Sequence[str] = ()) -> list[str]:
    """List the files below the paths that git tracks, or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted(one for one in set(listing.stdout.splitlines()) if (root / one).is_file())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the English of the project.")
    parser.add_argument("paths", nargs="*", help="files or folders; default: all")
    parser.add_argument("--count", action="store_true", help="show counts by kind only")
    options = parser.parse_args(arguments)
    root, rules = Path.cwd(), read_rules()
    found, unused = judge(find_offences(root, list_files(root, options.paths), rules), rules)
    if not options.count:
        print(*found, sep="\n", end="\n" if found else "")
    if found:
        counts = Counter(one.kind for one in found)
        print(f"{len(found)} offences:", ", ".join(f"{n} {kind}" for kind, n in counts.items()))
        print(f"What to write instead is in {RULES.name}.")
    if options.paths:
        unused = []
    for one in unused:
        print(f"{RULES.name}: the exception {one.text!r} in {one.place} is unused; remove it.")
    return 1 if found or unused else 0


if __name__ == "__main__":
    sys.exit(main())
