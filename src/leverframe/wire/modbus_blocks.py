"""The reads that get all readings of a module, and the readings in each answer.

Readings that lie directly behind one another are read together, never across a hole: many devices
refuse registers that they do not have.
"""

from msgspec import Struct

from leverframe.wire.modbus import BIT_READS, Read, bits_from
from leverframe.wire.modbus_modules import Module, ModuleReading
from leverframe.wire.modbus_numbers import number_in


class Block(Struct, frozen=True):
    """One read and the readings that it gets."""

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
    """Read each of the block's readings alone, as devices want it that refuse to give several."""
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
