"""Which label hangs on which piece of hardware: the `[board]` table of the configuration.

Labels that are not wired stay absent, and what the controller drives there goes nowhere. Paths are
checked when the board is opened, not here: a device that is missing today may come tomorrow.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from leverframe.engine.labels import ANALOG_INPUTS, DIGITAL_INPUTS, OUTPUTS, PWMS

#: What the analog readings of a Linux machine can feed.
MEASURED = (*ANALOG_INPUTS, "VCC", "TEMP")
MOST_EXTRA_SENSORS = 3
_SENSOR_ID = re.compile(r"[0-9A-F]{2}(:[0-9A-F]{2}){7}")

Number = Annotated[int, Meta(ge=0)]


class BadWiring(Exception):
    """One sentence: which entry is wrong, what is allowed."""


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the configuration file."""


class Pin(Table, frozen=True):
    """A GPIO line."""

    #: Like /dev/gpiochip0.
    chip: str
    #: Its number on the chip, or its name.
    line: Number | str
    active_low: bool = False
    #: Changes that last no longer than this are no changes; inputs only.
    debounce_ms: Annotated[int, Meta(ge=0, le=1000)] = 10


class PwmChannel(Table, frozen=True):
    """pwmchip0, channel 1 is /sys/class/pwm/pwmchip0/pwm1."""

    chip: Number
    channel: Number


class Channel(Table, frozen=True):
    """A channel of an analog-to-digital converter, as the kernel's IIO shows it."""

    #: The folder (iio:device0) or the name of the converter (ads1015), which stays the same.
    device: str
    #: Like voltage0; temp for TEMP.
    channel: str
    #: Volts at the label for each volt at the converter: 11.0 for a divider of 100k and 10k.
    factor: float = 1.0


class OneWireWiring(Table, frozen=True):
    #: IDs of the additional sensors, mapping slots 4-6.
    extra: tuple[str, ...] = ()


class I2cWiring(Table, frozen=True):
    #: 1 is /dev/i2c-1.
    bus: Number


class OledWiring(Table, frozen=True):
    """A display with an SSD1306 of 128 x 64 dots. How fast the bus is, is up to its driver."""

    #: 1 is /dev/i2c-1.
    bus: Number
    address: Annotated[int, Meta(ge=0x08, le=0x77)] = 0x3C


class Wiring(Table, frozen=True):
    kind: Literal["simulated", "linux"] = "simulated"
    #: Where the kernel shows its devices.
    sysfs: str = "/sys"
    outputs: dict[str, Pin] = {}
    digital_inputs: dict[str, Pin] = {}
    pwm: dict[str, PwmChannel] = {}
    analog: dict[str, Channel] = {}
    onewire: OneWireWiring | None = None
    i2c: I2cWiring | None = None
    oled: OledWiring | None = None


def check_wiring(wiring: Wiring) -> None:
    """Raise `BadWiring` for what the types of the table cannot say."""
    _known("board.outputs", wiring.outputs, OUTPUTS)
    _known("board.digital_inputs", wiring.digital_inputs, DIGITAL_INPUTS)
    _known("board.pwm", wiring.pwm, PWMS)
    _known("board.analog", wiring.analog, MEASURED)
    _used_once("GPIO line", {**wiring.outputs, **wiring.digital_inputs}.items())
    _used_once("PWM channel", wiring.pwm.items())
    if wiring.onewire is not None:
        _check_extra(wiring.onewire.extra)
    if wiring.kind == "simulated" and wiring != Wiring():
        raise BadWiring('[board] wires real devices; say kind = "linux" to use them.')


def _known(table: str, labels: Iterable[str], allowed: tuple[str, ...]) -> None:
    for label in labels:
        if label not in allowed:
            raise BadWiring(f"[{table}] has no {label}; known are {', '.join(allowed)}.")


def _used_once(what: str, wired: Iterable[tuple[str, Pin | PwmChannel]]) -> None:
    users: dict[tuple[object, object], str] = {}
    for label, place in wired:
        key = (place.chip, place.line) if isinstance(place, Pin) else (place.chip, place.channel)
        if key in users:
            raise BadWiring(f"{users[key]} and {label} use the same {what}; each needs its own.")
        users[key] = label


def _check_extra(ids: tuple[str, ...]) -> None:
    if len(ids) > MOST_EXTRA_SENSORS:
        raise BadWiring(f"[board.onewire] extra names {len(ids)} sensors; there are 3 slots, 4-6.")
    for sensor_id in ids:
        if not _SENSOR_ID.fullmatch(sensor_id):
            raise BadWiring(
                f"[board.onewire] extra: {sensor_id!r} is no ID;"
                " write eight bytes like 28:FF:64:1D:61:17:03:8D."
            )
