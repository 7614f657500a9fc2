"""Many twins that share one time, and the process of one node."""

import asyncio
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self, overload

from leverframe.commands.table.written_commands import written_commands
from leverframe.controller.live_snapshot import LiveSnapshot
from leverframe.errors import ErrorForPeople
from leverframe.fleet.bulk import BulkReport, send
from leverframe.fleet.group_time import advance_together, journal_digest, next_step_s
from leverframe.fleet.jobs.job_work import JobWork
from leverframe.fleet.jobs.jobs import Carefulness
from leverframe.fleet.members import Member
from leverframe.fleet.time_words import Duration, WhenText, seconds_of, wall_of
from leverframe.testing.loop_thread import LOOP_THREAD
from leverframe.testing.member_twin import MemberTwin, TwinNode
from leverframe.testing.twin import BY_TEST, Twin
from leverframe.testing.twin_clock import TwinClock
from leverframe.testing.twin_rollout import TwinRollout
from leverframe.testing.versions import version_parameters


class BadFleet(ErrorForPeople, ValueError):
    """A fleet that cannot be: one sentence."""


class Fleet(Sequence[Twin]):
    """A number of twins, in turn of the versions given, whose time is moved together.

    `Fleet(10, versions=["3.0/1.58a", "3.5/1.49"])`; further parameters are those of `Twin` and hold
    for all. With a `seed`, each twin has one of its own made from it.
    """

    def __init__(
        self,
        count: int,
        versions: Sequence[str] = (),
        *,
        seed: int | None = None,
        **parameters: Any,
    ) -> None:
        if count < 1:
            raise BadFleet(f"A fleet has at least one twin, not {count}.")
        asked = [version_parameters(version) for version in versions] or [{}]
        self._node = node = TwinNode()
        self._twins = [
            MemberTwin(
                node,
                **{**parameters, **asked[number % len(asked)]},
                seed=None if seed is None else seed + number,
            )
            for number in range(count)
        ]
        #: Their common time, for code under test that shall go by it.
        self.clock = TwinClock(lambda: self._twins[0].now)

    def start(self) -> Self:
        """Switch all twins on; if one cannot be, the others are closed again."""
        try:
            for twin in self._twins:
                twin.start()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Switch all twins off."""
        for twin in self._twins:
            twin.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)

    @overload
    def __getitem__(self, place: int) -> Twin: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Twin]: ...
    def __getitem__(self, place: int | slice) -> Twin | Sequence[Twin]:
        return self._twins[place]

    def __len__(self) -> int:
        return len(self._twins)

    def __iter__(self) -> Iterator[Twin]:
        return iter(self._twins)

    # --- together ---------------------------------------------------------------------------------

    def command(self, *commands: str) -> None:
        """Carry out commands on every twin."""
        for twin in self._twins:
            twin.command(*commands)

    def send(self, command: str, *, dry_run: bool = False, all_or_none: bool = False) -> BulkReport:
        """Carry out a command on every twin; the report has a result for each, refusals too.

        `send("outs.cgi?out0=1")`. With `dry_run` nothing is changed, with `all_or_none` nothing
        where one of them refuses it.
        """
        members = self._members()
        return LOOP_THREAD.run(
            send(members, command, BY_TEST, dry_run=dry_run, all_or_none=all_or_none)
        )

    def roll_out(
        self,
        *commands: str,
        groups: str = "rest",
        success: float = 100.0,
        errors: str = "none",
        check_health: bool = True,
    ) -> TwinRollout:
        """Roll commands out in groups as a node does, and wait until that ends or stops.

        `roll_out("stm.cgi?eventname=1Frost", groups="1,10%,rest")`. A group of which less than
        `success` percent have done it, or a number of `errors` (a count or a percentage) stops it.
        """
        work = JobWork(commands)
        how = Carefulness(groups, success, errors, checks_health=check_health)
        written_commands("\n".join(commands))
        job = LOOP_THREAD.run(self._node.plan(self._members(), work, BY_TEST, how))
        return TwinRollout(job).start()

    def snapshot(self) -> list[LiveSnapshot]:
        """Take a snapshot of every twin."""
        return [twin.snapshot() for twin in self._twins]

    def restore(self, snapshots: Sequence[LiveSnapshot]) -> None:
        """Let every twin go on from its snapshot."""
        for twin, snapshot in zip(self._twins, snapshots, strict=True):
            twin.restore(snapshot)
        self.clock.was_moved()

    @property
    def journal_digest(self) -> str:
        """One text for all that happened, by the journals: equal runs have equal texts."""
        return journal_digest([twin.controller for twin in self._twins])

    def _members(self) -> list[Member]:
        members = [twin.member for twin in self._twins if twin.member is not None]
        if len(members) < len(self._twins):
            raise BadFleet("The twins are off, or have ports of their own; use `command` instead.")
        return members

    def reset(self) -> None:
        """Let every twin go on from its start."""
        for twin in self._twins:
            twin.reset()
        self.clock.was_moved()

    def advance(self, duration: Duration) -> None:
        """Let time pass for all; what is due happens in the order of time, whoever's it is."""
        controllers = [twin.controller for twin in self._twins]
        LOOP_THREAD.run(advance_together(controllers, seconds_of(duration)))
        self.clock.was_moved()

    async def aadvance(self, duration: Duration) -> None:
        """Do the same as `advance`, beside the event loop of the test."""
        await asyncio.to_thread(self.advance, duration)

    def advance_to(self, moment: WhenText) -> None:
        """Let time pass for all until the first twin has come to a moment."""
        first = self._twins[0]
        self.advance(seconds_of(wall_of(moment, first.zone) - first.state["time"]))

    def step(self) -> float:
        """Let time pass for all until something is due for one; return how long, 0 if nothing is.

        `while not fleet[2].state["OUT0"]: fleet.step()`.
        """
        seconds = next_step_s([twin.controller for twin in self._twins])
        if seconds is not None:
            self.advance(seconds)
        return seconds or 0.0
