"""The Markdown elements of the pages."""

import re
from collections.abc import Iterable, Sequence

#: Characters that would start emphasis, a tag or a table cell.
_SPECIAL = re.compile(r"[*<>|_]")


def code(text: str) -> str:
    """Format text as code, also inside a table."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def prose(text: str) -> str:
    """Escape the parts of a text that are not `code`."""
    parts = text.split("`")
    parts[0::2] = (_SPECIAL.sub(r"\\\g<0>", part) for part in parts[0::2])
    return "`".join(parts)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Format a table whose cells are Markdown already."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)


def _cell(text: str) -> str:
    """Escape the bars in a cell: a bar ends a cell even inside code."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def anchor(heading: str) -> str:
    """Return the name that a heading gets as the target of a link."""
    letters = re.sub(r"[^\w\- ]", "", heading.lower())
    return letters.replace(" ", "-")


def link_within(heading: str, text: str | None = None) -> str:
    return f"[{text or heading}](#{anchor(heading)})"
