"""Export a running controller as plain data, and resume from it in another process.

The export contains what the controller needs to resume: the engine with its timers, the simulated
board with its readings and plants, the journal, and the clock as users have set it. It fits a
controller with the same settings and version, in a program with the same format. Any other
controller starts as after a power cut, and the log says why. Tasks that became due in the meantime
run late.

The export does not contain faults, captured messages, or the list of what the board has driven.
Real pins cannot move.
"""

import logging
import time
import zlib
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.core.engine.calls import Action, SetEnergy, Switch
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import BY_START, KEPT_ENTRIES, Fact
from leverframe.core.engine.portable_state import (
    ENCODER,
    FORMAT,
    EngineState,
    UnfitState,
    engine_from,
    portable,
)
from leverframe.core.engine.timers import Moment
from leverframe.core.labels import OUTPUTS
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import NO_STEP_S, Clock, SystemClock, VirtualClock
from leverframe.core.settings import Settings
from leverframe.core.tree import MISSING, defaults, difference, is_confidential
from leverframe.devices.simulated.simulated_board import BoardState
from leverframe.host.controller.controller import NO_VALUES, Controller
from leverframe.host.controller.findings import FindingsState

log = logging.getLogger(__name__)

#: An older state is of no use: counters and timers would cover a time that was not observed.
MAX_AGE_S = 300.0
#: Many times the size of an export; longer data is truncated and treated as damaged.
MAX_BYTES = 4_000_000
_RESUMED = Fact("went_on")
_Remembered = dict[str, bool | int | float | None]


class LiveExport(Struct, frozen=True, forbid_unknown_fields=True):
    """The state of a running controller at one moment."""

    format: int
    profile: Profile
    #: The fingerprint of the settings.
    settings: str
    at: Moment
    #: How far users have set its clock ahead.
    ahead_s: float
    #: The values of the engine that were in the store.
    remembered: _Remembered
    engine: EngineState
    board: BoardState
    findings: FindingsState


class SavedLive(Struct, frozen=True):
    """An export as bytes, and how old it was at a moment of this machine's monotonic clock."""

    data: bytes
    age_s: float
    as_of: float

    def seconds_old(self) -> float:
        return self.age_s + time.monotonic() - self.as_of


class _Format(Struct, frozen=True):
    format: int


def hand_over(controller: Controller) -> SavedLive | None:
    """Freeze a controller and return its state for another process, or None if there is none.

    The caller has stored all accepted changes before, and stops the controller afterwards.
    """
    has_power = controller.bootloader_until is None
    controller.stand_still()
    if not has_power:
        return None
    try:
        digest = settings_digest(controller.profile, controller.engine.settings)
        return export_live(controller, digest)
    except Exception:
        log.exception(
            "the live state cannot be exported; the controller starts as after a power cut"
        )
        return None


def export_live(
    controller: Controller, digest: str, entries: int = KEPT_ENTRIES
) -> SavedLive | None:
    """Export a controller as it is now; None if it has a real board."""
    bench = controller.board.bench
    if bench is None:
        return None
    export = LiveExport(
        FORMAT,
        controller.profile,
        digest,
        controller.clock.read(),
        controller.clock.ahead_s,
        _find_remembered(controller),
        portable(controller.engine, entries),
        bench.portable(),
        controller.findings.portable(),
    )
    # Compressed to a quarter of the size: storing all bytes would cost the database more than
    # compressing them costs the node.
    data = zlib.compress(ENCODER.encode(export), level=1)
    return SavedLive(data, 0.0, time.monotonic())


def settings_digest(profile: Profile, settings: Settings) -> str:
    """Return a fingerprint of settings; of a secret, it covers only whether the secret is set."""
    leaves = {
        path: bool(value) if is_confidential(path) else _canonical(value)
        for path, _, value in difference(defaults(profile), settings)
    }
    text = msgspec.json.encode(leaves, order="deterministic")
    return blake2b(text, digest_size=16).hexdigest()


def _canonical(value: Any) -> Any:
    """Return a leaf in a form that storing does not change: all numbers become floats."""
    if value is MISSING:
        return None
    if isinstance(value, tuple | list):
        return [_canonical(one) for one in value]
    return float(value) if type(value) is int else value


