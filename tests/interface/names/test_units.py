"""The units of readings that follow the settings."""

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, with_value
from leverframe.interface.names import unit_of
from tests.cases import for_each

NEWEST = Profile()


def test_difference_of_two_temperatures_is_one_and_their_quotient_has_no_unit() -> None:
    settings = defaults(NEWEST)
    for field, value in (("first", "DS1"), ("second", "DS2")):
        settings = with_value(settings, f"differentials.0.{field}", value)
    assert unit_of("DIFF1", settings) == "°C"
    assert unit_of("DIFF1", with_value(settings, "differentials.0.operator", "/")) == ""


def test_mapped_reading_has_the_unit_of_its_module() -> None:
    settings = with_value(defaults(NEWEST), "modbus_slots.0.module", "SDM120")
    settings = with_value(settings, "modbus_mapping.0.slot", 1)
    assert unit_of("m1", settings) == "V"
    assert unit_of("m2", settings) == ""
    assert unit_of("m1", with_value(settings, "modbus_mapping.0.slot", 4)) == "°C"


@for_each(
    ("source", "unit", "power", "energy"),
    [
        ("INPD4", "kW/kWh", "kW", "kWh"),
        ("INPD4", "W/kWh", "kW", "kWh"),
        ("INPD4", "l/min/m3", "m³/h", "m³"),
        ("INPA1", "W/kWh", "W", "kWh"),
        ("INPA1", "kW->W/kWh", "kW", "kWh"),
        ("m1", "kW->W/kWh", "W", "kWh"),
        ("m1", "l/min/m3", "L/min", "m³"),
    ],
)
def test_power_has_the_unit_that_it_is_shown_in(
    source: str, unit: str, power: str, energy: str
) -> None:
    settings = with_value(defaults(NEWEST), "power.0.current", source)
    settings = with_value(settings, "power.0.unit", unit)
    assert (unit_of("POWER1", settings), unit_of("ENERGY1", settings)) == (power, energy)
