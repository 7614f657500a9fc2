"""How this copy of Leverframe was installed, and the command that adds an extra to it."""

import sys
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]

#: The extra that installs each package that the base installation lacks.
EXTRAS = {
    "PIL": "pictures",
    "gpiod": "hardware",
    "luma": "hardware",
    "psycopg": "fleet",
    "pysnmp": "snmp",
    "rich": "terminal",
    "smbus2": "hardware",
    "uvloop": "speed",
    "zeroconf": "discovery",
}


def explain_missing_extra(error: ModuleNotFoundError) -> str:
    """Return which extra is missing; raise the error again if no extra has its package."""
    extra = extra_of(error)
    if extra is None:
        raise error
    command = command_for_extra(extra)
    return f"This needs the extra {extra}, which is not installed; run {command}."


def extra_of(error: ModuleNotFoundError) -> str | None:
    """Return the extra that installs a missing package."""
    return EXTRAS.get((error.name or "").partition(".")[0])


def command_for_extra(extra: str) -> str:
    """Return the command that installs an extra, in the way this copy was installed."""
    source = _PACKAGE.parents[1]
    if (source / "pyproject.toml").is_file():
        return f"{sys.executable} -m pip install '{source}[{extra}]'"
    tools = {"pipx": "pipx install --force", "uv": "uv tool install"}
    for part in reversed(Path(sys.prefix).parts):
        if part in tools:
            return f"{tools[part]} 'leverframe[{','.join(sorted({extra, *_present_extras()}))}]'"
    return f"{sys.executable} -m pip install 'leverframe[{extra}]'"


def _present_extras() -> set[str]:
    """Return the installed extras, which the command must list: pipx and uv replace everything."""
    return {extra for package, extra in EXTRAS.items() if find_spec(package) is not None}
