"""The outputs OUT0-OUT5: switching, return time, periodic switching, and their states at startup.

Behaviour that the interface document does not specify:

- Return time counts from the last time the output was switched on, whatever the cause. A changed
  setting counts from that same moment; if the new time has already passed, the output goes off
  immediately.
- Periodic switching starts with the on time, and restarts when one of its times changes. If a time
  is 0, its phase is skipped and the output stays in the other phase; if both are 0, the output is
  not switched. A state set in any other way lasts until the next phase. A command that ends
  periodic switching leaves the output as it is; a rule that ends it switches the output off (see
  `actuator.py`).
- While a rule or the schedule runs periodic switching that the settings do not enable, the output
  is remembered as off, because after a power failure nothing would end its on phase.
- A pulse ends after its time, or when the output is switched in another way; the return time does
  not affect it. At its end the output goes off, unless a met rule or the schedule wants it on
  (`wishes.py`): then it stays on, as if the rule had just switched it. The output is remembered as
  off during a pulse.
- At startup, the first of these that is set determines the state: periodic switching, the
  remembered state, "on after start". Switching an output during its start delay cancels the delay.
- If an output is on after startup, its return time counts from startup.

The lock on outputs is checked where commands are staged, not here.
"""

from msgspec.structs import replace

from leverframe.core.engine.calls import AUTO_SWITCH, DriveOutput, Persist, after_switching
from leverframe.core.engine.journal import BY_START, Cause, Fact, switchings
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.timers import Key
from leverframe.core.engine.wishes import FindWish, Wish, no_wish
from leverframe.core.labels import OUTPUTS
from leverframe.core.settings import Output, Settings

_RETURN: tuple[Key, ...] = tuple(("outputs", "return", index) for index in range(len(OUTPUTS)))
_PULSE: tuple[Key, ...] = tuple(("outputs", "pulse", index) for index in range(len(OUTPUTS)))
_PHASE: tuple[Key, ...] = tuple(("outputs", "phase", index) for index in range(len(OUTPUTS)))
_DELAY: tuple[Key, ...] = tuple(("outputs", "delay", index) for index in range(len(OUTPUTS)))
_SWITCHING_OFF = frozenset((*_PULSE, *_RETURN))
#: Timers of each output that end when it is switched.
_ENDED_BY_SWITCHING = tuple(zip(_DELAY, _PULSE, _RETURN, strict=True))

#: Effects by index and state, created once because they are needed very often.
_DRIVE = tuple(
    (DriveOutput(index, False), DriveOutput(index, True)) for index in range(len(OUTPUTS))
)
_SWITCHINGS = tuple(switchings(label) for label in OUTPUTS)

_BY_PERIODIC_SWITCHING = Cause("timer", "periodic switching")


def storage_name(index: int) -> str:
    """Return the name under which a remembered state is stored."""
    return f"output.{index}"


