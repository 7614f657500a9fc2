"""Announcements for Home Assistant: every payload has the shape that its MQTT discovery takes."""

import re
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from leverframe.core.labels import ANALOG_INPUTS, READINGS, STATES
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, with_value
from leverframe.devices.wire.modbus_modules import MODULES
from leverframe.interface.table.command_text import calls_in
from leverframe.server.home_assistant import (
    Announcement,
    Controlled,
    PagesAddress,
    announcement,
    labels_to_announce,
)
from tests.cases import for_each

NEWEST = Profile()
TEXT = {"type": "string", "minLength": 1}
TOPIC = {"type": "string", "pattern": "^[^#+]+$"}
COMMON = {
    "name": TEXT,
    "unique_id": TEXT,
    "default_entity_id": {"type": "string", "pattern": r"^[a-z_]+\.[a-z0-9_]+$"},
    "state_topic": TOPIC,
    "availability": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {"topic": TOPIC, "value_template": TEXT},
            "required": ["topic"],
            "additionalProperties": False,
        },
    },
    "availability_mode": {"enum": ["all", "any", "latest"]},
    "device": {
        "type": "object",
        "properties": {
            "identifiers": {"type": "array", "items": TEXT, "minItems": 1},
            "connections": {
                "type": "array",
                "items": {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2},
            },
            **dict.fromkeys(("name", "manufacturer", "model", "hw_version", "sw_version"), TEXT),
            "configuration_url": {"type": "string", "pattern": "^https?://[^/]+/$"},
        },
        "required": ["identifiers", "name"],
        "additionalProperties": False,
    },
    "origin": {
        "type": "object",
        "properties": {"name": TEXT, "sw_version": TEXT},
        "required": ["name"],
        "additionalProperties": False,
    },
    "entity_category": {"enum": ["config", "diagnostic"]},
}
COMMAND = {"command_topic": TOPIC, "payload_on": TEXT, "payload_off": TEXT}
#: Which units each class of sensors takes.
UNITS_OF_CLASS = {
    "temperature": {"°C", "°F", "K"},
    "voltage": {"V", "mV"},
    "current": {"A", "mA"},
    "power": {"W", "kW"},
    "energy": {"Wh", "kWh", "MWh"},
    "atmospheric_pressure": {"hPa", "mbar", "Pa"},
    "pressure": {"hPa", "mbar", "Pa", "bar"},
    "humidity": {"%"},
    "carbon_dioxide": {"ppm"},
    "pm1": {"µg/m³"},
    "pm25": {"µg/m³"},
    "pm10": {"µg/m³"},
    "distance": {"mm", "cm", "m", "km"},
    "frequency": {"Hz", "kHz"},
    "volume_flow_rate": {"m³/h", "L/min"},
    "water": {"m³", "L"},
    "apparent_power": {"VA"},
    "reactive_power": {"var"},
    "duration": {"h", "min", "s"},
}
#: Classes that are counted; all others are measured.
COUNTED = {"energy", "water"}
OWN: dict[str, dict[str, Any]] = {
    "switch": {
        **COMMAND,
        "state_on": TEXT,
        "state_off": TEXT,
        "device_class": {"enum": ["outlet", "switch"]},
    },
    "number": {
        "command_topic": TOPIC,
        "command_template": TEXT,
        "min": {"type": "number"},
        "max": {"type": "number"},
        "step": {"type": "number", "exclusiveMinimum": 0},
        "mode": {"enum": ["auto", "box", "slider"]},
        "unit_of_measurement": TEXT,
    },
    "binary_sensor": {"payload_on": TEXT, "payload_off": TEXT, "value_template": TEXT},
    "sensor": {
        "value_template": TEXT,
        "state_class": {"enum": ["measurement", "total", "total_increasing"]},
        "unit_of_measurement": TEXT,
        "device_class": {"enum": list(UNITS_OF_CLASS)},
    },
}
VALIDATORS = {
    component: Draft202012Validator(
        {
            "type": "object",
            "properties": {**COMMON, **own},
            "required": ["name", "unique_id", "state_topic", "availability", "device"],
            "additionalProperties": False,
        }
    )
    for component, own in OWN.items()
}


def controller_of(settings: Settings, profile: Profile = NEWEST) -> Controlled:
    return Controlled("leverframe-0a1b2c", "02:00:00:0A:1B:2C", profile, settings, "1.0")


def all_announcements(settings: Settings, profile: Profile = NEWEST) -> dict[str, Announcement]:
    me = controller_of(settings, profile)
    return {label: announcement(label, me) for label in labels_to_announce(settings)}


def check(value: Announcement) -> None:
    discovery, component, node, name, end = value.topic.split("/")
    assert (discovery, end) == ("homeassistant", "config")
    assert re.fullmatch("[a-zA-Z0-9_-]+", node + name)
    VALIDATORS[component].validate(msgspec.json.decode(msgspec.json.encode(value.payload)))
    assert value.payload["default_entity_id"].startswith(f"{component}.")
    device_class = value.payload.get("device_class")
    if component == "sensor" and device_class:
        assert value.payload["unit_of_measurement"] in UNITS_OF_CLASS[device_class]
        is_counted = value.payload["state_class"] != "measurement"
        assert is_counted == (device_class in COUNTED)


@pytest.mark.parametrize("version", [("3.9", "1.75"), ("3.5", "1.49"), ("3.0", "1.58a")])
def test_every_announcement_has_the_shape_that_is_taken(version: tuple[str, str]) -> None:
    profile = Profile(*version)
    said = all_announcements(defaults(profile), profile)
    for one in said.values():
        check(one)
    ids = [one.payload["unique_id"] for one in said.values()]
    assert len(set(ids)) == len(ids)


