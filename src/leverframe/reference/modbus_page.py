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
locked.

Addresses count from 0, as transmitted. Numbers of two registers have their high word first.

| exception | when |
|---|---|
| 1 | a function that does not exist here, or a write by a client that may only read |
| 2 | an address that does not exist, also if it is only the last of several |
| 3 | a value or a length that is not allowed |
| 4 | the outputs are locked, or the change cannot be stored |
| 6 | the controller is in its bootloader |
"""
_COILS = """\
### Coils: functions 1, 5 and 15

What is switched: outputs, PWM outputs and event variables.
"""
_INPUTS = """\
### Discrete inputs: function 2

The digital inputs as rules see them: after bistable mode, without the negation of the display; one
that cannot be read is 0.
"""
_DUTIES = """\
### Holding registers: functions 3, 6 and 16

The set duty of the PWM outputs in percent, 0 to {most}. A write is answered when it is on disk.
"""
_READINGS = """\
### Input registers: function 4

Every reading twice. The float is exact and is not a number (NaN) while the reading is absent. The
whole number is the reading times the scale, at most 32767 either way, and -32768 while the reading
is absent.
"""
_MODULES = """\
## Modules on the serial bus

The bus is named by `serial_modbus` in the configuration, like `/dev/ttyUSB0`. Up to three modules
are read in turn; `/stm.cgi?modbus_sensor=` and `modbusid=` choose module and slave ID of a slot,
and `modbusmapping=` says which reading is shown as which of m1-m30. A module that does not answer
is asked less often, so that it takes less than a tenth of the others' time; a reading that is
older than {stale} seconds is absent, and `absent_since` of `/api/state` tells since when.

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
    yield _numbered(modbus_map.COILS)
    yield "\n" + _INPUTS
    yield _numbered(modbus_map.DISCRETE_INPUTS)
    yield "\n" + _DUTIES.format(most=modbus_map.MAX_DUTY)
    yield _numbered(modbus_map.DUTIES)
    yield "\n" + _READINGS
    yield table(
        ("reading", "float at", "whole number at", "scale"),
        [
            (
                label,
                f"{modbus_map.FLOATS_AT + 2 * number}-{modbus_map.FLOATS_AT + 2 * number + 1}",
                str(modbus_map.WHOLES_AT + number),
                f"x{scale}",
            )
            for number, (label, scale) in enumerate(modbus_map.SCALES.items())
        ],
    )
    yield "\n" + _MODULES.format(stale=f"{STALE_S:g}")
    for label, module in MODULES.items():
        yield from _module_parts(label, module)


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
