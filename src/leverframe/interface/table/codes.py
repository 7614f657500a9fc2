"""The code tables of the interface document: codes, the words for them, and their versions.

The same reading has different codes in different commands, and event entries have three dialects.
The program itself uses only the words (`DS1`, `PT1000`, `RESET ENERGY5`); these tables translate in
both directions. Spans limit a code to some versions.
"""

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from leverframe.core.engine.calls import MODBUS_WRITES, PULSES
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    EVENT_VARIABLES,
    MAPPED,
    ONEWIRE,
    OUTPUTS,
    POWERS,
    PWMS,
)
from leverframe.core.profile import ALWAYS, HW30, HW35, Profile, Spans, VersionSpan, is_offered


class Code(Struct, frozen=True):
    number: int
    word: str
    when: Spans = ALWAYS


class CodeTable:
    """A table of codes and words, with the codes of each version."""

    def __init__(self, name: str, *groups: Iterable[Code]) -> None:
        self.name = name
        self.codes = tuple(code for group in groups for code in group)

    def of(self, profile: Profile) -> tuple[Code, ...]:
        return _codes_of(self, profile)

    def word(self, number: int, profile: Profile) -> str | None:
        for code in self.of(profile):
            if code.number == number:
                return code.word
        return None

    def number(self, word: str, profile: Profile) -> int | None:
        for code in self.of(profile):
            if code.word == word:
                return code.number
        return None

    def only(self, name: str, numbers: Iterable[int]) -> "CodeTable":
        """Return the part of the table with these numbers."""
        wanted = set(numbers)
        return CodeTable(name, (code for code in self.codes if code.number in wanted))


@lru_cache(maxsize=1024)
def _codes_of(table: CodeTable, profile: Profile) -> tuple[Code, ...]:
    """List the codes of a version; cached, because every command with a code uses it."""
    return tuple(code for code in table.codes if is_offered(code.when, profile))


def span(
    since: str | None = None, *, hw: tuple[str, ...] = HW35, until: str | None = None
) -> Spans:
    return (VersionSpan(hw, since, until),)


def run(first: int, words: Iterable[str], when: Spans = ALWAYS) -> tuple[Code, ...]:
    """Assign consecutive numbers to words, from `first` on."""
    return tuple(Code(first + offset, word, when) for offset, word in enumerate(words))


SW = {sw: (VersionSpan(since=sw),) for sw in ("1.38", "1.40", "1.42b", "1.44", "1.57")}
HW35_ANY = span()
HW35_SW = {
    sw: span(sw)
    for sw in (
        "1.19",
        "1.21",
        "1.30",
        "1.36",
        "1.40",
        "1.43e",
        "1.44",
        "1.45",
        "1.45b",
        "1.49",
        "1.57",
        "1.60a",
    )
}

# --- readings as sources -------------------------------------------------------------------------

#: Codes 0-26 and 47-49, which the PID regulator and rules share.
_SOURCES = (
    *run(0, ("VCC",)),
    *run(1, ANALOG_INPUTS),
    *run(7, ("TEMP", "T1", "H1")),
    *run(10, ONEWIRE[:6]),
    *run(22, ONEWIRE[6:]),
    *run(16, DIFFERENTIALS[:2]),
    *run(26, DIFFERENTIALS[2:3]),
    *run(18, ("P1", "CO2")),
    *run(24, ("PM1.0",)),
    *run(20, ("PM2.5",)),
    *run(25, ("PM4.0",)),
    *run(21, ("PM10.0",)),
)
_LATE_DIFFERENTIALS = run(47, DIFFERENTIALS[3:], HW35_SW["1.49"])

PID_SOURCES = CodeTable(
    "PID input",
    _SOURCES,
    _LATE_DIFFERENTIALS,
    run(27, POWERS[:4], HW35_SW["1.36"]),
    run(50, POWERS[4:], HW35_SW["1.49"]),
)

#: HW 3.0 has the analog codes 0-46 without the version notes of HW 3.5+.
_HW30 = span(hw=HW30)

