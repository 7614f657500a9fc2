"""m1-m30: which reading of which slot each of them shows.

Slots 1-3 are Modbus modules, 4-6 the additional 1-Wire sensors. The reader of a slot finds here
what its readings mean for m1-m30, and what to report once the mapping has changed. Nothing is kept
here.
"""

from collections.abc import Mapping, Sequence

from leverframe.engine.labels import MAPPED
from leverframe.engine.settings import ModbusMapping

MODBUS_SLOTS = (1, 2, 3)
#: Slot -> the name under which troubles of its module are noted.
SLOT_TROUBLES = {number: f"Modbus slot {number}" for number in MODBUS_SLOTS}
ONEWIRE_SLOTS = (4, 5, 6)
INACTIVE = 0


def map_readings(
    mapping: Sequence[ModbusMapping], slots: Mapping[int, Sequence[float | None]]
) -> dict[str, float | None]:
    """Return m1-m30 of these slots; a reading that a slot does not have is absent.

    Labels that are mapped to other slots are left out.
    """
    return {
        label: slots[item.slot][item.reading] if item.reading < len(slots[item.slot]) else None
        for label, item in zip(MAPPED, mapping, strict=False)
        if item.slot in slots
    }


def find_freed_labels(
    old: Sequence[ModbusMapping], new: Sequence[ModbusMapping], slots: Sequence[int]
) -> dict[str, None]:
    """List labels that showed these slots and no longer show any slot.

    A label that shows another slot now is left to the reader of that slot.
    """
    return {
        label: None
        for label, before, after in zip(MAPPED, old, new, strict=False)
        if before.slot in slots and after.slot == INACTIVE
    }
