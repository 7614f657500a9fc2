"""How this copy of Leverframe was installed, and the command that adds an extra to it."""

import sys
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]


def command_for_extra(extra: str) -> str:
    """Return the command that installs an extra, in the way this copy was installed."""
    source = _PACKAGE.parents[1]
    if (source / "pyproject.toml").is_file():
        return f"{sys.executable} -m pip install '{source}[{extra}]'"
    tools = {"pipx": "pipx install --force", "uv": "uv tool install"}
    for part in reversed(Path(sys.prefix).parts):
        if part in tools:
            return f"{tools[part]} 'leverframe[{extra}]'"
    return f"{sys.executable} -m pip install 'leverframe[{extra}]'"
