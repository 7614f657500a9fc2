"""The page of Modbus: the addresses of the TCP server, and the readings of the modules."""

from collections.abc import Iterator

from leverframe.config import Config
from leverframe.reference.markdown import code, prose, table
from leverframe.wire import modbus_map
from leverframe.wire.modbus_modules import MODULES, STALE_S, Module

_SERVER = """\
# Modbus

## The Modbus TCP server

`/stm.cgi?modbuson=1` switches the server on (HW 3.5+). It listens on port {port} of the address
that HTTP is served at; `modbus_port` in the configuration chooses another. Every unit number is
answered. At most 32 clients are connected at a time; one that is silent for ten minutes is
disconnected.

Everybody who can connect reads. Clients write if their address is in `modbus_writers` of the
configuration, a list of addresses and networks; by default that is this machine only ({writers}).
A write is the same as the command: all or nothing, in the log, and refused while outputs are
locked, if it could move one.

Addresses count from 0, as transmitted, and stay where they are in later versions. Numbers of two
registers have their high word first.

| exception | when |
|---|---|
| 1 | a function that does not exist here, or a write by a client that may only read |
| 2 | an address that does not exist, also if it is only the last of several |
| 3 | a value or a length that is not allowed |
| 4 | the outputs are locked, or the change cannot be stored |
| 6 | the controller is in its bootloader, or its node does not know whether it still has it |
"""
_COILS = """\
### Coils: functions 1, 5 and 15

What is switched: outputs, PWM outputs and event variables. Behind them coils that reset: writing 1
sets the energy counter to 0, writing 0 does nothing, and they read 0.
"""
_INPUTS = """\
### Discrete inputs: function 2

The digital inputs as rules see them: after bistable mode, without the negation of the display; one
that cannot be read is 0.
"""
_DUTIES = """\
### Holding registers: functions 3, 6 and 16

The set duty of the PWM outputs in percent, 0 to {most}, and the target of the PID regulator. A
write is answered when it is on disk.

The target is there twice: times {scale} as a signed number of one register, and as a float of two.
The two of the float are written together, and what is written is rounded to tenths, as the command
`pidtarget` has it. A target beyond 3276.7 either way reads as that in the one register.
"""
_READINGS = """\
### Input registers: function 4

Every reading three times. The float has seven digits and is not a number (NaN) while the reading is
absent. The whole number is the reading times the scale, at most 32767 either way, and -32768 while
the reading is absent. The number of 32 bits is the reading times {scale}, whatever it is, at most
2147483647 either way, and -2147483648 while the reading is absent: there energies and the counters
of meters have all their digits.
"""
_MODULES = """\
## Modules on the serial bus

The bus is named by `serial_modbus` in the configuration, like `/dev/ttyUSB0`. Up to three modules
are read in turn; `/stm.cgi?modbus_sensor=` and `modbusid=` choose module and slave ID of a slot,
and `modbusmapping=` says which reading is shown as which of m1-m30. A module that does not answer
is asked less often, so that it takes less than a tenth of the others' time; a reading that is
older than {stale} seconds is absent, and `absent_since` of `/api/state` tells since when.

Coils and holding registers of the modules are written by `mod_write`, and by rules with the actions
MODBUS WRITE 1-8; the value is read back.

SDM meters speak at the bitrate that `sdm120bitrate` sets; devices of your own (custom1-custom5) as
`mod_custom_set` says.
"""


def modbus_page() -> str:
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    default = Config()
    writers = " and ".join(default.modbus_writers)
    yield _SERVER.format(port=default.modbus_port, writers=writers)
    yield _COILS
    yield _numbered(
        (*modbus_map.SWITCHED, *(f"reset of {label}" for label in modbus_map.RESET)),
    )
    yield "\n" + _INPUTS
    yield _numbered(modbus_map.DISCRETE_INPUTS)
    yield "\n" + _DUTIES.format(most=modbus_map.MAX_DUTY, scale=modbus_map.TARGET_SCALE)
    yield table(
        ("address", "what"),
        [
            *((str(address), label) for address, label in enumerate(modbus_map.DUTIES)),
            (str(modbus_map.TARGET_AT), f"PID target x{modbus_map.TARGET_SCALE}"),
            (_pair(modbus_map.TARGET_FLOAT_AT), "PID target as float"),
        ],
    )
    yield "\n" + _READINGS.format(scale=modbus_map.LONG_SCALE)
    yield table(
        (
            "reading",
            "float at",
            "whole number at",
            "scale",
            f"32 bits, x{modbus_map.LONG_SCALE} at",
        ),
        [
            (
                label,
                _pair(modbus_map.FLOATS_AT + 2 * number),
                str(modbus_map.WHOLES_AT + number),
                f"x{scale}",
                _pair(modbus_map.LONGS_AT + 2 * number),
            )
            for number, (label, scale) in enumerate(modbus_map.SCALES.items())
        ],
    )
    yield "\n" + _MODULES.format(stale=f"{STALE_S:g}")
    for label, module in MODULES.items():
        yield from _module_parts(label, module)


def _pair(address: int) -> str:
    return f"{address}-{address + 1}"


def _numbered(labels: tuple[str, ...]) -> str:
    return table(("address", "what"), [(str(n), label) for n, label in enumerate(labels)])


def _module_parts(label: str, module: Module) -> Iterator[str]:
    line = module.line
    bitrate = "the SDM bitrate" if module.is_sdm else f"{line.bitrate} bit/s"
    yield f"### {prose(label)}\n"
    yield f"Speaks at {bitrate}, parity {line.parity}, {line.stop_bits} stop bit.\n"
    yield table(
        ("reading", "name", "unit", "function", "register", "type", "divisor"),
        [
            (
                str(reading.number),
                prose(reading.name),
                prose(reading.unit),
                str(reading.function),
                code(f"0x{reading.register:04X}"),
                reading.type if reading.endian == "none" else f"{reading.type}, low word first",
                str(reading.divisor),
            )
            for reading in module.readings
        ],
    )
    yield ""
