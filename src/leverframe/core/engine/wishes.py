"""The states in which rules and the schedule want outputs, and the outputs in another state.

A met rule that undoes its action when it ends wants the state to which it has set its target. A
schedule entry that has switched a target on wants it on until another entry switches it off;
without such an entry, as with an output that has a return time, it wants nothing. Rules come first:
the schedule decides only about targets for which no rule does.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from leverframe.core.engine.journal import Cause


class Wish(Struct, frozen=True):
    """The state of a target that a rule or a schedule entry wants; the other number is 0."""

    state: int
    cause: Cause
    rule: int = 0
    entry: int = 0


class Deviation(Struct, frozen=True):
    """A target in another state than the wanted one: since when, and what has set it."""

    label: str
    wish: Wish
    since: float
    mover: Cause

    @property
    def state(self) -> str:
        return "off" if self.wish.state else "on"


#: Finds the wish for a label; None if neither a rule nor the schedule wants a state.
FindWish = Callable[[str], Wish | None]


def no_wish(label: str) -> Wish | None:
    """Find nothing: the outputs of an engine without rules."""
    return None


def name_mover(cause: Cause) -> str:
    """Return what has set an output, as words for users."""
    match cause.kind:
        case "rule" | "watchdog":
            return f"{cause.kind} {cause.detail}"
        case "schedule":
            return f"schedule entry {cause.detail}"
        case "timer":
            return cause.detail
        case "start" | "snapshot":
            return "restart"
    return "manual command"


def is_by_hand(deviation: Deviation) -> bool:
    return name_mover(deviation.mover) == "manual command"


def sort_by_number(deviations: Iterable[Deviation]) -> list[Deviation]:
    """List deviations from rules first, each in the order of the rules and the entries."""
    return sorted(deviations, key=lambda one: (not one.wish.rule, one.wish.rule, one.wish.entry))
