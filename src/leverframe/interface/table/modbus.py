"""Rows: Modbus slots, custom devices, the mapping to m1-m30, its names, and the TCP server."""

from typing import Any

from msgspec.structs import replace

from leverframe.core.engine.calls import MODBUS_WRITES, WriteToModule
from leverframe.core.profile import ALWAYS
from leverframe.core.settings import ModbusMapping, ModbusWrite, has_module
from leverframe.interface.table import codes
from leverframe.interface.table.bodies import ListBody
from leverframe.interface.table.codes import HW35_ANY, HW35_SW, SW
from leverframe.interface.table.params import (
    MAPPED_READING,
    MAPPED_SLOT,
    Changed,
    Depends,
    Flag,
    Int,
    ListOf,
    MappingItem,
    Param,
    Scaled,
    Text,
    Trailing,
    Word,
)
from leverframe.interface.table.refusals import Conflict
from leverframe.interface.table.row import row
from leverframe.interface.table.shape import Item
from leverframe.interface.table.stage import Stage

SLAVE_ID = Int(1, 247)
#: In versions with slots, two digits are a slot and an ID; only a single digit is an ID without a
#: slot.
SINGLE_SLAVE_ID = Changed(((HW35_ANY, Int(1, 9)), (ALWAYS, SLAVE_ID)))
CUSTOM_INDEX = Changed(((HW35_SW["1.57"], Int(0, 4)), (ALWAYS, Int(0, 2))))

SLOT = Changed(((HW35_ANY, Int(0, 2)), (ALWAYS, Int(0, 0))))
_PORT = (
    r"(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))"
)
ADDRESS = Text(
    63,
    pattern=rf"|(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]){_PORT}?",
    form="a host name or address with an optional :port, or nothing",
    fitting=("", "192.168.1.20", "meter.example:1502", "[fd00::7]:502"),
    unfitting=("two words", "host:0", "host:65536", "fd00::7", "http://host"),
)
MODULE = "GET /stm.cgi?modbus_sensor=<A><B>"
READING_ITEM = Item("m<A><B>=<C>*<D>*<E>*<F>*<G>*<H>*<I>")
READING_FIELDS: dict[str, Param] = {
    "A": CUSTOM_INDEX,
    "B": Int(0, 29),
    "C": Text(15),
    "D": Text(15),
    "E": Word(codes.DIVISORS, numeric=True),
    "F": Int(0, 65535),
    "G": Int(1, 4),
    "H": Word(codes.MODBUS_TYPES),
    "I": Trailing(Word(codes.ENDIANS), "none", SW["1.57"]),
}
#: The same fields, with all types of readings.
ALL_READING_FIELDS = READING_FIELDS | {"H": Word(codes.MODBUS_ALL_TYPES)}
#: The number of readings of all custom devices together.
MAX_READINGS = 5 * 30
#: By field: the setting of a custom reading that it sets.
READING_SETTINGS = {
    "C": "name",
    "D": "unit",
    "E": "divisor",
    "F": "register",
    "G": "function",
    "H": "type",
    "I": "endian",
}


def save_readings(stage: Stage, items: list[dict[str, Any]]) -> None:
    for item in items:
        path = f"modbus_devices.{item['A']}.readings.{item['B']}"
        reading = stage.settings.modbus_devices[item["A"]].readings[item["B"]]
        values = {name: item[letter] for letter, name in READING_SETTINGS.items() if letter in item}
        stage.set(path, replace(reading, **values))


def map_readings(stage: Stage, A: tuple[tuple[int, int], ...]) -> None:
    stage.set("modbus_mapping", tuple(ModbusMapping(slot, reading) for slot, reading in A))


