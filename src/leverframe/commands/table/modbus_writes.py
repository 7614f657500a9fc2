"""Rows, all ours: writing to the modules in the Modbus slots, immediately and by rules.

The document only reads modules. A value goes to a coil or to one or two holding registers, and is
read back. Slots are counted from 1 here, as in `modbusmapping`.
"""

from typing import Any

from msgspec.structs import replace

from leverframe.commands.table import codes
from leverframe.commands.table.codes import HW35_ANY
from leverframe.commands.table.params import (
    Changed,
    Depends,
    Flag,
    Int,
    Scaled,
    Text,
    Trailing,
    Word,
)
from leverframe.commands.table.refusals import Conflict
from leverframe.commands.table.row import row
from leverframe.commands.table.stage import Stage
from leverframe.engine.actions import MODBUS_WRITES, WriteToModule
from leverframe.engine.settings import ModbusWrite, has_module
from leverframe.profile import ALWAYS

SLOT = Changed(((HW35_ANY, Int(1, 3)), (ALWAYS, Int(1, 1))))
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
#: Any of these, for settings that come from files.
ANY_VALUE = Scaled(1000, -0x80000000 * 1000, 0xFFFFFFFF * 1000)
NUMBER = Int(1, len(MODBUS_WRITES))
#: The setting of a write that each field sets.
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
    # Devices on a module may move, as devices on an output do.
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


ROWS = (
    row(
        "GET /stm.cgi?mod_write=<A>*<B>*<C>*<D>*<E>",
        A=SLOT,
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
        doc="Write the value of MODBUS WRITE A for when its rule begins to act (B = 1) or "
        "stops (B = 0), as `mod_write` does.",
    ),
)