RULE_SOURCES = CodeTable(
    "rule source",
    _SOURCES,
    _LATE_DIFFERENTIALS,
    run(27, POWERS[:4], HW35_SW["1.19"] + _HW30),
    run(50, POWERS[4:], HW35_SW["1.49"]),
    run(31, ("DISTANCE",), HW35_SW["1.21"] + _HW30),
    run(32, ENERGIES[:4], HW35_SW["1.40"] + _HW30),
    run(52, ENERGIES[4:], HW35_SW["1.49"]),
    run(36, MAPPED[:10], HW35_SW["1.40"] + _HW30),
    run(46, ("DEWPOINT",), HW35_SW["1.45b"] + _HW30),
    run(100, DIGITAL_INPUTS, HW35_ANY),
    run(104, EVENT_VARIABLES, HW35_ANY),
    run(112, OUTPUTS, HW35_ANY),
    run(118, ("MQTT",), HW35_SW["1.19"]),
    run(123, PWMS, HW35_SW["1.43e"]),
    run(50, DIGITAL_INPUTS, _HW30),
    run(54, EVENT_VARIABLES[:4], _HW30),
    run(58, OUTPUTS, _HW30),
    run(64, EVENT_VARIABLES[4:], _HW30),
    run(68, ("MQTT",), _HW30),
    run(73, PWMS, _HW30),
)

DIFFERENTIAL_INPUTS = CodeTable(
    "differential input",
    run(0, ANALOG_INPUTS),
    run(6, ONEWIRE[:6]),
    run(22, ONEWIRE[6:]),
    run(12, ("T1", "H1")),
    run(35, ("DEWPOINT",), HW35_SW["1.57"]),
    run(14, POWERS[:4]),
    run(31, POWERS[4:], HW35_SW["1.49"]),
    run(18, ENERGIES[:4]),
    run(33, ENERGIES[4:], HW35_SW["1.49"]),
    run(24, ("VCC",), HW35_ANY + span("1.58a", hw=HW30)),
    run(25, DIFFERENTIALS[:3], HW35_SW["1.36"] + span("1.58a", hw=HW30)),
    run(28, DIFFERENTIALS[3:], HW35_SW["1.49"]),
)
#: The older two-digit form of `diffsel` has the codes up to 27.
DIFFERENTIAL_INPUTS_OLDER = DIFFERENTIAL_INPUTS.only("differential input", range(28))
DIFFERENTIAL_OPERATORS = CodeTable("operator", run(0, ("-", "+", "*", "/")))

CURRENT_INPUTS = CodeTable(
    "current input",
    run(0, ANALOG_INPUTS),
    run(6, DIGITAL_INPUTS),
    run(10, MAPPED[:4], HW35_ANY),
)
VOLTAGE_INPUTS = CodeTable(
    "voltage input",
    run(0, ANALOG_INPUTS),
    run(10, ("225V", "230V", "235V")),
    run(13, ("VCC",), HW35_SW["1.19"]),
    run(14, MAPPED[:4], HW35_SW["1.57"]),
)
#: The document shows the older two-digit form of `powsel` with codes up to 12, but the notes of
#: code 13 (m4, VCC) name versions that have only this form.
CURRENT_INPUTS_OLDER = CURRENT_INPUTS.only("current input", range(14))
VOLTAGE_INPUTS_OLDER = VOLTAGE_INPUTS.only("voltage input", range(14))

# --- rules ---------------------------------------------------------------------------------------

COMPARISONS = CodeTable("comparison", run(0, (">=", "<")))
RULE_OPERATORS = CodeTable("operator", run(0, ("-", "AND", "OR", "NAND", "NOR", "XOR")))

_MODERN = HW35_SW["1.45"]
_ELDER = span(until="1.45") + _HW30
_ELDER_HW35 = span(until="1.45")


def _set_to_0_and_1(labels: Iterable[str]) -> tuple[str, ...]:
    """Write actions with their value, as older dialects do: `OUT0=0`, `OUT0=1`, `OUT1=0`..."""
    return tuple(f"{label}={value}" for label in labels for value in (0, 1))


