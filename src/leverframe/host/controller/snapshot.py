"""Snapshots of a controller in virtual time: taken, restored, handed over, and saved as bytes."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.core.engine import portable_state
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import Cause, ChangeDescription
from leverframe.core.engine.machine import LiveState, export_state, import_state
from leverframe.core.engine.portable_state import EngineState, UnfitState, engine_from, portable
from leverframe.core.engine.timers import Moment
from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import MISSING, defaults, difference, settings_from_leaves
from leverframe.devices.simulated.simulated_board import (
    BoardState,
    HostsState,
    ReceivedSms,
    SimulatedBoard,
)
from leverframe.host.controller.commit_path import Change
from leverframe.host.controller.controller import Controller
from leverframe.host.controller.faults import Faults
from leverframe.interface.version_change.limits import EDITION
from leverframe.storage.store import DELETED, Changes, StoreUnavailable
from leverframe.storage.writer import Commit

# Snapshots of a whole controller in virtual time: take them, and restore them in the same or
# another controller.
#
# A snapshot contains the settings, the engine with its timers and journal, the state that survives
# a restart, the simulated board with its plants, the moment, and the states of the parts around the
# controller, such as captured messages. Restoring it changes the store first, as any request does.
# Then everything continues exactly as it did from that moment, also in another controller.
#
# Records of the past are not restored: the audit trail, which gets an entry if settings change, and
# the history. Uploads, sessions, and messages that were sent are not restored, either.

BY_SNAPSHOT = Cause("snapshot")


class NoLiveSnapshot(ErrorForPeople):
    """This controller cannot go back in time; the message says why in one sentence."""


class LiveSnapshot(Struct, frozen=True):
    """The whole state of a controller at one moment."""

    profile: Profile
    settings: Settings
    engine: LiveState[Engine]
    remembered: Mapping[str, Any]
    moment: Moment
    bootloader_until: float | None
    #: The state of the board, then the states of the parts around the controller, in their order.
    parts: tuple[Any, ...]
    #: The names of the parts around the controller.
    part_names: tuple[str, ...]
    #: The identity of the controller, which a controller created from the snapshot adopts.
    identity: Mapping[str, str]
    timezone: str


async def take_snapshot(controller: Controller) -> LiveSnapshot:
    """Take a snapshot once all accepted changes are stored, without changing anything."""
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
    """Resume a controller from a snapshot of itself, or of another one with the same hardware."""
    _bench(controller)
    if snapshot.profile.hw != controller.profile.hw:
        raise NoLiveSnapshot(
            f"The snapshot is for hardware {snapshot.profile.hw}; this controller has hardware "
            f"{controller.profile.hw}."
        )
    if len(snapshot.parts) != 1 + len(controller.live_parts):
        raise NoLiveSnapshot(
            "Either the snapshot or this controller uses recorded answers, but not both. Start"
            " the controller with the same recording as when the snapshot was taken."
        )
    await controller.writer.flush()
    kept = _difference_of_remembered(controller, snapshot.remembered)
    if controller.profile.sw != snapshot.profile.sw:
        kept["profile.sw"] = snapshot.profile.sw
    await _store(controller, snapshot.settings, kept, partial(_resume, controller, snapshot))


async def start_again(
    controller: Controller, settings: Settings, remembered: Mapping[str, Any]
) -> None:
    """Restart a controller, as after a power cut, with its earlier settings and state."""
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
    """Write all differences in one step, then continue."""
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
    """Return the rows that turn the present remembered state into the earlier one."""
    now = controller.persistent.of_engine()
    return {
        name: DELETED if then.get(name) is None else then[name]
        for name in sorted({*now, *then})
        if now.get(name) != then.get(name)
    }


def _bench(controller: Controller) -> SimulatedBoard:
    bench = controller.board.bench
    if bench is None:
        raise NoLiveSnapshot(
            "This board is not simulated, and real devices cannot go back in time."
        )
    if not controller.clock.is_virtual:
        raise NoLiveSnapshot(
            "This controller runs in real time and cannot go back in time; start it with"
            " --virtual-time to allow that."
        )
    return bench


# Snapshots of a simulated controller as bytes, for a file that another process can read.
#
# Magic, format, checksum, then the compressed content. It contains everything that a snapshot in
# memory contains, including secrets, but no active faults: these refer to answers that are not in
# the file. The size of a file is limited, and a file is checked completely before it is used.

MAGIC = b"LEVERFRAME SNAPSHOT\x00"
#: Increased with every change of the format below; the engine's state has its own number.
FORMAT = 1
_CHECKSUM_BYTES = 32
_HEAD_BYTES = len(MAGIC) + 1 + _CHECKSUM_BYTES
#: A controller with a full journal and a full outbox needs less than one MiB.
MAX_CONTENT_BYTES = 64 * 1024 * 1024
_ENCODER = msgspec.msgpack.Encoder(enc_hook=portable_state.ENCODER.enc_hook)
_ELSEWHERE = "take it again with this version"


class BadSnapshot(ErrorForPeople, ValueError):
    """A snapshot cannot be saved or read; the message is one sentence."""


class SavedSnapshot(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole controller at one moment, as plain data."""

    engine_format: int
    #: The edition of the program that saved it, which determines the meaning of settings.
    edition: int
    profile: Profile
    #: The name, MAC address and cookie of the controller.
    identity: Mapping[str, str]
    timezone: str
    #: The settings that differ from the factory settings of its version, by path.
    settings: dict[str, Any]
    remembered: Mapping[str, Any]
    moment: Moment
    bootloader_until: float | None
    engine: EngineState
    board: BoardState
    hosts: HostsState
    messages: list[ReceivedSms]
    #: The states of the parts around the controller, by name.
    parts: Mapping[str, msgspec.Raw]


