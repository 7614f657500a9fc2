"""The wiring of labels to hardware: the `[board]` table of the configuration.

Labels that are not wired stay absent, and their outputs have no effect. Paths are not checked here
but when the board is opened, because a missing device may be connected later.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from leverframe.core.labels import ANALOG_INPUTS, DIGITAL_INPUTS, OUTPUTS, PWMS

#: The labels that the analog readings of a Linux machine can supply.
MEASURED = (*ANALOG_INPUTS, "VCC", "TEMP")
MAX_EXTRA_SENSORS = 3
#: The board that needs no devices.
SIMULATED = "simulated"
#: The boards of this package; other packages add boards by entry points of `BOARDS_GROUP`.
OWN_BOARDS = (SIMULATED, "linux")
BOARDS_GROUP = "leverframe.boards"
_SENSOR_ID = r"[0-9A-F]{2}(:[0-9A-F]{2}){7}"

Number = Annotated[int, Meta(ge=0)]
Bus = Annotated[Number, Meta(description="Number of the I2C bus: 1 is /dev/i2c-1.", examples=[1])]


class Miswired(NamedTuple):
    """A mistake in an entry: one sentence that says what is wrong and what is allowed."""

    #: The path of the entry, from the outermost table: ("board", "outputs", "OUT0").
    place: tuple[str, ...]
    sentence: str


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the configuration file."""


class Pin(Table, frozen=True):
    """A GPIO line."""

    chip: Annotated[str, Meta(description="The chip of the line, like /dev/gpiochip0.")]
    line: Annotated[Number | str, Meta(description="Number of the line on the chip, or its name.")]
    active_low: Annotated[bool, Meta(description="True if a low level means on.")] = False


class FilteredPin(Pin, frozen=True):
    """A GPIO line that is read."""

    debounce_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="Changes shorter than this number of milliseconds are ignored.",
        ),
    ] = 10


class PwmChannel(Table, frozen=True):
    """A PWM channel: pwmchip0, channel 1 is /sys/class/pwm/pwmchip0/pwm1."""

    chip: Annotated[Number, Meta(description="0 is pwmchip0.")]
    channel: Annotated[Number, Meta(description="Channel of that chip; 0 is pwm0.")]


class AdcChannel(Table, frozen=True):
    """A channel of an analog-to-digital converter, as the kernel's IIO subsystem shows it."""

    device: Annotated[
        str,
        Meta(
            description="Folder (iio:device0) or name of the converter (ads1015), which stays the"
            " same when folders are renumbered."
        ),
    ]
    channel: Annotated[
        str, Meta(description="Channel of the converter, like voltage0; temp for TEMP.")
    ]
    factor: Annotated[
        float,
        Meta(
            description="Volts at the label for each volt at the converter: 11.0 for a divider of"
            " 100k and 10k."
        ),
    ] = 1.0


class OneWireWiring(Table, frozen=True):
    extra: Annotated[
        tuple[str, ...],
        Meta(
            description="IDs of the additional 1-Wire sensors, mapping slots 4-6.",
            examples=[["28:FF:64:1D:61:17:03:8D"]],
            extra={"metavar": "ID,ID"},
        ),
    ] = ()


class I2cWiring(Table, frozen=True):
    """The bus of the sensors."""

    bus: Bus


class OledWiring(Table, frozen=True):
    """A display with an SSD1306 of 128 x 64 dots; the bus driver sets the speed of its bus."""

    bus: Bus
    address: Annotated[
        int, Meta(ge=0x08, le=0x77, description="Address of the display; 60 is 0x3C.")
    ] = 0x3C


