"""The period of HTTP1: its address is requested at an interval in seconds.

A new period, or an address where there was none, counts from the moment it is set. The outcome of
the previous request does not matter; the outbox keeps them in order.
"""

from leverframe.engine.machine import Machine
from leverframe.engine.settings import Settings
from leverframe.engine.timers import Key

KEY: Key = ("http period",)
REASON = "period"


class HttpPeriod:
    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def start(self) -> None:
        self._plan()

    def adopt(self, old: Settings) -> None:
        if _period_s(old) != _period_s(self._machine.settings):
            self._machine.timers.cancel(KEY)
            self._plan()

    def on_timer(self, key: Key) -> None:
        self._machine.notify("http", 1, True, REASON)
        self._plan()

    def _plan(self) -> None:
        period_s = _period_s(self._machine.settings)
        if period_s:
            self._machine.timers.set(KEY, self._machine.at.now + period_s)


def _period_s(settings: Settings) -> int:
    """Return the period in seconds, or 0 if nothing is to be requested."""
    return settings.http_period if settings.http[0].url else 0
