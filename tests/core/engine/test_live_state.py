"""The exported state of an engine: a picture that stays, and independent copies.

That a copy continues exactly as the original is in `test_engine_properties.py`.
"""

from datetime import UTC
from random import Random
from zoneinfo import ZoneInfo

from leverframe.core.engine.machine import Samples, export_state, import_state
from leverframe.core.settings import Rule
from tests.boundary_profiles import PROFILES
from tests.cases import for_each
from tests.random_settings import random_settings

from .bench import Bench, check_that_both_continue_alike


def test_later_changes_do_not_change_the_picture() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    state = export_state(bench.engine)
    bench.wait(60)
    bench.engine = import_state(state)
    bench.now -= 60
    assert bench.values["OUT0"] == 1
    assert bench.due_in() == 5
    assert [line for line in bench.history() if "OUT0" in line] == ["command test: OUT0 on"]


def test_copies_continue_independently_of_each_other() -> None:
    bench = Bench({"rules": (Rule(source="DS1", reference=30, action="OUT1", enabled=True),)})
    state = export_state(bench.engine)
    first, second = import_state(state), import_state(state)
    first.sense({"DS1": 31.0}, bench.at)
    assert (first.values["OUT1"], second.values["OUT1"], bench.values["OUT1"]) == (1, 0, 0)
    assert second.machine.journal.count == bench.engine.machine.journal.count


def test_settings_are_the_very_same_tree_in_every_copy() -> None:
    bench = Bench(timezone=ZoneInfo("Europe/Warsaw"))
    copy = import_state(export_state(bench.engine))
    assert copy.settings is bench.settings
    assert copy.machine.timezone is bench.engine.machine.timezone


def test_recorder_of_values_is_not_copied() -> None:
    bench = Bench()
    bench.engine.machine.samples = Samples()
    assert import_state(export_state(bench.engine)).machine.samples is None


@for_each("seed", range(8))
def test_any_settings_of_any_version_can_be_exported(seed: int) -> None:
    random = Random(seed)
    profile = random.choice(PROFILES)
    bench = Bench(profile=profile, timezone=UTC)
    bench.apply(random_settings(profile, random))
    bench.effects()
    copy = Bench(profile=profile)
    copy.engine = import_state(export_state(bench.engine))
    copy.rewind_to(bench)
    check_that_both_continue_alike(bench, copy)
