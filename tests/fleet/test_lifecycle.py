"""The life of a controller in a node: the table of its states, and walks through it with faults."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from math import inf
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.fleet.controller_actions import make_new
from leverframe.fleet.lifecycle import (
    TRANSITIONS,
    Failed,
    Leaving,
    MemberEvent,
    MemberState,
    Running,
    Starting,
    Waiting,
)
from leverframe.fleet.member import UNMADE, Member, NewController
from leverframe.fleet.records import MemberRecord, NoSuchController, NotRunning
from leverframe.fleet.roster import NodeStarting, Roster
from leverframe.host.configuration import Config
from leverframe.interface.table.refusals import Refusal
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.store import Stored, StoreUnavailable
from tests.cases import for_each
from tests.effort import examples
from tests.fleet.failing import fail
from tests.fleet.loop_node import LoopNode, loop_node
from tests.patience import PATIENCE_S

STATES: tuple[type[MemberState], ...] = get_args(MemberState)
PARTS: Any = object()
RUNNING = Running(PARTS, PARTS, PARTS)
FAILED = Failed("a failed to start: no.", 2, 7.0)
#: Each state as a member may have it.
EXAMPLES: dict[type[MemberState], MemberState] = {
    Waiting: Waiting(),
    Starting: Starting(FAILED),
    Running: RUNNING,
    Failed: FAILED,
    Leaving: Leaving(),
}
HAPPENINGS: dict[MemberEvent, Callable[[Member], None]] = {
    MemberEvent.START: Member.start,
    MemberEvent.STARTED: lambda member: member.run(RUNNING),
    MemberEvent.FAIL: lambda member: member.fail("no"),
    MemberEvent.RESCHEDULE: lambda member: member.reschedule(0.0),
    MemberEvent.LEAVE: Member.leave,
}


# --- the table ------------------------------------------------------------------------------------


@for_each("event", MemberEvent)
@for_each("state", STATES)
def test_event_follows_the_table_or_cannot_happen(
    state: type[MemberState], event: MemberEvent
) -> None:
    member = Member(MemberRecord("a"), 1, EXAMPLES[state])
    following = TRANSITIONS[state].get(event)
    if following is None:
        with pytest.raises(RuntimeError, match=event.name):
            HAPPENINGS[event](member)
        assert member.state == EXAMPLES[state]
    else:
        HAPPENINGS[event](member)
        assert type(member.state) is following


def reachable(start: type[MemberState]) -> set[type[MemberState]]:
    found = {start}
    while more := {after for state in found for after in TRANSITIONS[state].values()} - found:
        found |= more
    return found


def test_every_state_is_reached_and_ends() -> None:
    assert reachable(Waiting) == set(STATES)
    assert all(Leaving in reachable(state) for state in STATES)
    assert reachable(Leaving) == {Leaving}
    # What runs never starts a second time.
    assert Starting not in reachable(Running)
    assert {event for events in TRANSITIONS.values() for event in events} == set(MemberEvent)


def test_failure_is_reported_until_the_outcome_of_the_next_attempt() -> None:
    member = Member(MemberRecord("a"), 1)
    assert member.failure is None
    for attempt in (1, 2):
        member.start()
        assert (member.failure is None) == (attempt == 1)
        member.fail(f"reason {attempt}", 5.0)
        assert member.state == Failed(f"reason {attempt}", attempt, 5.0)
    member.reschedule(0.0)
    assert member.state == Failed("reason 2", 2, 0.0)
    assert member.is_due(0.0)
    member.start()
    assert member.is_due(0.0)
    member.run(RUNNING)
    assert (member.failure, member.is_due(0.0)) == (None, False)


def test_member_without_parts_is_not_a_controller() -> None:
    member = Member(MemberRecord("a"), 1, FAILED)
    with pytest.raises(NotRunning, match="a does not run"):
        member.controller  # noqa: B018
    member.leave()
    with pytest.raises(NotRunning):
        member.parts  # noqa: B018
    assert member.has_left


# --- the roster -----------------------------------------------------------------------------------


def test_automatic_retry_covers_stored_controllers_only() -> None:
    roster = Roster()
    roster.retry_s = 1000.0
    fail(roster, MemberRecord("a"), 1, "no")
    fail(roster, MemberRecord("b"), UNMADE, "no")
    assert "The node retries it every few seconds." in (roster.sentence("a", with_cause=True) or "")
    assert "`leverframe fleet start b`" in (roster.sentence("b", with_cause=True) or "")
    assert (roster.any_due(), roster.may_start(1)) == (False, False)
    roster.retry_now([2])
    assert not roster.any_due()
    roster.retry_now()
    assert (roster.any_due(), roster.any_due([1]), roster.any_due([2])) == (True, True, False)
    assert roster.may_start(1)


def test_controller_of_another_node_is_forgotten_unless_its_start_is_under_way() -> None:
    roster = Roster()
    for number in (1, 2, 3):
        fail(roster, MemberRecord(f"gh-{number}"), number, "no")
    fail(roster, MemberRecord("new"), UNMADE, "no")
    roster.expect(MemberRecord("gh-3"), 3).start()
    roster.keep_stored({1})
    assert [one.name for one in roster.list_failed()] == ["gh-1", "gh-3", "new"]


def test_unmade_controller_leaves_no_trace_of_a_running_one_with_its_name() -> None:
    roster = Roster()
    fail(roster, MemberRecord("a"), UNMADE, "no")
    member = Member(MemberRecord("a"), 5)
    member.start()
    roster.note_running(member, RUNNING)
    roster.forget_unmade(["a"])
    assert (roster.running, roster.list_failed()) == ({"a": member}, [])


# --- a node ---------------------------------------------------------------------------------------


class FaultyLane(MemoryLane):
    """A lane whose store may be away, or never answer what is read after some reads."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.reads_left = inf
        self.hangs = asyncio.Event()

    async def fetch(self, controllers: Any) -> dict[int, Stored]:
        if self.is_away:
            raise StoreUnavailable("The disk is full.")
        if not self.reads_left:
            self.hangs.set()
            await asyncio.Event().wait()
        self.reads_left -= 1
        return await super().fetch(controllers)


