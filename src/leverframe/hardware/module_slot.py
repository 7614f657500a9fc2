"""A Modbus module in one of the slots 1-3: its latest readings, what it refuses, its statistics."""

from collections import Counter
from itertools import groupby

from msgspec import Struct, field

from leverframe.wire.modbus import BIT_READS, DEVICE_BUSY, DEVICE_NEEDS_TIME, Read, exception_words
from leverframe.wire.modbus_blocks import Block
from leverframe.wire.modbus_modules import STALE_S, Module
from leverframe.wire.modbus_rtu import Answer, Data, ExceptionReply, NoAnswer

#: A slave that needs more time, or is busy.
NOT_NOW = (DEVICE_NEEDS_TIME, DEVICE_BUSY)
NO_READINGS: tuple[float | None, ...] = (None,) * 30

#: What to do about an exception, where the protocol's words alone do not say it.
_ADVICE = {
    1: "choose another function, or another module",
    2: "compare the registers with the device's manual, or choose another module",
    3: "compare the registers with the device's manual",
    4: "look at the device itself",
    5: "the device needs more time; it is asked again",
    6: "the device is busy; it is asked again",
    10: "check the settings of the gateway",
    11: "check slave ID and wiring behind the gateway",
}


class RefusedRead(Struct, frozen=True):
    """What a module answers with an exception."""

    function: int
    register: int
    count: int
    code: int
    words: str

    @property
    def span(self) -> str:
        last = self.register + self.count - 1
        return str(last) if self.count == 1 else f"{self.register}-{last}"


class SlotReport(Struct, frozen=True):
    """The module in one slot, for people."""

    module: str
    slave_id: int
    #: Seconds since 1970; None while it answers.
    silent_since: float | None
    readings: dict[str, float | None]
    refused: list[RefusedRead]


class SlotStatistics(Struct, frozen=True):
    """What came of the requests to the module in one slot."""

    requests: int
    answers: int
    timeouts: int
    crc_errors: int
    #: By the code.
    exceptions: dict[str, int]
    #: Seconds from the request to the answer.
    last_answer_s: float | None
    mean_answer_s: float | None


class SlotCounters(Struct):
    """The statistics while they are counted."""

    requests: int = 0
    answers: int = 0
    timeouts: int = 0
    crc_errors: int = 0
    exceptions: Counter[int] = field(default_factory=Counter)
    last_answer_s: float | None = None
    answers_s: float = 0.0

    def count(self, answer: Answer | NoAnswer, took_s: float) -> None:
        self.requests += 1
        if isinstance(answer, NoAnswer):
            if answer.is_damaged:
                self.crc_errors += 1
            else:
                self.timeouts += 1
            return
        self.answers += 1
        self.last_answer_s = took_s
        self.answers_s += took_s
        if isinstance(answer, ExceptionReply):
            self.exceptions[answer.code] += 1

    def shown(self) -> SlotStatistics:
        return SlotStatistics(
            self.requests,
            self.answers,
            self.timeouts,
            self.crc_errors,
            {str(code): count for code, count in sorted(self.exceptions.items())},
            self.last_answer_s,
            self.answers_s / self.answers if self.answers else None,
        )


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
    #: The codes of what was refused when it was last asked for.
    refusals: dict[Read, int] = field(default_factory=dict)
    #: What was asked for at least once.
    asked: set[Read] = field(default_factory=set)
    counters: SlotCounters = field(default_factory=SlotCounters)

    @property
    def stale_s(self) -> float:
        return STALE_S + 3 * len(self.blocks) * self.module.delay_s

    def take(self, block: Block, answer: Answer, now: float) -> None:
        if isinstance(answer, ExceptionReply):
            self.refusals[block.read] = answer.code
            if answer.code in NOT_NOW:
                # Its earlier readings count until they are too old.
                return
        else:
            self.refusals.pop(block.read, None)
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

    def refused(self) -> list[RefusedRead]:
        """List what is refused and has no earlier reading that still counts."""
        return [
            RefusedRead(
                block.read.function,
                block.read.address,
                block.read.count,
                self.refusals[block.read],
                exception_words(self.refusals[block.read]),
            )
            for block in self.blocks
            if block.read in self.refusals
            and not any(reading.number in self.good_until for reading in block.readings)
        ]

    def refusal(self) -> str | None:
        """Say in a sentence what the module refuses, once all of it was asked for."""
        refused = self.refused()
        if not refused or len(self.asked) < len(self.blocks):
            return None
        refused.sort(key=lambda one: (one.code, one.function))
        parts = []
        for (code, function), group in groupby(refused, lambda one: (one.code, one.function)):
            kind = "bits" if function in BIT_READS else "registers"
            spans = ", ".join(one.span for one in group)
            advice = f"; {_ADVICE[code]}" if code in _ADVICE else ""
            parts.append(
                f"{kind} {spans} of function {function}"
                f" (exception {code}, {exception_words(code)}{advice})"
            )
        everything = "everything: " if len(refused) == len(self.blocks) else ""
        return f"{self.label} with slave ID {self.slave} refuses {everything}{', '.join(parts)}."
