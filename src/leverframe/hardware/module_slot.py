"""A Modbus module in one of the slots 1-3: its latest readings, and until when they count."""

from msgspec import Struct, field

from leverframe.wire.modbus import DEVICE_BUSY, DEVICE_NEEDS_TIME
from leverframe.wire.modbus_blocks import Block
from leverframe.wire.modbus_modules import STALE_S, Module
from leverframe.wire.modbus_rtu import Answer, Data, ExceptionReply

#: A slave that needs more time, or is busy.
NOT_NOW = (DEVICE_NEEDS_TIME, DEVICE_BUSY)
NO_READINGS: tuple[float | None, ...] = (None,) * 30


class SlotReport(Struct, frozen=True):
    """The module in one slot, for people."""

    module: str
    slave_id: int
    #: Seconds since 1970; None while it answers.
    silent_since: float | None
    readings: dict[str, float | None]


class ModuleSlot(Struct):
    """A module on the bus and its latest readings."""

    number: int
    label: str
    slave: int
    module: Module
    blocks: tuple[Block, ...]
    values: list[float | None] = field(default_factory=lambda: list(NO_READINGS))
    #: Until when each reading counts that has a value.
    good_until: dict[int, float] = field(default_factory=dict)
    #: Wall time since when nothing came, if nothing comes.
    silent_since: float | None = None

    @property
    def stale_s(self) -> float:
        return STALE_S + 3 * len(self.blocks) * self.module.delay_s

    def take(self, block: Block, answer: Answer, now: float) -> None:
        if isinstance(answer, ExceptionReply) and answer.code in NOT_NOW:
            # Its earlier readings count until they are too old.
            return
        values = block.values(answer.data) if isinstance(answer, Data) else {}
        for reading in block.readings:
            value = self.values[reading.number] = values.get(reading.number)
            if value is None:
                self.good_until.pop(reading.number, None)
            else:
                self.good_until[reading.number] = now + self.stale_s

    def expire(self, now: float) -> bool:
        """Drop readings that are too old; tell whether there were any."""
        old = [number for number, until in self.good_until.items() if until <= now]
        for number in old:
            del self.good_until[number]
            self.values[number] = None
        return bool(old)
