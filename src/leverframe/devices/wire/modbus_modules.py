"""The readings of Modbus modules: register maps as data, and custom devices.

A reading's number (0-29) is its position in its module's list; the mapping of m1-m30 and the status
files use it. Addresses are as transmitted, counted from 0. The maps follow public register lists;
docs/gaps.md says how reliable each of them is. None was tested on the device itself. The readings
of the SDM120, the charge controller and the inverter have the order, number and scales that the
makers' client library expects.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.settings import ModbusDevice, ModbusMapping, Settings
from leverframe.devices.wire.modbus import (
    BIT_READS,
    READ_HOLDING_REGISTERS,
    READ_INPUT_REGISTERS,
    Read,
    bits_from,
)
from leverframe.devices.wire.modbus_numbers import number_in, register_count

#: A reading stays valid for at least this time plus three rounds of polling its module.
STALE_S = 15.0


class SerialParameters(Struct, frozen=True):
    """The parameters of a serial line; always eight data bits."""

    bitrate: int = 9600
    parity: str = "none"
    stop_bits: int = 1


COMMON_LINE = SerialParameters()


class ModuleReading(Struct, frozen=True):
    number: int
    name: str
    unit: str
    register: int
    function: int
    type: str = "float"
    divisor: int = 1
    endian: str = "none"

    @property
    def span(self) -> int:
        """Return the number of registers of the reading, or 1 for a bit."""
        return 1 if self.function in BIT_READS else register_count(self.type)


class Module(Struct, frozen=True):
    readings: tuple[ModuleReading, ...]
    line: SerialParameters = COMMON_LINE
    #: Seconds between two reads.
    delay_s: float = 0.0
    #: The maximum number of registers in one read.
    max_registers: int = 60
    #: Whether the setting of the SDM bitrate applies.
    is_sdm: bool = False


class _Row(Struct, frozen=True):
    name: str
    unit: str
    register: int
    type: str = "float"
    divisor: int = 1


def _module(
    function: int,
    rows: Iterable[_Row],
    line: SerialParameters = COMMON_LINE,
    *,
    is_sdm: bool = False,
    endian: str = "none",
) -> Module:
    """Describe a module; the endian form applies to numbers of two registers."""
    readings = tuple(
        ModuleReading(
            number,
            row.name,
            row.unit,
            row.register,
            function,
            row.type,
            row.divisor,
            endian if register_count(row.type) > 1 else "none",
        )
        for number, row in enumerate(rows)
    )
    return Module(readings, line, is_sdm=is_sdm)


def _floats(names: Iterable[str], unit: str, first: int, divisor: int = 1) -> Iterator[_Row]:
    """Describe floats in consecutive registers."""
    return (_Row(name, unit, first + 2 * at, "float", divisor) for at, name in enumerate(names))


def _phases(name: str, unit: str, first: int, divisor: int = 1) -> Iterator[_Row]:
    """Describe one quantity of three phases."""
    return _floats((f"{name} L{phase}" for phase in (1, 2, 3)), unit, first, divisor)


def _total_and_phases(name: str, unit: str, first: int, divisor: int) -> Iterator[_Row]:
    names = (f"{name} {part}" for part in ("total", "L1", "L2", "L3"))
    return _floats(names, unit, first, divisor)


_SDM120 = (
    _Row("voltage", "V", 0x0000),
    _Row("current", "A", 0x0006),
    _Row("active power", "W", 0x000C),
    _Row("apparent power", "VA", 0x0012),
    _Row("reactive power", "var", 0x0018),
    _Row("power factor", "", 0x001E),
    _Row("phase angle", "°", 0x0024),
    _Row("frequency", "Hz", 0x0046),
    _Row("import active energy", "kWh", 0x0048),
    _Row("export active energy", "kWh", 0x004A),
    _Row("import reactive energy", "kvarh", 0x004C),
    _Row("export reactive energy", "kvarh", 0x004E),
    _Row("total active energy", "kWh", 0x0156),
    _Row("total reactive energy", "kvarh", 0x0158),
)
_SDM72D_M = (
    _Row("total power", "W", 0x0034),
    _Row("import energy", "kWh", 0x0048),
    _Row("export energy", "kWh", 0x004A),
    _Row("total energy", "kWh", 0x0156),
    _Row("resettable total energy", "kWh", 0x0180),
    _Row("resettable import energy", "kWh", 0x0184),
    _Row("resettable export energy", "kWh", 0x0186),
    _Row("import power", "W", 0x0500),
    _Row("export power", "W", 0x0502),
)
#: The readings that the SDM630 and the second version of the SDM72D share.
_SDM630 = (
    *_phases("voltage", "V", 0x0000),
    *_phases("current", "A", 0x0006),
    *_phases("active power", "W", 0x000C),
    *_phases("apparent power", "VA", 0x0012),
    *_phases("reactive power", "var", 0x0018),
    *_phases("power factor", "", 0x001E),
    _Row("total active power", "W", 0x0034),
    _Row("total apparent power", "VA", 0x0038),
    _Row("total reactive power", "var", 0x003C),
    _Row("total power factor", "", 0x003E),
    _Row("frequency", "Hz", 0x0046),
    _Row("import active energy", "kWh", 0x0048),
    _Row("export active energy", "kWh", 0x004A),
    _Row("total active energy", "kWh", 0x0156),
    _Row("total reactive energy", "kvarh", 0x0158),
    _Row("sum of currents", "A", 0x0030),
    _Row("voltage L1-L2", "V", 0x00C8),
    _Row("neutral current", "A", 0x00E0),
)
#: The maker numbers registers from 1.
_RDO_PRO_X = (
    _Row("dissolved oxygen", "mg/l", 38 - 1),
    _Row("temperature", "°C", 46 - 1),
    _Row("oxygen saturation", "%", 54 - 1),
    _Row("oxygen partial pressure", "torr", 62 - 1),
)
_CHARGE_CONTROLLER = (
    _Row("PV voltage", "V", 0x3100, "uint16", 100),
    _Row("PV current", "A", 0x3101, "uint16", 100),
    _Row("PV power", "W", 0x3102, "uint32", 100),
    _Row("charging voltage", "V", 0x3104, "uint16", 100),
    _Row("charging current", "A", 0x3105, "uint16", 100),
    _Row("charging power", "W", 0x3106, "uint32", 100),
    _Row("load voltage", "V", 0x310C, "uint16", 100),
    _Row("load current", "A", 0x310D, "uint16", 100),
    _Row("load power", "W", 0x310E, "uint32", 100),
    _Row("state of charge", "%", 0x311A, "uint16", 1),
    _Row("battery status", "", 0x3200, "uint16", 1),
    _Row("charging status", "", 0x3201, "uint16", 1),
    _Row("discharging status", "", 0x3202, "uint16", 1),
    _Row("battery temperature", "°C", 0x3110, "int16", 100),
    _Row("device temperature", "°C", 0x3111, "int16", 100),
    _Row("highest PV voltage today", "V", 0x3300, "uint16", 100),
    _Row("lowest PV voltage today", "V", 0x3301, "uint16", 100),
    _Row("highest battery voltage today", "V", 0x3302, "uint16", 100),
    _Row("lowest battery voltage today", "V", 0x3303, "uint16", 100),
    _Row("consumed energy today", "kWh", 0x3304, "uint32", 100),
    _Row("consumed energy this month", "kWh", 0x3306, "uint32", 100),
    _Row("consumed energy this year", "kWh", 0x3308, "uint32", 100),
    _Row("consumed energy", "kWh", 0x330A, "uint32", 100),
    _Row("generated energy today", "kWh", 0x330C, "uint32", 100),
    _Row("generated energy this month", "kWh", 0x330E, "uint32", 100),
    _Row("generated energy this year", "kWh", 0x3310, "uint32", 100),
    _Row("generated energy", "kWh", 0x3312, "uint32", 100),
    _Row("battery voltage", "V", 0x331A, "uint16", 100),
    _Row("battery current", "A", 0x331B, "int32", 100),
)
_INVERTER = (
    _Row("operating state", "", 0x0000, "uint16", 1),
    *(_Row(f"fault {n}", "", n, "uint16", 1) for n in range(1, 6)),
    _Row("PV1 voltage", "V", 0x0006, "uint16", 10),
    _Row("PV1 current", "A", 0x0007, "uint16", 100),
    _Row("PV2 voltage", "V", 0x0008, "uint16", 10),
    _Row("PV2 current", "A", 0x0009, "uint16", 100),
    _Row("PV1 power", "kW", 0x000A, "uint16", 100),
    _Row("PV2 power", "kW", 0x000B, "uint16", 100),
    _Row("active power", "kW", 0x000C, "uint16", 100),
    _Row("reactive power", "kvar", 0x000D, "int16", 100),
    _Row("frequency", "Hz", 0x000E, "uint16", 100),
    _Row("voltage L1", "V", 0x000F, "uint16", 10),
    _Row("current L1", "A", 0x0010, "uint16", 100),
    _Row("voltage L2", "V", 0x0011, "uint16", 10),
    _Row("current L2", "A", 0x0012, "uint16", 100),
    _Row("voltage L3", "V", 0x0013, "uint16", 10),
    _Row("current L3", "A", 0x0014, "uint16", 100),
    _Row("total energy, high word", "65536 kWh", 0x0015, "uint16", 1),
    _Row("total energy, low word", "kWh", 0x0016, "uint16", 1),
    _Row("total time, high word", "65536 h", 0x0017, "uint16", 1),
    _Row("total time, low word", "h", 0x0018, "uint16", 1),
    _Row("energy today", "kWh", 0x0019, "uint16", 100),
    _Row("time today", "min", 0x001A, "uint16", 1),
    _Row("module temperature", "°C", 0x001B, "int16", 1),
    _Row("inner temperature", "°C", 0x001C, "int16", 1),
    _Row("bus voltage", "V", 0x001D, "uint16", 10),
)
_GTIL = (
    _Row("power setpoint", "W", 0, "uint16", 10),
    _Row("power", "W", 1, "uint16", 10),
    _Row("grid voltage", "V", 2, "uint16", 10),
    _Row("battery voltage", "V", 3, "uint16", 10),
    _Row("converter value", "", 4, "uint16", 1),
    _Row("calibration step", "", 5, "uint16", 1),
    _Row("power setpoint in force", "W", 6, "uint16", 10),
    _Row("temperature", "°C", 7, "int16", 1),
)
_EKC_202C = (
    _Row("air temperature", "°C", 2575, "int16", 10),
    _Row("defrost sensor temperature", "°C", 1010, "int16", 10),
    _Row("setpoint in force", "°C", 2545, "int16", 10),
    _Row("setpoint", "°C", 99, "int16", 10),
    _Row("controller state", "", 2006, "uint16", 1),
    _Row("cooling relay", "", 2509, "uint16", 1),
    _Row("fan relay", "", 2510, "uint16", 1),
    _Row("defrost relay", "", 2511, "uint16", 1),
    _Row("alarm relay", "", 2582, "uint16", 1),
    _Row("light relay", "", 2583, "uint16", 1),
    _Row("defrosting", "", 1035, "uint16", 1),
    _Row("night operation", "", 2532, "uint16", 1),
    _Row("digital input 1", "", 2001, "uint16", 1),
    _Row("digital input 2", "", 2555, "uint16", 1),
    _Row("alarm", "", 2540, "uint16", 1),
    _Row("high temperature alarm", "", 20004, "uint16", 1),
    _Row("low temperature alarm", "", 20005, "uint16", 1),
    _Row("door alarm", "", 20006, "uint16", 1),
    _Row("defrost sensor error", "", 20003, "uint16", 1),
    _Row("main switch", "", 116, "int16", 1),
)


_DTSU666 = (
    *_phases("voltage", "V", 0x2006, 10),
    *_phases("current", "A", 0x200C, 1000),
    *_total_and_phases("active power", "W", 0x2012, 10),
    *_total_and_phases("reactive power", "var", 0x201A, 10),
    *_total_and_phases("power factor", "", 0x202A, 1000),
    _Row("frequency", "Hz", 0x2044, "float", 100),
    _Row("import energy", "kWh", 0x101E),
    _Row("export energy", "kWh", 0x1028),
    *_floats(("voltage L1-L2", "voltage L2-L3", "voltage L3-L1"), "V", 0x2000, 10),
    *_phases("import energy", "kWh", 0x1020),
    *_phases("export energy", "kWh", 0x102A),
)

#: Modules by label; custom devices are in the settings instead.
MODULES: dict[str, Module] = {
    "SDM120": _module(READ_INPUT_REGISTERS, _SDM120, is_sdm=True),
    "SDM72D-M": _module(READ_INPUT_REGISTERS, _SDM72D_M, is_sdm=True),
    "RDO-PRO-X": _module(READ_HOLDING_REGISTERS, _RDO_PRO_X, SerialParameters(19200, "even")),
    "charge controller (solar)": _module(
        READ_INPUT_REGISTERS, _CHARGE_CONTROLLER, SerialParameters(115200), endian="word"
    ),
    "solar inverter": _module(READ_HOLDING_REGISTERS, _INVERTER),
    "GTIL": _module(READ_INPUT_REGISTERS, _GTIL),
    "refrigeration controller EKC 202C": _module(
        READ_HOLDING_REGISTERS, _EKC_202C, SerialParameters(9600, "even")
    ),
    "SDM630/72D-v2": _module(READ_INPUT_REGISTERS, _SDM630, is_sdm=True),
    "DTSU666": _module(READ_HOLDING_REGISTERS, _DTSU666),
}
_CUSTOM = {f"custom{number + 1}": number for number in range(5)}


def label_in_slot(settings: Settings, slot: int) -> str:
    """Return the module chosen for a slot (1-3).

    In versions without slots, a meter is selected as the module of the serial port and counts as
    slot 1.
    """
    label = settings.modbus_slots[slot - 1].module
    return settings.serial.module if label == "OFF" and slot == 1 else label


def module_in_slot(settings: Settings, slot: int) -> Module | None:
    """Return the module in a slot (1-3) with the slot's own settings; None if the slot is empty."""
    module, chosen = _module_in_slot(settings, slot), settings.modbus_slots[slot - 1]
    if module is None:
        return None
    line = SerialParameters(
        chosen.bitrate or module.line.bitrate,
        module.line.parity if chosen.parity == "module" else chosen.parity,
        chosen.stop_bits or module.line.stop_bits,
    )
    return replace(module, line=line)


