"""Virtual time and saved snapshots of a simulated controller, over HTTP."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Annotated

from msgspec import Meta, Struct

from leverframe.core.durations import (
    DAY_S,
    MAX_ADVANCE_S,
    BadDuration,
    seconds_from_text,
    text_from_seconds,
)
from leverframe.core.engine.machine import Value
from leverframe.core.labels import LIGHTING
from leverframe.host.controller import Controller
from leverframe.host.controller.snapshot import (
    BadSnapshot,
    LiveSnapshot,
    NoLiveSnapshot,
    decode_snapshot,
    encode_snapshot,
    go_back,
    revive_snapshot,
    take_snapshot,
)
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.names import BadCondition, condition_from_text
from leverframe.interface.table.params import decode_text
from leverframe.interface.table.refusals import (
    BadValue,
    ConditionNotMet,
    Conflict,
    Malformed,
    UnknownCommand,
)
from leverframe.server.http.limits import ends_with_client
from leverframe.server.problems import StoreFailed
from leverframe.storage.store import StoreUnavailable

# Advance virtual time through `/sim.cgi`: by seconds, to the next deadline, or to a condition.

#: Separates a condition from the longest time to wait for it.
WITHIN = "*within:"
DISTANCE = f"0 to {MAX_ADVANCE_S:.0f} in one request, or next"


class AwaitedCondition(Struct, frozen=True):
    text: str
    holds: Callable[[], bool]


class Advance(Struct, frozen=True):
    #: None advances to the next deadline.
    seconds: float | None
    #: Ends the advance when it is met; the request is refused if it is never met.
    until: AwaitedCondition | None = None

    async def carry_out(self, controller: Controller) -> None:
        """Advance the time; if the client leaves, stop at the time reached."""
        with ends_with_client():
            if self.until is None or self.seconds is None:
                await controller.advance(self.seconds)
                return
            is_reached = await controller.advance_until(self.until.holds, self.seconds)
        if not is_reached:
            within = text_from_seconds(self.seconds)
            raise ConditionNotMet(f"{self.until.text!r} was not met within {within}.")


def advance_from_text(text: str, controller: Controller) -> Advance:
    """Parse the text after `advance=`."""
    _require_virtual_time(controller)
    if text == "next":
        return Advance(None)
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise BadValue(f"{text!r} is not a number.", value=text, allowed=DISTANCE)
    if seconds < 0:
        raise _no_distance(text)
    # Adding 0.0 turns minus zero into zero.
    return Advance(seconds + 0.0)


def wait_from_text(text: str, controller: Controller) -> Advance:
    """Parse the text after `until=`: `CONDITION`, or `CONDITION*within:TIME`."""
    _require_virtual_time(controller)
    condition, mark, within = text.rpartition(WITHIN)
    if not mark:
        condition = text
    try:
        judge = condition_from_text(condition, controller.engine.settings)
        seconds = seconds_from_text(within) if mark else DAY_S
    except BadCondition as error:
        raise BadValue(error.detail, value=text, allowed=error.allowed) from None
    except BadDuration as error:
        raise BadValue(str(error), value=within, allowed=f"CONDITION{WITHIN}TIME") from None

    def present(label: str) -> Value:
        # A restart during the wait creates a new engine.
        engine = controller.engine
        return engine.inputs.lighting[label] if label in LIGHTING else engine.values[label]

    return Advance(seconds, AwaitedCondition(condition, lambda: judge(present)))


def check_distance(steps: Iterable[object]) -> None:
    """Refuse a request whose items together advance the time too far."""
    seconds = sum(step.seconds or 0 for step in steps if isinstance(step, Advance))
    if seconds > MAX_ADVANCE_S:
        raise _no_distance(f"{seconds:.0f}")


def _no_distance(seconds: str) -> BadValue:
    return BadValue(
        f"The time cannot be advanced by {seconds} seconds.",
        value=seconds,
        allowed=DISTANCE,
    )


def _require_virtual_time(controller: Controller) -> None:
    if not controller.clock.is_virtual:
        raise Conflict(
            "The controller runs in real time; restart it with --virtual-time to advance its time."
        )


# `/api/sim/snapshots`: named snapshots of a simulated controller.
#
# `?take=NAME` takes a snapshot and replaces an older snapshot of that name. `?restore=NAME`
# restores a snapshot, and `?delete=NAME` deletes it. Several items can be joined, and are carried
# out in order. Snapshots are lost when the process ends. Their number is limited, because each
# holds a whole controller. `/api/sim/snapshot?name=NAME` downloads a snapshot as a file; without a
# name, it downloads the current state. `?load=NAME` with such a file as the body loads the
# snapshot, even in another process.

MAX_SNAPSHOTS = 20
NAME = "1 to 40 letters, digits, spaces and the characters . _ -"
_NAME = r"[\w. -]{1,40}"
TAKE, LOAD, RESTORE, DELETE = "take", "load", "restore", "delete"
_STEPS = (TAKE, LOAD, RESTORE, DELETE)
_ALLOWED = ", ".join(f"{step}=NAME" for step in _STEPS)

_Name = Annotated[str, Meta(pattern=f"^{_NAME}$")]
PARAMETERS = (
    QueryParameter(TAKE, _Name, "Take a snapshot under this name; it replaces an older one."),
    QueryParameter(LOAD, _Name, "Load the saved snapshot in the body under this name."),
    QueryParameter(RESTORE, _Name, "Restore the snapshot with this name."),
    QueryParameter(DELETE, _Name, "Delete the snapshot with this name."),
)
FILE_PARAMETERS = (
    QueryParameter("name", _Name, "The name of the snapshot; default: the present state."),
)


class SnapshotReport(Struct, frozen=True):
    name: str
    time: Annotated[float, Meta(description="The moment of the snapshot, in seconds since 1970.")]


class SimSnapshots:
    """The snapshots of one controller, oldest first."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._snapshots: dict[str, LiveSnapshot] = {}

    def report(self) -> list[SnapshotReport]:
        return [SnapshotReport(name, one.moment.wall) for name, one in self._snapshots.items()]

    async def encode(self, query: str) -> bytes:
        """Return a snapshot as a file; without a name, take one now."""
        field, _, raw = query.partition("=")
        name = decode_text(raw)
        if query and (field != "name" or name not in self._snapshots):
            known = ", ".join(self._snapshots) or "none: take one first"
            raise BadValue(f"There is no snapshot {name!r}.", field="name", allowed=known)
        try:
            taken = self._snapshots[name] if query else await take_snapshot(self._controller)
            return encode_snapshot(taken)
        except (NoLiveSnapshot, BadSnapshot) as error:
            raise Conflict(str(error)) from None

    async def run(self, query: str, body: bytes = b"") -> None:
        """Check all items, then carry them out in order."""
        steps = self._steps(query)
        self._controller.check_that_it_is_here()
        loaded: LiveSnapshot | None = None
        try:
            if any(what == LOAD for what, _ in steps):
                loaded = revive_snapshot(decode_snapshot(body), self._controller)
            for what, name in steps:
                if what in (TAKE, LOAD):
                    snapshot = loaded if what == LOAD else None
                    self._snapshots.pop(name, None)
                    self._snapshots[name] = snapshot or await take_snapshot(self._controller)
                elif what == RESTORE:
                    await go_back(self._controller, self._snapshots[name])
                else:
                    del self._snapshots[name]
        except (NoLiveSnapshot, BadSnapshot) as error:
            raise Conflict(str(error)) from None
        except StoreUnavailable as error:
            raise StoreFailed.because(error) from None

    def _steps(self, query: str) -> list[tuple[str, str]]:
        steps: list[tuple[str, str]] = []
        names = list(self._snapshots)
        for item in filter(None, query.split("&")):
            what, equals, raw = item.partition("=")
            if what not in _STEPS or not equals:
                raise UnknownCommand("Unknown item.", allowed=_ALLOWED)
            name = decode_text(raw)
            if not re.fullmatch(_NAME, name):
                raise BadValue("This name is not allowed for a snapshot.", field=what, allowed=NAME)
            if what in (TAKE, LOAD):
                names.append(name)
            elif name not in names:
                known = ", ".join(names) or "none: take one first"
                raise BadValue(f"There is no snapshot {name!r}.", field=what, allowed=known)
            elif what == DELETE:
                names = [other for other in names if other != name]
            if len(set(names)) > MAX_SNAPSHOTS:
                raise Conflict(f"There are {MAX_SNAPSHOTS} snapshots already; delete one first.")
            steps.append((what, name))
        if not steps:
            raise Malformed("The query has no items.", allowed=_ALLOWED)
        return steps
