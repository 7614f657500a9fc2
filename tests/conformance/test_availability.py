"""Every availability note of the interface document, typed from the document and not from the code.

`NOTES` holds what a version brings or takes away: a command, a profile just before and at the
version, and what comes of it. The codes have a file of their own.
"""

from typing import Any

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import value_at
from tests.cases import for_each
from tests.conformance.outcomes import (
    BAD,
    CUSTOM_SAVE,
    CUSTOM_SET,
    GONE,
    NOT_YET,
    OK,
    event,
    outcome,
    profile_of,
)


def items(count: int, *first: str, of: str = "00") -> str:
    return "*".join([*first, *[of] * (count - len(first))])


MAPPING = "/stm.cgi?modbusmapping="
TOP, LEFT, VISIBLE = "/stm.cgi?postop=0*", "/stm.cgi?posleft=0*", "/stm.cgi?echeck="
OLED_GET, OLED_POST = "/stm.cgi?oled=1*a*b*c*d", "/post.cgi?oled_save enabled=1&line44=x"

#: Command -> what comes of it on which profile; a mapping is what the settings hold afterwards.
NOTES: dict[str, dict[str, int | dict[str, Any]]] = {
    # Modbus
    "/stm.cgi?modbus_sensor=21": {
        "3.0 1.75": BAD,
        "3.5 1.10": {"modbus_slots.2.module": "SDM120"},
        "3.9 1.75": {"modbus_slots.2.module": "SDM120"},
    },
    "/stm.cgi?modbus_sensor=7": {
        "3.0 1.10": {"modbus_slots.0.module": "refrigeration controller EKC 202C"},
        "3.9 1.75": {"modbus_slots.0.module": "refrigeration controller EKC 202C"},
    },
    "/stm.cgi?modbus_sensor=8": {"3.0 1.75": BAD, "3.9 1.75": BAD},
    "/stm.cgi?modbusid=12": {
        "3.0 1.10": {"modbus_slots.0.slave_id": 12},
        "3.0 1.75": {"modbus_slots.0.slave_id": 12},
        "3.5 1.10": {"modbus_slots.1.slave_id": 2, "modbus_slots.0.slave_id": 1},
        "3.9 1.75": {"modbus_slots.1.slave_id": 2, "modbus_slots.0.slave_id": 1},
    },
    "/stm.cgi?modbusid=5": {
        "3.0 1.75": {"modbus_slots.0.slave_id": 5},
        "3.5 1.10": {"modbus_slots.0.slave_id": 5},
    },
    "/stm.cgi?modbusid=247": {
        "3.0 1.75": {"modbus_slots.0.slave_id": 247},
        "3.9 1.75": {"modbus_slots.2.slave_id": 47},
    },
    "/stm.cgi?modbusid=0247": {"3.9 1.75": {"modbus_slots.0.slave_id": 247}},
    "/stm.cgi?modbusid=45": {"3.0 1.75": {"modbus_slots.0.slave_id": 45}, "3.5 1.75": BAD},
    "/stm.cgi?modbusid=248": {"3.0 1.75": BAD},
    "/stm.cgi?modbuson=1": {
        "3.0 1.75": NOT_YET,
        "3.5 1.10": {"modbus_tcp.enabled": True},
    },
    MAPPING + items(30, "329"): {
        "3.0 1.75": NOT_YET,
        "3.5 <1.36": NOT_YET,
        "3.5 1.36": {"modbus_mapping.0.slot": 3, "modbus_mapping.0.reading": 29},
    },
    MAPPING + items(29): {"3.5 1.36": BAD},
    MAPPING + items(31): {"3.5 1.36": BAD},
    MAPPING + items(30, "40"): {"3.5 <1.57": BAD, "3.5 1.57": {"modbus_mapping.0.slot": 4}},
    MAPPING + items(30, "62"): {"3.9 <1.57": BAD, "3.9 1.57": {"modbus_mapping.0.slot": 6}},
    MAPPING + items(30, "70"): {"3.9 1.75": BAD},
    MAPPING + items(30, "130"): {"3.9 1.75": BAD},
    CUSTOM_SET + "0=Pump*0*1*1": {
        "3.0 1.75": NOT_YET,
        "3.5 <1.36": NOT_YET,
        "3.5 1.36": {"modbus_devices.0.parity": "even", "modbus_devices.0.bitrate": 9600},
        "3.9 1.75": {"modbus_devices.0.delay": 0.0},
    },
    CUSTOM_SET + "2=x*0*0*1": {"3.5 1.36": OK, "3.5 <1.57": OK, "3.5 1.57": OK},
    CUSTOM_SET + "3=x*0*0*1": {"3.5 <1.57": BAD, "3.5 1.57": {"modbus_devices.3.name": "x"}},
    CUSTOM_SET + "4=x*0*0*1": {"3.5 <1.57": BAD, "3.5 1.57": {"modbus_devices.4.name": "x"}},
    CUSTOM_SET + "5=x*0*0*1": {"3.5 1.57": BAD},
    CUSTOM_SET + "0=x*0*0*1*25": {
        "3.5 <1.40": BAD,
        "3.5 1.40": {"modbus_devices.0.delay": 2.5},
    },
    CUSTOM_SAVE + "00=T*K*0*100*3*0&&": {
        "3.0 1.75": NOT_YET,
        "3.5 <1.36": NOT_YET,
        "3.5 1.36": {"modbus_devices.0.readings.0.register": 100},
    },
    CUSTOM_SAVE + "229=T*K*0*1*3*0&&": {
        "3.5 1.36": {"modbus_devices.2.readings.29.name": "T"},
    },
    CUSTOM_SAVE + "230=T*K*0*1*3*0&&": {"3.5 1.75": BAD},
    CUSTOM_SAVE + "30=T*K*0*1*3*0&&": {"3.5 <1.57": BAD, "3.5 1.57": OK},
    CUSTOM_SAVE + "429=T*K*0*1*3*0&&": {"3.5 <1.57": BAD, "3.5 1.57": OK},
    CUSTOM_SAVE + "00=T*K*0*1*3*0*3&&": {
        "3.5 <1.57": BAD,
        "3.5 1.57": {"modbus_devices.0.readings.0.endian": "byte and word"},
    },
    # PWM
    "/stm.cgi?pwmf=050": {"3.0 1.10": {"pwm_frequency.0": 50}, "3.9 1.75": OK},
    "/stm.cgi?pwmf=010": {
        "3.0 1.58a": BAD,
        "3.0 1.75": BAD,
        "3.5 1.49d": BAD,
        "3.5 1.49e": {"pwm_frequency.0": 10},
        "3.9 1.75": {"pwm_frequency.0": 10},
    },
    "/stm.cgi?pwmf=1100001": {"3.0 1.58a": BAD, "3.5 1.49e": {"pwm_frequency.1": 100_001}},
    "/stm.cgi?pwmf=1100000": {"3.0 1.10": {"pwm_frequency.1": 100_000}, "3.9 1.49": OK},
    "/stm.cgi?pwmf=049": {"3.5 1.49": BAD, "3.5 1.49d": BAD, "3.5 1.49e": OK},
    "/stm.cgi?pwmf=01": {"3.9 1.49d": BAD, "3.9 1.57": {"pwm_frequency.0": 1}},
    "/stm.cgi?pwmf=0100001": {"3.5 1.49d": BAD, "3.5 1.49e": {"pwm_frequency.0": 100_001}},
    "/stm.cgi?pwmf=11000000": {"3.9 1.49d": BAD, "3.9 1.75": {"pwm_frequency.1": 1_000_000}},
    "/stm.cgi?pwmf=01000001": {"3.9 1.75": BAD},
    "/stm.cgi?pwmt=32147483647": {
        "3.0 1.75": NOT_YET,
        "3.5 <1.30": NOT_YET,
        "3.5 1.30": {"pwm.3.change_time": 2147483647},
    },
    # outputs
    "/outs.cgi?roafs=51": {
        "3.0 1.75": NOT_YET,
        "3.9 <1.30": NOT_YET,
        "3.9 1.30": {"outputs.5.remember": True},
    },
    # GSM
    "/stm.cgi?gsmapn=%22internet%22,%22%22,%22%22": {
        "3.0 1.75": NOT_YET,
        "3.5 <1.40": NOT_YET,
        "3.5 1.40": {"gsm.apn": '"internet","",""'},
    },
    # user interface and stored variables
    "/eeprom.cgi?bit0=1": {
        "3.0 1.75": {"ui.auto_sign_in": False, "variables.bits.0": 1},
        "3.5 <1.24": {"ui.auto_sign_in": False, "variables.bits.0": 1},
        "3.5 1.24": {"ui.auto_sign_in": True, "variables.bits.0": 1},
        "3.5 <1.67": {"ui.auto_sign_in": True, "variables.bits.0": 1},
        "3.5 1.67": {"ui.auto_sign_in": False, "variables.bits.0": 1},
        "3.8 1.67": {"ui.auto_sign_in": False, "variables.bits.0": 1},
        "3.9 1.67": {"ui.auto_sign_in": True, "variables.bits.0": 1},
        "3.9 <1.75": {"ui.auto_sign_in": True, "variables.bits.0": 1},
        "3.9 1.75": {"ui.auto_sign_in": False, "variables.bits.0": 1},
    },
    "/eeprom.cgi?bit1=1": {
        "3.0 1.75": {"ui.firmware_check": False, "variables.bits.1": 1},
        "3.5 <1.32c": {"ui.firmware_check": False, "variables.bits.1": 1},
        "3.5 1.32c": {"ui.firmware_check": True, "variables.bits.1": 1},
    },
    "/eeprom.cgi?bit2=1": {
        "3.0 <1.45b": {"ui.homepage": "Status for user", "ui.names_only": False},
        "3.0 1.45b": {"ui.homepage": "Status", "ui.names_only": False, "variables.bits.2": 1},
        "3.0 1.75": {"ui.homepage": "Status", "ui.names_only": False, "variables.bits.2": 1},
        "3.5 <1.45b": {"ui.homepage": "Status for user", "ui.names_only": False},
        "3.5 1.45b": {"ui.homepage": "Status", "ui.names_only": False, "variables.bits.2": 1},
        "3.5 <1.57": {"ui.homepage": "Status", "ui.names_only": False, "variables.bits.2": 1},
        "3.5 1.57": {"ui.homepage": "Status", "ui.names_only": True, "variables.bits.2": 1},
    },
    "/eeprom.cgi?bit2=2": {"3.5 1.44": BAD, "3.5 1.49": BAD, "3.5 1.57": BAD},
    "/eeprom.cgi?bit3=1": {
        "3.0 1.75": {"ui.user_read_only": False, "variables.bits.3": 1},
        "3.5 <1.57": {"ui.user_read_only": False, "variables.bits.3": 1},
        "3.5 1.57": {"ui.user_read_only": True, "variables.bits.3": 1},
    },
    "/eeprom.cgi?byte0=3": {
        "3.0 1.75": {"ui.homepage": "Status", "variables.bytes.0": 3},
        "3.5 <1.44": {"ui.homepage": "Status", "variables.bytes.0": 3},
        "3.5 1.44": {"ui.homepage": "Modbus", "variables.bytes.0": 3},
        "3.9 1.75": {"ui.homepage": "Modbus", "variables.bytes.0": 3},
    },
    "/eeprom.cgi?byte0=-128": {"3.5 <1.44": {"variables.bytes.0": -128}, "3.5 1.44": BAD},
    "/eeprom.cgi?byte0=4": {"3.0 1.75": {"variables.bytes.0": 4}, "3.9 1.75": BAD},
    "/eeprom.cgi?word0=2": {"3.0 1.10": BAD, "3.9 1.75": BAD},
    "/eeprom.cgi?word0=3": {"3.0 1.10": {"ui.refresh": 30, "variables.words.0": 3}},
    # analog inputs
    "/inpa.cgi?sensor=020": {
        "3.0 1.75": BAD,
        "3.5 1.10": {"analog_inputs.0.sensor": "HV DC meter"},
    },
    "/inpa.cgi?sensor=420": {"3.5 1.75": BAD},
    # differential readings
    "/inpa.cgi?diffsel=5*0*3*11": {
        "3.0 1.75": NOT_YET,
        "3.5 <1.49": NOT_YET,
        "3.5 1.49": {
            "differentials.5.first": "INPA1",
            "differentials.5.operator": "/",
            "differentials.5.second": "DS6",
        },
    },
    "/inpa.cgi?diffsel=212": {
        "3.0 1.10": {"differentials.2.first": "T1"},
        "3.9 1.75": {"differentials.2.first": "T1"},
    },
    "/inpa.cgi?diffsel=513": {
        "3.0 1.10": {"differentials.2.second": "H1"},
        "3.9 1.75": {"differentials.2.second": "H1"},
    },
    "/inpa.cgi?diffzsel=23": {
        "3.0 1.10": {"differentials.2.operator": "/"},
        "3.0 1.75": {"differentials.2.operator": "/"},
        "3.5 <1.49": {"differentials.2.operator": "/"},
        "3.5 1.49": GONE,
        "3.9 1.75": GONE,
    },
    "/stm.cgi?diffname=5Heat": {
        "3.0 1.75": NOT_YET,
        "3.5 <1.60a": NOT_YET,
        "3.5 1.60a": {"differentials.5.name": "Heat"},
    },
    # OLED
    OLED_POST: {
        "3.0 <1.44": NOT_YET,
        "3.5 <1.44": NOT_YET,
        "3.0 1.44": {"oled.screens.3.lines": ("", "", "", "x")},
        "3.5 1.44": {"oled.enabled": True},
    },
    OLED_GET: {
        "3.0 1.10": {"oled.enabled": True, "oled.screens.0.lines": ("a", "b", "c", "d")},
        "3.5 <1.44": {"oled.enabled": True},
        "3.0 1.44": GONE,
        "3.5 1.44": GONE,
        "3.9 1.75": GONE,
    },
    # event entries
    event(M=2): {
        "3.0 1.75": BAD,
        "3.5 <1.45": BAD,
        "3.5 1.45": {"rules.0.value": 2, "rules.0.on_delay": 0},
    },
    event(M=3): {"3.5 1.45": BAD},
    event(N=60, P=0): {"3.0 1.75": BAD, "3.5 <1.57": BAD, "3.5 1.57": {"rules.0.on_delay": 60}},
    event(O=40, P=0): {"3.0 1.75": BAD, "3.5 <1.57": BAD, "3.5 1.57": {"rules.0.depends": 40}},
    event(O=41, P=0): {"3.5 1.57": BAD},
    event(P=2): {"3.0 1.75": BAD, "3.5 <1.57": BAD, "3.5 1.57": {"rules.0.mode": 2}},
    event(P=3): {"3.5 1.57": BAD},
    event(L=9): {"3.0 1.10": {"rules.0.off_delay": 9}, "3.9 1.75": {"rules.0.off_delay": 9}},
    event(A=19): {"3.0 1.10": OK, "3.9 1.75": OK},
    event(A=20): {"3.0 1.10": BAD, "3.9 1.75": BAD},
    # power and energy
    "/inpa.cgi?pown=3Flat": {"3.0 1.10": {"power.3.name": "Flat"}, "3.9 1.75": OK},
    "/inpa.cgi?pown=4Flat": {
        "3.0 1.75": BAD,
        "3.5 <1.49": BAD,
        "3.5 1.49": {"power.4.name": "Flat"},
    },
    "/inpa.cgi?pown=6Flat": {"3.9 1.75": BAD},
    "/inpa.cgi?powsel=5*9": {
        "3.0 1.75": NOT_YET,
        "3.5 <1.49": NOT_YET,
        "3.5 1.49": {"power.5.current": "INPD4"},
    },
    "/inpa.cgi?powsel=11*10": {"3.5 1.49": {"power.5.voltage": "225V"}},
    "/inpa.cgi?powsel=12*0": {"3.9 1.75": BAD},
    "/inpa.cgi?powsel=39": {
        "3.0 1.10": {"power.3.current": "INPD4"},
        "3.9 1.75": {"power.3.current": "INPD4"},
    },
    "/inpa.cgi?powsel=712": {
        "3.0 1.10": {"power.3.voltage": "235V"},
        "3.9 1.75": {"power.3.voltage": "235V"},
    },
    "/inpa.cgi?powsel=80": {"3.0 1.10": BAD, "3.9 1.75": BAD},
    "/inpa.cgi?powim=5800": {
        "3.0 1.75": BAD,
        "3.5 <1.49": BAD,
        "3.5 1.49": {"power.5.pulses": 800},
    },
    "/inpa.cgi?powset=31000": {"3.0 1.10": OK, "3.9 1.75": OK},
    "/inpa.cgi?powset=51000": {"3.0 1.75": BAD, "3.5 <1.49": BAD, "3.5 1.49": OK},
    "/inpa.cgi?eclear=3": {"3.0 1.10": OK, "3.5 1.56a": OK, "3.9 1.75": OK},
    "/inpa.cgi?eclear=4": {"3.9 1.75": BAD},
    "/inpa.cgi?peunit=01": {
        "3.0 1.75": NOT_YET,
        "3.5 1.10": {"power.0.unit": "W/kWh"},
    },
    # event variables
    "/outs.cgi?vout7=1": {"3.0 1.75": NOT_YET, "3.5 <1.36": NOT_YET, "3.5 1.36": OK},
    "/outs.cgi?vout8=1": {"3.5 1.36": BAD},
    "/stm.cgi?eventname=7Night": {
        "3.0 1.75": NOT_YET,
        "3.9 <1.60a": NOT_YET,
        "3.9 1.60a": {"event_variables.7.name": "Night"},
    },
    # status page layout
    TOP + items(43, of="5"): {"3.0 <1.44": OK, "3.5 <1.44": OK, "3.0 1.44": BAD, "3.5 1.44": BAD},
    TOP + items(78, of="5"): {
        "3.5 <1.44": BAD,
        "3.5 1.44": {"layout.top": (5,) * 78},
        "3.5 <1.49": OK,
        "3.5 1.49": BAD,
    },
    TOP + items(79, of="5"): {"3.0 <1.49": BAD, "3.0 1.49": OK, "3.9 1.75": OK},
    TOP + items(80, of="5"): {"3.9 1.75": BAD},
    LEFT + items(43, of="5"): {"3.5 <1.44": OK, "3.5 1.44": BAD},
    LEFT + items(78, of="5"): {"3.5 1.44": {"layout.left": (5,) * 78}, "3.5 1.49": BAD},
    LEFT + items(79, of="5"): {"3.5 <1.49": BAD, "3.5 1.49": OK},
    VISIBLE + "0" * 87: {"3.5 <1.44": {"layout.visible": (False,) * 87}, "3.5 1.44": BAD},
    VISIBLE + "0" * 118: {"3.5 <1.44": BAD, "3.5 1.44": OK, "3.5 <1.49": OK, "3.5 1.49": BAD},
    VISIBLE + "0" * 132: {"3.0 <1.49": BAD, "3.0 1.49": OK, "3.9 1.75": OK},
    VISIBLE + "0" * 133: {"3.9 1.75": BAD},
    # from the public facts about the device family: schedule values, additional 1-Wire names
    "/post.cgi?sched_save &s0=x*0*2*0*0*1*1&&": {
        "3.0 1.75": BAD,
        "3.5 <1.45": BAD,
        "3.5 1.45": {"schedule.0.value": 2},
    },
    "/stm.cgi?onewirename22=Pool": {
        "3.0 1.75": NOT_YET,
        "3.5 <1.57": NOT_YET,
        "3.5 1.57": {"onewire_extra.2.names.2": "Pool"},
    },
}


@for_each(
    ("request_text", "profile", "expected"),
    [
        pytest.param(request, profile_of(text), expected, id=f"{text} {request[:60]}")
        for request, expectations in NOTES.items()
        for text, expected in expectations.items()
    ],
)
def test_version_brings_and_takes_what_the_document_says(
    request_text: str, profile: Profile, expected: int | dict[str, Any]
) -> None:
    came = outcome(request_text, profile)
    if isinstance(expected, dict):
        assert isinstance(came, Settings), came
        assert {path: value_at(came, path) for path in expected} == expected
    else:
        assert (OK if isinstance(came, Settings) else came) == expected
