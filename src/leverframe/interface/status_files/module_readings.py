"""Keys: the readings m1-m30 of modules, for which software versions use four formats.

- HW 3.0 and HW 3.5+ up to SW 1.32: `sdm1`-`sdm14`, hundredths of m1-m14.
- HW 3.5+ SW 1.31a to 1.32: a list `sdm` of m1-m29, whose scale depends on the module in slot 1.
- HW 3.5+ SW 1.33 to 1.49: the readings of three slots and the mapping of m1-m30 to them. If no bus
  is polled, only mapped readings have values there.
- HW 3.5+ SW 1.50 on: the list `customReadings`, m1-m30 without a scale.

The files cannot represent an absent reading of a module: it is 0, as on real units.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leverframe.core.labels import MAPPED
from leverframe.core.profile import HW30, Profile, VersionSpan
from leverframe.core.settings import ModbusMapping, module_mapping
from leverframe.core.tree import defaults
from leverframe.interface.status_files.forms import (
    NotReadable,
    as_text,
    code_form,
    parts_in,
    settings,
)
from leverframe.interface.status_files.keys import (
    DECIMAL,
    JOINED,
    WHOLE,
    ZERO,
    Keys,
    View,
    code,
    decimal,
    key,
    number_names,
    readings,
    write_multiple,
)
from leverframe.interface.status_files.parsers import (
    ParsedValue,
    ReadSetting,
    SettingParser,
    Unreadable,
    UnreadSetting,
    decimal_number,
    list_items,
    unless_unreadable,
    whole,
)
from leverframe.interface.table import codes
from leverframe.interface.table.codes import span
from leverframe.interface.table.params.special import MappingItem
from leverframe.interface.table.refusals import Refusal

SINGLE = (VersionSpan(HW30), *span(until="1.33"))
LISTED = span("1.31a", until="1.33")
SLOTTED = span("1.33", until="1.50")
DIRECT = span("1.50")

SLOTS = 3
#: All readings of a module as the board delivers them.
_SLOT_LABELS = tuple(f"slot{number + 1}" for number in range(SLOTS))
READINGS_PER_SLOT = 30

HUNDREDTHS = 100
#: Readings of the list `sdm` that are not in hundredths, by the code of the module.
_CHARGE_CONTROLLER, _INVERTER = 4, 5
_FACTORS: dict[int, dict[int, int]] = {
    _CHARGE_CONTROLLER: dict.fromkeys(range(9, 13), 1),
    _INVERTER: {
        **dict.fromkeys((*range(6), *range(21, 25), *range(26, 29)), 1),
        **dict.fromkeys((6, 8, 15, 17, 19), 10),
    },
}


def _module_code(view: View) -> int:
    machine = view.engine.machine
    return code(codes.MODBUS_MODULES, machine.settings.modbus_slots[0].module, machine.profile)


def _list_of_single_slot(view: View) -> list[str]:
    values = view.engine.machine.values
    factors = _FACTORS.get(_module_code(view), {})
    return [
        write_multiple(values[label], factors.get(index, HUNDREDTHS), ZERO)
        for index, label in enumerate(MAPPED[:29])
    ]


def _mapping_text(view: View) -> str:
    mapping = module_mapping(view.engine.machine.settings)
    return "*".join(f"{one.slot}{one.reading}" for one in mapping)


def _readings_by_slot(view: View) -> list[list[str]]:
    machine = view.engine.machine
    slots = [[ZERO] * READINGS_PER_SLOT for _ in range(SLOTS)]
    for slot, values in view.engine.inputs.module_readings.items():
        slots[slot - 1] = [decimal(value, ZERO) for value in values]
    for label, one in zip(MAPPED, module_mapping(machine.settings), strict=True):
        if 1 <= one.slot <= SLOTS:
            slots[one.slot - 1][one.reading] = decimal(machine.values[label], ZERO)
    return slots


def _read_mapping(
    texts: Sequence[object], profile: Profile
) -> Iterator[ReadSetting | UnreadSetting]:
    count = len(defaults(profile).modbus_mapping)
    # Versions without a mapping show the fixed mapping of their readings.
    if not count:
        return
    try:
        parts = parts_in(as_text(texts[0]), count)
        items = [MappingItem().parse(part, profile, {}) for part in parts]
    except (NotReadable, Refusal):
        yield UnreadSetting("modbus_mapping", "is not a list of slots and readings")
    else:
        yield ReadSetting("modbus_mapping", tuple(ModbusMapping(*item) for item in items))


def _direct(view: View) -> list[str]:
    values = view.engine.machine.values
    return [decimal(values[label], ZERO) for label in MAPPED]


def _parse_list(file: Mapping[str, Any], _: Profile) -> dict[str, ParsedValue]:
    labels, module = MAPPED[:29], whole(file, "modbusSensor")
    items = list_items(file, "sdm", len(labels))
    if isinstance(items, Unreadable) or isinstance(module, Unreadable):
        why = items if isinstance(items, Unreadable) else module
        return dict.fromkeys(labels, why)
    factors, found = _FACTORS.get(module, {}), dict[str, ParsedValue]()
    for index, label in enumerate(labels):
        number = decimal_number(items[index])
        if isinstance(number, float):
            found[label] = number / factors.get(index, HUNDREDTHS)
        else:
            found[label] = number
    return found


def _parse_slots(file: Mapping[str, Any], _: Profile) -> dict[str, ParsedValue]:
    places = str(file.get("modbusMapping", "")).split("*")
    slots = list_items(file, "modbusReadings", SLOTS)
    if isinstance(slots, Unreadable):
        return dict.fromkeys(MAPPED, slots)
    if len(places) != len(MAPPED):
        return dict.fromkeys(MAPPED, Unreadable("is at a position that is not shown"))
    return {label: _parse_place(slots, place) for label, place in zip(MAPPED, places, strict=True)}


def _parse_place(slots: Sequence[Any], place: str) -> ParsedValue:
    if not (place.isascii() and place.isdigit() and len(place) > 1):
        return Unreadable("is at a position that is not shown")
    slot, number = int(place[0]), int(place[1:])
    if not 1 <= slot <= SLOTS:
        return None
    readings_of_slot = slots[slot - 1]
    if not isinstance(readings_of_slot, list) or number >= len(readings_of_slot):
        return Unreadable("is at a position that is not shown")
    return decimal_number(readings_of_slot[number])


def _parse_direct(file: Mapping[str, Any], _: Profile) -> dict[str, ParsedValue]:
    items = list_items(file, "customReadings", len(MAPPED))
    if isinstance(items, Unreadable):
        return dict.fromkeys(MAPPED, items)
    return unless_unreadable([decimal_number(item) for item in items], MAPPED)


MODULE_READINGS: tuple[Keys, ...] = (
    readings(number_names("sdm", 1, 14), MAPPED[:14], HUNDREDTHS, "of its unit", ZERO, SINGLE),
    key(
        "modbusSensor",
        ("modbus_slots",),
        lambda view: str(_module_code(view)),
        "code of the module in slot 1",
        WHOLE,
        LISTED,
        stored=settings((), "modbus_slots.0.module", code_form(codes.MODBUS_MODULES), "").stored,
    ),
    key(
        "sdm",
        (*MAPPED[:29], "modbus_slots"),
        _list_of_single_slot,
        "list of m1-m29",
        "/100, with a charge controller or an inverter some /10 or /1",
        LISTED,
        _parse_list,
    ),
    key(
        "modbusMapping",
        ("modbus_mapping",),
        _mapping_text,
        "slot and reading that m1-m30 stand for; slot 0 is none",
        f"slot digit and reading number, {JOINED}",
        SLOTTED,
        stored=SettingParser(("modbus_mapping",), _read_mapping),
    ),
    key(
        "modbusReadings",
        (*MAPPED, *_SLOT_LABELS, "modbus_mapping"),
        _readings_by_slot,
        "three lists, the 30 readings of each slot",
        f"{DECIMAL}, {ZERO} if absent, or if not mapped and no bus is read",
        SLOTTED,
        _parse_slots,
    ),
    key(
        "customReadings",
        MAPPED,
        _direct,
        "list of m1-m30",
        f"{DECIMAL}, {ZERO} if absent",
        DIRECT,
        _parse_direct,
    ),
)