#: Only the tenant that a file names gets parts of the machine: so the controller cannot start.
def break_controller(name: str) -> NewController:
    config = Config(cors_origins=("http://localhost",))
    return NewController(MemberRecord(name, tenant="missing"), Profile(), config=config)


async def test_interrupted_start_is_a_failure_that_can_be_retried() -> None:
    lane = FaultyLane()
    async with loop_node(lane) as node:
        await node.post("add", name="a")
        member = node.member("a")
        await node.node.drop([member])
        # With a first password it is read again within its start.
        node.node.options = replace(node.node.options, must_sign_in=True)
        lane.reads_left = 1
        starting = asyncio.create_task(node.node.start_some([member.number]))
        async with asyncio.timeout(PATIENCE_S):
            await lane.hangs.wait()
        assert state_of(node, "a") == Starting()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert state_of(node, "a") == Failed(
            "a failed to start: The start of the controller was interrupted."
        )
        lane.reads_left = inf
        assert (await node.post("start"))["done"] == 1


def state_of(node: LoopNode, name: str) -> MemberState | None:
    roster = node.node.roster
    known = [*roster.running.values(), *roster.idle()]
    return next((one.state for one in known if one.name == name), None)


NAMES = st.sampled_from(["a", "b", "c"])


@dataclass
class Expected:
    """What is expected of a controller that is stored, or that a file names."""

    is_stored: bool
    is_running: bool
    attempts: int = 0


