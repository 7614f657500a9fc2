"""What became of writes to modules, for people; and writes to the modules of a simulated board."""

from collections.abc import Callable

from msgspec import Struct

from leverframe.engine.effects import WriteModbus
from leverframe.hardware.simulated import SimulatedBoard

#: The newest places whose last write is shown.
SHOWN = 32

WAITING, WRITTEN, NOT_READ_BACK, DIFFERS, FAILED = (
    *("waiting", "written", "not read back", "differs", "failed"),
)


class WriteReport(Struct, frozen=True):
    """The last write to a place."""

    slot: int
    register: int
    type: str
    value: float
    #: Who wanted it.
    reason: str
    #: Seconds since 1970.
    time: float
    #: waiting, written (and read back), not read back, differs or failed.
    outcome: str
    read_back: float | None = None
    #: What is wrong, as a sentence.
    problem: str | None = None


class WriteReports:
    """The last write to each place, newest last."""

    def __init__(self, wall: Callable[[], float], on_change: Callable[[], None]) -> None:
        self._wall = wall
        self._on_change = on_change
        self._by_target: dict[str, WriteReport] = {}

    def note(
        self,
        effect: WriteModbus,
        outcome: str,
        read_back: float | None = None,
        problem: str | None = None,
    ) -> None:
        self._by_target.pop(effect.target, None)
        self._by_target[effect.target] = WriteReport(
            effect.slot,
            effect.register,
            effect.type,
            effect.value,
            effect.reason,
            self._wall(),
            outcome,
            read_back,
            problem,
        )
        if len(self._by_target) > SHOWN:
            del self._by_target[next(iter(self._by_target))]
        self._on_change()

    def report(self) -> list[WriteReport]:
        return list(self._by_target.values())


class SimulatedWriter:
    """The writer of a simulated board: its modules accept every value immediately."""

    def __init__(self, bench: SimulatedBoard, reports: WriteReports) -> None:
        self._bench = bench
        self._reports = reports

    def write(self, effect: WriteModbus) -> None:
        self._bench.write_module(effect)
        self._reports.note(effect, WRITTEN, effect.value)
