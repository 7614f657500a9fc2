"""Register maps: whole, consistent, and read in as few requests as the devices allow."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple, replace

from leverframe.core.profile import Profile
from leverframe.core.settings import (
    ModbusDevice,
    ModbusMapping,
    ModbusReading,
    ModbusSlot,
    SerialPort,
    Settings,
)
from leverframe.core.tree import defaults
from leverframe.devices.wire.modbus_modules import (
    MODULES,
    Module,
    ModuleReading,
    SerialParameters,
    blocks_of,
    label_in_slot,
    module_in_slot,
)
from leverframe.interface.table import codes
from tests.cases import for_each

NEWEST = defaults(Profile())
TYPES = ("int16", "uint16", "int32", "uint32", "float")
ENDIANS = ("none", "byte", "word", "byte and word")


def with_module(label: str, slot: int = 1, settings: Settings = NEWEST) -> Settings:
    slots = list(settings.modbus_slots)
    slots[slot - 1] = ModbusSlot(label, 5)
    return replace(settings, modbus_slots=tuple(slots))


def test_every_module_code_has_a_register_map() -> None:
    offered = {code.word for code in codes.MODBUS_MODULES.of(Profile())}
    own = {f"custom{number}" for number in range(1, 6)}
    assert offered - own - {"OFF"} == MODULES.keys()
    assert all(module_in_slot(with_module(label), 1) is not None for label in offered - {"OFF"})


@for_each("label", MODULES)
def test_readings_are_numbered_from_0_and_at_most_30(label: str) -> None:
    readings = MODULES[label].readings
    assert [reading.number for reading in readings] == list(range(len(readings)))
    assert 1 <= len(readings) <= 30
    assert len({reading.name for reading in readings}) == len(readings)


@for_each("label", MODULES)
def test_readings_of_a_module_do_not_overlap(label: str) -> None:
    registers = [
        (reading.function, reading.register + offset)
        for reading in MODULES[label].readings
        for offset in range(reading.span)
    ]
    assert len(set(registers)) == len(registers)


@for_each(
    ("label", "number", "expected"),
    [
        ("SDM120", 0, ("voltage", "V", 0x0000, 4, "float", 1)),
        ("SDM120", 8, ("import active energy", "kWh", 0x0048, 4, "float", 1)),
        ("SDM72D-M", 0, ("total power", "W", 0x0034, 4, "float", 1)),
        ("SDM630/72D-v2", 23, ("import active energy", "kWh", 0x0048, 4, "float", 1)),
        ("RDO-PRO-X", 1, ("temperature", "°C", 45, 3, "float", 1)),
        ("charge controller (solar)", 9, ("state of charge", "%", 0x311A, 4, "uint16", 1)),
        ("charge controller (solar)", 2, ("PV power", "W", 0x3102, 4, "uint32", 100)),
        ("solar inverter", 25, ("energy today", "kWh", 0x0019, 3, "uint16", 100)),
        ("GTIL", 2, ("grid voltage", "V", 2, 4, "uint16", 10)),
        ("refrigeration controller EKC 202C", 0, ("air temperature", "°C", 2575, 3, "int16", 10)),
        ("DTSU666", 6, ("active power total", "W", 0x2012, 3, "float", 10)),
        ("DTSU666", 19, ("import energy", "kWh", 0x101E, 3, "float", 1)),
    ],
)
def test_registers_are_those_of_the_devices(
    label: str, number: int, expected: tuple[object, ...]
) -> None:
    assert astuple(MODULES[label].readings[number])[1:7] == expected


def test_scales_of_readings_are_those_that_the_makers_library_expects() -> None:
    inverter = [reading.divisor for reading in MODULES["solar inverter"].readings[:29]]
    tenths = {6, 8, 15, 17, 19}
    hundredths = {*range(7, 15), *range(16, 21), 25} - tenths
    assert {n for n, divisor in enumerate(inverter) if divisor == 10} == tenths
    assert {n for n, divisor in enumerate(inverter) if divisor == 100} == hundredths
    charger = [reading.divisor for reading in MODULES["charge controller (solar)"].readings]
    assert charger == [100] * 9 + [1] * 4 + [100] * 16
    assert len(MODULES["SDM120"].readings) == 14


def test_low_word_of_a_charge_controller_comes_first() -> None:
    blocks = blocks_of(MODULES["charge controller (solar)"])
    block = next(block for block in blocks if block.read.address == 0x3100)
    data = b"".join(word.to_bytes(2, "big") for word in (1234, 567, 0x86A0, 0x0001, 0, 0, 0, 0))
    assert block.values(data)[2] == 1000.0


def test_sdm_meters_speak_at_the_bitrate_of_the_setting() -> None:
    settings = replace(NEWEST, serial=SerialPort(sdm_bitrate=19200))
    for label in ("SDM120", "SDM72D-M", "SDM630/72D-v2"):
        module = module_in_slot(with_module(label, settings=settings), 1)
        assert module is not None
        assert module.line == SerialParameters(19200)
    other = module_in_slot(with_module("DTSU666", settings=settings), 1)
    assert other is not None
    assert other.line == SerialParameters(9600)


def test_empty_slot_has_no_module() -> None:
    assert module_in_slot(NEWEST, 1) is None


def test_old_versions_choose_a_meter_as_the_module_of_the_serial_port() -> None:
    old = defaults(Profile("3.0", "1.58a"))
    chosen = replace(old, serial=SerialPort(module="SDM72D-M"))
    assert label_in_slot(chosen, 1) == "SDM72D-M"
    module = module_in_slot(chosen, 1)
    assert module is not None
    assert module.readings == MODULES["SDM72D-M"].readings


def test_own_device_is_what_the_settings_describe() -> None:
    readings = list(ModbusDevice().readings)
    readings[4] = ModbusReading("flow", "l/min", 100, 1000, 4, "int32", "word")
    device = ModbusDevice("pump", 19200, "odd", 2, 0.5, tuple(readings))
    devices = (NEWEST.modbus_devices[0], device, *NEWEST.modbus_devices[2:])
    settings = with_module("custom2", 3, replace(NEWEST, modbus_devices=devices))
    module = module_in_slot(settings, 3)
    assert module is not None
    assert module.readings == (ModuleReading(4, "flow", "l/min", 1000, 4, "int32", 100, "word"),)
    assert (module.line, module.delay_s) == (SerialParameters(19200, "odd", 2), 0.5)


def test_reading_of_an_own_device_is_used_once_it_is_named_or_mapped() -> None:
    mapping = (ModbusMapping(2, 7), ModbusMapping(1, 3), *NEWEST.modbus_mapping[2:])
    settings = with_module("custom1", 2, replace(NEWEST, modbus_mapping=mapping))
    module = module_in_slot(settings, 2)
    assert module is not None
    assert [reading.number for reading in module.readings] == [7]


def test_limit_of_0_registers_asks_for_one_reading_at_a_time() -> None:
    module = Module(
        tuple(ModuleReading(n, f"r{n}", "", n, 3, "int16") for n in range(4)), max_registers=0
    )
    assert [block.read.count for block in blocks_of(module)] == [1, 1, 1, 1]


readings_lists = st.lists(
    st.tuples(st.integers(0, 200), st.sampled_from((1, 2, 3, 4)), st.sampled_from(TYPES)),
    max_size=30,
)


@given(readings_lists, st.integers(0, 60))
def test_every_reading_is_read_once_and_never_across_a_hole(
    rows: list[tuple[int, int, str]], most: int
) -> None:
    readings = tuple(
        ModuleReading(number, "", "", register, function, type_name)
        for number, (register, function, type_name) in enumerate(rows)
    )
    blocks = blocks_of(Module(readings, max_registers=most))
    numbers = [reading.number for block in blocks for reading in block.readings]
    assert sorted(numbers) == list(range(len(readings)))
    for block in blocks:
        assert {reading.function for reading in block.readings} == {block.read.function}
        assert sum(reading.span for reading in block.readings) == block.read.count
        assert block.read.count <= most or len(block.readings) == 1
        values = block.values(bytes(block.read.answer_bytes))
        assert values.keys() == {reading.number for reading in block.readings}


def test_neighbouring_bits_are_read_together_and_distinguished() -> None:
    readings = tuple(ModuleReading(n, "", "", 20 + n, 1, "int16") for n in range(10))
    (block,) = blocks_of(Module(readings))
    assert block.read.count == 10
    assert list(block.values(b"\x05\x02").values()) == [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]


@given(st.sampled_from((1, 2)), st.sampled_from(TYPES), st.sampled_from(ENDIANS))
def test_bit_is_0_or_1_whatever_the_type(function: int, type_name: str, endian: str) -> None:
    reading = ModuleReading(0, "door", "", 12, function, type_name, 1, endian)
    (block,) = blocks_of(Module((reading,)))
    assert block.read.count == 1
    assert block.values(b"\x01") == {0: 1.0}
    assert block.values(b"\xfe") == {0: 0.0}
