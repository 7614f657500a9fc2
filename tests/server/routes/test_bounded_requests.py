"""Long work of one controller: the same results as in this process, budgets, long answers."""

import asyncio
import gc
import gzip
from array import array
from collections.abc import AsyncIterator, Iterable
from math import nan
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.lanes import RecordedPiece
from leverframe.core.engine.machine import export_state
from leverframe.core.engine.rule_report import encode_rule_trial, find_sources
from leverframe.core.engine.timers import Moment
from leverframe.core.engine.what_if import TriedChange, encode_what_if, labels_needed
from leverframe.core.profile import Profile
from leverframe.core.runtime.bounded_work import MIB, WorkBudget, WorkPlaces, run_bounded
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.settings import Rule
from leverframe.devices.simulated.plant_kinds import Plants
from leverframe.devices.simulated.plant_wiring import plant_from_text
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.rules import event_query
from leverframe.server.http.messages import StreamCut, StreamReply
from leverframe.server.problems import TooBusy
from leverframe.server.routes.context import ControllerWork, streams_of_all
from leverframe.server.routes.history import MAX_SHORT
from leverframe.server.routes.router import Web
from leverframe.server.routes.timeline import TimelineQuestion, encode_timeline
from leverframe.storage.history.queries import TimeSpan, raw_pieces
from leverframe.testing import LoopTwin
from tests.effort import examples
from tests.patience import PATIENCE_S
from tests.random_settings import random_settings

START = VirtualClock.START
BUDGET = WorkBudget(wall_s=PATIENCE_S)
CHATTERS = "\n".join(
    f"/inpa.cgi?{event_query(number, rule, Profile())}&eventon={number}*1"
    for number in range(20)
    if (label := f"OUT{number % 6}")
    and (rule := Rule(source=label, compare="=", action=label, value=1, on_delay=1))
)


def record(chance: Random, labels: Iterable[str], until: float) -> list[list[RecordedPiece]]:
    """Give random values of the last ten minutes, in pieces as the history gives them."""

    def piece(label: str, begin: float) -> RecordedPiece:
        times = sorted(begin + chance.random() * 300 for _ in range(chance.randint(0, 20)))
        values = [chance.choice((nan, 0.0, 1.0, 21.5, 40.0)) for _ in times]
        return label, array("d", times), array("d", values)

    return [[piece(label, until - before) for label in labels] for before in (600, 300)]


async def feed(pieces: Iterable[list[RecordedPiece]]) -> AsyncIterator[list[RecordedPiece]]:
    for piece in pieces:
        yield piece


def plants_at(at: Moment) -> Plants:
    plants = Plants()
    room = "room*heater:OUT0*reading:DS1*outside:5*power:40*time_constant:10m*start:25"
    plants.wire(plant_from_text(room), at.now, {"OUT0": 0.0})
    return plants


@given(st.integers(0, 10_000))
@examples(20)
def test_process_computes_what_this_one_does(seed: int) -> None:
    chance, profile, at = Random(seed), Profile(), Moment(100.0, START)
    engine = Engine(profile, random_settings(profile, chance))
    engine.start(at)
    change = TriedChange(random_settings(profile, chance))
    labels = labels_needed(export_state(engine), change)
    question = TimelineQuestion(
        *(at.wall - 600, at.wall + 600, at, dict(engine.values)),
        *(engine.settings.rules, export_state(engine), True, START),
    )
    works: list[tuple[Any, tuple[Any, ...], Iterable[str]]] = [
        (
            encode_what_if,
            (export_state(engine), at, 600.0, change, export_state(plants_at(at))),
            labels,
        ),
        (encode_timeline, (question,), question.labels),
    ]
    for place, rule in enumerate(change.settings.rules):
        if rule is not None:
            zone, span = engine.machine.timezone, (at.wall - 600, at.wall)
            trial = (change.settings, place, profile, zone, span)
            works.append((encode_rule_trial, trial, find_sources(change.settings, place)))
    function, values, needed = works[seed % len(works)]
    recorded = record(chance, sorted(needed), at.wall)
    here = function(*values, iter(recorded))
    there = run_bounded(function, *values, budget=BUDGET, fed=feed(recorded))
    assert asyncio.run(there) == here


