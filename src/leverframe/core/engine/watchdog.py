"""The watchdog: six entries that ping a host and restart an output when it no longer answers.

An entry goes through these states:

- `off`: disabled, or no host to ping;
- `waiting`: for the first ping, or for the host to come up after a restart;
- `running`: pings every interval, counting failures in a row;
- `restarting`: the output is temporarily in the opposite state;
- `given up`: the host failed again after the maximum number of restarts.

Behaviour that the interface document does not specify:

- An edited entry starts from `waiting`; a running restart ends first. An entry that has given up
  also does so when it is saved with the same values.
- An answer resets the count of failures, but not the count of restarts.
- A restart affects all entries with the same output: the other entries discard their pings and wait
  until the restart is over and their own waiting time has passed. Otherwise two entries would undo
  each other's restarts.
- Intervals, timeouts and failure limits below 1 count as 1. The next ping is sent only after the
  result of the previous ping, even if the timeout is longer than the interval.
"""

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.actuator import Actuator
from leverframe.core.engine.calls import OFF, ON, PingHost
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.timers import Key
from leverframe.core.settings import Settings, WatchdogEntry

IS_OFF = "off"
WAITING = "waiting"
RUNNING = "running"
RESTARTING = "restarting"
GIVEN_UP = "given up"

TIMED_OUT = "timed out"

#: Timer keys and causes by the index of an entry; all controllers share these objects, which saves
#: 1.2 KB per controller.
_NUMBERS = range(1, len(Settings().watchdog) + 1)
_KEYS: tuple[Key, ...] = tuple(("watchdog", number - 1) for number in _NUMBERS)
_CAUSES = tuple(Cause("watchdog", str(number), number=number) for number in _NUMBERS)


class WatchdogExplanation(Struct, frozen=True):
    state: str
    #: Milliseconds, or `timed out`; None before the result of the first ping.
    last_answer: float | str | None
    failures: int
    restarts: int


class _Guard:
    """An entry and its run-time state."""

    __slots__ = (
        "cause",
        "entry",
        "failures",
        "index",
        "key",
        "last_answer",
        "normal_state",
        "pinged_at",
        "restarts",
        "state",
    )

    def __init__(self, index: int, entry: WatchdogEntry) -> None:
        self.index = index
        self.entry = entry
        self.key = _KEYS[index]
        self.cause = _CAUSES[index]
        self.state = WAITING if entry.enabled and entry.host else IS_OFF
        self.last_answer: float | str | None = None
        self.failures = 0
        self.restarts = 0
        #: When the unanswered ping was sent, if there is one.
        self.pinged_at: float | None = None
        #: The state to which the output returns after a restart.
        self.normal_state = OFF


