"""A file that is built again in parts is the file that is built from scratch, whatever happens."""

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import ON, NextOneWireId, RaiseRestartFlag
from leverframe.core.engine.machine import KEPT_CHANGES, PARTS
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.engine.rules import CONFIRMED_WITHIN_S
from leverframe.core.labels import DIGITAL_INPUTS, LABELS, LIGHTING, LIMITS
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, Settings
from leverframe.interface.status_files import PATHS, View, build, layout_of
from leverframe.interface.status_files.segments import (
    ALWAYS,
    CLOCK,
    UPTIME,
    Document,
    DocumentLayout,
    Segment,
)
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.row import Row
from tests.boundary_profiles import PROFILES as EVERY_PROFILE
from tests.cases import for_each
from tests.effort import examples, some_of
from tests.interface.status_files.files_bench import NEWEST, PROFILES, FilesBench
from tests.random_settings import random_stage

ID = "28FF641E8C160354"
#: What a board delivers; one is often the same as the one before, and hardly any is absent.
numbers = st.sampled_from([0.0, 0.5, 12.25, 21.5, 40.0, None])
readings: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.dictionaries(st.sampled_from(sorted(LIMITS)), numbers, min_size=1, max_size=4),
    st.fixed_dictionaries(dict.fromkeys(LIMITS, numbers)),
    st.dictionaries(st.sampled_from(DIGITAL_INPUTS), st.sampled_from([0, 1]), min_size=1),
    st.dictionaries(st.sampled_from(LIGHTING), numbers, min_size=1),
    st.dictionaries(st.sampled_from(["slot1", "slot2"]), st.tuples(*[numbers] * 30), min_size=1),
    st.fixed_dictionaries({"barcode": st.sampled_from(["<5&", "ä*\x01", None])}),
    st.fixed_dictionaries({"onewire": st.sampled_from([(), (ID,)]), ID: numbers}),
)
sources = st.sampled_from(["DS1", "T1", "INPD1", "EVENT1", "OUT0", "OUT1"])
rules = st.builds(
    Rule,
    source=sources,
    reference=st.sampled_from([0, 1, 20.0]),
    operator=st.sampled_from(["-", "AND", "XOR"]),
    source2=sources,
    action=st.sampled_from(["OUT0", "OUT1", "EVENT1"]),
    value=st.integers(0, 2),
    off_delay=st.integers(0, 2),
    enabled=st.sampled_from([True, True, False]),
    mode=st.integers(0, 2),
)
LAYOUTS = [layout for path in PATHS for one in EVERY_PROFILE if (layout := layout_of(path, one))]
INPUTS = {name for layout in LAYOUTS for one in layout.segments for name in one.inputs}


def is_shown(row: Row) -> bool:
    """Return whether a command sets something in a branch that a file shows."""
    paths = [*row.limits, *(path for group in row.sets.values() for path in group)]
    return not INPUTS.isdisjoint(path.partition(".")[0] for path in paths)


SHOWN = [row for row in TABLE if is_shown(row)]
STEPS = st.one_of(
    st.tuples(st.just("command"), st.integers(0, 2**32)),
    st.tuples(st.just("shown command"), st.integers(0, 2**32)),
    st.tuples(st.just("sense"), readings),
    st.tuples(st.just("sense"), readings),
    st.tuples(st.just("rules"), st.lists(rules, max_size=3)),
    st.tuples(st.just("wait"), st.sampled_from([0.3, 0.5, 1.0, 61.7])),
    st.tuples(st.just("set_clock"), st.sampled_from([1.0e9, 1.7e9 + 0.4])),
    st.tuples(st.just("restart"), st.none()),
)


def refresh(document: Document[View], view: View) -> Collection[int]:
    return document.refresh(view.engine, view.at, lambda: view)


