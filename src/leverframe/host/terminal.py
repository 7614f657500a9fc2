"""The user's terminal: prompts for secrets, and a progress bar for long work."""

import getpass
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leverframe.core.errors import ErrorForPeople

if TYPE_CHECKING:
    from rich.progress import Progress

# Prompt for a secret at the terminal, or read it from standard input for scripts.
#
# Secrets are never on the command line, where other users of the machine could read them.


class NoSecret(ErrorForPeople):
    """A secret cannot be prompted for; the message is one sentence."""


def ask_secret(what: str) -> str:
    """Prompt for a secret, or read the next line of standard input."""
    # `sys.stdin` is None if the program was started with standard input closed.
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass(f"{what}: ")
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        raise NoSecret(
            f"{what}: the value is missing; type it at a terminal, or write it to standard input."
        )
    return line.rstrip("\n")


# A progress bar on standard error for long work at a terminal.


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar; call the yielded function with the number of steps just done."""
    if not is_watched():
        yield lambda steps: None
        return
    with bar_of(what) as bar:
        task = bar.add_task("", total=total)
        yield lambda steps: bar.update(task, advance=steps)


def bar_of(what: str) -> "Progress":
    # Imported here: commands without a bar must not need the extra of the library.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not is_watched())


def is_watched() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr.isatty()
