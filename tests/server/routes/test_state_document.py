"""`/api/state` in segments is the state built from scratch, and so is what a stream adds up to."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leverframe.core.engine.journal import Cause
from leverframe.core.labels import LABELS, OUTPUTS, PWMS
from leverframe.core.profile import Profile
from leverframe.core.settings import Pid, Rule, ScheduleEntry, WatchdogEntry
from leverframe.core.tree import with_value
from leverframe.server.routes.state import GATHER_S, state_stream
from leverframe.server.routes.state_document import StateDocuments
from leverframe.testing import LoopTwin
from tests.boundary_profiles import PROFILES
from tests.cases import for_each
from tests.effort import examples
from tests.random_settings import random_stage

sources = st.sampled_from(["DS1", "T1", "INPD1", "EVENT1", "OUT0", "OUT1"])
rules = st.builds(
    Rule,
    source=sources,
    reference=st.sampled_from([0, 1, 20.0]),
    action=st.sampled_from(["OUT0", "OUT1", "EVENT1", "PWM0"]),
    value=st.integers(0, 2),
    on_delay=st.integers(0, 2),
    off_delay=st.integers(0, 2),
    depends=st.sampled_from([0, 2]),
    permanent=st.booleans(),
    enabled=st.sampled_from([True, True, False]),
)
SETTINGS = {
    "rules": st.lists(rules, max_size=3).map(tuple),
    "pid": st.builds(Pid, enabled=st.booleans(), source=st.just("DS1"), kp=st.just(100)),
    "outputs.0.return_time": st.integers(0, 3),
    "outputs.1.periodic": st.booleans(),
    "pwm.0.change_time": st.integers(0, 3),
    "watchdog.0": st.builds(WatchdogEntry, enabled=st.booleans(), host=st.just("router")),
    "timezone": st.sampled_from(["", "Europe/Warsaw"]),
}
STEPS = st.one_of(
    st.tuples(st.just("switch"), st.tuples(st.sampled_from(OUTPUTS + PWMS), st.integers(0, 1))),
    st.tuples(st.just("sense"), st.sampled_from(["DS1=21.5", "DS1=none", "INPD1=1", "T1=5"])),
    st.tuples(st.just("advance"), st.sampled_from([0.5, 1.0, 61.0])),
    st.tuples(
        st.just("settings"), st.one_of(*(st.tuples(st.just(k), v) for k, v in SETTINGS.items()))
    ),
    st.tuples(st.just("commands"), st.integers(0, 2**32)),
    st.tuples(st.just("trouble"), st.sampled_from(["No answer", None])),
    st.tuples(st.just("restart"), st.none()),
)


async def take(twin: LoopTwin, step: str, value: Any) -> None:
    controller = twin.controller
    match step:
        case "switch":
            label, state = value
            await twin.ok(f"/outs.cgi?{label.lower()}={state}")
        case "sense":
            await twin.ok(f"/sim.cgi?{value}")
        case "advance":
            await controller.advance(value)
        case "settings":
            path, setting = value
            settings = with_value(controller.engine.settings, path, setting)
            _apply(twin, settings)
        case "commands":
            stage = random_stage(controller.profile, controller.engine.settings, Random(value), 2)
            _apply(twin, stage.settings)
        case "trouble":
            controller.troubles.note("email", value)
        case _:
            controller.restart()


def _apply(twin: LoopTwin, settings: Any) -> None:
    """Have the engine adopt a tree as if it had been stored."""
    controller = twin.controller
    cause, at = Cause("command", "test"), controller.clock.read()
    controller.carry_out(controller.engine.apply(settings, (), at, cause))


def from_scratch(twin: LoopTwin, *, for_admin: bool) -> bytes:
    return StateDocuments(twin.controller).build(for_admin=for_admin)


@given(
    profile=st.sampled_from(PROFILES),
    steps=st.lists(st.tuples(STEPS, st.booleans()), min_size=10, max_size=30),
)
@examples(100)
def test_state_in_segments_equals_the_state_from_scratch(
    profile: Profile, steps: list[tuple[tuple[str, Any], bool]]
) -> None:
    async def check() -> None:
        async with await LoopTwin.start(profile) as twin:
            documents = StateDocuments(twin.controller)
            for (step, value), is_read in steps:
                await take(twin, step, value)
                for for_admin in (True, False) if is_read else ():
                    shown = documents.build(for_admin=for_admin)
                    assert shown == from_scratch(twin, for_admin=for_admin)

    asyncio.run(check())


WARM = Rule(source="DS1", reference=20.0, action="OUT0", value=1, enabled=True)
AT_ONE = ScheduleEntry(action="OUT0", value=0, time=60, days=("Mon",), active=True)
#: What is set up, and then what changes a member without a change of the value it is about.
CHANGES: list[tuple[str, dict[str, Any], list[tuple[str, Any]]]] = [
    ("switched", {}, [("sense", "INPD1=0&advance=1"), ("sense", "INPD1=1&advance=1")]),
    ("rules", {"rules": (WARM,)}, [("sense", "DS1=10"), ("sense", "DS1=11")]),
    ("rules", {"rules": (replace(WARM, enabled=False),)}, [("sense", "DS1=21")]),
    (
        "rules",
        {"rules": (replace(WARM, on_delay=3, value=0),)},
        [("sense", "DS1=21"), ("advance", 1.0), ("advance", 2.5)],
    ),
    ("schedule", {"schedule": (AT_ONE, *[None] * 29)}, [("advance", 61.0)]),
    ("schedule", {"schedule": (AT_ONE, *[None] * 29)}, [("settings", ("timezone", "Asia/Tokyo"))]),
]


@for_each(("member", "settings", "changes"), CHANGES)
async def test_member_without_a_changed_value_is_shown_as_it_is(
    member: str, settings: dict[str, Any], changes: list[tuple[str, Any]]
) -> None:
    async with await LoopTwin.start() as twin:
        for path, value in settings.items():
            await take(twin, "settings", (path, value))
        documents = StateDocuments(twin.controller)
        shown = [msgspec.json.decode(documents.build(for_admin=True))[member]]
        for step, value in changes:
            await take(twin, step, value)
            state = documents.build(for_admin=True)
            assert state == from_scratch(twin, for_admin=True)
            shown.append(msgspec.json.decode(state)[member])
        assert all(before != after for before, after in pairwise(shown))


def test_state_has_every_value_once_and_first() -> None:
    async def keys() -> list[str]:
        async with await LoopTwin.start() as twin:
            return list(await twin.state())

    found = asyncio.run(keys())
    assert found[: len(LABELS)] == list(LABELS)
    assert len({*found}) == len(found)


async def test_stream_adds_up_to_the_state() -> None:
    twin = await LoopTwin.start()
    documents = StateDocuments(twin.controller)
    stream = state_stream(twin.controller, documents, lambda: True, for_admin=True)
    known = await _next(stream)
    for target in ("/outs.cgi?out0=1", "/sim.cgi?DS1=21.5&advance=3", "/outs.cgi?out0=0"):
        await twin.ok(target)
        await asyncio.sleep(GATHER_S)
        known |= await _next(stream)
        assert known == await twin.state()
    await stream.aclose()
    await twin.close()


async def _next(stream: AsyncGenerator[bytes, None]) -> dict[str, Any]:
    """Return the content of the next message that is no heartbeat."""
    async for chunk in stream:
        kind, data, _ = chunk.split(b"\n", 2)
        if kind != b"event: heartbeat":
            content: dict[str, Any] = msgspec.json.decode(data.removeprefix(b"data: "))
            return content
    raise AssertionError("the stream ended")
