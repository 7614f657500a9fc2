"""Rows: analog inputs, digital inputs and differential readings."""

from leverframe.core.labels import ANALOG_INPUTS
from leverframe.core.profile import HW30
from leverframe.interface.table import codes
from leverframe.interface.table.codes import HW35_SW, span
from leverframe.interface.table.params import INT32, Bits, Depends, Flag, Int, Scaled, Text, Word
from leverframe.interface.table.refusals import Conflict
from leverframe.interface.table.row import row
from leverframe.interface.table.stage import Stage

NAME = Text(15)
GAIN = Word(codes.GAINS, numeric=True)
ANALOG_INDEX = Int(0, 5)
DIGITAL_INDEX = Int(0, 3)
DIFFERENTIAL_INPUT = Word(codes.DIFFERENTIAL_INPUTS)
DIFFERENTIAL_INPUT_OLDER = Word(codes.DIFFERENTIAL_INPUTS_OLDER)
DIFFSEL = "GET /inpa.cgi?diffsel=<A>*<B>*<C>*<D>"
#: The only sensor for which the amplifier is used.
AMPLIFIED = "vin=3.3V/5V"


def set_gain(stage: Stage, A: int, B: int) -> None:
    sensor = stage.settings.analog_inputs[A].sensor
    if sensor != AMPLIFIED:
        raise Conflict(
            f"{ANALOG_INPUTS[A]} has the sensor '{sensor}'; the gain can be set only with the "
            f"sensor '{AMPLIFIED}'. Set that first: /inpa.cgi?sensor={A}1.",
            field="A",
            value=str(A),
        )
    stage.set(f"analog_inputs.{A}.gain", B)


def set_pull_ups(stage: Stage, A: tuple[bool, ...]) -> None:
    _set_bits(stage, "pull_up", A)


def set_negations(stage: Stage, A: tuple[bool, ...]) -> None:
    _set_bits(stage, "negate_display", A)


def set_bistable_modes(stage: Stage, A: tuple[bool, ...]) -> None:
    _set_bits(stage, "bistable", A)


def _set_bits(stage: Stage, field: str, bits: tuple[bool, ...]) -> None:
    for index, on in enumerate(bits):
        stage.set(f"digital_inputs.{index}.{field}", on)


def set_differential_input(stage: Stage, A: int, B: str) -> None:
    field = "first" if A < 3 else "second"
    stage.set(f"differentials.{A % 3}.{field}", B)


SENSOR_ROW = row(
    "GET /inpa.cgi?sensor=<A><B>",
    A=ANALOG_INDEX,
    B=Depends(
        "A",
        (
            (range(4), Word(codes.ANALOG_SENSORS_1_TO_4)),
            (range(4, 6), Word(codes.ANALOG_SENSORS_5_TO_6)),
        ),
    ),
    sets="analog_inputs.{A}.sensor",
    example={"B": "13"},
    doc="Choose the sensor of an analog input.",
)

ANALOG_ROWS = (
    row(
        "GET /stm.cgi?iname=<A><B>",
        A=ANALOG_INDEX,
        B=NAME,
        sets="analog_inputs.{A}.name",
        shown="names of INPA1-INPA6",
        doc="Name an analog input.",
    ),
    SENSOR_ROW,
    row(
        "GET /inpa.cgi?igain=<A><B>",
        A=Int(0, 3),
        B=GAIN,
        run=set_gain,
        limits={"analog_inputs.{A}.gain": GAIN},
        shown="gain codes of INPA1-INPA4",
        shown_in="1, 2 or 3",
        doc="Choose the gain 1, 10 or 50 of INPA1-INPA4; only with sensor code 1.",
    ),
    row(
        "GET /inpa.cgi?calibration=<A><B>",
        A=ANALOG_INDEX,
        B=Int(-32768, 32767),
        sets="analog_inputs.{A}.calibration",
        shown="calibration of INPA1-INPA6",
        shown_in="millivolts",
        doc="Set the calibration in millivolts, added after the multiplier.",
    ),
    row(
        "GET /inpa.cgi?multiplier=<A><B>",
        A=ANALOG_INDEX,
        B=Scaled(100, 1, 32767),
        sets="analog_inputs.{A}.multiplier",
        example={"B": "105"},
        shown="multiplier of INPA1-INPA6",
        doc="Set the multiplier, sent times 100.",
    ),
)

