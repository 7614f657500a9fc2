"""The parts of a controller that can have problems: their names for users, and their pages.

A trouble is noted by its part in short, such as `http1` or `1-Wire sensor 28:FF:...`. The names
here are those of the pages; `words/parts.json` has them in the other languages.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from leverframe.commands.table.codes import I2C_SENSORS
from leverframe.engine.findings import page_of
from leverframe.engine.labels import LABELS
from leverframe.hardware.module_mapping import SLOT_TROUBLES


class TroubledPart(Struct, frozen=True):
    #: The places are what stands in the groups of the pattern.
    name: str
    page: str


_EMAIL, _HTTP, _GSM, _MQTT, _SNMP = (
    f"messages?open={group}" for group in ("email", "http", "gsm", "mqtt", "snmp")
)
_DISPLAY, _MODBUS_SERVER, _BACKUP = (
    f"system?open={group}" for group in ("display", "modbus_server", "backup")
)
_SENSORS, _JOURNAL = "things?thing=all-sensors", "log"

#: The pattern of the part in short -> the part. What is not here is called as it is noted.
PARTS = {
    "email": TroubledPart("E-mail", _EMAIL),
    r"http(\d)": TroubledPart("HTTP request {}", _HTTP),
    "sms": TroubledPart("SMS", _GSM),
    "GSM modem": TroubledPart("GSM modem", _GSM),
    "mqtt": TroubledPart("MQTT", _MQTT),
    "MQTT broker": TroubledPart("MQTT broker", _MQTT),
    "MQTT access": TroubledPart("MQTT access", _MQTT),
    "snmp": TroubledPart("SNMP traps", _SNMP),
    r"snmp(\d)": TroubledPart("SNMP traps {}", _SNMP),
    "SNMP agent": TroubledPart("SNMP agent", _SNMP),
    "Modbus TCP server": TroubledPart("Modbus server", _MODBUS_SERVER),
    **{
        slot: TroubledPart(slot, page_of(f"SLOT{number}")) for number, slot in SLOT_TROUBLES.items()
    },
    **{
        rf"{slot} {kind} (\d+)": TroubledPart(f"{slot}, {kind} {{}}", page_of(f"SLOT{number}"))
        for number, slot in SLOT_TROUBLES.items()
        for kind in ("coil", "register")
    },
    "1-Wire bus": TroubledPart("1-Wire bus", _SENSORS),
    "1-Wire sensor (.+)": TroubledPart("1-Wire sensor {}", _SENSORS),
    r"I2C bus (\d+)": TroubledPart("I2C bus {}", _SENSORS),
    **{sensor: TroubledPart(sensor, _SENSORS) for sensor in ("SPS30", *I2C_SENSORS)},
    "converter (.+)": TroubledPart("Converter {}", _SENSORS),
    "serial port": TroubledPart("Serial port", _SENSORS),
    "serial module": TroubledPart("Serial module", _SENSORS),
    "display": TroubledPart("Display", _DISPLAY),
    "store": TroubledPart("Storage", _BACKUP),
    "recovery": TroubledPart("Recovery", _BACKUP),
    "secrets": TroubledPart("Stored secrets", _BACKUP),
    "history": TroubledPart("History", _BACKUP),
    "snapshots": TroubledPart("Snapshots", _BACKUP),
    "HTTPS redirect": TroubledPart("HTTPS redirect", _JOURNAL),
    "bootloader": TroubledPart("Bootloader", _JOURNAL),
    "node": TroubledPart("Node", _JOURNAL),
    "discovery": TroubledPart("Discovery", _JOURNAL),
}


def part_of(noted: str) -> TroubledPart:
    """Return the name of a part for users, and the page that sets it up."""
    if noted in LABELS:
        return TroubledPart(noted, page_of(noted))
    for pattern, part in PARTS.items():
        if found := re.fullmatch(pattern, noted):
            return replace(part, name=part.name.format(*found.groups()))
    return TroubledPart(noted, _JOURNAL)
