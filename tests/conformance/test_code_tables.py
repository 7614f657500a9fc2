"""The code tables of the interface document, typed from it and not from the code.

Each is given for the profiles at which it changes, as the document writes it (`1-6 INPA1-INPA6`),
and every number from -1 to 130 is sent: exactly the codes of the table must be taken, and mean what
it says.
"""

import re

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import value_at
from tests.cases import for_each
from tests.conformance.outcomes import BAD, CUSTOM_SAVE, CUSTOM_SET, event, outcome, profile_of


def expand_labels(text: str) -> list[str]:
    """`INPA1-INPA6` is six labels, `T1` is one."""
    found = re.fullmatch(r"(.*?)(\d+)-\1(\d+)", text)
    if not found:
        return [text]
    return [f"{found[1]}{number}" for number in range(int(found[2]), int(found[3]) + 1)]


def code_table(text: str) -> dict[int, str]:
    """The document's way of writing codes: `0 VCC; 1-6 INPA1-INPA6`; `=` after a number is fine."""
    table: dict[int, str] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(";"))):
        numbers, _, label = entry.partition(" ")
        first, _, last = numbers.partition("-")
        labels = expand_labels(label)
        assert len(labels) == int(last or first) - int(first) + 1, entry
        table |= dict(enumerate(labels, start=int(first)))
    return table


def off_then_on(text: str) -> str:
    """`0-11 OUT0-OUT5` as the older dialects number it: OUT0=0, OUT0=1, OUT1=0..."""
    entries = []
    for entry in text.split("; "):
        numbers, _, label = entry.partition(" ")
        pairs = [f"{one}={value}" for one in expand_labels(label) for value in (0, 1)]
        start = int(numbers.partition("-")[0])
        entries += [f"{start + offset} {pair}" for offset, pair in enumerate(pairs)]
    return "; ".join(entries)


# PID inputs and sources of event entries
BASE_SOURCES = """0 VCC; 1-6 INPA1-INPA6; 7 TEMP; 8 T1; 9 H1; 10-15 DS1-DS6; 22 DS7; 23 DS8;
    16 DIFF1; 17 DIFF2; 26 DIFF3; 18 P1; 19 CO2; 24 PM1.0; 20 PM2.5; 25 PM4.0; 21 PM10.0;"""
POWERS_1_TO_4 = "27-30 POWER1-POWER4;"
POWERS_5_TO_6 = "50 POWER5; 51 POWER6;"
LATE_DIFFS = "47 DIFF4; 48 DIFF5; 49 DIFF6;"
DISTANCE = "31 DISTANCE;"
ENERGIES_AND_MAPPED = "32-35 ENERGY1-ENERGY4; 36-45 m1-m10;"
DEW_POINT = "46 DEWPOINT;"
ENERGIES_5_TO_6 = "52 ENERGY5; 53 ENERGY6;"
STATES_35 = "100-103 INPD1-INPD4; 104-111 EVENT1-EVENT8; 112-117 OUT0-OUT5;"
MQTT_35, PWMS_35 = "118 MQTT;", "123-126 PWM0-PWM3;"
STATES_30 = """50-53 INPD1-INPD4; 54-57 EVENT1-EVENT4; 58-63 OUT0-OUT5; 64-67 EVENT5-EVENT8;
    68 MQTT; 73-76 PWM0-PWM3;"""
SOURCES_30 = BASE_SOURCES + POWERS_1_TO_4 + DISTANCE + ENERGIES_AND_MAPPED + DEW_POINT + STATES_30
SOURCES_119 = BASE_SOURCES + STATES_35 + POWERS_1_TO_4 + MQTT_35
SOURCES_121 = SOURCES_119 + DISTANCE
SOURCES_140 = SOURCES_121 + ENERGIES_AND_MAPPED
SOURCES_143E = SOURCES_140 + PWMS_35
SOURCES_145B = SOURCES_143E + DEW_POINT
SOURCES_149 = SOURCES_145B + LATE_DIFFS + POWERS_5_TO_6 + ENERGIES_5_TO_6

