"""The comparison of the answers to clients with what the database has seen."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import inf

from msgspec import Struct

from leverframe.fleet.owners import DEADLINES
from tests.fleet.faults.clients import BULK, CHANGES, DIRECT, MESSAGES, CountingClient, GivenUp
from tests.fleet.faults.processes import FaultedFleet, Hang
from tests.fleet.faults.witness import StoredNumber, Witness
from tests.soak.ledger import Ledger

_NUMBER = re.compile(r"n=-?(\d+)")
_PLACES = {CHANGES: "changes", MESSAGES: "beside messages", BULK: "bulk", DIRECT: "direct"}
#: A door and the owner each hold a request for so long while no node has the controller; and a
#: busy machine delays both.
UNDER_WAY_S = 2 * DEADLINES["connection"].hold_s + 2.0
#: The number of examples of the same kind that are shown.
_EXAMPLES = 3


class Verdict(Struct):
    """Figures of a run; violations are in the ledger."""

    acknowledged: int = 0
    lost: int = 0
    doubtful: int = 0
    #: Doubtful ones that were stored after all.
    doubtful_stored: int = 0
    #: Changes that no client had waited for and that came after a later one.
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
    """Compare everything; if the database may lose its newest state, count what is lost."""
    witness, verdict = Witness(fleet), Verdict()
    hangs = {node.port: node.hangs for node in fleet.nodes.values()}
    for place in _PLACES:
        stored, audited = witness.values_in_settings(place), witness.values_in_audit(place)
        for name, client in clients.items():
            rows, noted = stored.get(name, []), audited.get(name, set())
            _judge_numbers(client, place, rows, noted, hangs, verdict, ledger, may_lose)
    _judge_messages(witness, clients, arrived, verdict, ledger, may_lose)
    _require_none(ledger, "written by a node that did not have it", witness.list_strange_writes())
    _require_none(ledger, "stored unlike the audit trail", witness.unlike_audit())
    _require_none(ledger, "batches out of order", witness.wrong_batches())
    _require_none(ledger, "audit entries out of order", witness.wrong_audit())
    return verdict


def _require_none(ledger: Ledger, what: str, found: Sequence[object]) -> None:
    ledger.require(not found, f"{what}: {len(found)}, such as {list(found[:_EXAMPLES])}")


def _judge_numbers(
    client: CountingClient,
    place: int,
    rows: Sequence[StoredNumber],
    audited: Collection[int],
    hangs: Mapping[int, Sequence[Hang]],
    verdict: Verdict,
    ledger: Ledger,
    may_lose: bool,
) -> None:
    stored = [row.number for row in rows]
    changes, seen = client.changes[place], set(stored)
    what = f"{client.name}, {_PLACES[place]}"
    # One that came late may have set it back in the same batch: then only the audit trail shows it.
    lost = sorted(changes.acknowledged - seen - set(audited))
    verdict.acknowledged += len(changes.acknowledged)
    verdict.lost += len(lost)
    verdict.doubtful += len(changes.doubtful)
    verdict.doubtful_stored += len(changes.doubtful & seen)
    if not may_lose:
        _require_none(ledger, f"{what}: acknowledged and not stored", lost)
    _require_none(ledger, f"{what}: refused and stored", sorted(changes.refused & seen))
    _require_none(
        ledger,
        f"{what}: stored, but not asked for",
        sorted(seen - changes.acknowledged - changes.doubtful - changes.refused - {0}),
    )
    again = [number for number, times in Counter(stored).items() if number and times > 1]
    _require_none(ledger, f"{what}: done more than once", again)
    if place != BULK:
        # A bulk change that is resumed may come after a later one. All else is in order, but
        # for single changes that `overtaken` allows.
        late = overtaken(rows, changes.unanswered, hangs)
        ordered = [number for number in stored if number not in late]
        ledger.require(ordered == sorted(ordered), f"{what}: out of order: {_disorder(ordered)}")
        verdict.late += len(late)
        newest = max(changes.acknowledged, default=0)
        if not may_lose and ordered:
            ledger.require(ordered[-1] >= newest, f"{what}: {ordered[-1]} is left of {newest}")


def overtaken(
    rows: Sequence[StoredNumber],
    unanswered: Mapping[int, GivenUp],
    hangs: Mapping[int, Sequence[Hang]],
) -> set[int]:
    """Return the changes that came after later ones and were allowed to.

    A client that gives up a request and asks elsewhere cannot take back the bytes: they are in the
    buffers of the door, which may hang, or of the owner. A client that has closed its end does not
    cancel them: HTTP allows closing it behind a request and waiting for the answer. So a request
    without any answer may be carried out while it is under way, and no longer: until the door has
    resumed, and then until door and owner have given up looking for the controller. An answered
    request is never carried out later: an owner that has lost the controller refuses it, and a
    batch in doubt is cancelled before the next one is written.
    """
    late: set[int] = set()
    newest = 0
    for number, at in rows:
        if number > newest:
            newest = number
            continue
        given_up = unanswered.get(number)
        if given_up is not None and at <= _under_way_until(given_up, hangs):
            late.add(number)
    return late


def _under_way_until(request: GivenUp, hangs: Mapping[int, Sequence[Hang]]) -> float:
    woken = [
        hang.until
        for hang in hangs.get(request.port, ())
        if hang.since <= request.given_up_at and hang.until >= request.asked_at
    ]
    return max([request.given_up_at, *woken]) + UNDER_WAY_S


def _disorder(numbers: Sequence[int]) -> list[tuple[int, int]]:
    pairs = zip(numbers, numbers[1:], strict=False)
    return [(one, other) for one, other in pairs if other < one][:_EXAMPLES]


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
    missing_promises = [
        (name, number)
        for name, number in sorted(promised - durable.keys())
        if not is_anticipated(clients[name], number, durable)
    ]
    if not may_lose:
        _require_none(ledger, "promised messages not stored", missing_promises)
    missing = durable.keys() - set(arrived)
    _require_none(ledger, "messages lost", sorted(missing))
    verdict.messages = len(durable)
    verdict.messages_lost = len(missing)
    verdict.messages_again = sum(arrived.values()) - len(arrived)


def is_anticipated(
    client: CountingClient, number: int, durable: Mapping[tuple[str, int], float]
) -> bool:
    """Return whether a late reading has fired the rule in place of a promised one.

    A client that got no answer reads again and chooses a reading that fires. Where the one
    without an answer comes between the two after all, it fires, and the next changes nothing.
    Its own message says so: it is stored while the client was at the promised one.
    """
    promise = client.promised[number]
    return any(
        promise.since <= durable.get((client.name, late), inf) <= promise.until
        for late in client.unanswered_readings
    )


def durable_messages(witness: Witness) -> dict[tuple[str, int], float]:
    """Return the messages that were ever stored, and when for the first time."""
    found: dict[tuple[str, int], float] = {}
    for row in witness.messages:
        number = _NUMBER.search(row.value or "")
        if number is not None:
            found.setdefault((row.name, int(number[1])), row.at)
    return found
