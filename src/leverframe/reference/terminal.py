"""`leverframe commands`: the commands of one version in the terminal.

A table per section shows the form, the purpose and the fields. A word selects the commands that
contain it: in the form, in the description, in the words of its codes or in its settings. If the
output is not a terminal, it is plain text with one command after the other, for tools such as grep.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leverframe.commands.describe.listing import (
    CommandDescription,
    FieldDescription,
    command_table,
)
from leverframe.exit_codes import DONE, NO
from leverframe.profile import Profile, existing, newest_software

Schema = dict[str, Any]


def list_commands(word: str | None, hw: str, sw: str | None) -> int:
    """Print the commands of a version, or those that contain a word."""
    return print_commands(existing(hw, sw or newest_software(hw)), word, Console())


def print_commands(profile: Profile, word: str | None, console: Console) -> int:
    """Print the commands that contain a word; return the exit status, as grep does."""
    found = [row for row in command_table(profile) if _is_about(row, word or "")]
    if not found:
        console.print(f"{profile} has no command with {word!r}.", markup=False)
        return NO
    for section, rows in groupby(found, key=lambda row: row["section"]):
        if console.is_terminal:
            console.print(_section_table(section, list(rows)))
        else:
            _print_plainly(section, list(rows), console)
    return DONE


def _is_about(row: CommandDescription, word: str) -> bool:
    parts = [row["section"], row["line"], row["doc"]]
    parts += [path for paths in row["sets"].values() for path in paths]
    parts += [codes for field in _fields(row) for codes in _codes(field["schema"])]
    return any(word.lower() in part.lower() for part in parts)


def _fields(row: CommandDescription) -> list[FieldDescription]:
    """Return the fields of the query and of the body."""
    body_fields: list[FieldDescription] = (row["body"] or {}).get("fields", [])
    return [*row["fields"], *body_fields]


def _section_table(title: str, rows: list[CommandDescription]) -> Table:
    table = Table(title=title, title_justify="left", expand=True, show_lines=True)
    table.add_column("command", ratio=4, overflow="fold")
    table.add_column("what it does", ratio=4)
    table.add_column("fields", ratio=5, overflow="fold")
    for row in rows:
        # As Text, because its brackets are not markup.
        table.add_row(
            Text(row["line"]), Text(_sentence(row)), Text("\n".join(map(_field_line, _fields(row))))
        )
    return table


def _sentence(row: CommandDescription) -> str:
    return f"{row['doc']} (Deprecated.)" if row["deprecated"] else row["doc"]


def _field_line(field: FieldDescription) -> str:
    line = f"{field['letter']}: {field['allowed']}"
    if codes := "; or ".join(_codes(field["schema"])):
        line += f" ({codes})"
    return f"{line}, may be left out" if field["optional"] else line


def _codes(schema: Schema) -> Iterator[str]:
    """Yield `0 OFF, 1 SDM120` for every code table in a schema."""
    if words := schema.get("x-words"):
        yield ", ".join(f"{number} {word}" for number, word in words.items())
    inner = [*schema.get("oneOf", ()), *schema.get("properties", {}).values()]
    for part in [*inner, schema["items"]] if "items" in schema else inner:
        yield from _codes(part)


def _print_plainly(title: str, rows: list[CommandDescription], console: Console) -> None:
    lines = [title, ""]
    for row in rows:
        lines += [row["line"], f"    {_sentence(row)}"]
        lines += [f"    {_field_line(field)}" for field in _fields(row)]
        lines.append("")
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
