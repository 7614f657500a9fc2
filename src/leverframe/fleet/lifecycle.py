"""The life of a controller in a node: its states, and their transitions.

A controller is always in one of these states, and `TRANSITIONS` lists all transitions, for a single
node and for a cluster. The door, the list, health, metrics, Modbus TCP and `fleet start` read the
state; nothing else records whether a controller runs, or why it does not.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto

from leverframe.fleet.entrance import Entrance
from leverframe.host.assembly import ControllerHost


@dataclass(frozen=True, slots=True)
class Waiting:
    """The node will start the controller, but has not begun yet."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The controller failed to start."""

    #: A sentence for the operator; it may name files and ports of the machine.
    reason: str
    attempts: int = 1
    #: When the node retries the start, by the monotonic clock; None if only an operator can.
    retry_at: float | None = None


@dataclass(frozen=True, slots=True)
class Starting:
    #: The failure of the last attempt; it is reported until the outcome of this attempt is known.
    after: Failed | None = None


@dataclass(frozen=True, slots=True)
class Running:
    built: ControllerHost
    entrance: Entrance
    #: Moves the servers on shared ports, which are distinguished by address, to another address.
    move_ports: Callable[[str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Leaving:
    """The controller is stopping or has stopped here; another start creates another member."""

    #: The state that it had while it ran; None if it never ran.
    ran: Running | None = None


MemberState = Waiting | Starting | Running | Failed | Leaving


class MemberEvent(Enum):
    START = auto()  # its turn has come, or an operator retries it
    STARTED = auto()
    FAIL = auto()
    RESCHEDULE = auto()  # the next attempt need no longer wait
    LEAVE = auto()  # it is removed, stops with the node, or another node has it


#: A transition that is not listed cannot happen.
TRANSITIONS: dict[type[MemberState], dict[MemberEvent, type[MemberState]]] = {
    Waiting: {MemberEvent.START: Starting, MemberEvent.LEAVE: Leaving},
    Starting: {MemberEvent.STARTED: Running, MemberEvent.FAIL: Failed},
    Failed: {
        MemberEvent.START: Starting,
        MemberEvent.RESCHEDULE: Failed,
        MemberEvent.LEAVE: Leaving,
    },
    Running: {MemberEvent.LEAVE: Leaving},
    Leaving: {},
}


def follow(state: MemberState, event: MemberEvent, then: MemberState) -> MemberState:
    """Return the state that follows an event; raise if the event cannot happen in this state."""
    if TRANSITIONS[type(state)].get(event) is not type(then):
        raise RuntimeError(f"{event.name} cannot lead from {state!r} to {then!r}")
    return then
