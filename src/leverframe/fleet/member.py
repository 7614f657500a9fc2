"""A controller of a node: its plan, its record, and its state."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.fleet.entrance import Entrance
from leverframe.fleet.lifecycle import (
    Failed,
    Leaving,
    MemberEvent,
    MemberState,
    Running,
    Starting,
    Waiting,
    follow,
)
from leverframe.fleet.records import MemberRecord, Moved, NoSuchController, NotRunning
from leverframe.host.assembly import ControllerHost
from leverframe.host.configuration import Config
from leverframe.host.controller import Controller
from leverframe.interface.table.refusals import Refusal

log = logging.getLogger(__name__)

#: The number of a controller that is in the fleet file but not in the store yet.
UNMADE = -1
WAITING = Waiting()
#: The configuration of a controller that is in no fleet file.
PLAIN = Config()
#: Requests to a controller that has left are answered within this time.
LAST_ANSWER_S = 30.0


class NewController(Struct, frozen=True):
    """A controller to be created, with its initial settings."""

    record: MemberRecord
    profile: Profile
    leaves: dict[str, Any] = {}
    #: Remembered state other than settings.
    kept: dict[str, Any] = {}
    #: Keys that only the fleet file can set: the board, devices, files and networks of the machine.
    config: Config = PLAIN
    #: Returns the line of a key in the fleet file; None for a controller from elsewhere.
    line_of: Callable[[str], str] | None = None

    def at_its_line(self, sentence: str, key: str = "name") -> str:
        return sentence if self.line_of is None else f"{self.line_of(key)}: {sentence}"


class Recorded(Protocol):
    @property
    def record(self) -> MemberRecord: ...


Chosen = TypeVar("Chosen", bound=Recorded)


class Member:
    """A controller of a node, in one of the states of its life."""

    def __init__(
        self, record: MemberRecord, number: int = UNMADE, state: MemberState = WAITING
    ) -> None:
        self.record = record
        self.number = number
        self.state = state

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def is_stored(self) -> bool:
        return self.number != UNMADE

    @property
    def parts(self) -> Running:
        """Return the running parts; after the controller has left, the parts that it had."""
        found = self.state.ran if isinstance(self.state, Leaving) else self.state
        if not isinstance(found, Running):
            raise NotRunning(f"{self.name} does not run.")
        return found

    @property
    def built(self) -> ControllerHost:
        return self.parts.built

    @property
    def controller(self) -> Controller:
        return self.parts.built.controller

    @property
    def entrance(self) -> Entrance:
        return self.parts.entrance

    @property
    def has_left(self) -> bool:
        """Return whether the controller is stopping or has stopped; it accepts nothing new."""
        return isinstance(self.state, Leaving)

    @property
    def failure(self) -> Failed | None:
        """Return why the controller does not run, even while its start is retried."""
        state = self.state
        if isinstance(state, Starting):
            return state.after
        return state if isinstance(state, Failed) else None

    def start(self) -> None:
        self.state = follow(self.state, MemberEvent.START, Starting(self.failure))

    def run(self, running: Running) -> None:
        self.state = follow(self.state, MemberEvent.STARTED, running)

    def fail(self, reason: str, retry_at: float | None = None) -> None:
        before = self.failure
        failed = Failed(reason, 1 if before is None else before.attempts + 1, retry_at)
        self.state = follow(self.state, MemberEvent.FAIL, failed)

    def reschedule(self, retry_at: float) -> None:
        """Retry a failed controller at another time than planned."""
        then = replace(self.failure or Failed(""), retry_at=retry_at)
        self.state = follow(self.state, MemberEvent.RESCHEDULE, then)

    def leave(self) -> None:
        ran = self.state if isinstance(self.state, Running) else None
        self.state = follow(self.state, MemberEvent.LEAVE, Leaving(ran))

    def is_due(self, now: float) -> bool:
        """Return whether the controller has failed, and its next attempt is under way or due."""
        failure = self.failure
        if failure is None or isinstance(self.state, Starting):
            return failure is not None
        return failure.retry_at is not None and failure.retry_at <= now

    async def end(self) -> None:
        parts = self.parts
        await parts.built.stop()
        asyncio.get_running_loop().call_later(LAST_ANSWER_S, parts.built.take_apart)


def why_not_started(name: str, error: BaseException, planned: NewController | None) -> str:
    """Return why a controller failed to start, with its line in the fleet file if there is one."""
    detail = getattr(error, "detail", None)
    if isinstance(error, asyncio.CancelledError):
        detail = "The start of the controller was interrupted."
    elif detail is None and not isinstance(error, OSError | ValueError | ErrorForPeople):
        log.error("controller %s failed to start", name, exc_info=error)
    why = detail or str(error) or type(error).__name__
    sentence = f"{name} failed to start: {why.removeprefix(f'{name}: ')}"
    key = error.field if isinstance(error, Refusal) else None
    return sentence if planned is None else planned.at_its_line(sentence, key or "name")


def check_that_all_are_here(members: Iterable[Member]) -> None:
    for member in members:
        if member.has_left:
            raise Moved(member.name)


def select_members(
    seen: Mapping[str, Chosen], names: Sequence[str], tags: Sequence[str]
) -> list[Chosen]:
    """Choose the named controllers, or all, that have all of the tags; refuse an unknown tag."""
    chosen = [seen[name] for name in dict.fromkeys(names)] or seen.values()
    known = {tag for member in seen.values() for tag in member.record.tags}
    for tag in tags:
        if tag not in known:
            raise no_such_tag(tag, known)
    return [member for member in chosen if set(tags) <= set(member.record.tags)]


def no_such_name(name: str) -> NoSuchController:
    return NoSuchController(f"There is no controller {name[:40]!r}.", field="name")


def no_such_tag(tag: str, known: Iterable[str]) -> NoSuchController:
    allowed = ", ".join(sorted(known)[:40]) or "none, because no controller has a tag"
    return NoSuchController(
        f"No controller has the tag {tag[:40]!r}.", field="tag", allowed=allowed
    )
