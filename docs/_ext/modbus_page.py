"""The page of Modbus: the addresses of the TCP server, and the readings of the modules."""

from collections.abc import Iterator

from docs._ext.markdown import code, prose, table
from leverframe.devices.wire import modbus
from leverframe.devices.wire.modbus_modules import MODULES, STALE_S, Module
from leverframe.host.configuration import Config

_SERVER = """\
# Modbus

## The Modbus TCP server

`/stm.cgi?modbuson=1` switches the server on (HW 3.5+). It listens on port {port} of the HTTP
address; `modbus_port` in the configuration selects another port. It answers every unit number. At
most 32 clients can be connected at a time; a client that is silent for ten minutes is disconnected.

Every client may read. A client may write if its address is in `modbus_writers` of the
configuration, a list of addresses and networks; by default only this machine may write ({writers}).
A write has the same effect as the command: it is applied completely or not at all, recorded in the
log, and rejected while outputs are locked if it could switch an output.

Addresses count from 0, as transmitted, and stay the same in later versions. In a number of two
registers, the high word comes first.

| exception | when |
|---|---|
| 1 | an unsupported function, or a write by a client that may only read |
| 2 | an address that does not exist, even if it is only the last one of a range |
| 3 | a value or a length that is not allowed |
| 4 | the outputs are locked, or the change cannot be stored |
| 6 | the controller is in its bootloader, or its node does not know whether it still owns it |
"""
_COILS = """\
### Coils: functions 1, 5 and 15

Outputs, PWM outputs and event variables, followed by coils that reset an energy counter: writing 1
sets the counter to 0, writing 0 has no effect, and reading returns 0.
"""
_INPUTS = """\
### Discrete inputs: function 2

The digital inputs with the values that rules use: after bistable mode, without the negation of the
display. An unreadable input is 0.
"""
_DUTIES = """\
### Holding registers: functions 3, 6 and 16

The set duty of the PWM outputs in percent, 0 to {most}, and the target of the PID regulator. A
write is answered when it is on disk.

The target appears twice: multiplied by {scale} as a signed number in one register, and as a float
in two. The two registers of the float are written together. Written values are rounded to tenths,
as by the command `pidtarget`. The single register limits a target to ±3276.7.
"""
_READINGS = """\
### Input registers: function 4

Every reading appears three times. The float has seven digits and is NaN while the reading is
absent. The whole number is the reading multiplied by its scale, limited to ±32767, and -32768 while
the reading is absent. The 32-bit number is the reading multiplied by {scale}, limited to
±2147483647, and -2147483648 while the reading is absent; it keeps all digits of energies and
counters.
"""
_MODULES = """\
## Modules on the serial bus

Configure the bus with `serial_modbus`, like `/dev/ttyUSB0`. Up to three modules are read in turn.
`/stm.cgi?modbus_sensor=` and `modbusid=` select the module and slave ID of a slot, and
`modbusmapping=` assigns readings to m1-m30. A module that does not answer is polled less often, so
that it uses less than a tenth of the time of the other modules. A reading older than {stale}
seconds is absent; `absent_since` in `/api/state` shows since when it has been absent.

`mod_write`, and rules with the actions MODBUS WRITE 1-8, write coils and holding registers of the
modules and read the value back.

SDM meters use the bitrate set by `sdm120bitrate`; your own devices (custom1-custom5) use the
settings of `mod_custom_set`.
"""


def modbus_page() -> str:
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    default = Config()
    writers = " and ".join(default.modbus_writers)
    yield _SERVER.format(port=default.modbus_port, writers=writers)
    yield _COILS
    yield _number_labels(
        (*modbus.SWITCHED, *(f"reset of {label}" for label in modbus.RESET)),
    )
    yield "\n" + _INPUTS
    yield _number_labels(modbus.DISCRETE_INPUTS)
    yield "\n" + _DUTIES.format(most=modbus.MAX_DUTY, scale=modbus.TARGET_SCALE)
    yield table(
        ("address", "content"),
        [
            *((str(address), label) for address, label in enumerate(modbus.DUTIES)),
            (str(modbus.TARGET_AT), f"PID target x{modbus.TARGET_SCALE}"),
            (_pair(modbus.TARGET_FLOAT_AT), "PID target as float"),
        ],
    )
    yield "\n" + _READINGS.format(scale=modbus.LONG_SCALE)
    yield table(
        (
            "reading",
            "float at",
            "whole number at",
            "scale",
            f"32 bits, x{modbus.LONG_SCALE} at",
        ),
        [
            (
                label,
                _pair(modbus.FLOATS_AT + 2 * number),
                str(modbus.WHOLES_AT + number),
                f"x{scale}",
                _pair(modbus.LONGS_AT + 2 * number),
            )
            for number, (label, scale) in enumerate(modbus.SCALES.items())
        ],
    )
    yield "\n" + _MODULES.format(stale=f"{STALE_S:g}")
    for label, module in MODULES.items():
        yield from _module_parts(label, module)


def _pair(address: int) -> str:
    return f"{address}-{address + 1}"


def _number_labels(labels: tuple[str, ...]) -> str:
    return table(("address", "content"), [(str(n), label) for n, label in enumerate(labels)])


def _module_parts(label: str, module: Module) -> Iterator[str]:
    line = module.line
    bitrate = "the SDM bitrate" if module.is_sdm else f"{line.bitrate} bit/s"
    yield f"### {prose(label)}\n"
    yield f"Line: {bitrate}, parity {line.parity}, stop bits {line.stop_bits}.\n"
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