class Reader:
    """Keeps every file of a controller in segments, as the server does."""

    def __init__(self, profile: Profile = NEWEST) -> None:
        layouts = ((path, layout_of(path, profile)) for path in PATHS)
        self.documents = {path: Document(layout) for path, layout in layouts if layout}

    def read(self, view: View) -> dict[str, bytes]:
        for document in self.documents.values():
            refresh(document, view)
        return {path: document.content() for path, document in self.documents.items()}


def from_scratch(view: View) -> dict[str, bytes]:
    files = {path: build(path, view) for path in PATHS}
    return {path: content for path, content in files.items() if content is not None}


def take(bench: FilesBench, step: str, value: Any) -> None:
    match step:
        case "command" | "shown command":
            random, rows = Random(value), TABLE if step == "command" else SHOWN
            stage = random_stage(bench.profile, bench.settings, random, 2, rows)
            bench.apply(stage.settings, *stage.actions)
        case "sense":
            bench.sense(**value)
        case "rules":
            bench.set(rules=tuple(value))
        case "restart":
            bench.restart()
        case _:
            getattr(bench, step)(value)


@given(
    profile=st.sampled_from(EVERY_PROFILE),
    steps=st.lists(st.tuples(STEPS, st.booleans()), min_size=15, max_size=30),
)
@examples(300)
def test_files_in_segments_equal_those_built_from_scratch(
    profile: Profile, steps: list[tuple[tuple[str, Any], bool]]
) -> None:
    bench, reader = FilesBench({"impulse_time": (True, True)}, profile=profile), Reader(profile)
    bench.sense(**dict.fromkeys(LIMITS, 21.5))
    for (step, value), is_read in steps:
        take(bench, step, value)
        if is_read:
            assert reader.read(bench.view) == from_scratch(bench.view)


@for_each("profile", PROFILES, ids=str)
def test_reader_that_is_far_behind_gets_what_is_there_now(profile: Profile) -> None:
    bench, reader = FilesBench(profile=profile), Reader(profile)
    reader.read(bench.view)
    bench.sense(INPA1=1.5)
    bench.send("/stm.cgi?oname=0Pump")
    for number in range(KEPT_CHANGES + 1):
        bench.sense(DS1=float(number))
    assert reader.read(bench.view) == from_scratch(bench.view)


def test_switch_builds_only_segments_that_show_it() -> None:
    bench, reader = FilesBench(), Reader()
    document = reader.documents["/json/status.json"]
    refresh(document, bench.view)
    bench.switch_on("OUT1")
    assert [document.parts[place] for place in refresh(document, bench.view)] == [
        b'"out0":"0","out1":"1","out2":"0","out3":"0","out4":"0","out5":"0"'
    ]
    assert not refresh(document, bench.view)


def test_changed_setting_is_shown_immediately_and_so_is_its_way_back() -> None:
    bench, reader = FilesBench(), Reader()
    before = reader.read(bench.view)["/json/outputs.json"]
    bench.send("/stm.cgi?oname=0Pump")
    assert b'"Pump"' in reader.read(bench.view)["/json/outputs.json"]
    bench.send("/stm.cgi?oname=0")
    assert reader.read(bench.view)["/json/outputs.json"] == before


def test_voltage_at_a_pin_is_shown_where_the_reading_stays_absent() -> None:
    bench, reader = FilesBench({"analog_inputs.0.sensor": "PT1000"}), Reader()
    for volts in (30.0, 31.0):
        bench.sense(INPA1=volts)
        assert bench.values["INPA1"] is None
        assert b"<inp1>%d000</inp1>" % volts in reader.read(bench.view)["/xml/ix.xml"]


def test_rule_whose_source_did_not_come_back_shows_no_result() -> None:
    rule = Rule(source="DS1", reference=20.0, action="OUT0", value=ON, enabled=True)
    bench, reader = FilesBench({"rules": (rule,), "outputs.0.remember": True}), Reader()
    bench.sense(DS1=21.0)
    bench.restart()
    assert b"<eve0>10</eve0>" in reader.read(bench.view)["/xml/eve.xml"]
    bench.wait(CONFIRMED_WITHIN_S)
    assert b"<eve0>00</eve0>" in reader.read(bench.view)["/xml/eve.xml"]


