"""The quietness of the machine: a busy loop on a core detects when it is suspended or runs slowly.

On a machine that stalls for milliseconds, or that is slow at times because another virtual machine
of the host is busy, the slowest percent of any measurement shows this machine and not the program.
"""

import os
import statistics
import time
from dataclasses import dataclass

PAUSE_S = 0.003
#: A piece of work is slow if it takes this multiple of its usual time.
SLOW = 5


@dataclass(frozen=True)
class Noise:
    load: float
    #: Per second and core.
    pauses: float
    longest_ms: float
    #: The share of time in which the same work took a multiple of its usual time.
    slow: float

    def __str__(self) -> str:
        return (
            f"load average {self.load:.1f}; a busy loop was held up for more than 3 ms"
            f" {self.pauses:.1f} times a second, at most {self.longest_ms:.0f} ms; for"
            f" {self.slow:.1%} of the time work took more than {SLOW} times as long as usual"
        )

    @property
    def is_quiet(self) -> bool:
        return self.pauses < 1 and self.slow < 0.01


def listen(span_s: float) -> Noise:
    """Measure every core in turn."""
    load = os.getloadavg()[0]
    cores = os.sched_getaffinity(0)
    pieces: list[float] = []
    try:
        for core in cores:
            os.sched_setaffinity(0, {core})
            pieces += _pieces(span_s / len(cores))
    finally:
        os.sched_setaffinity(0, cores)
    usual = statistics.median(pieces)
    slow = [piece for piece in pieces if piece > SLOW * usual]
    pauses = [piece for piece in pieces if piece > PAUSE_S]
    return Noise(load, len(pauses) / span_s, 1000 * max(pauses, default=0.0), sum(slow) / span_s)


def _pieces(span_s: float) -> list[float]:
    """Return the time of each of many equal pieces of work."""
    took = []
    last = time.perf_counter()
    end = last + span_s
    while last < end:
        _work()
        now = time.perf_counter()
        took.append(now - last)
        last = now
    return took


def _work() -> None:
    """Do the work of a typical program: create and drop objects all over the memory."""
    for number in range(200):
        str(number)