ROWS = (
    row(
        MODULE,
        A=Int(0, 2),
        B=Word(codes.MODBUS_MODULES),
        sets="modbus_slots.{A}.module",
        when=HW35_ANY,
        doc="Choose the module connected in Modbus slot A.",
    ),
    row(
        "GET /stm.cgi?modbus_sensor=<A>",
        A=Word(codes.MODBUS_MODULES_SINGLE),
        sets="modbus_slots.0.module",
        replaced_by=MODULE,
        doc="Choose the module of the single slot (slot 1).",
    ),
    row(
        "GET /stm.cgi?modbusid=<A><B>",
        A=Int(0, 2),
        B=SLAVE_ID,
        sets="modbus_slots.{A}.slave_id",
        when=HW35_ANY,
        example={"A": "0", "B": "12"},
        doc="Set the slave ID of Modbus slot A.",
    ),
    row(
        "GET /stm.cgi?modbusid=<A>",
        A=SINGLE_SLAVE_ID,
        sets="modbus_slots.0.slave_id",
        doc="Set the slave ID of the single slot (slot 1); on HW 3.5+ only IDs of one digit.",
    ),
    row(
        "GET /stm.cgi?modbusmapping=<A>",
        A=ListOf(MappingItem(), 30),
        run=map_readings,
        limits={"modbus_mapping.*.slot": MAPPED_SLOT, "modbus_mapping.*.reading": MAPPED_READING},
        example={"A": "*".join(["10", "11", "112"] + ["00"] * 27)},
        when=HW35_SW["1.36"],
        doc="Map readings to m1-m30: slot digit (0 inactive, 1-3 modules, 4-6 additional 1-Wire "
        "sensors) followed by the reading number, for example 112 for reading 12 of slot 1.",
    ),
    row(
        "GET /stm.cgi?mod_custom_set<A>=<B>*<C>*<D>*<E>*<F>",
        A=CUSTOM_INDEX,
        B=Text(15),
        C=Word(codes.BITRATES, numeric=True),
        D=Word(codes.PARITIES),
        E=Int(1, 2),
        F=Trailing(Scaled(10, 0, 32767), 0.0, SW["1.40"]),
        sets={
            "B": "modbus_devices.{A}.name",
            "C": "modbus_devices.{A}.bitrate",
            "D": "modbus_devices.{A}.parity",
            "E": "modbus_devices.{A}.stop_bit",
            "F": "modbus_devices.{A}.delay",
        },
        example={"B": "Heat%20pump", "F": "2"},
        when=HW35_SW["1.36"],
        doc="Describe custom Modbus device A: name, bitrate, parity, stop bits, delay between "
        "register reads in tenths of a second.",
    ),
    row(
        "POST /post.cgi?mod_custom_save",
        body=ListBody(READING_ITEM, READING_FIELDS, MAX_READINGS),
        run=save_readings,
        limits={
            f"modbus_devices.*.readings.*.{name}": READING_FIELDS[letter]
            for letter, name in READING_SETTINGS.items()
        },
        example={"B": "0", "C": "Flow", "D": "l/min"},
        when=HW35_SW["1.36"],
        doc="Describe readings of custom Modbus devices: name, unit, divisor, register, function, "
        "type, endian.",
    ),
    row(
        "GET /stm.cgi?modbuson=<A>",
        A=Flag(),
        sets="modbus_tcp.enabled",
        when=HW35_ANY,
        shown="Modbus TCP server",
        doc="Switch the Modbus TCP server on or off.",
    ),
)
#: Our own rows: the connection of a slot, and more types of readings.
FURTHER_ROWS = (
    row(
        "GET /stm.cgi?modbusline<A>=<B>*<C>*<D>",
        A=SLOT,
        B=Word(codes.SLOT_BITRATES, numeric=True),
        C=Word(codes.SLOT_PARITIES),
        D=Word(codes.SLOT_STOP_BITS, numeric=True),
        sets={
            "B": "modbus_slots.{A}.bitrate",
            "C": "modbus_slots.{A}.parity",
            "D": "modbus_slots.{A}.stop_bits",
        },
        example={"A": "0", "B": "5", "C": "2", "D": "1"},
        doc="Set bitrate, parity and stop bits of the module in Modbus slot A; 0 keeps the "
        "default of the module.",
    ),
    row(
        "GET /stm.cgi?modbushost<A>=<B>",
        A=SLOT,
        B=ADDRESS,
        sets="modbus_slots.{A}.host",
        example={"A": "0", "B": "192.168.1.20:502"},
        doc="Poll the module in Modbus slot A over Modbus TCP at this host and port (502 by "
        "default); empty for the serial bus.",
    ),
    row(
        "GET /stm.cgi?mname=<A>*<B>",
        A=Int(0, 29),
        B=Text(15),
        sets="modbus_names.{A}",
        example={"A": "0", "B": "House%20power"},
        doc="Name a reading of m1-m30 (A 0-29); empty for its name in the list of the module.",
    ),
    row(
        "POST /post.cgi?modbus_readings_save",
        body=ListBody(READING_ITEM, ALL_READING_FIELDS, MAX_READINGS),
        run=save_readings,
        limits={
            f"modbus_devices.*.readings.*.{name}": ALL_READING_FIELDS[letter]
            for letter, name in READING_SETTINGS.items()
        },
        example={"B": "0", "C": "Energy", "D": "kWh", "H": "4"},
        when=HW35_SW["1.36"],
        doc="Describe readings of custom Modbus devices as `mod_custom_save` does, with "
        "additional types: uint16, uint32, int64, float64.",
    ),
)


# Our own rows: writing to the modules in the Modbus slots, immediately and by rules.
#
# The commands of the document only read modules. A value is written to a coil or to one or two
# holding registers, and read back. Slots are counted from 1, as in `modbusmapping`.