class Watchdog:
    __slots__ = ("_actuator", "_guards", "_machine")

    def __init__(self, machine: Machine, actuator: Actuator) -> None:
        self._machine = machine
        self._actuator = actuator
        self._guards: list[_Guard] = []

    def start(self) -> None:
        self._guards = [
            _Guard(index, entry) for index, entry in enumerate(self._machine.settings.watchdog)
        ]
        for guard in self._guards:
            self._begin(guard)

    def adopt(self, old: Settings) -> None:
        if old.watchdog is self._machine.settings.watchdog:
            return
        for index, entry in enumerate(self._machine.settings.watchdog):
            if entry != self._guards[index].entry:
                self._restart_entry(index, entry)

    def resume(self) -> None:
        """Restart the entries that have given up."""
        for index, guard in enumerate(self._guards):
            if guard.state == GIVEN_UP:
                self._restart_entry(index, guard.entry)

    def on_timer(self, key: Key) -> None:
        guard = self._guards[int(key[1])]
        if guard.state == RESTARTING:
            self._finish_restart(guard)
        elif guard.pinged_at is not None:
            self._count_failure(guard)
        else:
            self._ping(guard)

    def ask_again(self, now: float) -> None:
        """Repeat unanswered pings, whose answers went to another process; begin now."""
        for guard in self._guards:
            if guard.pinged_at is not None:
                guard.pinged_at = now
                timeout_s = _timeout_s(guard.entry)
                self._machine.emit(PingHost(guard.index, guard.entry.host, timeout_s))
                self._machine.timers.set(guard.key, now + timeout_s)

    def ping_answered(self, entry: int, milliseconds: float | None) -> None:
        """Handle the result of a ping, None for no answer; ignore it if no entry waits for it."""
        guard = self._guards[entry]
        if guard.pinged_at is None:
            return
        if milliseconds is None or milliseconds > _timeout_s(guard.entry) * 1000:
            self._count_failure(guard)
        else:
            guard.last_answer = milliseconds
            guard.failures = 0
            self._ping_later(guard)

    def explain(self) -> list[WatchdogExplanation]:
        return [
            WatchdogExplanation(guard.state, guard.last_answer, guard.failures, guard.restarts)
            for guard in self._guards
        ]

    def _restart_entry(self, index: int, entry: WatchdogEntry) -> None:
        self._end(self._guards[index])
        guard = self._guards[index] = _Guard(index, entry)
        self._begin(guard)

    def _begin(self, guard: _Guard) -> None:
        if guard.state == WAITING:
            self._wait(guard, guard.entry.delay)

    def _end(self, guard: _Guard) -> None:
        self._machine.timers.cancel(guard.key)
        if guard.state == RESTARTING:
            self._actuator.perform(guard.entry.output, guard.normal_state, True, guard.cause)

    def _wait(self, guard: _Guard, seconds: float) -> None:
        self._machine.timers.set(guard.key, self._machine.at.now + seconds)
        self._raise_version()

    def _raise_version(self) -> None:
        """Mark the watchdog as changed, because status pages show it."""
        self._machine.mark("watchdog")

    def _ping(self, guard: _Guard) -> None:
        guard.state = RUNNING
        guard.pinged_at = self._machine.at.now
        timeout_s = _timeout_s(guard.entry)
        self._machine.emit(PingHost(guard.index, guard.entry.host, timeout_s))
        self._wait(guard, timeout_s)

    def _ping_later(self, guard: _Guard) -> None:
        assert guard.pinged_at is not None
        since_ping_s = self._machine.at.now - guard.pinged_at
        guard.pinged_at = None
        self._wait(guard, max(0.0, max(1, guard.entry.interval) - since_ping_s))

    def _count_failure(self, guard: _Guard) -> None:
        guard.last_answer = TIMED_OUT
        guard.failures += 1
        if guard.failures < guard.entry.failures:
            self._ping_later(guard)
        elif guard.entry.limit and guard.restarts >= guard.entry.limit:
            self._give_up(guard)
        else:
            self._restart(guard)

    def _give_up(self, guard: _Guard) -> None:
        guard.pinged_at = None
        guard.state = GIVEN_UP
        self._machine.timers.cancel(guard.key)
        self._raise_version()
        figures = {"host": guard.entry.host, "restarts": guard.restarts}
        self._machine.log(guard.cause, Fact("watchdog_gives_up", figures=figures))

    def _restart(self, guard: _Guard) -> None:
        entry = guard.entry
        guard.pinged_at = None
        guard.state = RESTARTING
        guard.restarts += 1
        guard.normal_state = self._actuator.current(entry.output)
        state = ON - guard.normal_state
        figures = {"host": entry.host, "failures": guard.failures, "seconds": entry.length}
        fact = Fact("watchdog_restarts", entry.output, figures=figures)
        # Later journal entries are shown as consequences of this entry.
        guard.cause = replace(guard.cause, after=self._machine.log(guard.cause, fact))
        self._actuator.perform(entry.output, state, True, guard.cause)
        # Otherwise the output would stay in the opposite state after a power failure during the
        # restart.
        self._actuator.remember_as(entry.output, guard.normal_state)
        if entry.email:
            reason = str(guard.cause)
            self._machine.notify("email", 1, True, reason, entry.output, state, cause=guard.cause)
        self._wait(guard, entry.length)
        for other in self._guards:
            if other.entry.output == entry.output and other.state in (WAITING, RUNNING):
                self._let_pass(other, entry.length)

    def _let_pass(self, guard: _Guard, length_s: int) -> None:
        """Suspend an entry while another entry is restarting the same output."""
        guard.state = WAITING
        guard.failures = 0
        guard.pinged_at = None
        planned = self._machine.timers.when(guard.key) or 0.0
        over = self._machine.at.now + length_s + guard.entry.wait
        self._machine.timers.set(guard.key, max(planned, over))
        self._raise_version()

    def _finish_restart(self, guard: _Guard) -> None:
        guard.state = WAITING
        guard.failures = 0
        self._actuator.perform(guard.entry.output, guard.normal_state, True, guard.cause)
        self._wait(guard, guard.entry.wait)


def _timeout_s(entry: WatchdogEntry) -> float:
    return float(max(1, entry.timeout))