class Outputs:
    __slots__ = ("_in_on_phase", "_machine", "_switched_on_at", "find_wish")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.find_wish: FindWish = no_wish
        #: Monotonic seconds when an output was last switched on.
        self._switched_on_at = [0.0] * len(OUTPUTS)
        self._in_on_phase = [False] * len(OUTPUTS)

    def start(self) -> None:
        for index, output in enumerate(self._machine.settings.outputs):
            self._start_one(index, output)

    def adopt(self, old: Settings) -> None:
        now = self._machine.settings.outputs
        if now is old.outputs:
            return
        for index, (before, after) in enumerate(zip(old.outputs, now, strict=True)):
            if before is not after:
                self._adopt_one(index, before, after)

    def on_timer(self, key: Key) -> None:
        _, kind, index = key
        assert isinstance(index, int)
        if kind == "phase":
            self._begin_phase(index, on=not self._in_on_phase[index])
        elif kind == "delay":
            delay_s = self._machine.settings.outputs[index].start_delay
            self._set(index, True, Cause("timer", "start delay", seconds=delay_s))
        elif kind == "pulse" and (wish := self._wish_after_pulse(index)):
            self._give_back(index, wish)
        else:
            self._switch_off_by_timer(index, "return time" if kind == "return" else "pulse")

    def _wish_after_pulse(self, index: int) -> Wish | None:
        """Return the wish that keeps the output on after a pulse, if there is one."""
        wish = self.find_wish(OUTPUTS[index])
        return wish if wish is not None and wish.state else None

    def _give_back(self, index: int, wish: Wish) -> None:
        """Leave an output on after its pulse, as the rule or schedule entry wants."""
        label = OUTPUTS[index]
        cause = replace(wish.cause, after=self._machine.entry_of(label))
        self._machine.log_switching(label, cause, Fact("pulse_over", label, 1, 1))
        self._note_switched_on(index)
        if self._machine.settings.outputs[index].remember:
            self._keep(index)

    def _switch_off_by_timer(self, index: int, what: str) -> None:
        machine = self._machine
        since_on_s = round(machine.at.now - self._switched_on_at[index])
        after = machine.entry_of(OUTPUTS[index])
        self._set(index, False, Cause("timer", what, seconds=since_on_s, after=after))

    def switch(self, index: int, value: int, cause: Cause) -> None:
        """Set (0, 1) or reverse (2) an output."""
        is_on = bool(self._machine.values[OUTPUTS[index]])
        self._set(index, after_switching(value, is_on), cause)

    def pulse(self, index: int, seconds: int, cause: Cause) -> None:
        """Switch an output on for a number of seconds from now."""
        machine = self._machine
        self._set(index, True, cause, Fact("pulse", OUTPUTS[index], 0, 1, {"seconds": seconds}))
        machine.timers.cancel(_RETURN[index])
        machine.timers.set(_PULSE[index], machine.at.now + seconds)
        # If the output was already on, the time at which it goes off has changed.
        machine.mark(OUTPUTS[index])
        if machine.settings.outputs[index].remember:
            self._keep(index)

    def is_on(self, index: int) -> bool:
        return bool(self._machine.values[OUTPUTS[index]])

    def returns_in(self, index: int, now: float) -> float | None:
        """Return the seconds until a pulse or the return time switches the output off, or None."""
        timers = self._machine.timers
        pulse_ends = timers.when(_PULSE[index])
        if pulse_ends is not None and self._wish_after_pulse(index):
            return None
        when = pulse_ends or timers.when(_RETURN[index])
        return None if when is None else max(0.0, when - now)

    @property
    def returns(self) -> bool:
        """Whether a pulse or a return time is running for any output."""
        return self._machine.timers.are_set(_SWITCHING_OFF)

    def is_periodic(self, index: int) -> bool:
        return AUTO_SWITCH[index] in self._machine.running

    def is_pulsed(self, index: int) -> bool:
        return self._machine.timers.when(_PULSE[index]) is not None

    def set_periodic(self, index: int, on: bool, cause: Cause) -> None:
        """Switch periodic switching on or off until a write to its setting or the next start."""
        if on != self.is_periodic(index):
            what = "periodic_on" if on else "periodic_off"
            self._machine.log(cause, Fact(what, OUTPUTS[index]))
            self._take_up_periodic(index, on)
            if self._machine.settings.outputs[index].remember:
                self._keep(index)

    def remember_as(self, index: int, on: bool) -> None:
        """Store this state instead of the current one, until the output is switched again."""
        if self._machine.settings.outputs[index].remember:
            self._machine.emit(Persist(storage_name(index), on))

    def forget(self) -> None:
        """Delete the stored states of outputs that do not remember them; store all others."""
        for index in range(len(OUTPUTS)):
            self._keep(index)

    def drive_safe(self) -> None:
        """Turn the pins off while no engine controls them; states and stored states stay."""
        for index in range(len(OUTPUTS)):
            self._machine.emit(_DRIVE[index][False])

    def _start_one(self, index: int, output: Output) -> None:
        machine = self._machine
        kept = machine.persisted.get(storage_name(index))
        if kept is not None and not output.remember:
            # Otherwise this state would be restored, long outdated, when the user sets `remember`
            # again.
            machine.emit(Persist(storage_name(index), None))
            kept = None
        on = bool(kept)
        if kept is None and output.on_after_start:
            on = output.start_delay == 0
            if not on:
                machine.timers.set(_DELAY[index], machine.at.now + output.start_delay)
        # Drive the pin only once, to its final state after startup, so that a relay does not click
        # twice.
        if output.periodic and (output.on_time or output.off_time):
            on = output.on_time > 0
        machine.put(OUTPUTS[index], int(on))
        machine.emit(_DRIVE[index][on])
        if on:
            machine.log_switching(OUTPUTS[index], BY_START, _SWITCHINGS[index][on])
            self._note_switched_on(index)
        if output.remember and kept != on:
            self._keep(index)
        self._take_up_periodic(index, output.periodic)

    def _adopt_one(self, index: int, before: Output, after: Output) -> None:
        if after.periodic != before.periodic:
            self._take_up_periodic(index, after.periodic)
        elif (after.on_time, after.off_time) != (before.on_time, before.off_time):
            self._take_up_periodic(index, self.is_periodic(index))
        is_timed = self.is_on(index) and not self.is_pulsed(index)
        if after.return_time != before.return_time and is_timed:
            self._time_return(index)
        if after.remember != before.remember or (
            after.remember and after.periodic != before.periodic
        ):
            self._keep(index)
        if self._machine.timers.when(_DELAY[index]) is not None:
            self._time_start_delay(index, after)

    def _set(self, index: int, on: bool, cause: Cause, fact: Fact | None = None) -> None:
        machine = self._machine
        machine.timers.cancel(*_ENDED_BY_SWITCHING[index])
        if machine.put(OUTPUTS[index], int(on)):
            machine.effects.append(_DRIVE[index][on])
            machine.log_switching(OUTPUTS[index], cause, fact or _SWITCHINGS[index][on])
            if machine.settings.outputs[index].remember and not self._is_periodic_live(index):
                self._keep(index)
        if on:
            self._note_switched_on(index)

    def _note_switched_on(self, index: int) -> None:
        """Start the return time now, if there is one; called while none is running."""
        machine = self._machine
        self._switched_on_at[index] = now = machine.at.now
        if seconds := machine.settings.outputs[index].return_time:
            machine.timers.set(_RETURN[index], now + seconds)

    def _time_return(self, index: int) -> None:
        machine = self._machine
        seconds = machine.settings.outputs[index].return_time
        if seconds:
            machine.timers.set(_RETURN[index], self._switched_on_at[index] + seconds)
        else:
            machine.timers.cancel(_RETURN[index])

    def _time_start_delay(self, index: int, output: Output) -> None:
        machine = self._machine
        if output.on_after_start:
            machine.timers.set(_DELAY[index], machine.started.now + output.start_delay)
        else:
            machine.timers.cancel(_DELAY[index])

    def _take_up_periodic(self, index: int, on: bool) -> None:
        """Restart periodic switching, or end it."""
        self._machine.run(AUTO_SWITCH[index], on)
        self._machine.timers.cancel(_PHASE[index])
        output = self._machine.settings.outputs[index]
        if on and (output.on_time or output.off_time):
            self._begin_phase(index, on=output.on_time > 0)

    def _begin_phase(self, index: int, on: bool) -> None:
        machine = self._machine
        output = machine.settings.outputs[index]
        self._in_on_phase[index] = on
        if output.on_time and output.off_time:
            lasts_s = output.on_time if on else output.off_time
            machine.timers.set(_PHASE[index], machine.at.now + lasts_s)
        self._set(index, on, _BY_PERIODIC_SWITCHING)

    def _keep(self, index: int) -> None:
        state = (
            self.is_on(index) and not self.is_pulsed(index) and not self._is_periodic_live(index)
        )
        remember = self._machine.settings.outputs[index].remember
        self._machine.emit(Persist(storage_name(index), state if remember else None))

    def _is_periodic_live(self, index: int) -> bool:
        """Return True if periodic switching runs although the setting is off; a restart ends it."""
        return self.is_periodic(index) and not self._machine.settings.outputs[index].periodic