RULE_ACTIONS = CodeTable(
    "action",
    run(0, (*OUTPUTS, *PWMS, *EVENT_VARIABLES), _MODERN),
    run(18, (f"AutoSwitch {label}" for label in OUTPUTS), _MODERN),
    run(24, ("HTTP1", "HTTP2", "HTTP3", "HTTP4"), _MODERN),
    run(28, ("eMail 1", "eMail 2", "eMail 3", "eMail 4"), _MODERN),
    run(32, ("SMS1", "SMS2", "SMS3", "SMS4"), _MODERN),
    run(36, (f"RESET {label}" for label in ENERGIES[:4]), _MODERN),
    run(40, ("SNMP trap", "MQTT", "OLED ON/NEXT SCREEN"), _MODERN),
    run(43, (f"OLED - SET SCREEN {n}" for n in range(1, 5)), HW35_SW["1.49"]),
    run(47, ("ENABLE PID",), HW35_SW["1.49"]),
    run(48, (f"RESET {label}" for label in ENERGIES[4:]), HW35_SW["1.49"]),
    # the dialects before HW 3.5+ SW 1.45 and of HW 3.0
    run(0, _set_to_0_and_1((*OUTPUTS, *PWMS)), _ELDER),
    run(20, ("HTTP1", "HTTP2", "HTTP3", "HTTP4"), _ELDER),
    run(24, ("eMail",), _HW30),
    run(25, ("SNMP trap", "SMS1", "SMS2", "SMS3", "SMS4"), _ELDER),
    run(30, _set_to_0_and_1(EVENT_VARIABLES[4:]), _ELDER),
    run(38, (f"AutoSwitch {label}" for label in OUTPUTS), _ELDER),
    run(44, ("MQTT", "eMail 1", "eMail 2", "eMail 3", "eMail 4"), _ELDER_HW35),
    run(49, _set_to_0_and_1(EVENT_VARIABLES[:4]), _ELDER),
    run(57, (f"RESET {label}" for label in ENERGIES[:4]), span("1.40", until="1.45")),
    run(61, ("OLED ON/NEXT SCREEN",), span("1.44", until="1.45")),
    # our own codes, far from all codes of the document and its later versions
    run(200, MODBUS_WRITES),
    run(210, PULSES),
)

# --- schedule ------------------------------------------------------------------------------------

_SCHEDULE_36 = HW35_SW["1.36"]
_SCHEDULE_OLD = span(until="1.36") + _HW30
SCHEDULE_ACTIONS = CodeTable(
    "schedule action",
    run(0, (*OUTPUTS, *PWMS)),
    run(10, (*EVENT_VARIABLES, "RESTART"), _SCHEDULE_36),
    run(19, (f"RESET {label}" for label in ENERGIES[:4]), _SCHEDULE_36),
    run(23, ("OLED ON/NEXT SCREEN",), HW35_SW["1.44"]),
    run(24, (f"RESET {label}" for label in ENERGIES[4:]), HW35_SW["1.49"]),
    run(26, (f"COUNT {label}" for label in ENERGIES), HW35_SW["1.49"]),
    run(10, (*EVENT_VARIABLES[:4], "RESTART"), _SCHEDULE_OLD),
    run(15, (f"RESET {label}" for label in ENERGIES[:4]), span(until="1.36")),
)
WATCHDOG_OUTPUTS = CodeTable("watchdog output", run(0, (*OUTPUTS, *PWMS)))

# --- inputs, buses, units ------------------------------------------------------------------------

ANALOG_SENSORS = CodeTable(
    "sensor",
    run(
        0,
        (
            "off",
            "vin=3.3V/5V",
            "vin=33V/55V",
            "ACS711EX_15",
            "ACS711EX_30",
            "ACS709_75",
            "R=0.1",
            "R=0.05",
            "R=0.01",
            "LA100-P",
            "SCT-013-000",
            "SCT-013-030",
            "TR-12V",
            "PT1000",
            "4..20mA",
            "AC meter",
            "ACS711LC-12.5A",
            "ACS711LC-25A",
            "ACS712-20A",
            "WCS1800",
        ),
    ),
    run(20, ("HV DC meter",), HW35_ANY),
)
#: INPA1-INPA4 have an amplifier and support other sensors than INPA5-INPA6, which have none.
ANALOG_SENSORS_1_TO_4 = ANALOG_SENSORS.only("INPA1-INPA4 sensor", (*range(14), *range(15, 21)))
ANALOG_SENSORS_5_TO_6 = ANALOG_SENSORS.only("INPA5-INPA6 sensor", (*range(10), *range(13, 19)))
GAINS = CodeTable("gain", run(1, ("1", "10", "50")))

