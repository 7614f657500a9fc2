"""The board that the wiring names: one of this package, or one that an installed package brings."""

from collections.abc import Callable

from leverframe.clock import Clock
from leverframe.errors import ErrorForPeople
from leverframe.hardware.board import Board
from leverframe.hardware.simulated import SimulatedBoard
from leverframe.wiring import BOARDS_GROUP, Wiring, board_kinds

#: What an entry point of `BOARDS_GROUP` stands for.
BoardFactory = Callable[[Wiring, Clock], Board]


class UnknownBoard(ErrorForPeople):
    """No installed package brings the board: one sentence with those that can be chosen."""


def make_board(wiring: Wiring, clock: Clock) -> Board:
    """Make the board that the wiring names; nothing is opened yet."""
    return _OWN.get(wiring.kind, _of_package)(wiring, clock)


def _linux(wiring: Wiring, _: Clock) -> Board:
    # Imported here: its drivers would cost every other start time and memory.
    from leverframe.hardware.linux import LinuxBoard

    return LinuxBoard(wiring)


def _of_package(wiring: Wiring, clock: Clock) -> Board:
    # Imported here for the same reason: 20 ms.
    from importlib.metadata import entry_points

    for found in entry_points(group=BOARDS_GROUP, name=wiring.kind):
        factory: BoardFactory = found.load()
        return factory(wiring, clock)
    known = ", ".join(board_kinds())
    raise UnknownBoard(f"No installed package brings a board {wiring.kind!r}; known are {known}.")


_OWN: dict[str, BoardFactory] = {
    "simulated": lambda _, clock: SimulatedBoard(clock.now),
    "linux": _linux,
}
