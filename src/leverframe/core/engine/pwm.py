"""The PWM outputs PWM0-PWM3: their state, their duty during the change time, and the level at the
pin.

The duty moves linearly from its current value to a newly set one during the change time, even if it
was still moving. It is computed from the elapsed time, so it can neither overshoot nor drift. A
deadline for each step of about 1 % (but at most fifty a second) updates the pin. There are no
deadlines while no duty moves.

Behaviour that the interface document does not specify:

- A PWM output is switched on or off immediately. Only the duty changes gradually, also while the
  output is off. A change time that is set during a move restarts the move from the current duty, so
  a change time of 0 ends the move.
- The regulator (see `pid.py`) sets the duty directly. When it releases the output, the duty moves
  to 0 over the change time and stays there until a duty is set: a heater must neither return to a
  duty that was set long ago nor stay at the last duty of the regulator.
- While the regulator controls the duty of an output that is on, the regulator counts as the cause
  of the output's state, no matter what switched the output on.
- Mode ON/OFF drives the pin fully while the state is on. Active low inverts the pin, not the state.
"""

from math import ceil

from leverframe.core.engine.calls import DrivePwm, SetPwmFrequency, after_switching
from leverframe.core.engine.journal import Cause, Fact, switchings
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.timers import Key
from leverframe.core.labels import DECIMALS, PWMS
from leverframe.core.settings import Pwm, Settings

#: Current duties, in percent, among the machine's values.
DUTIES = tuple(f"{label}.duty" for label in PWMS)
MAX_STEPS_PER_SECOND = 50
_SWITCHINGS = tuple(switchings(label) for label in PWMS)
_REGULATED = tuple(Fact("pid_regulates", label) for label in PWMS)

_STEP: tuple[Key, ...] = tuple(("pwm", "step", index) for index in range(len(PWMS)))


def ramp(start: float, end: float, lasts_s: float, elapsed_s: float) -> float:
    """Interpolate linearly from `start` to `end`; return exactly `end` when the time is over."""
    if elapsed_s >= lasts_s:
        return end
    return start + (end - start) * (elapsed_s / lasts_s)


class _Channel:
    """The move of one output; a channel at rest has reached `end`."""

    __slots__ = (
        "began",
        "end",
        "lasts_s",
        "level",
        "parked",
        "regulated",
        "start",
        "step",
        "steps",
    )

    def __init__(self) -> None:
        self.start = self.end = 0.0
        self.began = self.lasts_s = 0.0
        self.step = self.steps = 0
        #: The last level driven at the pin.
        self.level = -1.0
        self.regulated = False
        #: Whether the regulator has released the output and no duty was set since.
        self.parked = False

    def duty(self, now: float) -> float:
        if self.step == self.steps:
            return self.end
        return ramp(self.start, self.end, self.lasts_s, now - self.began)