async def start_twin(budget: WorkBudget) -> LoopTwin:
    """Give a twin whose work has a budget of its own."""
    twin = await LoopTwin.start()
    work = ControllerWork(WorkPlaces(), streams_of_all(), "it", budget=budget)
    twin.web = Web(twin.controller, name="twin", mac="02:00:00:00:00:01", work=work)
    return twin


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        # That a process keeps to these: tests/core/runtime/.
        pytest.param(
            *(WorkBudget(PATIENCE_S, 20, 64 * MIB), "more than 64 MiB of memory"),
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            *(WorkBudget(PATIENCE_S, 1), "more than 1 s of computing"),
            marks=pytest.mark.thorough,
        ),
        (WorkBudget(0.5), "longer than 0.5 s"),
    ],
)
async def test_work_over_its_budget_is_refused_with_a_sentence(
    budget: WorkBudget, sentence: str
) -> None:
    twin = await start_twin(budget)
    reply = await twin.ask("/api/what-if?for=7d", "POST", CHATTERS.encode())
    assert reply.status == 422
    problem = msgspec.json.decode(reply.body)
    assert sentence in problem["detail"]
    assert "a shorter time in `for`" in problem["detail"]


async def fill(twin: LoopTwin, count: int) -> None:
    """Record as many changes of an output, two a second, up to now."""
    await twin.ok(f"/sim.cgi?advance={count}")
    controller = twin.controller
    assert controller.history is not None
    now = controller.clock.read().wall
    controller.history.samples += [
        (now - (count - number) / 2, "OUT0", number % 2) for number in range(count)
    ]
    controller.history.flush()


async def test_more_values_than_are_read_for_a_request_are_refused() -> None:
    twin = await LoopTwin.start()
    await fill(twin, 1000)
    now = twin.controller.clock.read().wall
    span = TimeSpan(("OUT0",), now - 500, now, 1, now)
    assert twin.controller.history is not None
    with pytest.raises(Exception, match="More than 999 values"):
        await twin.controller.history.ask(lambda one: list(raw_pieces(one, span, 999)))


async def test_timeline_of_many_values_is_built_in_a_process() -> None:
    twin = await LoopTwin.start()
    count = MAX_SHORT + 1000
    await fill(twin, count)
    now = twin.controller.clock.read().wall
    reply = await twin.ok(f"/api/timeline?from={now - count}&to={now}")
    lanes = {lane["label"]: lane["bars"] for lane in msgspec.json.decode(reply.body)["lanes"]}
    assert sum(bar.get("count", 1) for bar in lanes["OUT0"]) > MAX_SHORT / 2


async def read_stream(reply: StreamReply) -> bytes:
    return b"".join([chunk async for chunk in reply.chunks])


async def test_long_answer_comes_in_pieces_and_is_the_same() -> None:
    twin = await LoopTwin.start()
    for text in ("20", "22", "none", "21"):
        await twin.ok(f"/sim.cgi?DS1={text}&advance=100")
    short = await twin.ok(f"/api/history?labels=DS1,OUT0&from={START}&points=1000")
    long: Any = await twin.ask(f"/api/history?labels=DS1,OUT0&from={START}&points=100000")
    assert isinstance(long, StreamReply)
    assert await read_stream(long) == short.body


async def test_long_answer_is_compressed_for_clients_that_accept_it() -> None:
    twin = await LoopTwin.start()
    path = "/api/history?labels=DS1,OUT0&points=100000"
    plain: Any = await twin.ask(path)
    body = await read_stream(plain)
    packed: Any = await twin.ask(path, accept_encoding="gzip")
    assert ("Content-Encoding", "gzip") in packed.headers
    assert gzip.decompress(await read_stream(packed)) == body


async def pieces(*given: bytes, fails: bool = False) -> Any:
    for piece in given:
        yield piece
    if fails:
        raise Refusal("The disk reported an error.")


def work_of_one(wait_s: float = PATIENCE_S) -> ControllerWork:
    return ControllerWork(WorkPlaces(), WorkPlaces(1000, wait_s), "it")


async def test_controller_sends_one_long_answer_at_a_time() -> None:
    work = work_of_one(0.01)
    first = await work.hold(pieces(b"", b"a", b"", b"b"))
    with pytest.raises(TooBusy, match="Try again in 10 s"):
        await work.hold(pieces(b"c"))
    assert [piece async for piece in first] == [b"a", b"b"]
    await asyncio.sleep(0)
    assert [piece async for piece in await work.hold(pieces(b"c"))] == [b"c"]


async def test_long_answer_that_is_never_sent_gives_its_place_back() -> None:
    work = work_of_one()
    dropped = await work.hold(pieces(b"a"))
    del dropped
    gc.collect()
    assert [piece async for piece in await work.hold(pieces(b"b"))] == [b"b"]


async def test_long_answer_that_fails_is_refused_before_its_first_piece_and_cut_after() -> None:
    work = work_of_one()
    with pytest.raises(Refusal, match="disk"):
        await work.hold(pieces(b"", fails=True))
    held = await work.hold(pieces(b"a", fails=True))
    assert await anext(held) == b"a"
    with pytest.raises(StreamCut, match="disk"):
        await anext(held)
    assert [piece async for piece in await work.hold(pieces(b"b"))] == [b"b"]
