"""`/api/sim`: the simulated board as data, with everything that the simulation page needs."""

from functools import cache
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from leverframe.core.durations import text_from_seconds
from leverframe.core.engine.timers import WallTime
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIGITAL_INPUTS,
    LIGHTING,
    LIGHTING_LIMITS,
    LIMITS,
    ONEWIRE,
    OUTPUTS,
    PARTICULATES,
    PWMS,
)
from leverframe.devices.simulated.fault_catalogue import FAULTS, fields_of
from leverframe.devices.simulated.plant_wiring import (
    KINDS,
    REQUIRED,
    Duration,
    Field,
    FieldType,
    Number,
    NumberOrLabel,
    OneOf,
)
from leverframe.devices.simulated.simulated_board import ReceivedSms, SimulatedBoard
from leverframe.host.controller import Controller
from leverframe.host.controller.faults import FaultReport, Faults
from leverframe.interface.names import unit_of
from leverframe.interface.table.codes import I2C_SENSORS
from leverframe.server.problems import NoSuchPath
from leverframe.server.routes.context import Context
from leverframe.server.routes.sim import BARCODE_LETTERS, SMS_LETTERS

_ROOM = (-20.0, 50.0)
#: Typical ranges of readings for the page's controls; any number within the limits is possible.
_USUAL = {
    "VCC": (0.0, 60.0),
    "TEMP": _ROOM,
    **dict.fromkeys(ANALOG_INPUTS, (0.0, 3.3)),
    "T1": _ROOM,
    "H1": (0.0, 100.0),
    "P1": (900.0, 1100.0),
    **dict.fromkeys(ONEWIRE, _ROOM),
    "CO2": (0.0, 5000.0),
    **dict.fromkeys(PARTICULATES, (0.0, 1000.0)),
    "DISTANCE": (0.0, 5000.0),
}


Limits = Annotated[
    tuple[float, float], Meta(description="Values outside these limits are not valid readings.")
]
UsualRange = Annotated[tuple[float, float], Meta(description="The usual range.")]


class SimulatedReading(Struct, frozen=True):
    value: float | None
    limits: Limits
    usual: UsualRange
    unit: str


class SimulatedI2c(Struct, frozen=True):
    found: str | None
    sensors: tuple[str, ...]


class BarcodeReader(Struct, frozen=True):
    scanned: str | None
    max_letters: int


class PlantField(Struct, frozen=True):
    doc: str
    allowed: str
    required: bool
    default: str
    least: str | UnsetType = UNSET
    most: str | UnsetType = UNSET
    labels: Annotated[
        tuple[str, ...] | UnsetType, Meta(description="The labels to choose from.")
    ] = UNSET


class PlantKind(Struct, frozen=True):
    doc: str
    fields: dict[str, PlantField]


class PlantReport(Struct, frozen=True):
    wired: list[str]
    kinds: dict[str, PlantKind]


class FaultKindReport(Struct, frozen=True):
    doc: str
    real: Annotated[str, Meta(description="Faults of real units and networks.")]
    fields: dict[str, PlantField]


class FaultsReport(Struct, frozen=True):
    set: list[FaultReport]
    next: Annotated[int, Meta(description="The number of the next fault.")]
    kinds: dict[str, FaultKindReport]


class SmsInbox(Struct, frozen=True):
    max_letters: int
    received: list[ReceivedSms]


class SimReport(Struct, frozen=True):
    virtual_time: Annotated[bool, Meta(description="Whether the time can be advanced.")]
    time: WallTime
    due: Annotated[float | None, Meta(description="The next due moment, in seconds since 1970.")]
    due_in: Annotated[float | None, Meta(description="Seconds until the next due moment.")]
    readings: dict[str, SimulatedReading]
    pins: Annotated[
        dict[str, float],
        Meta(description="Pin levels (PWM in percent), frequencies and pull-ups."),
    ]
    levels: dict[str, int | None]
    onewire: Annotated[
        dict[str, float | None],
        Meta(description="The sensors on the 1-Wire bus with their readings."),
    ]
    i2c: SimulatedI2c
    barcode: BarcodeReader
    plants: PlantReport
    faults: FaultsReport
    hosts: Annotated[dict[str, float], Meta(description="Ping times in milliseconds.")]
    sms: SmsInbox


