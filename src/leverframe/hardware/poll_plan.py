"""The turns of several slaves on one bus, on whatever clock.

Every slave has requests that are made one after the other, each once in a period, with the slave's
own pause in between. Where the bus is too slow for all of them, slaves share its time, and not
by turns. While a slave thinks, the line carries nothing; one that thinks much longer than the best
leaves the time to those that do not, and has a small share for sure.

Time that is lost is charged to who causes it. What a slave refuses is asked again only as often as
keeps that below `LOST_SHARE` of the bus, while its other requests continue. A silent slave that has
used up its credit is polled so rarely that its losses stay below the same share, whatever it does
in between. After a silence a slave is left alone for `LATE_S`, so that an answer which comes late
meets no other request to the same slave.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

#: A slave's requests are all made once in this time, if the bus is fast enough.
PERIOD_S = 1.0
#: How much of the bus's time one slave may waste by silence, and by refusals.
LOST_SHARE = 0.05
#: What a slave may waste before that limit counts: a lost frame or two are no reason to wait.
CREDIT_S = 1.0
LATE_S = 2.0
#: The share of a slave that thinks long, while the others want all of the bus.
MIN_SHARE = 0.05
#: Up to this multiple of what the best one needs for the same, a slave counts as equally good;
#: beyond, its share falls with this power, so that the others hardly feel a slow one.
ALIKE = 1.5
_POWER = 4
#: The weight of the latest request in what is known of a slave. One good answer says more than one
#: late one, for which the machine may be to blame.
_BETTER, _WORSE = 0.5, 0.1


class Work(Struct, frozen=True):
    """The requests to a slave: how many, and the pause between two of them."""

    requests: int
    delay_s: float = 0.0


class Turn(Struct, frozen=True):
    slave: int
    request: int
    #: Not before this moment.
    at: float


class Spent(Struct, frozen=True):
    """The time that a request took, and how long the line needs for its bytes alone."""

    took_s: float
    line_s: float


class _Request(Struct):
    due_at: float
    is_refused: bool = False


class _Slave(Struct):
    delay_s: float
    requests: list[_Request]
    ready_at: float
    credited_at: float
    #: Nothing is asked before, because a late answer may come.
    late_until: float = float("-inf")
    #: What was refused is not asked for again before.
    retry_at: float = float("-inf")
    asked_at: float = float("-inf")
    credit_s: float = CREDIT_S
    efficiency: float | None = None
    #: How far it has come on the clock by which time is shared.
    share_clock: float = 0.0

    def upcoming(self) -> tuple[int, float]:
        """Return the next request, and when it may be made."""
        moments = [
            max(one.due_at, self.retry_at) if one.is_refused else one.due_at
            for one in self.requests
        ]
        request = min(range(len(moments)), key=moments.__getitem__)
        return request, max(moments[request], self._may_be_asked_at())

    def _may_be_asked_at(self) -> float:
        moment = max(self.ready_at, self.late_until)
        if self.credit_s >= 0:
            return moment
        return max(moment, self.credited_at - self.credit_s / LOST_SHARE)

    def charge(self, lost_s: float, now: float) -> None:
        earned_s = (now - self.credited_at) * LOST_SHARE
        self.credit_s = min(CREDIT_S, self.credit_s + earned_s) - lost_s
        self.credited_at = now

    def learn(self, spent: Spent) -> None:
        """Follow how much of its time the line carries something."""
        latest = min(1.0, spent.line_s / spent.took_s) if spent.took_s > 0 else 1.0
        if self.efficiency is None:
            self.efficiency = latest
        else:
            weight = _BETTER if latest > self.efficiency else _WORSE
            self.efficiency += weight * (latest - self.efficiency)


class PollPlan:
    def __init__(self, slaves: Mapping[int, Work], now: float) -> None:
        self._slaves = {
            slave: _Slave(work.delay_s, _requests(work.requests, now), now, now)
            for slave, work in slaves.items()
            if work.requests
        }
        self._share_clock = 0.0

    def next(self, now: float) -> Turn | None:
        """Choose the next slave and its time: of those due, the one that is behind in its share."""
        turns = [Turn(slave, *state.upcoming()) for slave, state in self._slaves.items()]
        due = [turn for turn in turns if turn.at <= now]
        if due:
            return replace(min(due, key=self._precedence), at=now)
        return min(turns, key=lambda turn: turn.at) if turns else None

    def note_request(self, turn: Turn, now: float) -> None:
        """Note that a request is on its way."""
        state = self._slaves[turn.slave]
        state.asked_at = now
        # One that wanted nothing for a while has no claim to the time of then.
        self._share_clock = state.share_clock = max(state.share_clock, self._share_clock)
        request = state.requests[turn.request]
        request.due_at = max(request.due_at + PERIOD_S, now)

    def note_answer(self, turn: Turn, spent: Spent, now: float) -> None:
        state = self._slaves[turn.slave]
        state.requests[turn.request].is_refused = False
        state.learn(spent)
        state.share_clock += spent.took_s / self._share_of(state)
        state.ready_at = now + state.delay_s

    def was_refused(self, turn: Turn, spent: Spent, now: float) -> None:
        self.note_answer(turn, spent, now)
        state = self._slaves[turn.slave]
        state.requests[turn.request].is_refused = True
        state.retry_at = now + spent.took_s / LOST_SHARE

    def was_silent(self, slave: int, lost_s: float, now: float) -> None:
        """Note that no answer came, and how long the bus was kept waiting."""
        if slave not in self._slaves:
            return
        state = self._slaves[slave]
        state.ready_at = now + state.delay_s
        state.late_until = now + LATE_S
        state.charge(lost_s, now)

    def late_until(self, slave: int) -> float:
        """Return until when an earlier request may still be answered."""
        return self._slaves[slave].late_until if slave in self._slaves else float("-inf")

    def split(self, turn: Turn, parts: int, now: float) -> None:
        """Put several requests in the place of one."""
        requests = self._slaves[turn.slave].requests
        requests[turn.request : turn.request + 1] = _requests(parts, now)

    def _precedence(self, turn: Turn) -> tuple[float, float]:
        state = self._slaves[turn.slave]
        return max(state.share_clock, self._share_clock), state.asked_at

    def _share_of(self, state: _Slave) -> float:
        known = {id(one): one.efficiency for one in self._slaves.values()}
        best = max((each for each in known.values() if each is not None), default=1.0)
        weights = {
            one: 1.0 if each is None else min(1.0, ALIKE * each / best) ** _POWER
            for one, each in known.items()
        }
        return max(MIN_SHARE, weights[id(state)] / sum(weights.values()))


def _requests(count: int, now: float) -> list[_Request]:
    return [_Request(now) for _ in range(count)]
