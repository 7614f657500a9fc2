"""SNMP as data: the tree of objects, and the first fields of a message."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    EVENT_VARIABLES,
    MAPPED,
    ONEWIRE,
    OUTPUTS,
    PARTICULATES,
    POWERS,
    PWMS,
)
from leverframe.core.profile import HW30, Profile, VersionSpan

# The opening of an SNMP message: its version, and the name of its sender (community or user).
#
# The first few bytes contain both. The rest of a message from an unknown sender is not parsed,
# because that would take thousands of times as long.

V1, V2C, V3 = 0, 1, 3
#: The user-based security model (RFC 3414), which has user names.
USM = 3
#: Bits of the flags of version 3: authenticated, private.
AUTHENTICATED, SECURED = 0b01, 0b11

_INTEGER, _TEXT, _SEQUENCE = 0x02, 0x04, 0x30
#: The types of requests, from Get to Report.
_REQUESTS = range(0xA0, 0xA9)
_MAX_INTEGER_BYTES = 5


class NotSnmp(ValueError):
    """The bytes are not an SNMP message that this agent supports."""


class Opening(NamedTuple):
    version: int
    #: The community, or the user of version 3.
    name: bytes
    #: Version 3: the message is authenticated and private.
    is_secured: bool = False
    #: Version 3: the message is authenticated and may also be private.
    is_authenticated: bool = False
    #: Version 3: the ID of the engine at which the user is defined; empty in a discovery request.
    engine_id: bytes = b""

    @property
    def is_discovery(self) -> bool:
        """Return whether this is a discovery request of version 3, sent before user requests."""
        return self.version == V3 and not self.name and not self.is_secured


def read_opening(datagram: bytes) -> Opening:
    """Read the opening; raise NotSnmp unless the datagram contains exactly one message."""
    message = _Fields(datagram)
    fields = _Fields(message.take(_SEQUENCE))
    message.end()
    version = fields.take_integer()
    if version in (V1, V2C):
        name = fields.take(_TEXT)
        fields.take(*_REQUESTS)
        fields.end()
        return Opening(version, name)
    if version == V3:
        return _read_v3(fields)
    raise NotSnmp(f"version {version}")


def _read_v3(fields: "_Fields") -> Opening:
    head = _Fields(fields.take(_SEQUENCE))
    for _ in ("message ID", "largest message"):
        head.take_integer()
    flags = head.take(_TEXT)
    if len(flags) != 1 or head.take_integer() != USM:
        raise NotSnmp("another security model")
    security = _Fields(_Fields(fields.take(_TEXT)).take(_SEQUENCE))
    engine_id = security.take(_TEXT)
    for _ in ("boots", "time"):
        security.take_integer()
    name, bits = security.take(_TEXT), flags[0]
    return Opening(V3, name, bits & SECURED == SECURED, bool(bits & AUTHENTICATED), engine_id)


class _Fields:
    """A reader of consecutive BER fields, with lengths in SNMP's form."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, *tags: int) -> bytes:
        """Return the content of the next field, which must have one of these tags."""
        data, at = self._data, self._at
        if len(data) < at + 2 or data[at] not in tags:
            raise NotSnmp("another field")
        size, begin = data[at + 1], at + 2
        if size & 0x80:
            digits = size & 0x7F
            if not 1 <= digits <= 4 or len(data) < begin + digits:
                raise NotSnmp("an invalid length")
            size, begin = int.from_bytes(data[begin : begin + digits], "big"), begin + digits
        self._at = begin + size
        if self._at > len(data):
            raise NotSnmp("a field beyond the end")
        return data[begin : self._at]

    def take_integer(self) -> int:
        content = self.take(_INTEGER)
        if not 1 <= len(content) <= _MAX_INTEGER_BYTES:
            raise NotSnmp("an invalid number")
        return int.from_bytes(content, "big", signed=True)

    def end(self) -> None:
        if self._at != len(self._data):
            raise NotSnmp("data after the end")


# The SNMP tree as data: objects with their places, labels and scales, and the commands that set
# them.
#
# The places and scales of branches 2 to 6 are those that clients of the device family use. Values
# are whole numbers: the reading times its scale, or, if the reading is absent, a number that means
# "no sensor" to clients. We defined the rest of the tree: switches in branch 1, readings of newer
# software at the end of their branches, and the content of traps in branch 7.
#
# Clients of HW 3.0 use an older tree below branch 3, which is one level deeper: `3.1.0` is INPA1
# with its instance, and `3.1.0.0` is OUT0 of the older tree with its instance. So the two trees
# have no place in common.

Oid = tuple[int, ...]

ENTERPRISE: Oid = (1, 3, 6, 1, 4, 1, 7616)
#: The system group of SNMPv2-MIB; its objects have the instance `.0`.
SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
SYS_UPTIME, SYS_NAME = (*SYSTEM, 3, 0), (*SYSTEM, 5, 0)
#: snmpTrapAddress.0 of SNMP-COMMUNITY-MIB: the address of the agent that a trap is about.
TRAP_ADDRESS: Oid = (1, 3, 6, 1, 6, 3, 18, 1, 3, 0)
#: The prefix of the numbers of traps: a rule began or ended.
TRAPS: Oid = (*ENTERPRISE, 0)
ACTIVATED, DEACTIVATED = (*TRAPS, 1), (*TRAPS, 2)
#: The content of a trap in this order: the rule's fields, then the identity of the controller.
RULE_FIELDS = ("source", "value", "text", "reason")
TRAP_FIELDS = (*RULE_FIELDS, "mac")
INT32 = 2**31 - 1

