"""The changes that users made to controllers; equal changes of several controllers are grouped."""

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.storage.audit import AuditEntry

#: Equal changes of several controllers within this time form one group.
TOGETHER_S = 120.0
#: The number of controllers that a group names, even if thousands have the change.
NAMED = 3

#: Identifies a change regardless of its controller: equal changes have equal keys.
_Key = tuple[str, str, str, str, bytes, int]


class NamedController(Struct, frozen=True):
    name: str
    url: str


class _Seen(NamedTuple):
    """The last group of a controller so far, and the last one with a change later than `time`."""

    place: int
    newer: int
    time: float


class FleetChange(Struct, frozen=True):
    """A change of one controller, or of several in groups."""

    name: str
    entry: AuditEntry
    # Nodes of older versions do not report these.
    url: Annotated[
        str, Meta(description="The URL of the pages and commands of the controller.")
    ] = ""
    count: Annotated[int, Meta(description="Number of controllers with this change.")] = 1
    others: Annotated[
        tuple[NamedController, ...],
        Meta(description=f"Further controllers of the group, of which {NAMED} are named in all."),
    ] = ()


def newness(change: FleetChange) -> tuple[float, int]:
    """Return a sort key for the newest changes first.

    In virtual time, many changes have the same time; among them, the last recorded change is first.
    """
    return -change.entry.time, -change.entry.number


def group_changes(changes: Iterable[FleetChange]) -> list[FleetChange]:
    """Join equal changes of different controllers; the newest stands for its group.

    The changes of one controller stay in order: a change never joins a group that is listed before
    a later change of the same controller. Changes with the same time may be listed in any order.
    """
    groups: list[FleetChange] = []
    #: The last group of each key, pairs of a group and a controller in it, and for each controller
    #: the groups that later changes of it are in.
    by_key: dict[_Key, int] = {}
    members: set[tuple[int, str]] = set()
    seen: dict[str, _Seen] = {}
    for change in sorted(changes, key=newness):
        key, name, time = _key_of(change.entry), change.name, change.entry.time
        known = seen.get(name, _Seen(-1, -1, time))
        newer = known.place if time < known.time else known.newer
        place = by_key.get(key, -1)
        if place > newer and (place, name) not in members and _is_near(groups[place], change):
            groups[place] = _join(groups[place], change)
        else:
            place = len(groups)
            groups.append(change)
        by_key[key] = place
        members.add((place, name))
        seen[name] = _Seen(max(place, known.place), newer, time)
    return groups


def _key_of(entry: AuditEntry) -> _Key:
    changes = msgspec.json.encode(entry.changes)
    return entry.cause, entry.detail, entry.account, entry.source, changes, entry.not_listed


def _is_near(group: FleetChange, change: FleetChange) -> bool:
    return group.entry.time - change.entry.time < TOGETHER_S


def _join(group: FleetChange, change: FleetChange) -> FleetChange:
    own = NamedController(change.name, change.url)
    others = (*group.others, own, *change.others)[: NAMED - 1]
    return replace(group, count=group.count + change.count, others=others)
