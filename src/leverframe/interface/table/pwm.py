"""Rows: PWM outputs and the PID regulator that drives one of them."""

from typing import Any

from leverframe.core.engine.calls import ENABLE_PID, REVERSE, FollowDuty, FollowSetting
from leverframe.core.labels import PWMS
from leverframe.core.profile import ALWAYS
from leverframe.interface.table import codes
from leverframe.interface.table.codes import HW35_SW
from leverframe.interface.table.params import INT32, Bits, Changed, Flag, Int, Scaled, Text, Word
from leverframe.interface.table.row import CONTROL, row
from leverframe.interface.table.stage import Stage

PWM_INDEX = Int(0, 3)
COEFFICIENT = Int(-INT32 - 1, INT32)
#: "Up to SW 1.49d" includes it, so the wide range begins with 1.49e; HW 3.0 never had it.
FREQUENCY = Changed(((codes.span("1.49e"), Int(1, 1_000_000)), (ALWAYS, Int(50, 100_000))))


def toggle(stage: Stage, A: int) -> None:
    stage.switch_output(PWMS[A], REVERSE)


def switch(stage: Stage, A: int, B: int) -> None:
    stage.switch_output(PWMS[A], B)


def check_unlocked(stage: Stage, A: int, B: int) -> None:
    """Refuse changes that could affect the pin of a PWM output while outputs are locked."""
    stage.check_unlocked(PWMS[A])


def set_duty(stage: Stage, A: int, B: int) -> None:
    check_unlocked(stage, A, B)
    stage.do(FollowDuty(A))


def set_up_pid(stage: Stage, G: int, **_: Any) -> None:
    # The regulator drives the duty, and ending it sets the duty to 0.
    stage.check_unlocked(PWMS[G])
    stage.do(FollowSetting(ENABLE_PID))


def check_target(stage: Stage, A: float) -> None:
    # The regulator changes the duty to reach the target.
    stage.check_unlocked(PWMS[stage.settings.pid.pwm])


def set_polarity_and_mode(stage: Stage, A: tuple[bool, ...]) -> None:
    stage.check_unlocked("PWM0-PWM3")
    for index in range(len(PWMS)):
        stage.set(f"pwm.{index}.active_low", A[index])
        stage.set(f"pwm.{index}.on_off_mode", A[index + 4])


ROWS = (
    row(
        "GET /stm.cgi?pname=<A><B>",
        A=PWM_INDEX,
        B=Text(15),
        sets="pwm.{A}.name",
        shown="names of PWM0-PWM3",
        doc="Name a PWM output.",
    ),
    row(
        "GET /outs.cgi?pwm=pwm<A>",
        A=PWM_INDEX,
        run=toggle,
        role=CONTROL,
        doc="Toggle a PWM output. Refused while outputs are locked.",
    ),
    row(
        "GET /outs.cgi?pwm<A>=<B>",
        A=PWM_INDEX,
        B=Int(0, 1),
        run=switch,
        role=CONTROL,
        doc="Switch a PWM output. Refused while outputs are locked.",
    ),
    row(
        "GET /stm.cgi?pwmd=<A><B>",
        A=PWM_INDEX,
        B=Int(0, 100),
        sets="pwm.{A}.duty",
        run=set_duty,
        role=CONTROL,
        doc="Set the duty cycle in percent. Refused while outputs are locked.",
    ),
    row(
        "GET /stm.cgi?pwmp=<A>",
        A=Bits(8),
        run=set_polarity_and_mode,
        limits={"pwm.*.active_low": Flag(), "pwm.*.on_off_mode": Flag()},
        shown="active low of PWM0-PWM3 (bits 0-3), mode ON/OFF (bits 4-7)",
        doc="Bits 0-3: active low for PWM0-PWM3; bits 4-7: mode ON/OFF for PWM0-PWM3. "
        "Refused while outputs are locked.",
    ),
    row(
        "GET /stm.cgi?pwmf=<A><B>",
        A=Int(0, 1),
        B=FREQUENCY,
        sets="pwm_frequency.{A}",
        run=check_unlocked,
        example={"B": "20000"},
        shown="frequency of PWM0 (0) and of PWM1-PWM3 (1)",
        shown_in="Hz",
        doc="Set the frequency in Hz of PWM0 (A = 0) or of PWM1-PWM3 together (A = 1). "
        "Refused while outputs are locked.",
    ),
    row(
        "GET /stm.cgi?pwmt=<A><B>",
        A=PWM_INDEX,
        B=Int(0, INT32),
        sets="pwm.{A}.change_time",
        run=check_unlocked,
        when=HW35_SW["1.30"],
        shown="duty change time of PWM0-PWM3",
        shown_in="seconds",
        doc="Set the seconds over which the duty moves to a new value. Refused while outputs "
        "are locked.",
    ),
)

PID_ROWS = (
    row(
        "GET /stm.cgi?pidvalue=<A>*<B>*<C>*<D>*<E>*<F>*<G>",
        A=Flag(),
        B=Word(codes.PID_SOURCES),
        C=Scaled(10),
        D=COEFFICIENT,
        E=COEFFICIENT,
        F=COEFFICIENT,
        G=PWM_INDEX,
        sets={
            "A": "pid.enabled",
            "B": "pid.source",
            "C": "pid.target",
            "D": "pid.kp",
            "E": "pid.ki",
            "F": "pid.kd",
            "G": "pid.pwm",
        },
        run=set_up_pid,
        example={"B": "10", "C": "215", "D": "500", "E": "10", "F": "0"},
        shown="regulator: enabled, input code, target times 10, Kp, Ki, Kd, PWM output",
        doc="Set up the PID regulator: enabled, input, target times 10, Kp, Ki, Kd (each times "
        "100), controlled PWM output. Refused while outputs are locked.",
    ),
)

#: Our own rows: set the target without sending the other settings of the regulator.
TARGET_ROWS = (
    row(
        "GET /stm.cgi?pidtarget=<A>",
        A=Scaled(10),
        sets="pid.target",
        run=check_target,
        example={"A": "215"},
        doc="Set only the target of the PID regulator, times 10. Refused while outputs are locked.",
    ),
)

#: Real units also accept the PWM state on `/stm.cgi`.
ALIASES = (
    row(
        "GET /stm.cgi?pwm<A>=<B>",
        A=PWM_INDEX,
        B=Int(0, 1),
        run=switch,
        role=CONTROL,
        doc="The same as `/outs.cgi?pwm<A>=<B>`.",
    ),
)