WRITTEN_SLOT = Changed(((HW35_ANY, Int(1, 3)), (ALWAYS, Int(1, 1))))
SLOT_OR_NONE = Changed(((HW35_ANY, Int(0, 3)), (ALWAYS, Int(0, 1))))
REGISTER = Int(0, 65535)
TYPE = Word(codes.WRITTEN_TYPES)
ENDIAN = Word(codes.ENDIANS)
FLOAT = Scaled(1000)
_VALUES = (
    (("coil",), Scaled(1, 0, 1)),
    (("int16",), Scaled(1, -0x8000, 0x7FFF)),
    (("uint16",), Scaled(1, 0, 0xFFFF)),
    (("int32",), Scaled(1)),
    (("uint32",), Scaled(1, 0, 0xFFFFFFFF)),
    (("float",), FLOAT),
)
#: The range of all types together, for settings in files.
ANY_VALUE = Scaled(1000, -0x80000000 * 1000, 0xFFFFFFFF * 1000)
NUMBER = Int(1, len(MODBUS_WRITES))
#: By field: the setting of a write that it sets.
SETTINGS = {
    "B": "name",
    "C": "slot",
    "D": "register",
    "E": "type",
    "F": "on_value",
    "G": "off_value",
    "H": "endian",
}


def write_now(stage: Stage, A: int, B: int, C: str, D: float, E: str = "none") -> None:
    _write(stage, ModbusWrite(slot=A, register=B, type=C, endian=E), D)


def run_write(stage: Stage, A: int, B: bool) -> None:
    write = stage.settings.modbus_writes[A - 1]
    if not write.slot:
        raise Conflict(
            f"{MODBUS_WRITES[A - 1]} is not set up; describe it with mod_write_set{A}=...",
            field="A",
            value=str(A),
        )
    _write(stage, write, write.on_value if B else write.off_value)


def _write(stage: Stage, write: ModbusWrite, value: float) -> None:
    # Outputs of a module can move devices, like the controller's own outputs.
    stage.check_unlocked(f"Modbus slot {write.slot}")
    if not has_module(stage.settings, write.slot):
        raise Conflict(
            f"No module is chosen for Modbus slot {write.slot}; choose one with modbus_sensor=...",
            field="A",
            value=str(write.slot),
        )
    stage.do(WriteToModule(write.slot, write.register, write.type, write.endian, value))


def set_write(stage: Stage, A: int, **fields: Any) -> None:
    values = {SETTINGS[letter]: value for letter, value in fields.items()}
    old = stage.settings.modbus_writes[A - 1]
    stage.set(f"modbus_writes.{A - 1}", replace(old, **values))


WRITE_ROWS = (
    row(
        "GET /stm.cgi?mod_write=<A>*<B>*<C>*<D>*<E>",
        A=WRITTEN_SLOT,
        B=REGISTER,
        C=TYPE,
        D=Depends("C", _VALUES),
        E=Trailing(ENDIAN, "none"),
        run=write_now,
        example={"A": "1", "B": "100", "C": "1", "D": "215", "E": "0"},
        doc="Write a value to a coil or register of the module in slot A (1-3): register, "
        "type, value (a float times 1000), endian. The value is read back before the "
        "response is sent; status 502 gives the reason if this fails. Must be the only "
        "command of its request. Refused while outputs are locked.",
    ),
    row(
        "GET /stm.cgi?mod_write_set<A>=<B>*<C>*<D>*<E>*<F>*<G>*<H>",
        A=NUMBER,
        B=Text(15),
        C=SLOT_OR_NONE,
        D=REGISTER,
        E=TYPE,
        F=Depends("E", _VALUES),
        G=Depends("E", _VALUES),
        H=Trailing(ENDIAN, "none"),
        run=set_write,
        limits={
            "modbus_writes.*.name": Text(15),
            "modbus_writes.*.slot": SLOT_OR_NONE,
            "modbus_writes.*.register": REGISTER,
            "modbus_writes.*.type": TYPE,
            "modbus_writes.*.on_value": ANY_VALUE,
            "modbus_writes.*.off_value": ANY_VALUE,
            "modbus_writes.*.endian": ENDIAN,
        },
        example={
            "A": "1",
            "B": "Night%20setpoint",
            "C": "1",
            "D": "100",
            "E": "1",
            "F": "180",
            "G": "215",
            "H": "0",
        },
        doc="Describe MODBUS WRITE A for rules: name, slot (0 none), register, type, the "
        "value when the rule begins to act, the value when it stops (floats times 1000), "
        "endian.",
    ),
    row(
        "GET /stm.cgi?mod_write_run=<A><B>",
        A=NUMBER,
        B=Flag(),
        run=run_write,
        example={"A": "1", "B": "1"},
        doc="Write the start value (B = 1) or the end value (B = 0) of MODBUS WRITE A, as"
        " `mod_write` does.",
    ),
)
