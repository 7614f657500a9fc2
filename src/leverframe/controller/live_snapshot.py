"""Snapshots of a whole controller on virtual time: take and restore them, also in another
controller.

A snapshot has the settings, the engine with its timers and journal, what is remembered for a
restart, the simulated board with its plants, the moment, and what the parts beside the controller
add, such as captured messages. Going back to it changes the store first, as any request does; then
everything continues exactly as it did from that moment, also when another controller takes it up.

What people look back on stays as it is: the audit trail, which gets an entry where settings
change, and the history. So do uploads, sessions, and messages that have left.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from leverframe.controller.commit_path import Change
from leverframe.controller.controller import Controller
from leverframe.engine.change_description import ChangeDescription
from leverframe.engine.engine import Engine
from leverframe.engine.journal import Cause
from leverframe.engine.live_state import LiveState, export_state, import_state
from leverframe.engine.moment import Moment
from leverframe.engine.settings import Settings
from leverframe.engine.tree import MISSING, difference
from leverframe.errors import ErrorForPeople
from leverframe.hardware.simulated import SimulatedBoard
from leverframe.profile import Profile
from leverframe.storage.store import DELETED, Changes, StoreUnavailable
from leverframe.storage.writer import Commit

BY_SNAPSHOT = Cause("snapshot")


class NoLiveSnapshot(ErrorForPeople):
    """This controller cannot go back in time: a sentence says why."""


class LiveSnapshot(Struct, frozen=True):
    """The whole state of a controller at one moment."""

    profile: Profile
    settings: Settings
    engine: LiveState[Engine]
    remembered: Mapping[str, Any]
    moment: Moment
    bootloader_until: float | None
    #: The board's, then those of the parts beside the controller, in their order.
    parts: tuple[Any, ...]
    #: The names of those beside the board.
    part_names: tuple[str, ...]
    #: Who the controller is, for one that is made from a snapshot.
    identity: Mapping[str, str]
    timezone: str


async def take_snapshot(controller: Controller) -> LiveSnapshot:
    """Take a snapshot once all that was accepted is stored, without changing anything."""
    board = _bench(controller)
    await controller.writer.flush()
    return LiveSnapshot(
        controller.profile,
        controller.engine.settings,
        export_state(controller.engine),
        controller.persistent.of_engine(),
        controller.clock.read(),
        controller.bootloader_until,
        (board.live_state(), *(part.live_state() for part in controller.live_parts)),
        tuple(part.live_name for part in controller.live_parts),
        {
            name: value
            for name, value in controller.persistent.values.items()
            if name.startswith("identity.")
        },
        str(controller.timezone),
    )


async def go_back(controller: Controller, snapshot: LiveSnapshot) -> None:
    """Resume a controller from a snapshot, its own or another one's of the same hardware."""
    _bench(controller)
    if snapshot.profile.hw != controller.profile.hw:
        raise NoLiveSnapshot(
            f"The snapshot is for hardware {snapshot.profile.hw}; this controller has hardware "
            f"{controller.profile.hw}."
        )
    if len(snapshot.parts) != 1 + len(controller.live_parts):
        raise NoLiveSnapshot("The snapshot or this controller has recorded answers, but not both.")
    await controller.writer.flush()
    kept = _difference_of_remembered(controller, snapshot.remembered)
    if controller.profile.sw != snapshot.profile.sw:
        kept["profile.sw"] = snapshot.profile.sw
    await _store(controller, snapshot.settings, kept, partial(_resume, controller, snapshot))


async def start_again(
    controller: Controller, settings: Settings, remembered: Mapping[str, Any]
) -> None:
    """Restart a controller, as after a power cut, with what it had and remembered once."""
    await controller.writer.flush()
    kept = _difference_of_remembered(controller, remembered)
    then = partial(controller.start_again, settings, remembered)
    await _store(controller, settings, kept, then)


async def _store(
    controller: Controller,
    settings: Settings,
    remembered: dict[str, Any],
    then: Callable[[], object],
) -> None:
    """Write what changes, in one step, then continue."""
    leaves = list(difference(controller.pending, settings))
    if not (leaves or remembered):
        then()
        return
    audit: dict[str, str | None] = {}
    if leaves:
        audit = controller.audit.rows(controller.clock.wall(), BY_SNAPSHOT, leaves, {})
    change = Change(settings, BY_SNAPSHOT, ChangeDescription.of(leaves, {}), audit)
    changes = Changes(
        settings={path: DELETED if new is MISSING else new for path, _, new in leaves},
        kept=remembered,
        audit=audit,
    )
    written = controller.writer.commit(changes, partial(_on_stored, controller, then), change)
    controller.commits.pending = settings
    await written


def _on_stored(
    controller: Controller,
    then: Callable[[], object],
    commits: Sequence[Commit],
    error: StoreUnavailable | None,
) -> None:
    controller.commits.note_outcome(commits, error)
    if error is None:
        then()


def _resume(controller: Controller, snapshot: LiveSnapshot) -> None:
    """Restore the controller; all of it happens within this call."""
    board = _bench(controller)
    old, former = controller.engine.settings, controller.engine.values
    controller.clock.go_back(snapshot.moment)
    is_other_version = controller.profile != snapshot.profile
    controller.profile = snapshot.profile
    controller.persistent.values.update(dict.fromkeys(controller.persistent.of_engine()))
    controller.persistent.values.update(snapshot.remembered)
    of_board, *of_parts = snapshot.parts
    board.resume_from(of_board)
    for part, state in zip(controller.live_parts, of_parts, strict=True):
        part.resume_from(state)
    controller.go_on_with(import_state(snapshot.engine), snapshot.bootloader_until, former)
    if is_other_version:
        controller.notify_profile()
    if old is not snapshot.settings:
        controller.notify_settings(old, snapshot.settings, ())


def _difference_of_remembered(controller: Controller, then: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows that turn what is remembered now into what was."""
    now = controller.persistent.of_engine()
    return {
        name: DELETED if then.get(name) is None else then[name]
        for name in sorted({*now, *then})
        if now.get(name) != then.get(name)
    }


def _bench(controller: Controller) -> SimulatedBoard:
    bench = controller.board.bench
    if bench is None:
        raise NoLiveSnapshot("This board is not simulated: what it drives cannot go back in time.")
    if not controller.clock.is_virtual:
        raise NoLiveSnapshot(
            "Time runs in real time here and cannot go back; start with --virtual-time to "
            "allow that."
        )
    return bench