def open_live(saved: SavedLive, profile: Profile) -> LiveExport:
    """Read an export; raise UnfitState if a controller of this version cannot use it."""
    if saved.seconds_old() > MAX_AGE_S:
        raise UnfitState(
            f"The live state is {saved.seconds_old():.0f} s old, which is too old to resume."
        )
    try:
        data = zlib.decompressobj().decompress(saved.data, MAX_BYTES)
        found = msgspec.json.decode(data, type=_Format).format
        if found != FORMAT:
            raise UnfitState(
                f"The live state has format {found}, of another program version; this one has"
                f" format {FORMAT}."
            )
        live = msgspec.json.decode(data, type=LiveExport)
    except (msgspec.MsgspecError, zlib.error) as error:
        raise UnfitState(f"The live state is damaged: {error}.") from error
    if live.profile != profile:
        raise UnfitState(
            f"The live state is for {live.profile}, but the controller is now {profile}."
        )
    return live


def resumption(
    saved: SavedLive | None, profile: Profile, node: Clock
) -> tuple[LiveExport, Clock] | tuple[None, None]:
    """Read an export and create its clock; if the export is unusable, log why and return None."""
    if saved is None:
        return None, None
    try:
        live = open_live(saved, profile)
    except UnfitState as error:
        _log_refusal(error)
        return None, None
    return live, resume_clock(live, saved, node)


def resume_clock(live: LiveExport, saved: SavedLive, node: Clock) -> Clock:
    """Return a clock set to the time that the exported controller would have now.

    In virtual time, a controller moves forward to the time of the node, but never back.
    """
    if not node.is_virtual:
        return SystemClock.from_now(live.at.now + saved.seconds_old())
    elapsed_s = max(0.0, node.wall() - live.at.wall)
    clock = VirtualClock()
    clock.go_back(Moment(live.at.now + elapsed_s, live.at.wall + elapsed_s))
    return clock


def try_resume(controller: Controller, live: LiveExport) -> bool:
    """Resume a controller that was not started; if that fails, log why and return False."""
    try:
        _resume(controller, live)
    except UnfitState as error:
        _log_refusal(error)
        return False
    return True


def _log_refusal(error: UnfitState) -> None:
    log.warning("%s The controller starts as after a power cut.", error)


def _resume(controller: Controller, live: LiveExport) -> None:
    bench = controller.board.bench
    if bench is None:
        raise UnfitState(
            "The board is not simulated, and real pins cannot move to another process."
        )
    settings = controller.engine.settings
    if live.settings != settings_digest(controller.profile, settings):
        raise UnfitState("The settings were changed after the live state was saved.")
    stored = _find_remembered(controller)
    engine = engine_from(
        live.engine, controller.profile, settings, controller.timezone, controller.persistent.values
    )
    try:
        bench.fill(live.board)
    except ValueError as error:
        raise UnfitState(f"The live state is damaged: {error}.") from error
    # Nothing fails from here on.
    clock = controller.clock
    if live.ahead_s:
        clock.set_wall(clock.wall() + live.ahead_s)
    controller.findings.fill(live.findings)
    if controller.journal_recorder is not None:
        controller.journal_recorder.resume_after(engine.machine.journal.count)
    engine.machine.journal.add(clock.wall(), BY_START, _RESUMED)
    sensed = controller.board.connect(controller.sense)
    controller.go_on_with(engine, None, NO_VALUES)
    at = clock.read()
    emitted = engine.resume(at, sensed)
    if abs(at.wall - live.at.wall - (at.now - live.at.now)) > NO_STEP_S:
        # The clocks of the two machines differ.
        emitted += engine.clock_changed(at)
    controller.carry_out([*emitted, *_newer(engine, live.remembered, stored, at)])


def _find_remembered(controller: Controller) -> _Remembered:
    kept = controller.persistent.of_engine()
    return {name: value for name, value in kept.items() if value is not None}


def _newer(
    engine: Engine, saved: Mapping[str, Any], stored: Mapping[str, Any], at: Moment
) -> list[Any]:
    """Apply values stored after the export, because clients received an acknowledgement of them."""
    actions = list(_actions(saved, stored))
    for name, on in stored.items():
        kind, _, index = name.partition(".")
        if kind == "counting" and on != saved.get(name):
            engine.energy.count(int(index), bool(on), BY_START)
    return engine.apply(engine.settings, actions, at, BY_START)


def _actions(saved: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[Action]:
    for name, value in stored.items():
        kind, _, index = name.partition(".")
        if value == saved.get(name):
            continue
        if kind == "output":
            yield Switch(OUTPUTS[int(index)], int(value))
        elif kind == "energy":
            yield SetEnergy(int(index), float(value))