class LifeOfControllers(RuleBasedStateMachine):
    """A node whose controllers are added, fail, start, move in and leave; and its restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.lane = FaultyLane()
        self.broken: set[str] = set()
        self.expected: dict[str, Expected] = {}
        self.node: LoopNode
        self.opened: AbstractAsyncContextManager[LoopNode]

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    async def open(self) -> None:
        self.opened = loop_node(self.lane)
        self.node = await self.opened.__aenter__()

    @initialize()
    def begin(self) -> None:
        self.do(self.open())

    def teardown(self) -> None:
        self.lane.is_away = False
        self.do(self.opened.__aexit__(None, None, None))
        self.runner.close()

    # --- faults -----------------------------------------------------------------------------------

    @rule(name=NAMES)
    def break_or_repair(self, name: str) -> None:
        self.broken ^= {name}
        self.node.node.in_file = {one: break_controller(one) for one in self.broken}

    @rule()
    def lose_or_find_the_store(self) -> None:
        self.lane.is_away = not self.lane.is_away

    # --- what operators do ------------------------------------------------------------------------

    @precondition(lambda self: not self.lane.is_away)
    @rule(name=NAMES)
    def add(self, name: str) -> None:
        known = self.expected.get(name)
        if known is not None and known.is_stored:
            self.do(self.node.expect_refusal(409, "add", name=name))
            return
        self.do(self.node.post("add", name=name))
        self.expected[name] = Expected(is_stored=True, is_running=True)

    @precondition(lambda self: not self.lane.is_away)
    @rule(name=NAMES, is_refused=st.booleans())
    def name_in_the_file(self, name: str, is_refused: bool) -> None:
        """Make a controller as the file names it, which another tenant's name prevents."""
        if name in self.expected:
            return
        record = MemberRecord(name, tenant="missing" if is_refused else "")
        why = self.do(make_new(self.node.node, [NewController(record, Profile())], {}))
        assert why.keys() == ({name} if is_refused else set())
        self.expected[name] = Expected(not is_refused, not is_refused, int(is_refused))

    @rule()
    def start(self) -> None:
        stored = [n for n, one in self.expected.items() if one.is_stored and not one.is_running]
        # Only those that are stored: what a file names is made by another rule.
        if stored and self.lane.is_away:
            self.do(self.node.expect_refusal(507, "start", name=",".join(stored)))
            return
        if not stored:
            return
        answer = self.do(self.node.post("start", name=",".join(stored)))
        for one in answer["results"]:
            self.note_outcome(one["name"])
            assert (one["status"] == 200) == self.expected[one["name"]].is_running

    @precondition(lambda self: not self.lane.is_away)
    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        known = self.expected.get(name)
        if known is None:
            self.do(self.node.expect_refusal(404, "remove", name=name))
        elif not known.is_stored:
            self.do(self.node.expect_refusal(503, "remove", name=name))
        else:
            self.do(self.node.post("remove", name=name))
            del self.expected[name]

    @precondition(lambda self: not self.lane.is_away)
    @rule(name=NAMES)
    def place(self, name: str) -> None:
        """Remove the address of a failed controller, so that it can start."""
        known = self.expected.get(name)
        if known is None or not known.is_stored:
            self.do(self.node.expect_refusal(503 if known else 404, "place", name=name, port=0))
        elif name in self.broken:
            # The file decides where it is.
            self.do(self.node.expect_refusal(409, "place", name=name, port=0))
        else:
            self.do(self.node.post("place", name=name, port=0))
            known.is_running = True

    # --- what happens to the node -----------------------------------------------------------------

    @rule(name=NAMES)
    def stop_one(self, name: str) -> None:
        """Start one that runs again, as after a doubt about what is stored."""
        node, known = self.node.node, self.expected.get(name)
        if known is None or not known.is_running or self.lane.is_away:
            return
        member = node.members[name]
        self.do(node.drop([member]))
        assert member.has_left
        known.attempts = 0
        self.do(node.start_some([member.number]))
        self.note_outcome(name)

    @precondition(lambda self: not self.lane.is_away)
    @rule()
    def restart(self) -> None:
        self.do(self.opened.__aexit__(None, None, None))
        self.do(self.open())
        node = self.node.node
        node.in_file = {one: break_controller(one) for one in self.broken}
        stored = {name: one for name, one in self.expected.items() if one.is_stored}
        node.begin_start([MemberRecord("elsewhere")])
        assert {one.name for one in node.roster.idle()} == {*stored, "elsewhere"}
        assert all(isinstance(one.state, Waiting) for one in node.roster.idle())
        with pytest.raises(NodeStarting, match=f"0 of {len(stored) + 1} controllers are running"):
            node.roster.check_started(None)
        self.do(node.start_stored())
        self.do(node.end_start())
        node.roster.check_started(None)
        # What only the file names is expected when that is read again.
        self.expected = stored
        for name, one in stored.items():
            one.attempts = 0
            self.note_outcome(name)

    def note_outcome(self, name: str) -> None:
        known = self.expected[name]
        known.is_running = name not in self.broken
        known.attempts = 0 if known.is_running else known.attempts + 1

    # --- what everything else reads ---------------------------------------------------------------

    @invariant()
    def members_are_in_the_states_that_are_expected(self) -> None:
        roster = self.node.node.roster
        states: dict[str, type[MemberState]] = {
            name: Running if one.is_running else Failed for name, one in self.expected.items()
        }
        for name in ("a", "b", "c"):
            state = state_of(self.node, name)
            assert (None if state is None else type(state)) is states.get(name)
            if isinstance(state, Failed):
                assert state.attempts == self.expected[name].attempts
        assert len(roster.idle()) + len(roster.running) == len(self.expected)

    @invariant()
    def list_figures_and_refusals_say_the_same(self) -> None:
        failed = {name for name, one in self.expected.items() if not one.is_running}
        overview = self.do(self.node.get(""))
        assert overview["controllers"] == len(self.expected) - len(failed)
        assert set(overview["can_start"]) == failed
        assert len(overview["not_started"]) == len(overview["troubles"]) == len(failed)
        health = msgspec.json.decode(self.do(self.node.ask("/health", method="GET")).body)
        assert health["status"] == ("degraded" if failed else "ok")
        for name in ("a", "b", "c"):
            refusal: type[Refusal] | None = None if name in self.expected else NoSuchController
            refusal = NotRunning if name in failed else refusal
            if refusal is None:
                assert [one.name for one in self.node.node.select([name])] == [name]
            else:
                with pytest.raises(refusal):
                    self.node.node.select([name])
            assert self.node.node.roster.knows(name) == (name in failed)


TestLifeOfControllers = LifeOfControllers.TestCase
TestLifeOfControllers.settings = settings(examples(60), stateful_step_count=20, deadline=None)
