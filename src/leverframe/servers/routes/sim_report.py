"""`/api/sim`: the simulated board as data, with everything that a page needs to play with it."""

from typing import Any

from leverframe.clock import VirtualClock
from leverframe.commands.table.codes import I2C_SENSORS
from leverframe.controller import Controller
from leverframe.durations import text_from_seconds
from leverframe.engine.labels import (
    ANALOG_INPUTS,
    DIGITAL_INPUTS,
    LIGHTING,
    ONEWIRE,
    OUTPUTS,
    PARTICULATES,
    PWMS,
)
from leverframe.engine.readings import LIGHTING_LIMITS, LIMITS
from leverframe.hardware.plant_wiring import (
    KINDS,
    REQUIRED,
    Duration,
    Field,
    FieldType,
    Number,
    NumberOrLabel,
    OneOf,
)
from leverframe.hardware.simulated import SimulatedBoard
from leverframe.naming.units import unit_of
from leverframe.servers.problems import NoSuchPath
from leverframe.servers.routes.sim import BARCODE_LETTERS, SMS_LETTERS

_ROOM = (-20.0, 50.0)
#: Where readings mostly are, for those who turn a knob; any number within the limits is possible.
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


def bench_report(controller: Controller) -> dict[str, Any]:
    board, clock = controller.board, controller.clock
    if not isinstance(board, SimulatedBoard):
        raise NoSuchPath("This board is not simulated.")
    at, deadline = clock.read(), controller.next_deadline()
    readings = board.readings
    return {
        "virtual_time": isinstance(clock, VirtualClock),
        "time": at.wall,
        "due": None if deadline is None else at.wall + deadline - at.now,
        "readings": {
            label: _reading(label, readings.get(label), controller)
            for label in (*LIMITS, *LIGHTING)
        },
        "pins": _pins(board),
        "levels": {label: readings.get(label) for label in DIGITAL_INPUTS},
        "onewire": {sensor_id: readings.get(sensor_id) for sensor_id in board.onewire_ids},
        "i2c": {"found": readings.get("i2c"), "sensors": I2C_SENSORS[1:]},
        "barcode": {"scanned": readings.get("barcode"), "max_letters": BARCODE_LETTERS},
        "plants": {"wired": board.wirings, "kinds": _kinds()},
        "hosts": board.hosts.answering,
        "sms": {
            "max_letters": SMS_LETTERS,
            "received": [message._asdict() for message in board.messages],
        },
    }


def _pins(board: SimulatedBoard) -> dict[str, float]:
    """What the outputs are driven to, after active low and mode; then frequencies and pull-ups."""
    return {
        **{label: int(on) for label, on in zip(OUTPUTS, board.outputs, strict=True)},
        **{label: round(100 * level, 2) for label, level in zip(PWMS, board.levels, strict=True)},
        **board.pin_settings,
    }


def _reading(label: str, value: float | None, controller: Controller) -> dict[str, Any]:
    # Analog inputs are set in volts at the pin, whatever their sensor makes of it.
    volts = label in ANALOG_INPUTS
    limits = LIMITS.get(label, LIGHTING_LIMITS)
    return {
        "value": value,
        "limits": limits,
        "usual": _USUAL.get(label, limits),
        "unit": "V" if volts else unit_of(label, controller.engine.settings),
    }


def _kinds() -> dict[str, Any]:
    return {
        name: {
            "doc": kind.doc,
            "fields": {key: _field(field) for key, field in kind.fields.items()},
        }
        for name, kind in KINDS.items()
    }


def _field(field: Field) -> dict[str, Any]:
    required = field.default is REQUIRED
    told: dict[str, Any] = {
        "doc": field.doc,
        "allowed": field.type.allowed,
        "required": required,
        "default": "" if required or field.default is None else f"{field.default:g}",
    }
    return told | _possible(field.type)


def _possible(kind: FieldType) -> dict[str, Any]:
    """The labels to choose from, the least and the most that can be typed, or both."""
    match kind:
        case OneOf(labels):
            return {"labels": labels}
        case Number(low, high):
            return {"least": f"{low:g}", "most": f"{high:g}"}
        case Duration(low, high):
            return {"least": text_from_seconds(low), "most": text_from_seconds(high)}
        case NumberOrLabel(number, label):
            return _possible(number) | _possible(label)
