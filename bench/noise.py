"""How quiet the machine is: a busy loop on a core notices when it is not let run.

On a machine that stalls for milliseconds, the slowest hundredth of anything shows the stalls.
"""

import os
import time
from dataclasses import dataclass

PAUSE_S = 0.003


@dataclass(frozen=True)
class Noise:
    load: float
    #: Per second and core.
    pauses: float
    longest_ms: float

    def __str__(self) -> str:
        return (
            f"load average {self.load:.1f}; a busy loop was held up for more than 3 ms"
            f" {self.pauses:.1f} times a second, at most {self.longest_ms:.0f} ms"
        )

    @property
    def is_quiet(self) -> bool:
        return self.pauses < 1


def listen(span_s: float) -> Noise:
    """Listen on every core in turn."""
    load = os.getloadavg()[0]
    cores = os.sched_getaffinity(0)
    pauses = []
    try:
        for core in cores:
            os.sched_setaffinity(0, {core})
            pauses += _pauses(span_s / len(cores))
    finally:
        os.sched_setaffinity(0, cores)
    return Noise(load, len(pauses) / span_s, 1000 * max(pauses, default=0.0))


def _pauses(span_s: float) -> list[float]:
    found = []
    last = time.perf_counter()
    end = last + span_s
    while last < end:
        now = time.perf_counter()
        if now - last > PAUSE_S:
            found.append(now - last)
        last = now
    return found
