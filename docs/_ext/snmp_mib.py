"""The MIB file, written from the tree: for managers that want names instead of numbers."""

from collections.abc import Iterator

from leverframe.devices.wire.snmp import (
    BRANCHES,
    ENTERPRISE,
    NO_MODULE,
    NO_SENSOR,
    SCALARS,
    TRAP_FIELDS,
    Scalar,
)

_HEAD = f"""\
LEVERFRAME-MIB DEFINITIONS ::= BEGIN

IMPORTS
    MODULE-IDENTITY, OBJECT-TYPE, NOTIFICATION-TYPE, Integer32, enterprises
        FROM SNMPv2-SMI
    DisplayString
        FROM SNMPv2-TC
    MODULE-COMPLIANCE, OBJECT-GROUP, NOTIFICATION-GROUP
        FROM SNMPv2-CONF;

leverframe MODULE-IDENTITY
    LAST-UPDATED "202611180000Z"
    ORGANIZATION "Leverframe"
    CONTACT-INFO "See the project's README."
    DESCRIPTION
        "Outputs, inputs, readings and meters of a controller. Values are whole numbers: the
        reading times its scale."
    REVISION "202611180000Z"
    DESCRIPTION "Traps carry the MAC address of the controller."
    REVISION "202611160000Z"
    DESCRIPTION "Groups of the objects and notifications."
    REVISION "202611150000Z"
    DESCRIPTION "First version."
    ::= {{ enterprises {ENTERPRISE[-1]} }}
"""
_TRAP_TEXTS = {
    "source": "The label of the reading or state in the first condition of the rule.",
    "value": "The value of the source when the rule acted, as text.",
    "text": "A sentence that describes the event.",
    "reason": "The rule that sent the trap.",
    "mac": "The MAC address of the controller, such as 02:1B:44:11:3A:B7.",
}
_SENDER = "sysName.0 and snmpTrapAddress.0 follow: the name and the address of the controller."
_TRAPS = {
    "ruleActivated": (1, "The condition of a rule with the action SNMP trap is met."),
    "ruleDeactivated": (2, "The condition of such a rule is no longer met."),
}


def mib_text() -> str:
    parts = (_branches(), _scalars(), _trap_fields(), _traps(), _conformance())
    return "\n".join([_HEAD, *(text for part in parts for text in part), "END\n"])


def symbol(label: str) -> str:
    """Name an object: `out0`, `ds1`, `pm2p5`."""
    return label.lower().replace(".", "p")


def _branches() -> Iterator[str]:
    for number, (name, words) in BRANCHES.items():
        yield f"-- {words}\n{name} OBJECT IDENTIFIER ::= {{ leverframe {number} }}\n"


def _scalars() -> Iterator[str]:
    for scalar in SCALARS:
        access = "read-write" if scalar.command else "read-only"
        syntax = "Integer32 (0..1)" if scalar.command else "Integer32"
        yield _object(
            symbol(scalar.label),
            syntax,
            access,
            _description(scalar),
            f"{BRANCHES[scalar.branch][0]} {scalar.number}",
        )


def _description(scalar: Scalar) -> str:
    scaled = f" times {scalar.scale}" if scalar.scale != 1 else ""
    missing = (
        f", {scalar.absent} if it is absent" if scalar.absent in (NO_SENSOR, NO_MODULE) else ""
    )
    return f"{scalar.label}{scaled}{missing}."


def _trap_fields() -> Iterator[str]:
    for number, name in enumerate(TRAP_FIELDS, start=1):
        yield _object(
            f"trap{name.capitalize()}",
            "DisplayString",
            "accessible-for-notify",
            _TRAP_TEXTS[name],
            f"{BRANCHES[7][0]} {number}",
        )


def _traps() -> Iterator[str]:
    yield "traps OBJECT IDENTIFIER ::= { leverframe 0 }\n"
    fields = ", ".join(f"trap{name.capitalize()}" for name in TRAP_FIELDS)
    for name, (number, words) in _TRAPS.items():
        yield (
            f"{name} NOTIFICATION-TYPE\n    OBJECTS {{ {fields} }}\n    STATUS current\n"
            f'    DESCRIPTION\n        "{words}\n        {_SENDER}"\n    ::= {{ traps {number} }}\n'
        )


def _conformance() -> Iterator[str]:
    yield "conformance OBJECT IDENTIFIER ::= { leverframe 8 }\n"
    groups = []
    for number, (branch, _) in BRANCHES.items():
        groups.append(f"{branch}Group")
        yield _group("OBJECT", groups[-1], _members(number), f"All {branch}.", number)
    groups.append("trapsGroup")
    yield _group("NOTIFICATION", groups[-1], list(_TRAPS), "All traps.", len(groups))
    yield (
        "compliance MODULE-COMPLIANCE\n    STATUS current\n"
        '    DESCRIPTION "A controller provides all of these groups."\n    MODULE\n'
        f"        MANDATORY-GROUPS {{ {_join_names(groups)} }}\n"
        f"    ::= {{ conformance {len(groups) + 1} }}\n"
    )


def _members(branch: int) -> list[str]:
    fields = [f"trap{name.capitalize()}" for name in TRAP_FIELDS] if branch == 7 else []
    return [symbol(scalar.label) for scalar in SCALARS if scalar.branch == branch] + fields


def _group(kind: str, name: str, members: list[str], words: str, number: int) -> str:
    return (
        f"{name} {kind}-GROUP\n    {kind}S {{ {_join_names(members)} }}\n    STATUS current\n"
        f'    DESCRIPTION "{words}"\n    ::= {{ conformance {number} }}\n'
    )


def _join_names(names: list[str]) -> str:
    return ",\n        ".join(names)


def _object(name: str, syntax: str, access: str, words: str, place: str) -> str:
    return (
        f"{name} OBJECT-TYPE\n    SYNTAX {syntax}\n    MAX-ACCESS {access}\n    STATUS current\n"
        f'    DESCRIPTION "{words}"\n    ::= {{ {place} }}\n'
    )
