"""The comparison of what clients were told with what the database has seen."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tests.fleet.faults.clients import BULK, CHANGES, DIRECT, MESSAGES, CountingClient
from tests.fleet.faults.processes import FaultedFleet
from tests.fleet.faults.witness import Witness
from tests.soak.ledger import Ledger

_NUMBER = re.compile(r"n=-?(\d+)")
_PLACES = {CHANGES: "changes", MESSAGES: "beside messages", BULK: "bulk", DIRECT: "direct"}
#: How many examples of the same kind are told.
_TOLD = 3


class Verdict(Struct):
    """Figures of a run; what must not be is in the ledger."""

    acknowledged: int = 0
    lost: int = 0
    doubtful: int = 0
    #: Doubtful ones that were stored after all.
    doubtful_stored: int = 0
    #: Controllers in which one that nobody had waited for came after a later one.
    late: int = 0
    messages: int = 0
    messages_lost: int = 0
    messages_again: int = 0


def judge(
    fleet: FaultedFleet,
    clients: Mapping[str, CountingClient],
    arrived: Counter[tuple[str, int]],
    ledger: Ledger,
    *,
    may_lose: bool = False,
) -> Verdict:
    """Compare everything; where the database has lost its newest state only that is counted."""
    witness, verdict = Witness(fleet), Verdict()
    for place in _PLACES:
        stored = witness.stored(place)
        for name, client in clients.items():
            _judge_numbers(client, place, stored.get(name, []), verdict, ledger, may_lose)
    _judge_messages(witness, clients, arrived, verdict, ledger, may_lose)
    _require_none(ledger, "written by who did not have it", witness.written_by_strangers())
    _require_none(ledger, "batches out of order", witness.wrong_batches())
    _require_none(ledger, "audit entries out of order", witness.wrong_audit())
    return verdict


def _require_none(ledger: Ledger, what: str, found: Sequence[object]) -> None:
    ledger.require(not found, f"{what}: {len(found)}, such as {list(found[:_TOLD])}")


def _judge_numbers(
    client: CountingClient,
    place: int,
    stored: Sequence[int],
    verdict: Verdict,
    ledger: Ledger,
    may_lose: bool,
) -> None:
    told, seen = client.told[place], set(stored)
    what = f"{client.name}, {_PLACES[place]}"
    lost = sorted(told.acknowledged - seen)
    verdict.acknowledged += len(told.acknowledged)
    verdict.lost += len(lost)
    verdict.doubtful += len(told.doubtful)
    verdict.doubtful_stored += len(told.doubtful & seen)
    if not may_lose:
        _require_none(ledger, f"{what}: acknowledged and not stored", lost)
    _require_none(ledger, f"{what}: refused and stored", sorted(told.refused & seen))
    _require_none(
        ledger,
        f"{what}: stored, but nobody asked for it",
        sorted(seen - told.acknowledged - told.doubtful - told.refused - {0}),
    )
    again = [number for number, times in Counter(stored).items() if number and times > 1]
    _require_none(ledger, f"{what}: done more than once", again)
    if place != BULK:
        # A request that its client gave up may be carried out when the door that had it wakes up;
        # and a bulk change that is gone on with may come after a later one. All else is in order.
        ordered = [number for number in stored if number not in told.unanswered]
        ledger.require(ordered == sorted(ordered), f"{what}: out of order")
        verdict.late += list(stored) != sorted(stored)
        newest = max(told.acknowledged, default=0)
        if not may_lose and ordered:
            ledger.require(ordered[-1] >= newest, f"{what}: {ordered[-1]} is left of {newest}")


def _judge_messages(
    witness: Witness,
    clients: Mapping[str, CountingClient],
    arrived: Counter[tuple[str, int]],
    verdict: Verdict,
    ledger: Ledger,
    may_lose: bool,
) -> None:
    durable = durable_messages(witness)
    promised = {(name, number) for name, client in clients.items() for number in client.promised}
    if not may_lose:
        _require_none(ledger, "promised messages not stored", sorted(promised - durable))
    missing = durable - set(arrived)
    _require_none(ledger, "messages lost", sorted(missing))
    verdict.messages = len(durable)
    verdict.messages_lost = len(missing)
    verdict.messages_again = sum(arrived.values()) - len(arrived)


def durable_messages(witness: Witness) -> set[tuple[str, int]]:
    """Return the messages that were ever stored."""
    found = set()
    for row in witness.messages:
        number = _NUMBER.search(row.value or "")
        if number is not None:
            found.add((row.name, int(number[1])))
    return found