SERIAL_MODULES = CodeTable(
    "serial module",
    run(
        0,
        (
            "OFF",
            "GSM modem SIM800L",
            "lighting module",
            "PM sensor SDS011",
            "CO2 sensor MH-Z16/19",
            "PM sensor SPS30",
        ),
    ),
    # Gap: the document calls the meters "older"; SW 1.21 introduced the distance sensor.
    run(6, ("SDM120", "SDM72D-M"), span(until="1.21") + _HW30),
    run(6, ("bar/QR code scanner", "ultrasonic distance sensor"), HW35_SW["1.21"]),
    run(8, ("82comfort module",), SW["1.38"]),
    run(9, ("GMQ125",), SW["1.40"]),
)
I2C_SENSORS = ("NONE", "BME280", "AM2320", "HTS221")

_MODBUS_MODULES = run(
    0,
    (
        "OFF",
        "SDM120",
        "SDM72D-M",
        "RDO-PRO-X",
        "charge controller (solar)",
        "solar inverter",
        "GTIL",
        "refrigeration controller EKC 202C",
    ),
)
MODBUS_MODULES = CodeTable(
    "module",
    _MODBUS_MODULES,
    run(8, ("SDM630/72D-v2", "DTSU666"), HW35_SW["1.57"]),
    run(100, ("custom1", "custom2", "custom3"), HW35_SW["1.36"]),
    run(103, ("custom4", "custom5"), HW35_SW["1.57"]),
)
MODBUS_MODULES_SINGLE = CodeTable("module", _MODBUS_MODULES)
BITRATES = CodeTable(
    "bitrate",
    run(0, ("9600", "19200", "38400", "57600", "115200")),
    run(5, ("4800",), SW["1.42b"]),
)
PARITIES = CodeTable("parity", run(0, ("none", "even")), run(2, ("odd",), SW["1.57"]))
DIVISORS = CodeTable(
    "divisor",
    run(0, ("1", "10", "100")),
    run(3, ("1000",), HW35_SW["1.49"]),
    run(4, ("10000",), HW35_SW["1.57"]),
)
MODBUS_TYPES = CodeTable("type", run(0, ("int16", "int32", "float")))
#: Our own codes: the types of values that can be written to a module.
WRITTEN_TYPES = CodeTable(
    "written type", run(0, ("coil", "int16", "uint16", "int32", "uint32", "float"))
)
#: Our own codes in addition to those of the document.
MODBUS_ALL_TYPES = CodeTable(
    "any type", run(0, ("int16", "int32", "float", "uint16", "uint32", "int64", "float64"))
)
SLOT_BITRATES = CodeTable(
    "slot bitrate",
    run(0, ("0", "1200", "2400", "4800", "9600", "19200", "38400", "57600", "115200")),
)
SLOT_PARITIES = CodeTable("slot parity", run(0, ("module", "none", "even", "odd")))
SLOT_STOP_BITS = CodeTable("slot stop bits", run(0, ("0", "1", "2")))
ENDIANS = CodeTable("endian", run(0, ("none", "byte", "word", "byte and word")))

ENERGY_UNITS = CodeTable(
    "unit",
    run(0, ("kW/kWh", "W/kWh", "l/min/m3", "m3/h/m3")),
    run(4, ("kW->W/kWh", "W->kW/kWh"), SW["1.57"]),
)

# --- notifications -------------------------------------------------------------------------------

SNMP_PRIVACIES = CodeTable("privacy", run(0, ("none", "AES-128", "AES-256")))

# --- pages ---------------------------------------------------------------------------------------

LANGUAGES = CodeTable("language", run(0, ("PL", "EN", "FR", "HU", "CZ")))
HOMEPAGES = CodeTable("homepage", run(0, ("Status", "Status for user", "Serial Port", "Modbus")))
FIRST_RUN_STEPS = CodeTable(
    "step of the first run", run(0, ("place", "password", "find", "names", "rule", "done"))
)
HOMEPAGES_OLDER = HOMEPAGES.only("homepage", range(2))
