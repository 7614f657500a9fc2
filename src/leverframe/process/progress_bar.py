"""A progress bar on standard error for long work at a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar; call the yielded function with the number of steps just done."""
    with bar_of(what) as bar:
        task = bar.add_task("", total=total)
        yield lambda steps: bar.update(task, advance=steps)


def bar_of(what: str) -> Progress:
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not is_watched())


def is_watched() -> bool:
    """Return whether standard error is a terminal."""
    return Console(stderr=True).is_terminal
