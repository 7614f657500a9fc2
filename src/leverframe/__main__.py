"""`leverframe` and `python -m leverframe`: the way into the command line."""

import gc
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

_COMMAND_LINE = "leverframe.command_line.entry"


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        return _loaded()(arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("leverframe"):
            raise
        from leverframe.exit_codes import NOT_DONE

        print(
            f"leverframe: The package {error.name.partition('.')[0]} is missing; install Leverframe"
            " again with all that it needs: make setup, or pip install ., in its folder.",
            file=sys.stderr,
        )
        return NOT_DONE


def _loaded() -> Callable[[Sequence[str] | None], int]:
    """Load the command line; no collection looks through it, now or later: it stays.

    It would take a twentieth of a controller's time to its first answer.
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
