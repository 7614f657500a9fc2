"""Rows: power and energy readings."""

from leverframe.core.engine.calls import SetEnergy
from leverframe.core.profile import ALWAYS, VersionSpan
from leverframe.interface.table import codes
from leverframe.interface.table.codes import HW35_ANY, HW35_SW
from leverframe.interface.table.params import INT32, Changed, Depends, Flag, Int, Scaled, Text, Word
from leverframe.interface.table.row import row
from leverframe.interface.table.stage import Stage

POWSEL = "GET /inpa.cgi?powsel=<A>*<B>"
POWSET = "GET /inpa.cgi?powset=<A><B>"
CURRENT = Word(codes.CURRENT_INPUTS)
VOLTAGE = Word(codes.VOLTAGE_INPUTS)
CURRENT_OLDER = Word(codes.CURRENT_INPUTS_OLDER)
VOLTAGE_OLDER = Word(codes.VOLTAGE_INPUTS_OLDER)
POWER_INDEX = Changed(((HW35_SW["1.49"], Int(0, 5)), (ALWAYS, Int(0, 3))))


def select_input(stage: Stage, A: int, B: str) -> None:
    _select(stage, A, 6, B)


def select_input_older(stage: Stage, A: int, B: str) -> None:
    _select(stage, A, 4, B)


def _select(stage: Stage, selector: int, count: int, label: str) -> None:
    field = "current" if selector < count else "voltage"
    stage.set(f"power.{selector % count}.{field}", label)


def set_energy(stage: Stage, A: int, B: float) -> None:
    stage.do(SetEnergy(A, B))


def clear_energy(stage: Stage, A: int) -> None:
    set_energy(stage, A, 0.0)


ROWS = (
    row(
        "GET /inpa.cgi?pown=<A><B>",
        A=POWER_INDEX,
        B=Text(15),
        sets="power.{A}.name",
        doc="Name a power and energy reading.",
    ),
    row(
        POWSEL,
        A=Int(0, 11),
        B=Depends("A", ((range(6), CURRENT), (range(6, 12), VOLTAGE))),
        run=select_input,
        limits={"power.*.current": CURRENT, "power.*.voltage": VOLTAGE},
        when=HW35_SW["1.49"],
        doc="Choose the current (A 0-5) or voltage (A 6-11) input of POWER1-POWER6.",
    ),
    row(
        "GET /inpa.cgi?powsel=<A><B>",
        A=Int(0, 7),
        B=Depends("A", ((range(4), CURRENT_OLDER), (range(4, 8), VOLTAGE_OLDER))),
        run=select_input_older,
        limits={
            f"power.{place}.{field}": param
            for place in range(4)
            for field, param in (("current", CURRENT_OLDER), ("voltage", VOLTAGE_OLDER))
        },
        replaced_by=POWSEL,
        doc="Choose the current (A 0-3) or voltage (A 4-7) input of POWER1-POWER4.",
    ),
    row(
        "GET /inpa.cgi?powim=<A><B>",
        A=POWER_INDEX,
        B=Int(1, INT32),
        sets="power.{A}.pulses",
        example={"B": "800"},
        doc="Set the number of pulses per unit of energy.",
    ),
    row(
        POWSET,
        A=POWER_INDEX,
        B=Scaled(1000, 0, 4294967295),
        run=set_energy,
        example={"B": "273490"},
        doc="Set the energy reading, times 1000.",
    ),
    row(
        "GET /inpa.cgi?eclear=<A>",
        A=Int(0, 3),
        run=clear_energy,
        replaced_by=POWSET,
        replaced_when=(VersionSpan(since="1.56a"),),
        doc="Set the energy reading to 0.",
    ),
    row(
        "GET /inpa.cgi?peunit=<A><B>",
        A=POWER_INDEX,
        B=Word(codes.ENERGY_UNITS),
        sets="power.{A}.unit",
        when=HW35_ANY,
        doc="Choose the units of power and energy.",
    ),
    row(
        "GET /inpa.cgi?powsave=<A>",
        A=Flag(),
        sets="energy_remember",
        shown="energy and power survive a restart",
        doc="Save energy and power readings periodically, so that they survive a restart.",
    ),
)
