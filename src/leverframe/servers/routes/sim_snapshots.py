"""`/api/sim/snapshots`: named states of a simulated controller.

`?take=NAME` takes one and replaces an older one of that name, `?restore=NAME` restores it,
`?delete=NAME` deletes it; several are joined and carried out in order. They exist as long as the
process, in a limited number: each holds a whole controller. `/api/sim/snapshot?name=NAME` is one as
a file, without a name the present moment; `?load=NAME` takes such a file as the body of the
request, also in another process.
"""

import re
from typing import Annotated

from msgspec import Meta, Struct

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.params import decode_text
from leverframe.commands.table.refusals import BadValue, Conflict, Malformed, UnknownCommand
from leverframe.controller import Controller
from leverframe.controller.live_snapshot import (
    LiveSnapshot,
    NoLiveSnapshot,
    go_back,
    take_snapshot,
)
from leverframe.controller.saved_snapshot import (
    BadSnapshot,
    decode_snapshot,
    encode_snapshot,
    revive_snapshot,
)
from leverframe.servers.problems import StoreFailed
from leverframe.storage.store import StoreUnavailable

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
        """Return the file of a snapshot, without a name of one that is taken now."""
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
        """Carry out the items in order, after all of them have been checked."""
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