def _module_in_slot(settings: Settings, slot: int) -> Module | None:
    label = label_in_slot(settings, slot)
    if label in _CUSTOM:
        if _CUSTOM[label] >= len(settings.modbus_devices):
            return None
        mapped = {item.reading for item in settings.modbus_mapping if item.slot == slot}
        return _own_device(settings.modbus_devices[_CUSTOM[label]], mapped)
    module = MODULES.get(label)
    if module is not None and module.is_sdm:
        return replace(module, line=SerialParameters(settings.serial.sdm_bitrate))
    return module


def find_reading(settings: Settings, mapping: ModbusMapping) -> ModuleReading | None:
    """Return the reading that one of m1-m30 shows; None if no module in a slot has it."""
    if not 0 < mapping.slot <= len(settings.modbus_slots):
        return None
    module = module_in_slot(settings, mapping.slot)
    readings = module.readings if module else ()
    return next((one for one in readings if one.number == mapping.reading), None)


def _own_device(device: ModbusDevice, mapped: set[int]) -> Module:
    """Describe a custom device; only readings that have a name or are mapped are used."""
    readings = tuple(
        ModuleReading(
            number,
            reading.name,
            reading.unit,
            reading.register,
            reading.function,
            reading.type,
            reading.divisor,
            reading.endian,
        )
        for number, reading in enumerate(device.readings)
        if reading.name or number in mapped
    )
    line = SerialParameters(device.bitrate, device.parity, device.stop_bit)
    return Module(readings, line, device.delay)