def test_document_with_a_segment_that_failed_is_built_again_as_a_whole() -> None:
    bench, faults = FilesBench(), [ValueError("one segment")]

    def fail_once(view: View) -> bytes:
        if faults:
            raise faults.pop()
        return b"b"

    segments = [Segment[View]((), fail_once), Segment[View]((), lambda view: b"c")]
    document = Document(DocumentLayout(b"a", b"", b"d", segments))
    with pytest.raises(ValueError, match="one segment"):
        refresh(document, bench.view)
    refresh(document, bench.view)
    assert document.content() == b"abcd"


class RecordedSettings:
    """A tree of settings that notes which of its branches are read."""

    def __init__(self, settings: Settings, seen: set[str]) -> None:
        self._settings, self._seen = settings, seen

    def __getattr__(self, branch: str) -> Any:
        self._seen.add(branch)
        return getattr(self._settings, branch)


class RecordedValues(dict[str, Any]):
    """Values that note which of them are read."""

    def __init__(self, values: Mapping[str, Any], seen: set[str]) -> None:
        super().__init__(values)
        self._seen = seen

    def __getitem__(self, label: str) -> Any:
        self._seen.add(label)
        return super().__getitem__(label)


@for_each("profile", some_of(EVERY_PROFILE), ids=str)
def test_segments_read_no_value_or_branch_that_is_not_among_their_inputs(profile: Profile) -> None:
    bench, seen = FilesBench(profile=profile), set[str]()
    bench.sense(**dict.fromkeys(LIMITS, 21.5))
    view, machine = bench.view, bench.engine.machine
    machine.values = RecordedValues(machine.values, seen)
    machine.settings = RecordedSettings(machine.settings, seen)  # type: ignore[assignment]
    for path in PATHS:
        layout = layout_of(path, profile)
        for segment in layout.segments if layout is not None else ():
            seen.clear()
            segment.build(view)
            unnamed = seen.difference(segment.inputs)
            # The follower adds these where a label of a rule has changed.
            assert not unnamed or "rules" in segment.inputs, segment.build(view)


@for_each(
    ("path", "act"),
    [
        ("/json/all.json", lambda bench: bench.sense(d3=4.5)),
        ("/json/all.json", lambda bench: bench.sense(barcode="5901234")),
        ("/json/dsi2c.json", lambda bench: bench.do(NextOneWireId())),
        ("/json/status.json", lambda bench: bench.do(RaiseRestartFlag())),
        ("/json/status_per.json", lambda bench: bench.sense(INPD2=0)),
        ("/json/status_per.json", lambda bench: bench.sense(slot2=(7.5,) * 30)),
        ("/xml/co.xml", lambda bench: bench.set_clock(1.0e9)),
    ],
)
def test_change_of_what_has_no_label_is_shown(path: str, act: Callable[[FilesBench], None]) -> None:
    # A version that has each of the keys.
    profile = Profile("3.5", "1.45b")
    bench, reader = FilesBench({"impulse_time": (True, True)}, profile=profile), Reader(profile)
    bench.sense(onewire=(ID,), INPD1=1, INPD2=1)
    bench.sense(INPD1=0)
    bench.wait(0.25)
    before = reader.read(bench.view)[path]
    act(bench)
    after = reader.read(bench.view)[path]
    assert after == build(path, bench.view) != before


def test_files_depend_only_on_inputs_whose_changes_are_reported() -> None:
    reported = {*LABELS, *DUTIES, *PARTS, *Settings.__struct_fields__}
    reported |= {CLOCK, UPTIME, ALWAYS}
    assert INPUTS - reported == set()