def sim_report(context: Context) -> SimReport:
    controller = context.controller
    board, clock = controller.board.bench, controller.clock
    if board is None:
        raise NoSuchPath("This board is not simulated.")
    at, deadline = clock.read(), controller.next_deadline()
    readings = board.readings
    return SimReport(
        virtual_time=clock.is_virtual,
        time=at.wall,
        due=None if deadline is None else at.wall + deadline - at.now,
        due_in=None if deadline is None else deadline - at.now,
        readings={
            label: _reading(label, readings.get(label), controller)
            for label in (*LIMITS, *LIGHTING)
        },
        pins=_pins(board),
        levels={label: readings.get(label) for label in DIGITAL_INPUTS},
        onewire={sensor_id: readings.get(sensor_id) for sensor_id in board.onewire_ids},
        i2c=SimulatedI2c(readings.get("i2c"), I2C_SENSORS[1:]),
        barcode=BarcodeReader(readings.get("barcode"), BARCODE_LETTERS),
        plants=PlantReport(board.wirings, _kinds()),
        faults=_faults(controller.faults),
        hosts=board.hosts.answering,
        sms=SmsInbox(SMS_LETTERS, list(board.messages)),
    )


def _faults(faults: Faults | None) -> FaultsReport:
    if faults is None:
        return FaultsReport([], 1, _fault_kinds())
    return FaultsReport(faults.report(), faults.next_number, _fault_kinds())


def _pins(board: SimulatedBoard) -> dict[str, float]:
    """Return output levels after active low and mode, then frequencies and pull-ups."""
    return {
        **{label: int(on) for label, on in zip(OUTPUTS, board.outputs, strict=True)},
        **{label: round(100 * level, 2) for label, level in zip(PWMS, board.levels, strict=True)},
        **board.pin_settings,
    }


def _reading(label: str, value: float | None, controller: Controller) -> SimulatedReading:
    # Analog inputs are set as the voltage at the pin, regardless of their sensor.
    volts = label in ANALOG_INPUTS
    limits = LIMITS.get(label, LIGHTING_LIMITS)
    return SimulatedReading(
        value,
        limits,
        _USUAL.get(label, limits),
        "V" if volts else unit_of(label, controller.engine.settings),
    )


def _kinds() -> dict[str, PlantKind]:
    return {
        name: PlantKind(kind.doc, {key: _field(field) for key, field in kind.fields.items()})
        for name, kind in KINDS.items()
    }


@cache
def _fault_kinds() -> dict[str, FaultKindReport]:
    return {
        name: FaultKindReport(
            kind.doc,
            kind.real,
            {key: _field(field) for key, field in fields_of(name).items()},
        )
        for name, kind in FAULTS.items()
    }


def _field(field: Field) -> PlantField:
    required = field.default is REQUIRED
    default = "" if required or field.default is None else _format_default(field.default)
    return _with_range(PlantField(field.doc, field.type.allowed, required, default), field.type)


def _format_default(default: float | str) -> str:
    return default if isinstance(default, str) else f"{default:g}"


def _with_range(field: PlantField, kind: FieldType) -> PlantField:
    """Add the labels to choose from, or the minimum and maximum that can be entered."""
    match kind:
        case OneOf(labels):
            return structs.replace(field, labels=labels)
        case Number(low, high):
            return structs.replace(field, least=f"{low:.10g}", most=f"{high:.10g}")
        case Duration(low, high):
            return structs.replace(
                field, least=text_from_seconds(low), most=text_from_seconds(high)
            )
        case NumberOrLabel(number, label):
            return _with_range(_with_range(field, number), label)
    return field