# The reads that cover all readings of a module, and the readings in each answer.
#
# Readings in consecutive registers are read together, but never across a gap, because many devices
# reject registers that they do not have.


class Block(Struct, frozen=True):
    """One read and the readings in its answer."""

    read: Read
    readings: tuple[ModuleReading, ...]

    def values(self, data: bytes) -> dict[int, float | None]:
        """Decode the readings by number; `data` is an answer of the right length."""
        return {reading.number: self._value(reading, data) for reading in self.readings}

    def _value(self, reading: ModuleReading, data: bytes) -> float | None:
        if reading.function in BIT_READS:
            bits = bits_from(data, self.read.count)
            return bits[reading.register - self.read.address] / reading.divisor
        start = 2 * (reading.register - self.read.address)
        part = data[start : start + 2 * reading.span]
        return number_in(part, reading.type, reading.endian, reading.divisor)


def parts_of(block: Block) -> tuple[Block, ...]:
    """Split the block into one read per reading, for devices that reject longer reads."""
    return tuple(_block([reading]) for reading in block.readings)


def blocks_of(module: Module) -> tuple[Block, ...]:
    ordered = sorted(module.readings, key=lambda reading: (reading.function, reading.register))
    groups: list[list[ModuleReading]] = []
    for reading in ordered:
        if groups and _continues(groups[-1], reading, module.max_registers):
            groups[-1].append(reading)
        else:
            groups.append([reading])
    return tuple(_block(group) for group in groups)


def _continues(group: list[ModuleReading], reading: ModuleReading, most: int) -> bool:
    first, last = group[0], group[-1]
    return (
        reading.function == last.function
        and reading.register == last.register + last.span
        and reading.register + reading.span - first.register <= most
    )


def _block(group: list[ModuleReading]) -> Block:
    first, last = group[0], group[-1]
    span = last.register + last.span - first.register
    return Block(Read(first.function, first.register, span), tuple(group))
