"""The context of the endpoint functions: a request, its account, and limits on long work."""

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

# Shares of `/api/stream`: every change is sent to every stream, so the number of streams is
# limited.
#
# A stream costs the event loop 0.1 to 0.3 ms for each change. Each account has a share of the
# streams. Each address has a larger share, because all clients behind a reverse proxy have the same
# address.

MAX_STREAMS = 128
#: A single account gets a third of the streams, a single address three fifths.
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
        """Return a share for one more stream; refuse the stream if there is no room."""
        share = StreamShare(self._addresses, self._accounts, source_of(peer), account)
        if not share.has_room():
            self.refused += 1
            who = f"{account.name} at {peer}" if account.path else peer
            self._warn(who, "stream", "refused a stream to %s: it has too many open", who)
            raise TooManyStreams
        return share


class StreamShare:
    """The place of a stream, from its first message to its end."""

    def __init__(
        self, addresses: FairShares, accounts: FairShares, source: str, account: Account
    ) -> None:
        self._holders = [(addresses, source)]
        # Without sign-in, all clients have the same account.
        if account.path:
            self._holders.append((accounts, account.name))

    def has_room(self) -> bool:
        return all(shares.has_room(holder) for shares, holder in self._holders)

    def take(self) -> bool:
        """Take the place if it is still free: several streams may open before the first begins."""
        return self.has_room() and all(shares.take(holder) for shares, holder in self._holders)

    def give_back(self) -> None:
        for shares, holder in self._holders:
            shares.give_back(holder)


# Requests with long work: the work is limited, and a controller runs one such request at a time.
#
# The endpoint table marks the requests that end when their client leaves. Computations run in a
# separate process, with a budget. Long answers are read in slices, at the pace of the client. Long
# answers occupy no process, so a slow client does not keep a process from others. Work that exceeds
# the budget, or finds no free place, is refused with a reason.

USUAL_BUDGET = WorkBudget()


class TooMuchWork(Refusal):
    status = 422
    title = "Too much work for one request"


def no_tenant() -> None:
    """Return no tenant: the controller has none."""


class ControllerWork(Struct, frozen=True):
    """The limits of long work for one controller."""

    #: Places for processes, and for long answers.
    places: WorkPlaces
    streams: WorkPlaces
    owner: Hashable
    #: Called each time, because the controller may change its tenant.
    tenant: Callable[[], Hashable] = no_tenant
    #: The budget of each piece of work.
    budget: WorkBudget = USUAL_BUDGET

    async def run(
        self,
        function: Callable[..., bytes],
        *values: Any,
        fed: AsyncIterator[Any] | None = None,
        instead: str,
    ) -> bytes:
        """Run a function in a separate process; `instead` says in a refusal what the client can do.

        The items of `fed` are passed to the function while it runs.
        """
        with refusing_long_work(instead):
            async with self.places.place(self.owner, self.tenant()):
                return await run_bounded(function, *values, budget=self.budget, fed=fed)

    async def hold(self, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Wait until the controller sends no other long answer; return the pieces of this one.

        The first piece is read here, so that an error until then becomes a refusal.
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
        # The place is given back even if no piece is ever requested because the client has left. A
        # generator that never ran is finalized without running, possibly on another thread.
        loop = asyncio.get_running_loop()
        end = weakref.finalize(held, _call, loop, self.streams.give_back, self.owner)
        end.atexit = False
        ends.append(end)
        return held


async def _next_of(pieces: AsyncGenerator[bytes, None]) -> bytes:
    """Return the next piece that is not empty; an empty piece at the end."""
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
    # After the loop is closed, the place no longer matters.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *values)


def streams_of_all() -> WorkPlaces:
    """Return places for long answers: one per controller, for any number of controllers."""
    return WorkPlaces(sys.maxsize)


def work_alone() -> ControllerWork:
    """Return the work limits of a controller that is alone in its process."""
    return ControllerWork(WorkPlaces(), streams_of_all(), None)


@contextmanager
def refusing_long_work(instead: str) -> Iterator[None]:
    """Turn failures of long work into refusals; `instead` says what the client can do."""
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


# The argument of every endpoint function: a request, its account and the handlers.


class Handlers(Struct, frozen=True):
    """The stateful parts that answer the requests to a controller."""

    admission: Admission
    commands: CommandEndpoint
    backups: BackupEndpoint
    sign_in: SignInEndpoint
    uploads: Uploads
    status_files: StatusFiles
    state: StateDocuments
    streams: StreamShares
    #: Runs long work in separate processes, within limits.
    work: ControllerWork
    #: None if the board is not simulated.
    sim: SimCommands | None
    snapshots: SimSnapshots | None


class Context(msgspec.Struct, frozen=True, gc=False, eq=False):
    request: Request
    account: Account
    controller: Controller
    handlers: Handlers
