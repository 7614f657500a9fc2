"""The preparation of stored controllers before they are built, for hundreds of them together.

Each step is one query, or one transaction, for a whole batch. A fault of one controller does not
keep the others from starting.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.log_lines import LoggedName, finish_within
from leverframe.fleet.member import Member
from leverframe.fleet.member_start import FirstPasswords
from leverframe.host.assembly import KnownIdentity, next_identity
from leverframe.host.configuration import AskedVersion
from leverframe.host.start_version import SettledVersion, settle_version
from leverframe.storage.lanes.lane import Lane
from leverframe.storage.sqlite_file import StoreDamaged
from leverframe.storage.store import Stored, UnreadableRow

Result = TypeVar("Result")


class ReadyMember(NamedTuple):
    """A controller that can be built."""

    member: Member
    profile: Profile
    stored: Stored
    identity: KnownIdentity


class BatchStart:
    """Prepares a batch of stored controllers, up to the point where they can be built."""

    def __init__(
        self,
        lane: Lane,
        clock: Clock,
        first: FirstPasswords | None,
        unreadable: Mapping[int, UnreadableRow],
    ) -> None:
        """Prepare a batch; `first`, if any, creates passwords for controllers without an account.

        The records of the controllers in `unreadable` cannot be read.
        """
        self._lane = lane
        self._clock = clock
        self._first = first
        #: Why controllers cannot be built, by controller number.
        self.faults: dict[int, Exception] = dict(unreadable)
        self._stored: dict[int, Stored] = {}

    async def read(self, members: Iterable[Member]) -> None:
        """Read the stored data of controllers."""
        await self._read([one.number for one in members if one.number not in self.faults])

    async def prepare(self, members: Sequence[Member]) -> list[ReadyMember]:
        """Return the controllers that can be built; the others are in `faults`."""
        settled = await self._for_each(members, self._settle)
        await self._read([number for number, version in settled.items() if version.is_new])
        if self._first is not None:
            made = await self._for_each(members, self._ensure_password)
            await self._read([number for number, is_made in made.items() if is_made])
        identities = await self._for_each(members, self._identify)
        return [
            ReadyMember(
                member,
                settled[member.number].profile,
                self._stored[member.number],
                identities[member.number],
            )
            for member in members
            if member.number not in self.faults
        ]

    async def _read(self, numbers: Sequence[int]) -> None:
        """Read controllers together; if that fails, find those whose rows cannot be read."""
        if not numbers:
            return
        try:
            self._stored |= await self._lane.fetch(numbers)
        except (UnreadableRow, StoreDamaged) as error:
            if len(numbers) == 1:
                self.faults[numbers[0]] = error
                return
            half = len(numbers) // 2
            await self._read(numbers[:half])
            await self._read(numbers[half:])

    async def _for_each(
        self, members: Iterable[Member], step: Callable[[Member], Coroutine[Any, Any, Result]]
    ) -> dict[int, Result]:
        """Run a step for all controllers without a fault; their writes share a transaction.

        Return the results by controller number.
        """
        sound = [member for member in members if member.number not in self.faults]
        steps = (finish_within(LoggedName(member.name), step(member)) for member in sound)
        results: dict[int, Result] = {}
        found = await asyncio.gather(*steps, return_exceptions=True)
        for member, result in zip(sound, found, strict=True):
            if isinstance(result, Exception):
                self.faults[member.number] = result
            elif isinstance(result, BaseException):
                raise result
            else:
                results[member.number] = result
        return results

    async def _settle(self, member: Member) -> SettledVersion:
        record, number = member.record, member.number
        asked = AskedVersion(record.hw, record.sw)
        return await settle_version(self._lane.store(number), asked, self._stored[number])

    async def _ensure_password(self, member: Member) -> bool:
        assert self._first is not None
        store = self._lane.store(member.number)
        return await self._first.ensure(member.name, store, self._stored[member.number])

    async def _identify(self, member: Member) -> KnownIdentity:
        store, stored = self._lane.store(member.number), self._stored[member.number]
        return await next_identity(store, stored, self._clock.wall())
