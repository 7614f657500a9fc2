"""The hosts of the simulated network: who answers a ping, and after how many milliseconds.

It has the place of `pinger.py` on virtual time. A host without a configured answer is silent: the
watchdog notices that when its timeout is over.
"""

from collections.abc import Callable
from typing import NamedTuple

from leverframe.engine.effects import PingHost


class _Answer(NamedTuple):
    at: float
    entry: int
    milliseconds: float


#: Milliseconds by host, and the answers that are under way.
HostsState = tuple[dict[str, float], dict[int, _Answer]]


class SimulatedHosts:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._milliseconds: dict[str, float] = {}
        #: Answers that are under way, by watchdog entry: each has one ping at a time.
        self._under_way: dict[int, _Answer] = {}
        #: The monotonic second at which to call `tick`; None where no answer is under way.
        self.next_due: float | None = None
        #: Gets the entry and the milliseconds of an answer.
        self.answered: Callable[[int, float | None], None] = _drop_answer

    @property
    def answering(self) -> dict[str, float]:
        """List the hosts that answer, and after how many milliseconds."""
        return dict(self._milliseconds)

    def set_answer(self, host: str, milliseconds: float | None) -> None:
        """Make a host answer after that time from now on, or no longer where it is None."""
        if milliseconds is None:
            self._milliseconds.pop(host, None)
        else:
            self._milliseconds[host] = milliseconds

    def ping(self, effect: PingHost) -> None:
        self._under_way.pop(effect.entry, None)
        milliseconds = self._milliseconds.get(effect.host)
        if milliseconds is not None and milliseconds <= effect.timeout_s * 1000:
            at = self._now() + milliseconds / 1000
            self._under_way[effect.entry] = _Answer(at, effect.entry, milliseconds)
        self._plan()

    def live_state(self) -> HostsState:
        return dict(self._milliseconds), dict(self._under_way)

    def resume_from(self, state: HostsState) -> None:
        self._milliseconds, self._under_way = dict(state[0]), dict(state[1])
        self._plan()

    def tick(self, now: float) -> None:
        for answer in sorted(self._under_way.values()):
            if answer.at <= now:
                del self._under_way[answer.entry]
                self._plan()
                self.answered(answer.entry, answer.milliseconds)

    def _plan(self) -> None:
        self.next_due = min((answer.at for answer in self._under_way.values()), default=None)


def _drop_answer(entry: int, milliseconds: float | None) -> None:
    """Drop answers: no controller sends pings yet."""
