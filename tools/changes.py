"""Check the fragments in changes/, and collect them into CHANGELOG.md for a release.

`changes.py` checks every fragment. `changes.py 0.3.0` writes them into the section of that version
and removes them.
"""

import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

PROJECT = Path(__file__).parent.parent
KINDS = ("added", "changed", "fixed", "removed")
MAX_CHARACTERS = 250
_NAME = re.compile(rf"[a-z0-9-]+\.({'|'.join(KINDS)})\.md")


def find_fragments(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.name != "README.md"]


def find_problems(path: Path) -> list[str]:
    """Return the problems of a fragment; an empty list if it can be collected."""
    text = path.read_text(encoding="utf-8").strip()
    wrong = {
        f"is not named SUBJECT.KIND.md; KIND is one of {', '.join(KINDS)}": not _NAME.fullmatch(
            path.name
        ),
        f"is not one line of at most {MAX_CHARACTERS} characters": not text
        or "\n" in text
        or len(text) > MAX_CHARACTERS,
        "starts with a list mark; write the sentence only": text.startswith(("-", "*", "#")),
        "does not end with a full stop": not text.endswith("."),
    }
    return [f"{path.name} {problem}" for problem, is_wrong in wrong.items() if is_wrong]


def add_entries(changelog: str, version: str, day: str, entries: Mapping[str, list[str]]) -> str:
    """Return the changelog with these entries, by kind, in the section of a version."""
    start, *sections = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    if not sections or not sections[0].startswith(f"## {version} "):
        sections.insert(0, "")
    parts = re.split(r"^(?=### )", sections[0], flags=re.MULTILINE)[1:]
    lists = {part.split()[1].lower(): part.rstrip() for part in parts}
    for kind, lines in entries.items():
        lists[kind] = "\n".join([lists.get(kind, f"### {kind.capitalize()}\n"), *lines])
    ordered = sorted(lists, key=("highlights", *KINDS).index)
    sections[0] = "\n\n".join([f"## {version} - {day}", *(lists[kind] for kind in ordered)])
    return start + "\n\n".join(section.rstrip() for section in sections) + "\n"


def main(arguments: list[str], project: Path = PROJECT) -> int:
    fragments = find_fragments(project / "changes")
    problems = [problem for path in fragments for problem in find_problems(path)]
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    if arguments:
        entries: dict[str, list[str]] = {}
        for path in fragments:
            line = f"- {path.read_text(encoding='utf-8').strip()}"
            entries.setdefault(path.name.split(".")[1], []).append(line)
        changelog = project / "CHANGELOG.md"
        today = datetime.now(UTC).date().isoformat()
        text = add_entries(changelog.read_text(encoding="utf-8"), arguments[0], today, entries)
        changelog.write_text(text, encoding="utf-8")
        for path in fragments:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