def test_everything_that_has_a_label_is_announced_but_the_connection_itself() -> None:
    labels = set(labels_to_announce(defaults(NEWEST)))
    assert {*READINGS, *STATES} - labels == {"MQTT"}


def test_older_version_announces_only_the_meters_it_has() -> None:
    labels = labels_to_announce(defaults(Profile("3.0", "1.58a")))
    assert "POWER4" in labels
    assert not {"POWER5", "ENERGY5", "DIFF4"} & set(labels)


@for_each(
    ("sensor", "unit", "device_class"),
    [
        ("PT1000", "°C", "temperature"),
        ("SCT-013-030", "A", "current"),
        ("4..20mA", "mA", "current"),
        ("TR-12V", "V", "voltage"),
        ("off", None, None),
    ],
)
def test_analog_input_has_the_unit_of_its_sensor(
    sensor: str, unit: str | None, device_class: str | None
) -> None:
    settings = with_value(defaults(NEWEST), "analog_inputs.0.sensor", sensor)
    payload = all_announcements(settings)["INPA1"].payload
    assert payload.get("unit_of_measurement") == unit
    assert payload.get("device_class") == device_class


@for_each("unit", ["kW/kWh", "W/kWh", "l/min/m3", "m3/h/m3", "W->kW/kWh"])
def test_meter_has_the_units_of_its_setting(unit: str) -> None:
    said = all_announcements(with_value(defaults(NEWEST), "power.0.unit", unit))
    check(said["POWER1"])
    check(said["ENERGY1"])
    assert said["ENERGY1"].payload["state_class"] == "total_increasing"


@for_each("name", MODULES)
def test_every_reading_of_every_module_has_classes_that_go_with_its_unit(name: str) -> None:
    settings = with_value(defaults(NEWEST), "modbus_slots.0.module", name)
    for reading in MODULES[name].readings:
        settings = with_value(settings, "modbus_mapping.0.slot", 1)
        settings = with_value(settings, "modbus_mapping.0.reading", reading.number)
        check(announcement("m1", controller_of(settings)))


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [("DS1", "DS2", (None, "measurement")), ("ENERGY1", "ENERGY2", ("energy", "total"))],
)
def test_difference_is_no_temperature_and_may_fall_where_its_counters_only_rise(
    first: str, second: str, classes: tuple[str | None, str]
) -> None:
    settings = with_value(defaults(NEWEST), "differentials.0.first", first)
    said = announcement(
        "DIFF1", controller_of(with_value(settings, "differentials.0.second", second))
    )
    check(said)
    assert (said.payload.get("device_class"), said.payload["state_class"]) == classes


def test_absent_value_is_unknown_and_not_a_text_for_a_number() -> None:
    for said in all_announcements(defaults(NEWEST)).values():
        if "command_topic" not in said.payload:
            template = "{{ None if value == 'none' else value }}"
            assert said.payload["value_template"] == template


def test_every_command_of_a_switch_is_one_that_the_controller_knows() -> None:
    for label, said in all_announcements(defaults(NEWEST)).items():
        for key in ("payload_on", "payload_off"):
            if "command_topic" in said.payload and key in said.payload:
                (call,) = calls_in(said.payload[key], NEWEST)
                assert call.row.role == "control", label
    duty = all_announcements(defaults(NEWEST))["PWM2.duty"].payload
    (call,) = calls_in(duty["command_template"].replace("{{ value | int }}", "55"), NEWEST)
    assert call.values == {"A": 2, "B": 55}


def test_given_name_is_shown_with_its_label() -> None:
    settings = with_value(defaults(NEWEST), "outputs.1.name", "Pump")
    said = all_announcements(settings)
    assert said["OUT1"].payload["name"] == "Pump (OUT1)"
    assert said["OUT2"].payload["name"] == "OUT2"


def test_every_analog_input_has_a_label_of_its_own() -> None:
    said = all_announcements(defaults(NEWEST))
    topics = {said[label].topic for label in ANALOG_INPUTS}
    assert len(topics) == len(ANALOG_INPUTS)


@pytest.mark.parametrize(
    ("name", "entity"), [("Ogród 1.5", "switch.ogrod_1_5_out0"), ("地下室", "switch.out0")]
)
def test_ids_of_entities_are_made_of_any_name(name: str, entity: str) -> None:
    settings = Settings()
    said = announcement("OUT0", replace(controller_of(settings), name=name))
    check(said)
    assert said.payload["default_entity_id"] == entity


@for_each(
    ("host", "own", "url"),
    [
        ("0.0.0.0", "192.168.7.4", "http://192.168.7.4:8080/"),
        ("::", "fd00::4", "http://[fd00::4]:8080/"),
        ("0.0.0.0", None, None),
        ("192.168.7.5", "192.168.7.4", "http://192.168.7.5:8080/"),
        ("127.0.0.1", "127.0.0.1", "http://127.0.0.1:8080/"),
        ("127.0.0.1", "192.168.7.4", None),
        ("cellar.example", "192.168.7.4", "http://cellar.example:8080/"),
    ],
)
def test_device_leads_to_the_pages_where_home_assistant_can_reach_them(
    host: str, own: str | None, url: str | None
) -> None:
    seen = PagesAddress("http", host, 8080).url_from(own)
    assert seen == url
    me = replace(controller_of(defaults(NEWEST)), url=seen)
    said = announcement("OUT0", me)
    check(said)
    assert said.payload["device"].get("configuration_url") == url
