"""Entry point of `leverframe` and `python -m leverframe`."""

import gc
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

# An installation requires it; a copy of the source can be started with any Python.
if sys.version_info < (3, 11, 2):
    sys.exit(
        "leverframe: Leverframe needs Python 3.11.2 or newer, and this is Python"
        f" {sys.version.split()[0]}. Start it with a newer one, such as python3.13 -m leverframe."
    )

_COMMAND_LINE = "leverframe.host.command_line.entry"


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        return _load_command_line()(arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("leverframe"):
            raise
        from leverframe.core.errors import NOT_DONE

        print(
            f"leverframe: The package {error.name.partition('.')[0]} is missing. Reinstall"
            " Leverframe with its dependencies: run make setup or pip install . in its folder.",
            file=sys.stderr,
        )
        return NOT_DONE


def _load_command_line() -> Callable[[Sequence[str] | None], int]:
    """Import the command line and exclude its objects from garbage collection.

    Collecting them would take a twentieth of the time to the first answer of a controller.
    """
    if _COMMAND_LINE not in sys.modules:
        gc.disable()
        import_module(_COMMAND_LINE)
        gc.freeze()
        gc.enable()
    carry_out: Callable[[Sequence[str] | None], int] = sys.modules[_COMMAND_LINE].carry_out
    return carry_out


if __name__ == "__main__":
    sys.exit(main())
