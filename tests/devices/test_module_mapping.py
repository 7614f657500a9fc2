"""m1-m30: what they show of the slots."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.labels import MAPPED
from leverframe.core.settings import ModbusMapping
from leverframe.devices.module_slot import (
    MODBUS_SLOTS,
    ONEWIRE_SLOTS,
    find_freed_labels,
    map_readings,
)

ITEMS = st.builds(ModbusMapping, st.integers(0, 6), st.integers(0, 29))
MAPPINGS = st.lists(ITEMS, min_size=30, max_size=30)


def test_label_shows_the_reading_of_its_slot() -> None:
    mapping = (ModbusMapping(1, 2), ModbusMapping(4, 0), ModbusMapping(0, 0), ModbusMapping(1, 9))
    assert map_readings(mapping, {1: (1.0, 2.0, 3.0)}) == {"m1": 3.0, "m4": None}
    assert map_readings(mapping, {4: (21.5,), 5: ()}) == {"m2": 21.5}


@given(MAPPINGS)
def test_every_active_label_belongs_to_one_reader(mapping: list[ModbusMapping]) -> None:
    modbus = map_readings(mapping, dict.fromkeys(MODBUS_SLOTS, ()))
    onewire = map_readings(mapping, dict.fromkeys(ONEWIRE_SLOTS, ()))
    active = {label for label, item in zip(MAPPED, mapping, strict=True) if item.slot}
    assert modbus.keys() | onewire.keys() == active
    assert modbus.keys().isdisjoint(onewire)


@given(MAPPINGS, MAPPINGS)
def test_label_is_freed_by_one_reader_and_only_if_no_other_maps_it(
    old: list[ModbusMapping], new: list[ModbusMapping]
) -> None:
    modbus = find_freed_labels(old, new, MODBUS_SLOTS)
    onewire = find_freed_labels(old, new, ONEWIRE_SLOTS)
    assert modbus.keys().isdisjoint(onewire)
    ended = {
        label
        for label, before, after in zip(MAPPED, old, new, strict=True)
        if before.slot and not after.slot
    }
    assert modbus.keys() | onewire.keys() == ended
