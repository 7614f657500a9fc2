"""Places for bounded work: a limit for all processes, one per controller, fair between tenants.

Work that finds no place waits for a while in line. The next free place goes to the tenant that has
the fewest, then to the work that came first. No tenant gets the last place, so that another one's
work never waits for the end of long work.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from msgspec import Struct

from leverframe.errors import ErrorForPeople

#: Real seconds that work waits for a place.
WAIT_S = 15.0
#: What may wait of one controller and of one tenant.
MAX_WAITING_OF_OWNER = 4
MAX_WAITING_OF_TENANT = 16
#: Processes at a time, on however many processors.
MAX_PLACES = 4


class NoPlace(ErrorForPeople):
    """The work found no place: one sentence."""

    retry_after_s = 10


class _Waiting(Struct, frozen=True, eq=False):
    owner: Hashable
    tenant: Hashable
    admitted: asyncio.Future[None]


def usual_places() -> int:
    """Return how many processes may run: one more than there are processors, 2 to 4."""
    return max(2, min(MAX_PLACES, (os.cpu_count() or 1) + 1))


class WorkPlaces:
    """The places of one program; all of its controllers share them."""

    def __init__(self, most: int | None = None, wait_s: float = WAIT_S) -> None:
        self._most = usual_places() if most is None else most
        self.wait_s = wait_s
        #: The owners that have a place, with their tenants.
        self.running: dict[Hashable, Hashable] = {}
        #: In the order in which it came.
        self._waiting: list[_Waiting] = []

    @asynccontextmanager
    async def place(self, owner: Hashable, tenant: Hashable = None) -> AsyncIterator[None]:
        """Hold a place for the work of an owner, such as a controller. Raises NoPlace."""
        await self.take(owner, tenant)
        try:
            yield
        finally:
            self.give_back(owner)

    def give_back(self, owner: Hashable) -> None:
        """Free the place that an owner has taken."""
        del self.running[owner]
        self._admit()

    async def take(self, owner: Hashable, tenant: Hashable = None) -> None:
        """Take a place, which has to be given back. Raises NoPlace."""
        self._require_room_in_line(owner, tenant)
        waiting = _Waiting(owner, tenant, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._admit()
        try:
            async with asyncio.timeout(self.wait_s):
                await waiting.admitted
        except BaseException as error:
            self._leave_line(waiting)
            if isinstance(error, TimeoutError):
                raise NoPlace(
                    f"Other long tasks have kept this one waiting for {self.wait_s:g} s. Try "
                    f"again in {NoPlace.retry_after_s} s."
                ) from None
            raise

    def _require_room_in_line(self, owner: Hashable, tenant: Hashable) -> None:
        of_owner = sum(one.owner == owner for one in self._waiting)
        of_tenant = sum(one.tenant == tenant for one in self._waiting)
        if of_owner >= MAX_WAITING_OF_OWNER or of_tenant >= MAX_WAITING_OF_TENANT:
            raise NoPlace(
                "Too many long tasks are waiting: a controller runs one at a time. Try again in "
                f"{NoPlace.retry_after_s} s."
            )

    def _leave_line(self, waiting: _Waiting) -> None:
        """Leave the line; a place that was given in the same moment goes to the next one."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        elif waiting.admitted.done() and not waiting.admitted.cancelled():
            self.give_back(waiting.owner)

    def _admit(self) -> None:
        """Give free places to what waits."""
        while len(self.running) < self._most and (chosen := self._next()) is not None:
            self._waiting.remove(chosen)
            self.running[chosen.owner] = chosen.tenant
            chosen.admitted.set_result(None)

    def _next(self) -> _Waiting | None:
        held = Counter(self.running.values())
        eligible = [
            one
            for one in self._waiting
            if one.owner not in self.running
            and held[one.tenant] < max(1, self._most - 1)
            and not one.admitted.done()
        ]
        return min(eligible, key=lambda one: held[one.tenant], default=None)
