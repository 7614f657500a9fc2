"""A Modbus module in one of the slots 1-3: its latest readings, rejected reads and statistics."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from msgspec import Struct, field

from leverframe.core.labels import MAPPED
from leverframe.core.settings import ModbusMapping
from leverframe.devices.wire.modbus import (
    BIT_READS,
    DEVICE_BUSY,
    DEVICE_NEEDS_TIME,
    ILLEGAL_ADDRESS,
    ILLEGAL_VALUE,
    Read,
    Write,
    exception_words,
)
from leverframe.devices.wire.modbus_frames import Answer, Data, ExceptionReply, NoAnswer
from leverframe.devices.wire.modbus_modules import (
    STALE_S,
    Block,
    Module,
    SerialParameters,
    parts_of,
)

# The mapping of m1-m30 to slots and readings.
#
# Slots 1-3 are Modbus modules, 4-6 the additional 1-Wire sensors. The reader of a slot uses this
# module to map its readings to m1-m30, and to find the labels to report after the mapping has
# changed. This module keeps no state.

MODBUS_SLOTS = (1, 2, 3)
#: By slot: the name under which the problems of its module are recorded.
SLOT_TROUBLES = {number: f"Modbus slot {number}" for number in MODBUS_SLOTS}
ONEWIRE_SLOTS = (4, 5, 6)
INACTIVE = 0


def map_readings(
    mapping: Sequence[ModbusMapping], slots: Mapping[int, Sequence[float | None]]
) -> dict[str, float | None]:
    """Return m1-m30 of these slots; a reading that a slot does not have is absent.

    Labels that are mapped to other slots are omitted.
    """
    return {
        label: slots[item.slot][item.reading] if item.reading < len(slots[item.slot]) else None
        for label, item in zip(MAPPED, mapping, strict=False)
        if item.slot in slots
    }


def find_freed_labels(
    old: Sequence[ModbusMapping], new: Sequence[ModbusMapping], slots: Sequence[int]
) -> dict[str, None]:
    """List the labels that showed one of these slots and no longer show any slot.

    If a label shows another slot now, the reader of that slot reports it.
    """
    return {
        label: None
        for label, before, after in zip(MAPPED, old, new, strict=False)
        if before.slot in slots and after.slot == INACTIVE
    }


#: Exceptions by which a slave reports that it needs more time or is busy.
NOT_NOW = (DEVICE_NEEDS_TIME, DEVICE_BUSY)
#: Exceptions by which a slave reports that some registers do not exist or that the block is too
#: large.
ONLY_ONE_BY_ONE = (ILLEGAL_ADDRESS, ILLEGAL_VALUE)
#: The longest poll interval in seconds that extends the validity of readings.
MAX_INTERVAL_S = 60.0
NO_READINGS: tuple[float | None, ...] = (None,) * 30

#: Advice for exceptions whose name does not say what to do.
_ADVICE = {
    1: "choose another function, or another module",
    2: "compare the registers with the device's manual, or choose another module",
    3: "compare the registers with the device's manual",
    4: "check the device itself",
    5: "the device needs more time; the request is repeated",
    6: "the device is busy; the request is repeated",
    10: "check the settings of the gateway",
    11: "check slave ID and wiring behind the gateway",
}


class RefusedRead(Struct, frozen=True):
    """A read that a module answers with an exception."""

    function: int
    register: int
    count: int
    code: int
    words: str

    @property
    def span(self) -> str:
        return _span(self.register, self.count)


class SlotReport(Struct, frozen=True):
    """The description of the module in a slot, for users."""

    module: str
    slave_id: int
    #: Seconds since 1970; None while the module answers.
    silent_since: float | None
    readings: dict[str, float | None]
    refused: list[RefusedRead]


class SlotStatistics(Struct, frozen=True):
    """The results of the requests to the module in one slot."""

    requests: int
    answers: int
    timeouts: int
    crc_errors: int
    #: The number of exceptions by code.
    exceptions: dict[str, int]
    #: Seconds from the request to the answer.
    last_answer_s: float | None
    mean_answer_s: float | None


class SlotCounters(Struct):
    """Statistics that are still being counted."""

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

    def statistics(self) -> SlotStatistics:
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
    #: The host of a Modbus TCP module; empty for the serial bus.
    host: str = ""
    values: list[float | None] = field(default_factory=lambda: list(NO_READINGS))
    #: The time until which each reading is valid; only for readings with a value.
    good_until: dict[int, float] = field(default_factory=dict)
    #: Wall time since when the module has not answered; None while it answers.
    silent_since: float | None = None
    #: The exception code of each read whose last attempt was rejected.
    refusals: dict[Read, int] = field(default_factory=dict)
    #: The failure of each read whose last attempt was not answered.
    silences: dict[Read, NoAnswer] = field(default_factory=dict)
    #: The number of consecutive requests without an answer.
    unanswered: int = 0
    #: The reason why the bus cannot be used, if known.
    bus_problem: str | None = None
    #: The time of the last attempt of each read, and the interval since the attempt before it.
    asked: dict[Read, float] = field(default_factory=dict)
    intervals: dict[Read, float] = field(default_factory=dict)
    counters: SlotCounters = field(default_factory=SlotCounters)

    @property
    def trouble(self) -> str:
        """Return the name under which its problems are recorded."""
        return SLOT_TROUBLES[self.number]

    def note_asked(self, block: Block, now: float) -> None:
        self.intervals[block.read] = now - self.asked.get(block.read, now)
        self.asked[block.read] = now

    def take(self, block: Block, answer: Answer, now: float) -> int:
        """Process an answer; return the number of reads that replace the block, usually 0."""
        self.refusals.pop(block.read, None)
        self.silences.pop(block.read, None)
        self.unanswered, self.silent_since, self.bus_problem = 0, None, None
        if isinstance(answer, ExceptionReply):
            if answer.code in ONLY_ONE_BY_ONE and len(block.readings) > 1:
                return self._split(block)
            self.refusals[block.read] = answer.code
            if answer.code in NOT_NOW:
                # The earlier readings of the block stay valid until they are too old.
                return 0
        values = block.values(answer.data) if isinstance(answer, Data) else {}
        for reading in block.readings:
            value = self.values[reading.number] = values.get(reading.number)
            if value is None:
                self.good_until.pop(reading.number, None)
            else:
                self.good_until[reading.number] = now + self._counts_s(block)
        return 0

    def note_silence(self, block: Block, answer: NoAnswer | str, wall: float) -> None:
        """Record that there was no answer, or why the bus cannot be used."""
        if self.silent_since is None:
            self.silent_since = wall
        if isinstance(answer, str):
            self.bus_problem = answer
            return
        self.bus_problem = None
        self.silences[block.read] = answer
        self.unanswered += 1

    def _split(self, block: Block) -> int:
        """Replace a block by one read per reading, because the device may lack some of them."""
        place, parts = self.blocks.index(block), parts_of(block)
        self.blocks = (*self.blocks[:place], *parts, *self.blocks[place + 1 :])
        return len(parts)

    def _counts_s(self, block: Block) -> float:
        """Return how long a reading is valid, which is longer if its block is rarely read."""
        seldom_s = 3 * min(self.intervals.get(block.read, 0.0), MAX_INTERVAL_S)
        return max(STALE_S + 3 * len(self.blocks) * self.module.delay_s, seldom_s)

    def expire(self, now: float) -> bool:
        """Drop readings that are too old; return whether any were dropped."""
        old = [number for number, until in self.good_until.items() if until <= now]
        for number in old:
            del self.good_until[number]
            self.values[number] = None
        if self.silent_since is not None:
            # A module that does not answer is polled rarely, so these reads may not have been tried
            # since it stopped answering.
            for block in self.blocks:
                if any(reading.number in old for reading in block.readings):
                    self.silences.setdefault(block.read, NoAnswer())
        return bool(old)

    def list_refused(self) -> list[RefusedRead]:
        """List the rejected reads without a valid earlier reading."""
        return [
            RefusedRead(
                block.read.function,
                block.read.address,
                block.read.count,
                self.refusals[block.read],
                exception_words(self.refusals[block.read]),
            )
            for block in self.blocks
            if block.read in self.refusals and self._is_absent(block)
        ]

    def _is_absent(self, block: Block) -> bool:
        """Return whether the block has no valid reading."""
        return not any(reading.number in self.good_until for reading in block.readings)

    def problem(self) -> str | None:
        """Describe why readings are absent; None if no reading is absent."""
        return self.bus_problem or self._silence() or self._refusal()

    def _silence(self) -> str | None:
        silent = [
            block for block in self.blocks if block.read in self.silences and self._is_absent(block)
        ]
        if not silent:
            return None
        answer = self.silences[silent[-1].read]
        answers_nothing = self.unanswered > 1 or not (self.good_until or self.refusals)
        if answers_nothing or answer.is_damaged:
            return self.silence(answer)
        reads = [block.read for block in silent]
        function = reads[-1].function
        spans = [_span(one.address, one.count) for one in reads if one.function == function]
        return (
            f"{self._who} does not answer requests for {_places(function, spans)};"
            " compare the registers with the device's manual."
        )

    def _refusal(self) -> str | None:
        """Describe the rejected reads, once every read has been tried."""
        refused = self.list_refused()
        if not refused or not all(block.read in self.asked for block in self.blocks):
            return None
        refused.sort(key=lambda one: (one.code, one.function))
        parts = [
            f"{_places(function, [one.span for one in group])} ({_exception(code)})"
            for (code, function), group in groupby(refused, lambda one: (one.code, one.function))
        ]
        everything = "all requests: " if len(refused) == len(self.blocks) else ""
        return f"{self._who} refuses {everything}{', '.join(parts)}."

    def refusal_of(self, request: Read | Write, code: int) -> str:
        """Describe the rejection of a request."""
        what = "to be read" if isinstance(request, Read) else "to be written"
        return f"{self._who} refuses {what}: {_exception(code)}."

    def silence(self, answer: NoAnswer) -> str:
        """Describe what to check if the module does not answer."""
        if self.host:
            why = "sends invalid answers" if answer.is_damaged else "does not answer"
            return f"{self._who} {why}; check its unit ID, and the gateway if there is one."
        line = _in_words(self.module.line)
        if answer.is_damaged:
            return (
                f"answers of {self._who} arrive damaged; check the line settings ({line}), the bus"
                " termination, and that no other device has the same slave ID."
            )
        return (
            f"{self._who} does not answer; check the wiring, the slave ID and the line settings"
            f" ({line})."
        )

    @property
    def _who(self) -> str:
        where = f" at {self.host}" if self.host else ""
        return f"{self.label} with slave ID {self.slave}{where}"


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _places(function: int, spans: Iterable[str]) -> str:
    kind = "bits" if function in BIT_READS else "registers"
    return f"{kind} {', '.join(spans)} of function {function}"


def _exception(code: int) -> str:
    advice = f"; {_ADVICE[code]}" if code in _ADVICE else ""
    return f"exception {code}, {exception_words(code)}{advice}"


def _in_words(line: SerialParameters) -> str:
    bits = "stop bit" if line.stop_bits == 1 else "stop bits"
    return f"{line.bitrate} bit/s, parity {line.parity}, {line.stop_bits} {bits}"