DIGITAL_ROWS = (
    row(
        "GET /stm.cgi?idname=<A><B>",
        A=DIGITAL_INDEX,
        B=NAME,
        sets="digital_inputs.{A}.name",
        shown="names of INPD1-INPD4",
        doc="Name a digital input.",
    ),
    row(
        "GET /stm.cgi?inpdp=<A>",
        A=Bits(4),
        run=set_pull_ups,
        limits={"digital_inputs.*.pull_up": Flag()},
        shown="pull-up of INPD1-INPD4",
        doc="Set the pull-ups of INPD1-INPD4, one bit each.",
    ),
    row(
        "GET /stm.cgi?inpdnn=<A>",
        A=Bits(4),
        run=set_negations,
        limits={"digital_inputs.*.negate_display": Flag()},
        shown="negation of INPD1-INPD4",
        doc="Invert the display of INPD1-INPD4, one bit each.",
    ),
    row(
        "GET /stm.cgi?inpdb=<A>",
        A=Bits(4),
        run=set_bistable_modes,
        limits={"digital_inputs.*.bistable": Flag()},
        shown="bistable mode of INPD1-INPD4",
        doc="Set the bistable mode of INPD1-INPD4, one bit each.",
    ),
    row(
        "GET /stm.cgi?inpdbt=<A><B>",
        A=DIGITAL_INDEX,
        B=Int(0, INT32),
        sets="digital_inputs.{A}.bistable_time",
        shown="bistable time of INPD1-INPD4",
        shown_in="seconds",
        doc="Set the number of seconds after which a bistable input resets; 0 means never.",
    ),
    row(
        "GET /stm.cgi?imptimen=<A>",
        A=Bits(2),
        sets="impulse_time",
        shown="impulse time of INPD1+INPD2 (bit 0) and INPD3+INPD4 (bit 1)",
        doc="Measure the impulse time of the pairs INPD1+INPD2 (bit 0) and INPD3+INPD4 (bit 1).",
    ),
)

DIFFERENTIAL_ROWS = (
    row(
        DIFFSEL,
        A=Int(0, 5),
        B=DIFFERENTIAL_INPUT,
        C=Word(codes.DIFFERENTIAL_OPERATORS),
        D=DIFFERENTIAL_INPUT,
        sets={
            "B": "differentials.{A}.first",
            "C": "differentials.{A}.operator",
            "D": "differentials.{A}.second",
        },
        when=HW35_SW["1.49"],
        example={"A": "0", "B": "6", "C": "0", "D": "7"},
        doc="Define a differential reading: first input, operator, second input.",
    ),
    row(
        "GET /inpa.cgi?diffsel=<A><B>",
        A=Int(0, 5),
        B=DIFFERENTIAL_INPUT_OLDER,
        run=set_differential_input,
        limits={
            f"differentials.{place}.{field}": DIFFERENTIAL_INPUT_OLDER
            for place in range(3)
            for field in ("first", "second")
        },
        replaced_by=DIFFSEL,
        doc="Choose the first (A 0-2) or second (A 3-5) input of DIFF1-DIFF3.",
    ),
    row(
        "GET /inpa.cgi?diffzsel=<A><B>",
        A=Int(0, 2),
        B=Word(codes.DIFFERENTIAL_OPERATORS),
        sets="differentials.{A}.operator",
        when=span(until="1.49") + span(hw=HW30),
        replaced_by=DIFFSEL,
        doc="Choose the operator of DIFF1-DIFF3.",
    ),
    row(
        "GET /stm.cgi?diffname=<A><B>",
        A=Int(0, 5),
        B=NAME,
        sets="differentials.{A}.name",
        when=HW35_SW["1.60a"],
        shown="names of DIFF1-DIFF6",
        doc="Name a differential reading.",
    ),
)