class _Formats(Struct, frozen=True):
    engine_format: int
    edition: int


def encode_snapshot(snapshot: LiveSnapshot) -> bytes:
    """Encode a snapshot; refuse one with faults."""
    board = SimulatedBoard(lambda: snapshot.moment.now)
    of_board, *of_parts = snapshot.parts
    board.resume_from(of_board)
    changed = difference(defaults(snapshot.profile), snapshot.settings)
    saved = SavedSnapshot(
        portable_state.FORMAT,
        EDITION,
        snapshot.profile,
        snapshot.identity,
        snapshot.timezone,
        {path: value for path, _, value in changed if value is not MISSING},
        snapshot.remembered,
        snapshot.moment,
        snapshot.bootloader_until,
        portable(import_state(snapshot.engine)),
        board.portable(),
        board.hosts.live_state(),
        board.messages,
        {
            name: msgspec.Raw(_ENCODER.encode(_plain(name, state)))
            for name, state in zip(snapshot.part_names, of_parts, strict=True)
        },
    )
    content = zlib.compress(_ENCODER.encode(saved), level=1)
    return MAGIC + bytes((FORMAT,)) + sha256(content).digest() + content


def _plain(name: str, state: Any) -> Any:
    if name != Faults.live_name:
        return state
    number, faults = import_state(state)
    if faults:
        texts = ", ".join(one.fault.text for one in faults.values())
        raise BadSnapshot(
            f"A snapshot with faults cannot be saved; end these faults before you take it: {texts}."
        )
    return number


def decode_snapshot(data: bytes) -> SavedSnapshot:
    """Read a saved snapshot; refuse one that is foreign, damaged or of another program version."""
    if not data.startswith(MAGIC) or len(data) < _HEAD_BYTES:
        raise BadSnapshot("This is not a saved snapshot of a twin.")
    found = data[len(MAGIC)]
    if found != FORMAT:
        _refuse_format(f"format {found}", f"format {FORMAT}", is_newer=found > FORMAT)
    content = data[_HEAD_BYTES:]
    if sha256(content).digest() != data[len(MAGIC) + 1 : _HEAD_BYTES]:
        raise BadSnapshot("The saved snapshot is damaged: its checksum does not match.")
    try:
        unpacked = zlib.decompressobj().decompress(content, MAX_CONTENT_BYTES)
        formats = msgspec.msgpack.decode(unpacked, type=_Formats)
        of_file, own = (formats.engine_format, formats.edition), (portable_state.FORMAT, EDITION)
        if of_file != own:
            parts = [f"engine format {one[0]} and settings {one[1]}" for one in (of_file, own)]
            _refuse_format(parts[0], parts[1], is_newer=of_file > own)
        return msgspec.msgpack.decode(unpacked, type=SavedSnapshot)
    except (msgspec.MsgspecError, zlib.error) as error:
        raise BadSnapshot(f"The saved snapshot is damaged: {error}.") from None


def _refuse_format(found: str, known: str, *, is_newer: bool) -> None:
    age = "a newer" if is_newer else "an older"
    raise BadSnapshot(
        f"The saved snapshot has {found}, of {age} program; this one reads {known}; {_ELSEWHERE}."
    )


def revive_snapshot(saved: SavedSnapshot, controller: Controller) -> LiveSnapshot:
    """Return the snapshot to restore, from the bytes that this or another controller saved."""
    try:
        settings, unknown = settings_from_leaves(saved.profile, saved.settings)
        if unknown:
            raise UnfitState(f"there is no setting {min(unknown)}")
        persisted = {**controller.persistent.values, **saved.remembered}
        engine = engine_from(saved.engine, saved.profile, settings, controller.timezone, persisted)
        board = SimulatedBoard(lambda: saved.moment.now)
        board.fill(saved.board)
        board.messages = list(saved.messages)
        board.hosts.resume_from(saved.hosts)
        parts = tuple(_state_of(part, saved) for part in controller.live_parts)
    except (ErrorForPeople, msgspec.MsgspecError, ValueError, LookupError, TypeError) as error:
        why = str(error).removesuffix(".")
        raise BadSnapshot(f"The saved snapshot is damaged: {why}.") from error
    return LiveSnapshot(
        saved.profile,
        settings,
        export_state(engine),
        saved.remembered,
        saved.moment,
        saved.bootloader_until,
        (board.live_state(), *parts),
        tuple(part.live_name for part in controller.live_parts),
        saved.identity,
        saved.timezone,
    )


def _state_of(part: Any, saved: SavedSnapshot) -> Any:
    """Return the saved state of a part, or its present state if the snapshot has none."""
    raw = saved.parts.get(part.live_name)
    if raw is None:
        return part.live_state()
    state = msgspec.msgpack.decode(raw, type=part.live_type)
    return export_state((state, {})) if part.live_name == Faults.live_name else state
