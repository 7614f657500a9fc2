"""Rows: relay outputs, and the settings of all outputs together."""

from leverframe.core.engine.calls import AUTO_SWITCH, REVERSE, FollowSetting, Pulse
from leverframe.core.labels import OUTPUTS
from leverframe.interface.table.codes import HW35_SW
from leverframe.interface.table.params import INT32, Flag, Int, Text
from leverframe.interface.table.row import CONTROL, row
from leverframe.interface.table.stage import Stage

OUTPUT_INDEX = Int(0, 5)
SECONDS = Int(0, INT32)


def toggle(stage: Stage, A: int) -> None:
    stage.switch_output(OUTPUTS[A], REVERSE)


def toggle_several(stage: Stage, A: str) -> None:
    for digit in A:
        toggle(stage, int(digit))


def switch(stage: Stage, A: int, B: int) -> None:
    stage.switch_output(OUTPUTS[A], B)


def pulse(stage: Stage, A: int, B: int) -> None:
    stage.check_unlocked(OUTPUTS[A])
    stage.do(Pulse(A, B))


def check_unlocked(stage: Stage, A: int, B: int) -> None:
    """Refuse a change that would immediately switch an output while outputs are locked.

    Periodic switching starts with the on time, and a return time that has already passed switches
    off immediately. Disabling either of them switches nothing.
    """
    if B:
        stage.check_unlocked(OUTPUTS[A])


def switch_periodic(stage: Stage, A: int, B: bool) -> None:
    check_unlocked(stage, A, B)
    stage.do(FollowSetting(AUTO_SWITCH[A]))


def set_periodic_time(stage: Stage, A: int, B: int) -> None:
    index = A % len(OUTPUTS)
    if stage.settings.outputs[index].periodic:
        # A new time restarts the period.
        stage.check_unlocked(OUTPUTS[index])
    if A in range(len(OUTPUTS)):
        stage.set(f"outputs.{A}.on_time", B)
    else:
        stage.set(f"outputs.{A - len(OUTPUTS)}.off_time", B)


ROWS = (
    row(
        "GET /stm.cgi?oname=<A><B>",
        A=OUTPUT_INDEX,
        B=Text(15),
        sets="outputs.{A}.name",
        shown="names of OUT0-OUT5",
        doc="Name an output.",
    ),
    row(
        "GET /outs.cgi?out=out<A>",
        A=OUTPUT_INDEX,
        run=toggle,
        role=CONTROL,
        doc="Toggle an output. Refused while outputs are locked.",
    ),
    row(
        "GET /outs.cgi?out<A>=<B>",
        A=OUTPUT_INDEX,
        B=Int(0, 1),
        run=switch,
        role=CONTROL,
        doc="Switch an output. Refused while outputs are locked.",
    ),
    row(
        "GET /stm.cgi?outnn=<A>",
        A=Flag(),
        sets="output_flags.invert_display",
        shown="pages show outputs inverted",
        doc="Show output states inverted on the page; the outputs themselves do not change.",
    ),
    row(
        "GET /stm.cgi?outblock=<A>",
        A=Flag(),
        sets="output_flags.lock",
        shown="outputs cannot be switched from outside",
        doc="Lock outputs and PWM outputs: only rules, the schedule and the watchdog can then"
        " switch them.",
    ),
    row(
        "GET /outs.cgi?ortime=<A><B>",
        A=OUTPUT_INDEX,
        B=SECONDS,
        sets="outputs.{A}.return_time",
        run=check_unlocked,
        shown="return time of OUT0-OUT5",
        shown_in="seconds",
        doc="Switch the output off this number of seconds after it switches on; 0 means never. "
        "Refused while outputs are locked, except 0.",
    ),
    row(
        "GET /outs.cgi?aout=<A><B>",
        A=OUTPUT_INDEX,
        B=Flag(),
        sets="outputs.{A}.periodic",
        run=switch_periodic,
        shown="periodic switching of OUT0-OUT5",
        doc="Switch the output on and off periodically. Switching this on is refused while "
        "outputs are locked.",
    ),
    row(
        "GET /outs.cgi?atout=<A>*<B>",
        A=Int(0, 11),
        B=SECONDS,
        run=set_periodic_time,
        limits={"outputs.*.on_time": SECONDS, "outputs.*.off_time": SECONDS},
        shown="on times of OUT0-OUT5 (0-5) and off times (6-11)",
        shown_in="seconds",
        doc="Set the on time (A 0-5) or off time (A 6-11) of periodic switching of OUT0-OUT5, "
        "in seconds. Refused while periodic switching is on and outputs are locked.",
    ),
    row(
        "GET /outs.cgi?oafs=<A><B>",
        A=OUTPUT_INDEX,
        B=Flag(),
        sets="outputs.{A}.on_after_start",
        shown="OUT0-OUT5 switch on after startup",
        doc="Switch the output on after startup.",
    ),
    row(
        "GET /outs.cgi?ouet=<A><B>",
        A=OUTPUT_INDEX,
        B=SECONDS,
        sets="outputs.{A}.start_delay",
        shown="start delay of OUT0-OUT5",
        shown_in="seconds",
        doc="Set the seconds between startup and switching the output on.",
    ),
    row(
        "GET /outs.cgi?roafs=<A><B>",
        A=OUTPUT_INDEX,
        B=Flag(),
        sets="outputs.{A}.remember",
        when=HW35_SW["1.30"],
        shown="OUT0-OUT5 remember their state",
        doc="Restore the output's last state after a restart.",
    ),
)

#: Our own rows: the commands of the document can change the return time only permanently.
PULSE_ROWS = (
    row(
        "GET /outs.cgi?pulse<A>=<B>",
        A=OUTPUT_INDEX,
        B=Int(1, INT32),
        run=pulse,
        role=CONTROL,
        doc="Switch an output on for this number of seconds from now; its return time does "
        "not change. Refused while outputs are locked.",
    ),
)

#: Older units toggle several outputs whose digits are listed.
ALIASES = (
    row(
        "GET /outs.cgi?out=<A>",
        A=Text(
            6,
            1,
            pattern="[0-5]{1,6}",
            form="digits 0 to 5",
            fitting=("0", "013", "555555"),
            unfitting=("6", "x"),
        ),
        run=toggle_several,
        role=CONTROL,
        doc="Toggle the outputs with these digits, for example `out=013`.",
    ),
)