BRANCHES = {
    1: ("switches", "Outputs, PWM outputs and event variables; 1 is on."),
    2: ("digitalInputs", "Digital inputs."),
    3: ("analogInputs", "Analog inputs and the supply."),
    4: ("sensors", "Temperature, weather and air."),
    5: ("meters", "Power and energy."),
    6: ("modules", "Readings of Modbus modules."),
    7: ("trapFields", "Values that traps carry."),
}


class Scalar(Struct, frozen=True):
    """One object; its only instance is `.0`."""

    branch: int
    number: int
    label: str
    scale: int = 1
    #: The number for an absent value.
    absent: int = 0
    #: The command that sets the object, without `=` and value.
    command: str | None = None

    @property
    def oid(self) -> Oid:
        return (*ENTERPRISE, self.branch, self.number, 0)


def _in_branch(branch: int, *rows: tuple[tuple[str, ...], int, int]) -> list[Scalar]:
    """Assign numbers from 1 to labels with a common scale and absent value."""
    flat = [(label, scale, absent) for labels, scale, absent in rows for label in labels]
    return [Scalar(branch, number, *row) for number, row in enumerate(flat, start=1)]


def _switches() -> list[Scalar]:
    commands = (
        *(f"out{index}" for index in range(len(OUTPUTS))),
        *(f"pwm{index}" for index in range(len(PWMS))),
        *(f"vout{index}" for index in range(len(EVENT_VARIABLES))),
    )
    labels = (*OUTPUTS, *PWMS, *EVENT_VARIABLES)
    return [
        Scalar(1, number, label, command=command)
        for number, (label, command) in enumerate(zip(labels, commands, strict=True), start=1)
    ]


NO_SENSOR, NO_MODULE = -600, -1
SCALARS: tuple[Scalar, ...] = (
    *_switches(),
    *_in_branch(2, (DIGITAL_INPUTS, 1, 0)),
    *_in_branch(3, ((*ANALOG_INPUTS, "VCC", "TEMP"), 100, 0)),
    *_in_branch(
        4,
        ((*ONEWIRE, "T1", "H1"), 10, NO_SENSOR),
        (DIFFERENTIALS[:3], 1000, 0),
        (("P1",), 100, NO_SENSOR),
        (("CO2",), 1, NO_MODULE),
        (PARTICULATES, 10, NO_MODULE),
        (("DEWPOINT",), 10, NO_SENSOR),
        (("DISTANCE",), 1, NO_MODULE),
        (DIFFERENTIALS[3:], 1000, 0),
    ),
    *_in_branch(
        5,
        ((*POWERS[:4], *ENERGIES[:4]), 1000, 0),
        ((*POWERS[4:], *ENERGIES[4:]), 1000, 0),
    ),
    *_in_branch(6, (MAPPED, 100, 0)),
)
BY_OID: dict[Oid, Scalar] = {scalar.oid: scalar for scalar in SCALARS}

#: The older tree below branch 3: group, number of its first object, labels.
_OLDER_GROUPS: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (1, 0, (*OUTPUTS, *PWMS)),
    (2, 1, DIGITAL_INPUTS),
    (3, 1, (*ANALOG_INPUTS, "VCC", "TEMP")),
    (4, 1, (*ONEWIRE[:6], "T1", "H1", *DIFFERENTIALS[:2])),
    (5, 1, (*POWERS[:4], *ENERGIES[:4])),
)
_HAS_OLDER_TREE = VersionSpan(HW30)


def _older_tree() -> dict[Oid, Scalar]:
    """Return the older tree; like the newer one, it has values only at the instance `.0`."""
    by_label = {scalar.label: scalar for scalar in SCALARS}
    return {
        (*ENTERPRISE, 3, group, number, 0): by_label[label]
        for group, first, labels in _OLDER_GROUPS
        for number, label in enumerate(labels, start=first)
    }


def objects_of(profile: Profile) -> dict[Oid, Scalar]:
    """Return the objects of a controller by their place."""
    return BY_OID | _older_tree() if _HAS_OLDER_TREE.covers(profile) else BY_OID


class TrapContent(Struct, frozen=True):
    """The content of a trap at the moment when it is sent."""

    kind: Oid
    uptime_ticks: int
    fields: Mapping[Oid, str]
    #: The address on which only this controller listens, if there is one.
    address: str | None = None


def trap_field(name: str) -> Oid:
    return (*ENTERPRISE, 7, TRAP_FIELDS.index(name) + 1, 0)


def ticks(seconds: float) -> int:
    """Count hundredths of a second like SNMP, which wraps around after 497 days."""
    return int(seconds * 100) % 2**32


def whole(scalar: Scalar, value: float | int | None) -> int:
    """Return the number that a manager receives."""
    if value is None:
        return scalar.absent
    return round(max(-INT32 - 1.0, min(float(INT32), value * scalar.scale)))