class Wiring(Table, frozen=True):
    kind: Annotated[
        str,
        Meta(
            description="What the labels are connected to: software (simulated), the pins "
            "and buses of this machine (linux), or a board from an installed package.",
            extra={"metavar": "KIND"},
        ),
    ] = SIMULATED
    sysfs: Annotated[
        str,
        Meta(description="Folder in which the kernel lists its devices.", extra={"metavar": "DIR"}),
    ] = "/sys"
    outputs: Annotated[
        dict[str, Pin],
        Meta(
            description="GPIO lines of the outputs OUT0-OUT5.",
            examples=[{"OUT0": {"chip": "/dev/gpiochip0", "line": 17, "active_low": True}}],
        ),
    ] = {}
    digital_inputs: Annotated[
        dict[str, FilteredPin],
        Meta(
            description="GPIO lines of the inputs INPD1-INPD4.",
            examples=[{"INPD1": {"chip": "/dev/gpiochip0", "line": 5, "debounce_ms": 20}}],
        ),
    ] = {}
    pwm: Annotated[
        dict[str, PwmChannel],
        Meta(
            description="The kernel's PWM channels of PWM0-PWM3.",
            examples=[{"PWM0": {"chip": 0, "channel": 0}}],
        ),
    ] = {}
    analog: Annotated[
        dict[str, AdcChannel],
        Meta(
            description="Channels of converters, as the kernel's IIO shows them, for"
            " INPA1-INPA6, VCC and TEMP.",
            examples=[{"VCC": {"device": "ads1015", "channel": "voltage3", "factor": 11.0}}],
        ),
    ] = {}
    onewire: OneWireWiring | None = None
    i2c: I2cWiring | None = None
    oled: OledWiring | None = None


def board_kinds() -> list[str]:
    """List every kind of board that can be chosen."""
    # Imported here, because most controllers use a board of this package.
    from importlib.metadata import entry_points

    return [*OWN_BOARDS, *sorted(entry_points(group=BOARDS_GROUP).names)]


def find_mistakes(wiring: Wiring) -> Iterator[Miswired]:
    """Yield the mistakes in the wiring that the types of the table cannot exclude."""
    if wiring.kind not in OWN_BOARDS and wiring.kind not in (kinds := board_kinds()):
        known = ", ".join(kinds)
        yield Miswired(
            ("board", "kind"), f"board.kind must be one of {known}, not {wiring.kind!r}."
        )
    yield from _unknown("outputs", wiring.outputs, OUTPUTS)
    yield from _unknown("digital_inputs", wiring.digital_inputs, DIGITAL_INPUTS)
    yield from _unknown("pwm", wiring.pwm, PWMS)
    yield from _unknown("analog", wiring.analog, MEASURED)
    outputs = [(("outputs", label), pin) for label, pin in wiring.outputs.items()]
    inputs = [(("digital_inputs", label), pin) for label, pin in wiring.digital_inputs.items()]
    yield from _find_shared("GPIO line", [*outputs, *inputs])
    channels = [(("pwm", label), channel) for label, channel in wiring.pwm.items()]
    yield from _find_shared("PWM channel", channels)
    if wiring.onewire is not None:
        yield from _bad_ids(wiring.onewire.extra)
    if wiring.kind == SIMULATED and wiring != Wiring():
        yield Miswired(("board",), '[board] wires real devices; set kind = "linux" to use them.')


def _unknown(table: str, labels: Iterable[str], allowed: tuple[str, ...]) -> Iterator[Miswired]:
    for label in labels:
        if label not in allowed:
            known = ", ".join(allowed)
            yield Miswired(
                ("board", table, label), f"[board.{table}] has no {label}; the labels are {known}."
            )


def _find_shared(
    what: str, wired: Iterable[tuple[tuple[str, str], Pin | PwmChannel]]
) -> Iterator[Miswired]:
    users: dict[tuple[object, object], str] = {}
    for (table, label), part in wired:
        key = (part.chip, part.line) if isinstance(part, Pin) else (part.chip, part.channel)
        if key in users:
            yield Miswired(
                ("board", table, label),
                f"{users[key]} and {label} use the same {what}; each needs its own.",
            )
        users[key] = label


def _bad_ids(ids: tuple[str, ...]) -> Iterator[Miswired]:
    place = ("board", "onewire", "extra")
    if len(ids) > MAX_EXTRA_SENSORS:
        yield Miswired(
            place, f"[board.onewire] extra names {len(ids)} sensors; there are 3 slots, 4-6."
        )
    for sensor_id in ids:
        if not re.fullmatch(_SENSOR_ID, sensor_id):
            yield Miswired(
                place,
                f"[board.onewire] extra: {sensor_id!r} is not an ID; write eight bytes like "
                "28:FF:64:1D:61:17:03:8D.",
            )