# actions of event entries
AUTO_SWITCH = "AutoSwitch OUT0-AutoSwitch OUT5"
RESETS = "RESET ENERGY1-RESET ENERGY4"
MAILS = "eMail 1-eMail 4"
ACTIONS_145 = f"""0-5 OUT0-OUT5; 6-9 PWM0-PWM3; 10-17 EVENT1-EVENT8; 18-23 {AUTO_SWITCH};
    24-27 HTTP1-HTTP4; 28-31 {MAILS}; 32-35 SMS1-SMS4; 36-39 {RESETS}; 40 SNMP trap; 41 MQTT;
    42 OLED ON/NEXT SCREEN;"""
ACTIONS_149 = (
    ACTIONS_145
    + "43-46 OLED - SET SCREEN 1-OLED - SET SCREEN 4; 47 ENABLE PID;"
    + "48 RESET ENERGY5; 49 RESET ENERGY6;"
)
OLDER_ACTIONS = (
    off_then_on("0-11 OUT0-OUT5; 12-19 PWM0-PWM3; 30-37 EVENT5-EVENT8; 49-56 EVENT1-EVENT4")
    + f"; 20-23 HTTP1-HTTP4; 25 SNMP trap; 26-29 SMS1-SMS4; 38-43 {AUTO_SWITCH};"
)
ACTIONS_30 = OLDER_ACTIONS + "24 eMail;"
ACTIONS_35 = OLDER_ACTIONS + f"44 MQTT; 45-48 {MAILS};"
ACTIONS_140 = ACTIONS_35 + f"57-60 {RESETS};"
ACTIONS_144 = ACTIONS_140 + "61 OLED ON/NEXT SCREEN;"

# differential inputs
DIFF_BASE = """0-5 INPA1-INPA6; 6-11 DS1-DS6; 22 DS7; 23 DS8; 12 T1; 13 H1; 14-17 POWER1-POWER4;
    18-21 ENERGY1-ENERGY4;"""
DIFF_OLDER = DIFF_BASE + "24 VCC; 25-27 DIFF1-DIFF3;"
DIFF_149 = DIFF_OLDER + "31 POWER5; 32 POWER6; 33 ENERGY5; 34 ENERGY6; 28-30 DIFF4-DIFF6;"
DIFF_157 = DIFF_149 + "35 DEWPOINT;"

# power and energy
CURRENTS_30 = "0-5 INPA1-INPA6; 6-9 INPD1-INPD4;"
CURRENTS_35 = CURRENTS_30 + "10-13 m1-m4;"
VOLTAGES = "0-5 INPA1-INPA6; 10 225V; 11 230V; 12 235V;"
VOLTAGES_149 = VOLTAGES + "13 VCC;"
VOLTAGES_157 = VOLTAGES_149 + "14-17 m1-m4;"
UNITS = "0 kW/kWh; 1 W/kWh; 2 l/min/m3; 3 m3/h/m3;"
UNITS_157 = UNITS + "4 kW->W/kWh; 5 W->kW/kWh;"

# analog sensors
SENSORS_BOTH = """0 off; 1 vin=3.3V/5V; 2 vin=33V/55V; 3 ACS711EX_15; 4 ACS711EX_30; 5 ACS709_75;
    6 R=0.1; 7 R=0.05; 8 R=0.01; 9 LA100-P; 13 PT1000; 15 AC meter; 16 ACS711LC-12.5A;
    17 ACS711LC-25A; 18 ACS712-20A;"""
SENSORS_1_TO_4 = SENSORS_BOTH + "10 SCT-013-000; 11 SCT-013-030; 12 TR-12V; 19 WCS1800;"
SENSORS_1_TO_4_HW35 = SENSORS_1_TO_4 + "20 HV DC meter;"
SENSORS_5_TO_6 = SENSORS_BOTH + "14 4..20mA;"

# serial and Modbus modules
SERIAL = """0 OFF; 1 GSM modem SIM800L; 2 lighting module; 3 PM sensor SDS011;
    4 CO2 sensor MH-Z16/19; 5 PM sensor SPS30;"""
SERIAL_OLDER = SERIAL + "6 SDM120; 7 SDM72D-M;"
SERIAL_121 = SERIAL + "6 bar/QR code scanner; 7 ultrasonic distance sensor;"
COMFORT, GMQ125 = "8 82comfort module;", "9 GMQ125;"
MODULES_SINGLE = """0 OFF; 1 SDM120; 2 SDM72D-M; 3 RDO-PRO-X; 4 charge controller (solar);
    5 solar inverter; 6 GTIL; 7 refrigeration controller EKC 202C;"""
