"""What the functions of the endpoint table work with: a request, its account, and bounded long
work.
"""

import asyncio
import logging
import sys
import weakref
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Hashable,
    Iterator,
    Sequence,
)
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.core.runtime.bounded_work import (
    NoPlace,
    NoProcess,
    OverBudget,
    WorkBudget,
    WorkPlaces,
    WorkRefused,
    run_bounded,
)
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.host.controller import Controller
from leverframe.interface.table.lookup import Account
from leverframe.interface.table.refusals import BadValue, Refusal
from leverframe.server.fair_shares import FairShares, source_of
from leverframe.server.http.messages import Request, StreamCut
from leverframe.server.problems import TooBusy, TooManyStreams
from leverframe.server.routes.admission import Admission
from leverframe.server.routes.backups import BackupEndpoint
from leverframe.server.routes.commands import CommandEndpoint
from leverframe.server.routes.files import StatusFiles, Uploads
from leverframe.server.routes.sign_in import SignInEndpoint
from leverframe.server.routes.sim import SimCommands
from leverframe.server.routes.sim_time import SimSnapshots
from leverframe.server.routes.state_document import StateDocuments

# Shares of `/api/stream`: every change is sent to every stream, so their number is limited.
#
# A stream costs the event loop 0.1 to 0.3 ms for each change. An account has a share of the
# streams, and so has an address, a larger one: behind a reverse proxy all clients have the same.

MAX_STREAMS = 128
#: One account alone gets a third of the streams, one address three fifths.
PER_FREE_BY_ACCOUNT = 0.5
PER_FREE_BY_ADDRESS = 1.5


class StreamShares:
    def __init__(self) -> None:
        self.refused = 0
        self._addresses = FairShares(MAX_STREAMS, PER_FREE_BY_ADDRESS)
        self._accounts = FairShares(MAX_STREAMS, PER_FREE_BY_ACCOUNT)
        self._warn = LogThrottle(logging.getLogger(__name__)).warning

    @property
    def used(self) -> int:
        return self._addresses.used

    def share_of(self, account: Account, peer: str) -> "StreamShare":
        """Return the share of one more stream; refuse it where there is no room for it."""
        share = StreamShare(self._addresses, self._accounts, source_of(peer), account)
        if not share.has_room():
            self.refused += 1
            who = f"{account.name} at {peer}" if account.path else peer
            self._warn(who, "stream", "refused a stream to %s: it has too many open", who)
            raise TooManyStreams
        return share


class StreamShare:
    """The place of one stream, from its first message to its end."""

    def __init__(
        self, addresses: FairShares, accounts: FairShares, source: str, account: Account
    ) -> None:
        self._holders = [(addresses, source)]
        # Without sign-in, all clients are the same account.
        if account.path:
            self._holders.append((accounts, account.name))

    def has_room(self) -> bool:
        return all(shares.has_room(holder) for shares, holder in self._holders)

    def take(self) -> bool:
        """Take the place, which may be gone: several are opened before the first one begins."""
        return self.has_room() and all(shares.take(holder) for shares, holder in self._holders)

    def give_back(self) -> None:
        for shares, holder in self._holders:
            shares.give_back(holder)


# Requests whose work is long: bounded, and one of a controller at a time.
#
# Their rows in the table of endpoints say that they end with their client. Computing runs in a
# process of its own, with a budget. Long answers are read in slices, at the pace of the client:
# they hold no process, which a slow client would keep from others. What goes beyond the budget,
# or finds no place, is refused with a sentence.

USUAL_BUDGET = WorkBudget()


class TooMuchWork(Refusal):
    status = 422
    title = "Too much work for one request"


def no_tenant() -> None:
    """Return the tenant of a controller that has none."""


class ControllerWork(Struct, frozen=True):
    """The bounded work of one controller."""

    #: Of processes, and of long answers.
    places: WorkPlaces
    streams: WorkPlaces
    owner: Hashable
    #: Asked each time: a controller may get another tenant.
    tenant: Callable[[], Hashable] = no_tenant
    #: Of each piece of work.
    budget: WorkBudget = USUAL_BUDGET

    async def run(
        self,
        function: Callable[..., bytes],
        *values: Any,
        fed: AsyncIterator[Any] | None = None,
        instead: str,
    ) -> bytes:
        """Return what a function makes of values in its process; `instead` says what to do else.

        What is `fed` is read while the function runs.
        """
        with refusing_long_work(instead):
            async with self.places.place(self.owner, self.tenant()):
                return await run_bounded(function, *values, budget=self.budget, fed=fed)

    async def hold(self, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Return the pieces of a long answer when the controller sends no other one.

        The first one is there already: what goes wrong until then is a refusal.
        """
        with refusing_long_work("fewer points"):
            await self.streams.take(self.owner, self.tenant())
            try:
                first = await _next_of(pieces)
            except BaseException:
                self.streams.give_back(self.owner)
                raise
        ends: list[Callable[[], Any]] = []
        held = _hold_place(first, pieces, ends)
        # Also where no piece is ever asked for, because the client has left: such a generator ends
        # without a word, maybe on another thread.
        loop = asyncio.get_running_loop()
        end = weakref.finalize(held, _call, loop, self.streams.give_back, self.owner)
        end.atexit = False
        ends.append(end)
        return held


async def _next_of(pieces: AsyncGenerator[bytes, None]) -> bytes:
    """Return the next piece that is not empty; an empty one at the end."""
    async for piece in pieces:
        if piece:
            return piece
    return b""


async def _hold_place(
    first: bytes, pieces: AsyncGenerator[bytes, None], ends: Sequence[Callable[[], Any]]
) -> AsyncGenerator[bytes, None]:
    piece = first
    try:
        while piece:
            yield piece
            piece = await _next_of(pieces)
    except Refusal as refusal:
        raise StreamCut(refusal.detail) from refusal
    finally:
        for end in ends:
            end()
        await pieces.aclose()


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *values: Any) -> None:
    # A closed loop needs no place.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *values)


def streams_of_all() -> WorkPlaces:
    """Return the places of long answers: each controller has one, however many there are."""
    return WorkPlaces(sys.maxsize)


def work_alone() -> ControllerWork:
    """Return the work of a controller that shares its process with no other."""
    return ControllerWork(WorkPlaces(), streams_of_all(), None)


@contextmanager
def refusing_long_work(instead: str) -> Iterator[None]:
    """Turn what can happen to long work into refusals; `instead` says what is allowed."""
    try:
        yield
    except NoPlace as error:
        raise TooBusy(str(error), error.retry_after_s) from None
    except NoProcess as error:
        raise TooBusy(str(error), NoPlace.retry_after_s) from None
    except OverBudget as error:
        raise TooMuchWork(str(error), allowed=instead) from None
    except WorkRefused as error:
        raise BadValue(str(error)) from None


# The argument of every function of the endpoint table: a request, its account, its handlers.


class Handlers(Struct, frozen=True):
    """The parts with a state of their own that answer requests to one controller."""

    admission: Admission
    commands: CommandEndpoint
    backups: BackupEndpoint
    sign_in: SignInEndpoint
    uploads: Uploads
    status_files: StatusFiles
    state: StateDocuments
    streams: StreamShares
    #: What runs in processes of its own.
    work: ControllerWork
    #: None where the board is not simulated.
    sim: SimCommands | None
    snapshots: SimSnapshots | None


class Context(msgspec.Struct, frozen=True, gc=False, eq=False):
    request: Request
    account: Account
    controller: Controller
    handlers: Handlers
