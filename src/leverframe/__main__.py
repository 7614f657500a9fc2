"""`leverframe` and `python -m leverframe`: the way into the command line."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        from leverframe.command_line.entry import carry_out

        return carry_out(arguments)
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


if __name__ == "__main__":
    sys.exit(main())
