"""Snapshots of a simulated controller as bytes, for a file that another process can read.

Magic, format, checksum, then the content, compressed. All that a snapshot in memory has is in it,
also secrets; but no faults that are set, which remember what they did to answers that are not here.
A file is read within limits and checked whole before anything is done with it.
"""

import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.commands.version_change.backup_content import EDITION
from leverframe.controller.controller import Controller
from leverframe.controller.faults import Faults
from leverframe.controller.live_snapshot import LiveSnapshot
from leverframe.engine import portable_state
from leverframe.engine.factory_settings import defaults
from leverframe.engine.live_state import export_state, import_state
from leverframe.engine.moment import Moment
from leverframe.engine.portable_state import EngineState, UnfitState, engine_from, portable
from leverframe.engine.tree import MISSING, difference, settings_from_leaves
from leverframe.errors import ErrorForPeople
from leverframe.hardware.simulated import BoardState, ReceivedSms, SimulatedBoard
from leverframe.hardware.simulated_hosts import HostsState
from leverframe.profile import Profile

MAGIC = b"LEVERFRAME SNAPSHOT\x00"
#: Raised with every change of what is below; the engine's state has a number of its own.
FORMAT = 1
_CHECKSUM_BYTES = 32
_HEAD_BYTES = len(MAGIC) + 1 + _CHECKSUM_BYTES
#: A controller with a full journal and outbox has less than one.
MAX_CONTENT_BYTES = 64 * 1024 * 1024
_ENCODER = msgspec.msgpack.Encoder(enc_hook=portable_state.ENCODER.enc_hook)
_ELSEWHERE = "take it again with this version"


class BadSnapshot(ErrorForPeople, ValueError):
    """A snapshot that cannot be saved, or bytes that are no readable snapshot: one sentence."""


class SavedSnapshot(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole controller at one moment, as plain data."""

    engine_format: int
    #: What its program took settings to mean.
    edition: int
    profile: Profile
    #: The name, MAC address and cookie that it had.
    identity: Mapping[str, str]
    timezone: str
    #: What differs from the factory settings of its version, by path.
    settings: dict[str, Any]
    remembered: Mapping[str, Any]
    moment: Moment
    bootloader_until: float | None
    engine: EngineState
    board: BoardState
    hosts: HostsState
    messages: list[ReceivedSms]
    #: The states of the parts beside the controller, by their names.
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
    """Read a saved snapshot; refuse what is foreign, damaged, or of another program version."""
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
    """Return the state of a part; one that the other controller lacked stays as it is."""
    raw = saved.parts.get(part.live_name)
    if raw is None:
        return part.live_state()
    state = msgspec.msgpack.decode(raw, type=part.live_type)
    return export_state((state, {})) if part.live_name == Faults.live_name else state
