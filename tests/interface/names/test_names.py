"""The names of what has a label: given by people, or by a module's list."""

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, with_value
from leverframe.interface.names import name_of

NEWEST = Profile()


def test_label_has_the_name_from_the_settings() -> None:
    settings = with_value(defaults(NEWEST), "weather.h1_name", "Cellar")
    settings = with_value(settings, "pwm.2.name", "Fan")
    assert name_of("H1", settings) == "Cellar"
    assert name_of("PWM2", settings) == "Fan"
    assert name_of("PWM2.duty", settings) == "Fan"
    assert name_of("OUT0", settings) == ""


def test_mapped_reading_has_the_name_that_its_module_gives_it() -> None:
    settings = with_value(defaults(NEWEST), "modbus_slots.0.module", "SDM120")
    settings = with_value(settings, "modbus_mapping.0.slot", 1)
    assert name_of("m1", settings) == "voltage"
    assert name_of("m2", settings) == ""


def test_mapped_thermometer_has_the_name_that_it_was_given() -> None:
    settings = with_value(defaults(NEWEST), "modbus_mapping.0.slot", 5)
    settings = with_value(settings, "modbus_mapping.0.reading", 2)
    settings = with_value(settings, "onewire_extra.1.names", ("", "", "Attic"))
    assert name_of("m1", settings) == "Attic"
