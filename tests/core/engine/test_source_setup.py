"""Sources that nothing measures are distinguished from those that are set up."""

from leverframe.core.engine.sources import is_set_up
from leverframe.core.tree import defaults, with_value
from tests.boundary_profiles import NEWEST
from tests.cases import for_each


@for_each(
    ("slot", "module", "measured"),
    [(0, "SDM120", False), (1, "OFF", False), (1, "SDM120", True), (4, "OFF", True)],
    ids=["no slot", "empty slot", "slot with a module", "thermometers need no module"],
)
def test_mapped_reading_is_set_up_where_its_slot_measures(
    slot: int, module: str, measured: bool
) -> None:
    mapped = with_value(defaults(NEWEST), "modbus_mapping.2.slot", slot)
    assert is_set_up("m3", with_value(mapped, "modbus_slots.0.module", module)) is measured
