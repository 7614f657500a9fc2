"""The page of the configuration: every key, built from the fields."""

from docs._ext.markdown import code, prose, table
from leverframe.host.configuration.keys import REQUIRED, Key, Labelled, as_toml, keys, list_labelled

_OPENING = """\
# Configuration

These keys configure a controller at startup. Every key can be set in three ways; each overrides the
ways before it:

1. a TOML file with `--config FILE`: `port = 8081`; the key `board.kind` is `kind` in the table
   `[board]`
2. environment variables: `LEVERFRAME_PORT=8081`, `LEVERFRAME_BOARD_KIND=linux`
3. options of `leverframe run`: `--port 8081`, `--board-kind linux`

In variables and options, separate the items of a list with commas:
`LEVERFRAME_HOSTS=cellar.lan,cellar`. A variable is `true` or `false`; an option switches on
(`--tls`) or off (`--no-tls`). An empty variable counts as not set. A variable that begins with
`LEVERFRAME_` but belongs to no key is rejected.

`leverframe config example` prints a complete file; `leverframe config check --config FILE` prints
the effective settings with their sources. All mistakes are reported together, one line each, with
the file and line, the variable or the option. Paths are relative to the folder in which the program
starts.

## Keys
"""
_LABELLED = """\

## Tables by label

These tables wire the labels of a [Linux board](../how-to/linux-board.md). They can be set only in
the file.
"""


def configuration_page() -> str:
    heads = ("key", "meaning", "default", "allowed", "variable, option")
    return f"{_OPENING}\n{table(heads, map(_row, keys()))}\n{_LABELLED}\n" + "\n".join(
        map(_tables, list_labelled())
    )


def _row(key: Key) -> tuple[str, str, str, str, str]:
    option = f"--[no-]{key.flag[2:]}" if key.is_switch else key.flag
    ways = f"{code(key.variable)} {code(option)}"
    return code(key.name), prose(key.description), _default(key), prose(key.allowed), ways


def _default(key: Key) -> str:
    if key.default is REQUIRED:
        return "required in its table"
    return "" if key.default is None else code(as_toml(key.default))


def _tables(tables: Labelled) -> str:
    rows = [
        (code(key.name), prose(key.description), _default(key), prose(key.allowed))
        for key in tables.keys
    ]
    examples = "\n".join(f"{label} = {as_toml(value)}" for label, value in tables.example.items())
    name = ".".join(tables.place)
    return (
        f"### {code(f'[{name}]')}\n\n{prose(tables.description)}\n\n"
        f"{table(('key', 'meaning', 'default', 'allowed'), rows)}\n\n"
        f"```toml\n[{name}]\n{examples}\n```\n"
    )