class PwmOutputs:
    __slots__ = ("_channels", "_machine")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._channels = [_Channel() for _ in PWMS]
        for index, pwm in enumerate(machine.settings.pwm):
            machine.values[DUTIES[index]] = float(pwm.duty)

    def start(self) -> None:
        machine = self._machine
        for group, hz in enumerate(machine.settings.pwm_frequency):
            machine.emit(SetPwmFrequency(group, hz))
        for index, pwm in enumerate(machine.settings.pwm):
            self._arrive(index, pwm.duty)

    def adopt(self, old: Settings) -> None:
        settings = self._machine.settings
        if settings.pwm_frequency is not old.pwm_frequency:
            self._adopt_frequencies(old.pwm_frequency)
        if settings.pwm is old.pwm:
            return
        for index, (before, after) in enumerate(zip(old.pwm, settings.pwm, strict=True)):
            if before is after:
                continue
            if self._restarts_ramp(index, before, after):
                self._channels[index].parked &= after.duty == before.duty
                self._move_to_wanted_duty(index)
            self._follow(index)

    def _restarts_ramp(self, index: int, before: Pwm, after: Pwm) -> bool:
        channel = self._channels[index]
        if channel.regulated:
            return False
        retimed = after.change_time != before.change_time and channel.step < channel.steps
        return after.duty != before.duty or retimed

    def on_timer(self, key: Key) -> None:
        index = key[2]
        assert isinstance(index, int)
        self._channels[index].step += 1
        self._time_next_step(index)
        self._follow(index)

    def switch(self, index: int, value: int, cause: Cause) -> None:
        """Set (0, 1) or reverse (2) the state."""
        machine = self._machine
        label = PWMS[index]
        on = after_switching(value, bool(machine.values[label]))
        if machine.put(label, int(on)):
            machine.log_switching(label, cause, _SWITCHINGS[index][on])
            self._note_regulated(index)
            self._follow(index)

    def duty(self, index: int) -> float:
        """Return the current duty in percent."""
        return self._channels[index].duty(self._machine.at.now)

    def set_target(self, index: int, duty: float) -> None:
        """Hold a duty for the regulator, immediately, until `release`."""
        channel = self._channels[index]
        if not channel.regulated:
            channel.regulated, channel.parked = True, False
            self._note_regulated(index)
        elif channel.end == duty and not channel.steps:
            # A regulator at its limit holds the same duty every second.
            return
        self._arrive(index, duty)

    def release(self, index: int) -> None:
        """Release the duty from the regulator and move it to 0."""
        channel = self._channels[index]
        if channel.regulated:
            channel.regulated = False
            channel.parked = True
            self._machine.end_regulation(PWMS[index])
            self._move_to_wanted_duty(index)

    def follow_setting(self, index: int) -> None:
        """Move to the set duty if the regulator has left the duty at 0."""
        if self._channels[index].parked:
            self._channels[index].parked = False
            self._move_to_wanted_duty(index)

    def drive_safe(self) -> None:
        """Turn the pins off while no engine controls them; states stay."""
        for index, pwm in enumerate(self._machine.settings.pwm):
            self._drive(index, 1.0 if pwm.active_low else 0.0)

    def _note_regulated(self, index: int) -> None:
        """Record whether the regulator controls an output, after a change of either."""
        machine, label = self._machine, PWMS[index]
        if self._channels[index].regulated and machine.values[label]:
            machine.log_regulation(label, _REGULATED[index])
        else:
            machine.end_regulation(label)

    def _adopt_frequencies(self, old: tuple[int, ...]) -> None:
        now = self._machine.settings.pwm_frequency
        for group, (before, after) in enumerate(zip(old, now, strict=True)):
            if after != before:
                self._machine.emit(SetPwmFrequency(group, after))

    def _move_to_wanted_duty(self, index: int) -> None:
        pwm = self._machine.settings.pwm[index]
        duty = 0 if self._channels[index].parked else pwm.duty
        if pwm.change_time == 0 or duty == self.duty(index):
            self._arrive(index, duty)
        else:
            self._begin_move(index, duty, pwm.change_time)

    def _arrive(self, index: int, duty: float) -> None:
        channel = self._channels[index]
        channel.end = float(duty)
        channel.step = channel.steps = 0
        self._machine.timers.cancel(_STEP[index])
        self._follow(index)

    def _begin_move(self, index: int, end: float, lasts_s: float) -> None:
        channel = self._channels[index]
        channel.start, channel.end = self.duty(index), float(end)
        channel.began, channel.lasts_s = self._machine.at.now, lasts_s
        most = max(1, int(lasts_s * MAX_STEPS_PER_SECOND))
        channel.step, channel.steps = 0, min(ceil(abs(channel.end - channel.start)), most)
        self._time_next_step(index)

    def _time_next_step(self, index: int) -> None:
        channel = self._channels[index]
        if channel.step < channel.steps:
            after_s = channel.lasts_s * (channel.step + 1) / channel.steps
            self._machine.timers.set(_STEP[index], channel.began + after_s)

    def _follow(self, index: int) -> None:
        """Publish the current duty, and drive the pin accordingly."""
        machine = self._machine
        duty = round(self.duty(index), DECIMALS)
        if machine.values[DUTIES[index]] != duty:
            # Rules cannot watch a duty, so it only has to be marked as changed for status files.
            machine.publish(DUTIES[index], duty)
        pwm = machine.settings.pwm[index]
        level = (1.0 if pwm.on_off_mode else duty / 100) if machine.values[PWMS[index]] else 0.0
        level = 1.0 - level if pwm.active_low else level
        if level != self._channels[index].level:
            self._drive(index, level)

    def _drive(self, index: int, level: float) -> None:
        self._channels[index].level = level
        self._machine.emit(DrivePwm(index, level))
