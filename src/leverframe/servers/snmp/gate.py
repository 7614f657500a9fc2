"""The gate in front of the SNMP library: what is not for it, or too much, does not reach it.

The library reads a whole message before it looks who sent it, and logs a trace for bytes that are
none. Here the size, the form and the name of the sender are looked at first, and each source has a
part of the event loop's time; beside that, what is asked of a controller waits for the turns that
it has beside others. Addresses can be forged, so all sources together have a limit; discovery of
engines (SNMPv3), which needs no credentials, has a small one of its own. What is dropped gets no
answer. Agents of one process share the library, so what is meant for the engine of another one is
dropped, too: the user there may have the same name.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import NamedTuple

from leverframe.engine.settings import Snmp
from leverframe.log_throttle import LogThrottle
from leverframe.loop_shares import LoopTurns
from leverframe.notify.snmp_engine import has_v3
from leverframe.servers.fair_shares import source_of
from leverframe.servers.snmp import NAME
from leverframe.wire.snmp_opening import V3, NotSnmp, Opening, read_opening

log = logging.getLogger(__name__)

#: Sources that are remembered; the ones not heard for the longest time go first.
MAX_SOURCES = 256
#: More than requests for everything have.
MAX_DATAGRAM_BYTES = 2048
#: A slow board works this long for a manager that walks the whole tree.
BURST_S = 4.0
#: Datagrams that wait for the turn of the controller; managers ask again for what is dropped.
MAX_WAITING = 64


class TimeBudget:
    """Time of the event loop that strangers may cause: so much a second each, and all together.

    A source that has used up its time is ignored until some time has passed. A burst is allowed;
    what a piece of work has taken is known only afterwards, so that the last piece may go beyond
    the budget.
    """

    def __init__(
        self, now: Callable[[], float], *, part: float, all_part: float, burst_s: float
    ) -> None:
        """Allow each source this part of the time, all of them another, and bursts."""
        self._now = now
        self._part, self._all_part, self._burst_s = part, all_part, burst_s
        #: Until when what was used is worked off, as if it took the allowed part of the time.
        self._paid_until: OrderedDict[str, float] = OrderedDict()
        self._all_paid_until = 0.0

    def allows(self, source: str) -> bool:
        now = self._now()
        paid_until = self._paid_until.get(source, now)
        return (
            paid_until - now <= self._burst_s / self._part
            and self._all_paid_until - now <= self._burst_s / self._all_part
        )

    def charge(self, source: str, seconds: float) -> None:
        now = self._now()
        paid_until = max(now, self._paid_until.get(source, now))
        self._paid_until[source] = paid_until + seconds / self._part
        self._paid_until.move_to_end(source)
        if len(self._paid_until) > MAX_SOURCES:
            self._paid_until.popitem(last=False)
        self._all_paid_until = max(now, self._all_paid_until) + seconds / self._all_part


class AdmittedDatagram(NamedTuple):
    """A datagram that is let through."""

    source: str
    budget: TimeBudget
    handle: Callable[[], object]


class SnmpGate:
    def __init__(
        self,
        snmp: Snmp,
        turns: LoopTurns,
        monotonic: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.thread_time,
        is_for_another: Callable[[bytes], bool] = lambda engine_id: False,
    ) -> None:
        """Measure what a datagram costs by `worked`: a busy machine is not the manager's doing."""
        self._turns = turns
        self._waiting: set[asyncio.Task[None]] = set()
        self._is_for_another = is_for_another
        names = (snmp.read_community, snmp.write_community)
        self._communities = {name.encode() for name in names if name}
        self._user = snmp.user.encode() if has_v3(snmp) else None
        self._needs_privacy = snmp.is_private
        self._worked = worked
        self._warn = LogThrottle(log, monotonic).warning
        self._asking = TimeBudget(monotonic, part=0.25, all_part=0.5, burst_s=BURST_S)
        self._discovering = TimeBudget(monotonic, part=0.05, all_part=0.1, burst_s=0.2)

    def handle(self, datagram: bytes, peer: str, handle: Callable[[], object]) -> None:
        """Handle a datagram, unless it has no business here or its source has used its time.

        Whatever happens to it, it costs one line of the log a minute at most.
        """
        source = source_of(peer)
        try:
            opening = self._opening(datagram)
        except NotSnmp as error:
            self._drop(source, "form", f"it is not an accepted request ({error})")
            return
        if not self._is_known(opening):
            who = "user, or not private," if opening.version == V3 else "community"
            self._drop(source, "name", f"its {who} is unknown")
            return
        if opening.engine_id and self._is_for_another(opening.engine_id):
            self._drop(source, "engine", "it is for the engine of another controller")
            return
        budget = self._discovering if opening.is_discovery else self._asking
        if not budget.allows(source):
            self._drop(source, "budget", "its source sends too many requests")
            return
        if len(self._waiting) >= MAX_WAITING:
            self._drop(source, "waiting", f"{MAX_WAITING} requests are already waiting")
            return
        answer = self._turns.answer(AdmittedDatagram(source, budget, handle), self._handle)
        if isinstance(answer, Coroutine):
            waiting = asyncio.get_running_loop().create_task(answer)
            self._waiting.add(waiting)
            waiting.add_done_callback(self._waiting.discard)

    def close(self) -> None:
        """Forget what still waits for its turn."""
        for waiting in tuple(self._waiting):
            waiting.cancel()

    def _handle(self, datagram: AdmittedDatagram) -> None:
        begun = self._worked()
        try:
            datagram.handle()
        except Exception as error:
            self._drop(datagram.source, "fault", f"it cannot be read ({type(error).__name__})")
        datagram.budget.charge(datagram.source, self._worked() - begun)

    def _opening(self, datagram: bytes) -> Opening:
        if len(datagram) > MAX_DATAGRAM_BYTES:
            raise NotSnmp(f"more than {MAX_DATAGRAM_BYTES} bytes")
        return read_opening(datagram)

    def _is_known(self, opening: Opening) -> bool:
        if opening.version != V3:
            return opening.name in self._communities
        if self._user is None:
            return False
        secured = opening.is_secured if self._needs_privacy else opening.is_authenticated
        return opening.is_discovery or (secured and opening.name == self._user)

    def _drop(self, source: str, kind: str, why: str) -> None:
        self._warn(source, kind, "%s: a datagram from %s is dropped: %s", NAME, source, why)
