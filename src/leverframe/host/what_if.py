"""`leverframe what-if`: show what commands would change at a stopped controller, hour by hour.

The controller's data folder provides its settings, its state and the readings of the last hours,
which are replayed. If a scenario is given, its plants provide the readings instead.
"""

import time
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, tzinfo
from math import isnan
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leverframe.core.durations import text_from_seconds
from leverframe.core.engine import calls
from leverframe.core.engine.calls import Effect
from leverframe.core.engine.engine import NOTHING_SENSED, Engine
from leverframe.core.engine.lanes import Course, courses_from
from leverframe.core.engine.machine import Value, export_state
from leverframe.core.engine.timers import Moment
from leverframe.core.engine.what_if import (
    AFTER,
    MADE_HERE,
    TriedChange,
    WhatIf,
    labels_needed,
    what_if,
)
from leverframe.core.errors import DONE, NO, ErrorForPeople, print_json, printable
from leverframe.core.labels import LABELS, OUTPUTS, PWMS
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import settings_from_leaves
from leverframe.devices.simulated.plant_kinds import Plants
from leverframe.host.configuration import Config
from leverframe.host.scenario import plant_from_table, read_scenario, sentence_of
from leverframe.host.start_version import read_stored_profile
from leverframe.interface.table.command_text import parse_commands, perform_written
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.stage import Stage
from leverframe.storage.datafolder import folder_with_store
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.queries import TimeSpan, raw, raw_pieces
from leverframe.storage.sqlite import SqliteStore


class BadWhatIf(ErrorForPeople):
    """The commands cannot be tried; the message is one sentence."""


async def compare_futures(
    config: Config, commands: Path, for_s: float, scenario: Path | None, json: bool
) -> int:
    """Print the differences; return an exit status that shows whether there are any."""
    with folder_with_store(Path(config.data)) as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        try:
            profile, stored = config.version.profile(*read_stored_profile(store)), store.load()
        finally:
            await store.close()
        settings, _ = settings_from_leaves(profile, stored.settings)
        change = _change(commands, profile, settings)
        engine = Engine(profile, settings, config.zone(), stored.kept)
        result = futures(engine, change, for_s, folder.history_path, scenario)
    if json:
        print_json(msgspec.to_builtins(result))
    else:
        print_futures(result, config.zone())
    return NO if result.differing else DONE


def _change(file: Path, profile: Profile, settings: Settings) -> TriedChange:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadWhatIf(f"{file} cannot be read: {why}.") from None
    stage = Stage(profile, settings)
    try:
        perform_written(parse_commands(text), stage)
    except Refusal as refusal:
        raise BadWhatIf(f"{file}: {sentence_of(refusal)}") from None
    return TriedChange(stage.settings, tuple(stage.actions))


def futures(
    engine: Engine, change: TriedChange, for_s: float, history: Path | None, scenario: Path | None
) -> WhatIf:
    """Compare a newly started controller's future with and without a change.

    The readings in the history are replayed, except those that the scenario's plants provide.
    """
    recorded = history if history is not None and history.exists() else None
    wall, values = (time.time(), dict[str, Value]()) if recorded is None else _last(recorded)
    at = Moment(0.0, wall)
    emitted = engine.start(at)
    for label, value in values.items():
        engine.machine.put(label, value)
    emitted += engine.sense({}, at)
    if scenario is None:
        return _compare_runs(recorded, engine, at, for_s, change)
    pins = _pins_after(emitted)
    # Each future has its own plants; both begin with the same readings.
    first, ours = _wire_plants(scenario, engine, pins, at)
    _, theirs = _wire_plants(scenario, engine, pins, at)
    return _compare_runs(recorded, engine, at, for_s, change, (ours, theirs), first)


def _last(history: Path) -> tuple[float, dict[str, Value]]:
    """Return the time and values of the last recorded readings."""
    with closing(ChunkStore(history, Bounds().max_bytes)) as chunk_store:
        compactor = Compactor(chunk_store, Bounds())
        wall = chunk_store.end_of_record()
        if wall is None:
            return time.time(), {}
        span = TimeSpan((), wall - 1.0, wall, 1, wall)
        values = {label: raw(compactor, span, label)[1] for label in compactor.labels()}
    known: dict[str, Value] = {
        label: found[-1]
        for label, found in values.items()
        if found and not isnan(found[-1]) and label in LABELS and label not in MADE_HERE
    }
    return wall, known


def _compare_runs(
    history: Path | None,
    engine: Engine,
    at: Moment,
    for_s: float,
    change: TriedChange,
    worlds: tuple[Plants | None, Plants | None] = (None, None),
    first: Mapping[str, float] = NOTHING_SENSED,
) -> WhatIf:
    state, plants = export_state(engine), worlds[0] or Plants()
    courses: Mapping[str, Course] = {}
    if history is not None:
        with closing(ChunkStore(history, Bounds().max_bytes)) as chunk_store:
            needed = labels_needed(state, change) | plants.followed
            labels = tuple(sorted(needed - plants.fed))
            span = TimeSpan(labels, at.wall - for_s, at.wall, 1, at.wall)
            courses = courses_from(raw_pieces(Compactor(chunk_store, Bounds()), span), for_s)
    return what_if(state, at, for_s, change, courses, worlds, first)


def _pins_after(emitted: list[Effect]) -> dict[str, float]:
    """Return the state of each output after these effects."""
    pins = dict.fromkeys((*OUTPUTS, *PWMS), 0.0)
    for effect in emitted:
        match effect:
            case calls.DriveOutput(index, on):
                pins[OUTPUTS[index]] = float(on)
            case calls.DrivePwm(index, level):
                pins[PWMS[index]] = level
    return pins


def _wire_plants(
    scenario: Path, engine: Engine, pins: Mapping[str, float], at: Moment
) -> tuple[dict[str, float], Plants]:
    """Return the plants of a scenario with their first readings."""
    plants, first = Plants(), dict[str, float]()
    known = {label: float(value) for label, value in engine.values.items() if value is not None}
    for table in read_scenario(scenario).plants:
        first |= plants.wire(plant_from_table(table), at.now, {**known, **first, **pins})
    return first, plants


def print_futures(result: WhatIf, zone: tzinfo) -> None:
    console = Console(highlight=False)
    for entry in result.differing:
        local = datetime.fromtimestamp(entry.time, zone)
        sign, colour = ("+", "green") if entry.only == AFTER else ("-", "red")
        line = Text(
            f"{sign} {local:%a %d %b %H:%M:%S}  {printable(entry.text):<44}  ", style=colour
        )
        line.append(printable(entry.cause), style="dim")
        console.print(line, soft_wrap=True)
    if result.not_listed:
        console.print(f"... and {result.not_listed} more")
    console.print(
        f"{len(result.differing) + result.not_listed} entries differ, {result.same} are equal."
    )
    if result.without:
        console.print(_uses(result))


def _uses(result: WhatIf) -> Table:
    table = Table("output", "switched without", "with", "time on without", "with")
    for label, before in result.without.items():
        after = result.with_[label]
        times = (text_from_seconds(round(one.on_s)) for one in (before, after))
        table.add_row(label, str(before.changes), str(after.changes), *times)
    return table