MODULES_136 = MODULES_SINGLE + "100-102 custom1-custom3;"
MODULES_157 = MODULES_136 + "8 SDM630/72D-v2; 9 DTSU666; 103 custom4; 104 custom5;"
BITRATES = "0 9600; 1 19200; 2 38400; 3 57600; 4 115200;"
DIVISORS = "0 1; 1 10; 2 100;"

# schedule: from the public facts about the device family
SCHEDULE_30 = "0-5 OUT0-OUT5; 6-9 PWM0-PWM3; 10-13 EVENT1-EVENT4; 14 RESTART;"
SCHEDULE_OLDER = SCHEDULE_30 + f"15-18 {RESETS};"
SCHEDULE_136 = f"0-5 OUT0-OUT5; 6-9 PWM0-PWM3; 10-17 EVENT1-EVENT8; 18 RESTART; 19-22 {RESETS};"
SCHEDULE_144 = SCHEDULE_136 + "23 OLED ON/NEXT SCREEN;"
SCHEDULE_149 = (
    SCHEDULE_144 + "24 RESET ENERGY5; 25 RESET ENERGY6; 26-31 COUNT ENERGY1-COUNT ENERGY6;"
)

PID = ("/stm.cgi?pidvalue=1*{}*215*1*1*1*3", "pid.source")
SOURCE_1 = (event(B="{}"), "rules.0.source")
SOURCE_2 = (event(H="{}"), "rules.0.source2")
ACTION = (event(G="{}"), "rules.0.action")
DIFF_FIRST = ("/inpa.cgi?diffsel=0*{}*1*0", "differentials.0.first")
DIFF_SECOND = ("/inpa.cgi?diffsel=5*0*1*{}", "differentials.5.second")
DIFF_FIRST_OLDER = ("/inpa.cgi?diffsel=1{}", "differentials.1.first")
DIFF_SECOND_OLDER = ("/inpa.cgi?diffsel=4{}", "differentials.1.second")
CURRENT = ("/inpa.cgi?powsel=5*{}", "power.5.current")
VOLTAGE = ("/inpa.cgi?powsel=6*{}", "power.0.voltage")
CURRENT_OLDER = ("/inpa.cgi?powsel=2{}", "power.2.current")
VOLTAGE_OLDER = ("/inpa.cgi?powsel=4{}", "power.0.voltage")
UNIT = ("/inpa.cgi?peunit=3{}", "power.3.unit")
SENSOR_4 = ("/inpa.cgi?sensor=3{}", "analog_inputs.3.sensor")
SENSOR_5 = ("/inpa.cgi?sensor=4{}", "analog_inputs.4.sensor")
SENSOR_6 = ("/inpa.cgi?sensor=5{}", "analog_inputs.5.sensor")
SERIAL_MODULE = ("/stm.cgi?usart_sensor={}", "serial.module")
MODULE = ("/stm.cgi?modbus_sensor=2{}", "modbus_slots.2.module")
MODULE_SINGLE = ("/stm.cgi?modbus_sensor={}", "modbus_slots.0.module")
BITRATE = (CUSTOM_SET + "1=x*{}*0*1", "modbus_devices.1.bitrate")
PARITY = (CUSTOM_SET + "1=x*0*{}*1", "modbus_devices.1.parity")
DIVISOR = (CUSTOM_SAVE + "10=x*x*{}*0*3*0&&", "modbus_devices.1.readings.0.divisor")
FUNCTION = (CUSTOM_SAVE + "10=x*x*0*0*{}*0&&", "modbus_devices.1.readings.0.function")
TYPE = (CUSTOM_SAVE + "10=x*x*0*0*3*{}&&", "modbus_devices.1.readings.0.type")
ENDIAN = (CUSTOM_SAVE + "10=x*x*0*0*3*0*{}&&", "modbus_devices.1.readings.0.endian")
SCHEDULE = ("/post.cgi?sched_save &s0=x*{}*1*0*0*1*1&&", "schedule.0.action")
GAIN = ("/inpa.cgi?sensor=01&igain=0{}", "analog_inputs.0.gain")
LANGUAGE = ("/stm.cgi?lang={}", "ui.language")
HOMEPAGE = ("/eeprom.cgi?byte0={}", "ui.homepage")
I2C = ("/stm.cgi?i2csensors={}", "i2c.primary")

