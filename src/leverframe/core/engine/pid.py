"""The PID regulator: sets the duty of one PWM output once a second.

    duty = P + I + D, limited to 0-100 %
    P = Kp * error            error = target - input
    I = sum of Ki * error     does not grow while that would drive the duty further past a limit
    D = -Kd * change of the input in one second, so that a new target causes no jump

The coefficients are the integers of the settings divided by 100.

Behaviour that the interface document does not specify:

- The first sample is taken when the regulator is enabled and leaves the duty unchanged: I starts
  with the difference between the duty and P. The same applies after a change of the input or of a
  coefficient. If Ki is 0, there is no I, and the duty is P + D from the first sample on.
- While the input is absent, the duty is held and I does not change.
- The regulator sets only the duty; it does not switch the PWM output on.
- A rule with ENABLE PID switches the regulator on or off until its setting is written again or
  until the next start. When the regulator is disabled or moves to another output, the duty of the
  output moves to 0 and stays there until a duty is set (see `pwm.py`).
"""

from typing import TypedDict

from leverframe.core.engine.calls import ENABLE_PID
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.machine import BY_REGULATOR, Machine, Value
from leverframe.core.engine.pwm import PwmOutputs
from leverframe.core.engine.timers import Key
from leverframe.core.labels import PWMS
from leverframe.core.settings import Pid, Settings

SAMPLE_S = 1.0

_SAMPLE: Key = ("pid", "sample")
_BY_REGULATOR = Cause(*BY_REGULATOR)


class Terms(TypedDict):
    p: float
    i: float
    d: float


class Explanation(TypedDict):
    enabled: bool
    #: The last evaluated value.
    input: Value
    target: float
    #: The current duty of the controlled output.
    duty: float
    terms: Terms
    #: Why the duty is not regulated although the regulator is enabled.
    holding: str | None


class PidRegulator:
    __slots__ = (
        "_fresh",
        "_holding",
        "_is_settled",
        "_last_input",
        "_machine",
        "_pwm",
        "_terms",
    )

    def __init__(self, machine: Machine, pwm: PwmOutputs) -> None:
        self._machine = machine
        self._pwm = pwm
        #: True if the next sample has to continue from the current duty.
        self._fresh = True
        self._last_input: Value = None
        self._holding: str | None = None
        self._terms = Terms(p=0.0, i=0.0, d=0.0)
        #: The last sample changed nothing, so another sample of the same input will not either.
        self._is_settled = False

    def start(self) -> None:
        if self._machine.settings.pid.enabled:
            self._begin()

    def adopt(self, old: Settings) -> None:
        before, after = old.pid, self._machine.settings.pid
        if after is before:
            return
        self._is_settled = False
        enabled = after.enabled if after.enabled != before.enabled else self.is_enabled
        is_other = _circuit(after) != _circuit(before)
        if self.is_enabled and (is_other or not enabled):
            self._end(before.pwm, hand_over=enabled and after.pwm == before.pwm)
        if enabled and not self.is_enabled:
            self._begin()

    def on_timer(self, key: Key) -> None:
        self._sample()

    def enable(self, on: bool, cause: Cause) -> None:
        """Switch the regulator on or off until a write to its setting or the next start."""
        if on == self.is_enabled:
            return
        self._machine.log(cause, Fact("pid_on" if on else "pid_off"))
        if on:
            self._begin()
        else:
            self._end(self._machine.settings.pid.pwm)

    def explain(self) -> Explanation:
        pid = self._machine.settings.pid
        return Explanation(
            enabled=self.is_enabled,
            input=self._last_input,
            target=pid.target,
            duty=self._pwm.duty(pid.pwm),
            terms=self._terms,
            holding=self._holding,
        )

    @property
    def is_enabled(self) -> bool:
        return ENABLE_PID in self._machine.running

    @property
    def is_holding(self) -> bool:
        """Whether the duty is kept because the input has no value."""
        return self._holding is not None

    @property
    def is_at_rest(self) -> bool:
        """Whether samples change nothing until the input or a setting changes."""
        measured = self._machine.values.get(self._machine.settings.pid.source)
        return self._is_settled and measured == self._last_input

    def skip_samples(self, until: float) -> float | None:
        """Skip the samples up to a moment that are due before anything else and change nothing.

        Return when the last of them was due; None if there is none.
        """
        return self._machine.timers.repeat(_SAMPLE, SAMPLE_S, until) if self.is_at_rest else None

    def _begin(self) -> None:
        self._machine.run(ENABLE_PID, True)
        self._machine.mark("pid")
        self._fresh = True
        self._is_settled = False
        self._last_input = None
        self._sample()

    def _end(self, pwm: int, hand_over: bool = False) -> None:
        self._machine.run(ENABLE_PID, False)
        self._machine.mark("pid")
        self._holding = None
        self._machine.timers.cancel(_SAMPLE)
        if not hand_over:
            self._pwm.release(pwm)

    def _sample(self) -> None:
        machine = self._machine
        pid = machine.settings.pid
        machine.timers.set(_SAMPLE, machine.at.now + SAMPLE_S)
        if self.is_at_rest:
            # The most frequent case: at a limit, or at the target.
            return
        measured, former_i = machine.values.get(pid.source), self._terms["i"]
        if measured is None or self._holding is not None:
            self._note_holding(pid, measured)
        if measured is None:
            # Hold the current duty, even if it was moving.
            self._pwm.set_target(pid.pwm, self._pwm.duty(pid.pwm))
        else:
            self._pwm.set_target(pid.pwm, self._regulate(pid, measured))
            self._is_settled = measured == self._last_input and self._terms["i"] == former_i
        self._last_input = measured

    def _regulate(self, pid: Pid, measured: float) -> float:
        kp, ki, kd = pid.kp / 100, pid.ki / 100, pid.kd / 100
        error = pid.target - measured
        last = self._last_input
        p = kp * error
        d = 0.0 if last is None else -kd * (measured - last) / SAMPLE_S
        if self._fresh:
            i = self._pwm.duty(pid.pwm) - p if ki else 0.0
        else:
            i = _integrate(self._terms["i"], ki * error * SAMPLE_S, p + d)
        self._fresh = False
        self._terms = {"p": p, "i": i, "d": d}
        duty = p + i + d
        # Written as comparisons, because `min` and `max` take as long as the rest of the sum.
        return 0.0 if duty < 0.0 else 100.0 if duty > 100.0 else duty

    def _note_holding(self, pid: Pid, measured: Value) -> None:
        holding = f"{pid.source} is absent" if measured is None else None
        if holding == self._holding:
            return
        self._holding = holding
        self._machine.mark("pid")
        output = PWMS[pid.pwm]
        what = "pid_holds" if holding else "pid_goes_on"
        self._machine.log(_BY_REGULATOR, Fact(what, output, figures={"source": pid.source}))


def _circuit(pid: Pid) -> tuple[object, ...]:
    """Return the settings whose change restarts the regulator: all but target and enabled."""
    return pid.source, pid.pwm, pid.kp, pid.ki, pid.kd


def _integrate(i: float, step: float, rest: float) -> float:
    """Add a step to I, except where it would drive the sum further past a limit."""
    total = i + step + rest
    # I increases up to the limit; if it is already beyond the limit, it does not change.
    if step > 0.0 and total > 100.0:
        return max(i, 100.0 - rest)
    if step < 0.0 and total < 0.0:
        return min(i, 0.0 - rest)
    return i + step
