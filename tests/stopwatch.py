"""Time as the work itself takes it: what a busy machine adds is left out.

For rules such as "within a second": they hold of the program, on whatever machine it is tested.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Stopwatch:
    """Counts the seconds in which nothing that this test has started was kept from running."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began, self._held_up_s = clock(), delay_s()

    def seconds(self) -> float:
        return self._clock() - self._began - (delay_s() - self._held_up_s)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """See that something takes no longer; it ends a hang by itself."""
    watch = Stopwatch()
    yield
    took_s = watch.seconds()
    assert took_s < seconds, f"it took {took_s:.2f} s, without what others held it up"


def delay_s() -> float:
    """How long this process and all that it started could have run but were not let.

    Added up over their threads: what one does often waits for what another did before.
    """
    return sum(map(_not_let_s, _threads(os.getpid()))) + _stolen_s()


def _threads(process: int) -> Iterator[Path]:
    """Those of a process and of its children; each may end in between."""
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            yield thread
            for child in (thread / "children").read_text().split():
                yield from _threads(int(child))


def _not_let_s(thread: Path) -> float:
    with suppress(OSError):
        return int((thread / "schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _stolen_s() -> float:
    """Time in which the host of this virtual machine let others run."""
    _, *ticks = Path("/proc/stat").read_text().partition("\n")[0].split()
    return int(ticks[7]) / os.sysconf("SC_CLK_TCK")