#: (command and where its code goes, profiles, all codes they have)
CODES: list[tuple[tuple[str, str], str, str]] = [
    (PID, "3.0 1.10, 3.0 1.75, 3.5 <1.36", BASE_SOURCES),
    (PID, "3.5 1.36, 3.5 <1.49, 3.9 1.36", BASE_SOURCES + POWERS_1_TO_4),
    (
        PID,
        "3.5 1.49, 3.9 1.49, 3.9 1.75",
        BASE_SOURCES + POWERS_1_TO_4 + LATE_DIFFS + POWERS_5_TO_6,
    ),
    *(
        (source, profiles, table)
        for source in (SOURCE_1, SOURCE_2)
        for profiles, table in (
            ("3.0 1.10, 3.0 1.58a, 3.0 1.75", SOURCES_30),
            ("3.5 <1.19", BASE_SOURCES + STATES_35),
            ("3.5 1.19, 3.5 <1.21", SOURCES_119),
            ("3.5 1.21, 3.5 <1.40", SOURCES_121),
            ("3.5 1.40, 3.5 <1.43e", SOURCES_140),
            ("3.5 1.43e, 3.5 <1.45b", SOURCES_143E),
            ("3.5 1.45b, 3.5 <1.49", SOURCES_145B),
            ("3.5 1.49, 3.9 1.49, 3.9 1.75", SOURCES_149),
        )
    ),
    (ACTION, "3.0 1.10, 3.0 1.45, 3.0 1.75", ACTIONS_30),
    (ACTION, "3.5 1.10, 3.5 <1.40", ACTIONS_35),
    (ACTION, "3.5 1.40, 3.5 <1.44", ACTIONS_140),
    (ACTION, "3.5 1.44, 3.5 <1.45", ACTIONS_144),
    (ACTION, "3.5 1.45, 3.5 <1.49", ACTIONS_145),
    (ACTION, "3.5 1.49, 3.9 1.75", ACTIONS_149),
    (DIFF_FIRST, "3.5 1.49, 3.5 <1.57", DIFF_149),
    (DIFF_SECOND, "3.5 1.49, 3.5 <1.57", DIFF_149),
    (DIFF_FIRST, "3.5 1.57, 3.9 1.75", DIFF_157),
    (DIFF_SECOND, "3.5 1.57, 3.9 1.75", DIFF_157),
    (DIFF_FIRST_OLDER, "3.0 1.10, 3.0 <1.58a", DIFF_BASE),
    (DIFF_FIRST_OLDER, "3.0 1.58a, 3.5 1.36, 3.9 1.75", DIFF_OLDER),
    (DIFF_FIRST_OLDER, "3.5 <1.36", DIFF_BASE + "24 VCC"),
    (DIFF_SECOND_OLDER, "3.0 1.58a, 3.5 1.36, 3.9 1.75", DIFF_OLDER),
    (CURRENT, "3.5 1.49, 3.9 1.75", CURRENTS_35),
    (CURRENT_OLDER, "3.0 1.10, 3.0 1.75", CURRENTS_30),
    (CURRENT_OLDER, "3.5 1.10, 3.9 1.75", CURRENTS_35),
    (VOLTAGE, "3.5 1.49, 3.5 <1.57", VOLTAGES_149),
    (VOLTAGE, "3.5 1.57, 3.9 1.75", VOLTAGES_157),
    (VOLTAGE_OLDER, "3.0 1.10, 3.0 1.75, 3.5 <1.19", VOLTAGES),
    (VOLTAGE_OLDER, "3.5 1.19, 3.9 1.75", VOLTAGES_149),
    (UNIT, "3.5 1.10, 3.5 <1.57", UNITS),
    (UNIT, "3.5 1.57, 3.9 1.75", UNITS_157),
    (SENSOR_4, "3.0 1.10, 3.0 1.75", SENSORS_1_TO_4),
    (SENSOR_4, "3.5 1.10, 3.9 1.75", SENSORS_1_TO_4_HW35),
    (SENSOR_5, "3.0 1.10, 3.9 1.75", SENSORS_5_TO_6),
    (SENSOR_6, "3.0 1.10, 3.9 1.75", SENSORS_5_TO_6),
    (SERIAL_MODULE, "3.0 1.10, 3.5 <1.21", SERIAL_OLDER),
    (SERIAL_MODULE, "3.5 1.21, 3.5 <1.38", SERIAL_121),
    (SERIAL_MODULE, "3.5 1.38, 3.5 <1.40", SERIAL_121 + COMFORT),
    (SERIAL_MODULE, "3.5 1.40, 3.9 1.75", SERIAL_121 + COMFORT + GMQ125),
    (SERIAL_MODULE, "3.0 1.40", SERIAL_OLDER + COMFORT + GMQ125),
    (MODULE_SINGLE, "3.0 1.10, 3.0 1.75", MODULES_SINGLE),
    (MODULE, "3.5 <1.36", MODULES_SINGLE),
    (MODULE, "3.5 1.36, 3.5 <1.57", MODULES_136),
    (MODULE, "3.5 1.57, 3.9 1.75", MODULES_157),
    (BITRATE, "3.5 1.36, 3.5 <1.42b", BITRATES),
    (BITRATE, "3.5 1.42b, 3.9 1.75", BITRATES + "5 4800"),
    (PARITY, "3.5 1.36, 3.5 <1.57", "0 none; 1 even"),
    (PARITY, "3.5 1.57, 3.9 1.75", "0 none; 1 even; 2 odd"),
    (DIVISOR, "3.5 1.36, 3.5 <1.49", DIVISORS),
    (DIVISOR, "3.5 1.49, 3.5 <1.57", DIVISORS + "3 1000"),
    (DIVISOR, "3.5 1.57, 3.9 1.75", DIVISORS + "3 1000; 4 10000"),
    (FUNCTION, "3.5 1.36, 3.9 1.75", "1 1; 2 2; 3 3; 4 4"),
    (TYPE, "3.5 1.36, 3.9 1.75", "0 int16; 1 int32; 2 float"),
    (ENDIAN, "3.5 1.57, 3.9 1.75", "0 none; 1 byte; 2 word; 3 byte and word"),
    (GAIN, "3.0 1.10, 3.9 1.75", "1 1; 2 10; 3 50"),
    (LANGUAGE, "3.0 1.10, 3.9 1.75", "0 PL; 1 EN; 2 FR; 3 HU; 4 CZ"),
    (HOMEPAGE, "3.5 1.44, 3.9 1.75", "0 Status; 1 Status for user; 2 Serial Port; 3 Modbus"),
    (
        I2C,
        "3.0 1.10, 3.9 1.75",
        "1 NONE; 2 BME280; 4 AM2320; 8 HTS221; 17 NONE; 18 BME280; 20 AM2320; 24 HTS221",
    ),
    (SCHEDULE, "3.0 1.10, 3.0 1.75", SCHEDULE_30),
    (SCHEDULE, "3.5 1.10, 3.5 <1.36", SCHEDULE_OLDER),
    (SCHEDULE, "3.5 1.36, 3.5 <1.44", SCHEDULE_136),
    (SCHEDULE, "3.5 1.44, 3.5 <1.49", SCHEDULE_144),
    (SCHEDULE, "3.5 1.49, 3.9 1.75", SCHEDULE_149),
]


@for_each(
    ("command", "path", "profile", "codes"),
    [
        pytest.param(command, path, profile_of(text), codes, id=f"{text} {path}")
        for (command, path), profiles, codes in CODES
        for text in profiles.split(", ")
    ],
)
def test_version_has_exactly_the_codes_of_the_document(
    command: str, path: str, profile: Profile, codes: str
) -> None:
    came = {}
    for number in range(-1, 131):
        result = outcome(command.format(number), profile)
        if isinstance(result, Settings):
            came[number] = word_of(result, path)
        else:
            assert result == BAD, number
    assert came == code_table(codes)


def word_of(settings: Settings, path: str) -> str:
    """The word of a code; an action of an older dialect together with its value."""
    word = str(value_at(settings, path))
    switches = re.fullmatch(r"(OUT|PWM|EVENT)\d", word)
    is_older = Profile(settings.profile.hw, settings.profile.sw) in OLDER_DIALECTS
    if path == "rules.0.action" and switches and is_older:
        return f"{word}={settings.rules[0].value}"
    return word


OLDER_DIALECTS = [
    profile_of(text)
    for (_, path), profiles, codes in CODES
    if path == "rules.0.action" and "OUT0=0" in codes
    for text in profiles.split(", ")
]
