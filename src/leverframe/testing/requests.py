"""The requests that clients made to a twin, as tests look at them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import msgspec
from msgspec import Struct

from leverframe.errors import ErrorForPeople
from leverframe.servers.http.request_journal import JournalRequest
from leverframe.testing.misuse import BadCall, is_below

Query = str | Mapping[str, object] | None
#: How many requests a failure lists.
LISTED = 20


class NotRequested(ErrorForPeople, AssertionError):
    """Clients did not request what was asserted: the failure lists what they did request."""


class TwinRequest(Struct, frozen=True):
    """A request that the twin got from a client, and how it answered."""

    #: By the twin's clock.
    time: datetime
    method: str
    path: str
    #: As it came, percent-encoded; without the values of what may hold a secret.
    query: str | None
    #: None as long as there is no answer, or where a fault kept it back.
    status: int | None
    #: Why it was refused, as the client saw it.
    problem: str | None
    #: The address of the client.
    source: str
    #: By lower-case names; what may be a secret reads `***`.
    headers: Mapping[str, str] = {}
    #: As text, secrets masked; None where there was none, or it was left out.
    body: str | None = None
    #: Why a body was left out: `secret`, `file` (no text) or `large` (more than 16 KiB).
    body_left_out: str = ""
    #: Seconds of real time until the answer was there; None as long as there is none.
    duration: float | None = None
    #: The faults that acted on it, as `/sim.cgi?fault=` has them; None without one.
    fault: str | None = None

    def json(self) -> Any:
        """Return the body as the value that its JSON text stands for."""
        if self.body is None:
            why = f", it was left out: {self.body_left_out}" if self.body_left_out else ""
            raise BadCall(f"{self.target} has no body{why}.")
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError as error:
            raise BadCall(f"The body of {self.target} is no JSON: {error}.") from None

    @property
    def target(self) -> str:
        """Method, path and query, as people write them."""
        return f"{self.method} {self.path}" + ("" if self.query is None else f"?{self.query}")

    def __str__(self) -> str:
        detail = f": {self.problem}" if self.problem else ""
        fault = f" (fault {self.fault})" if self.fault else ""
        return f"{self.time:%Y-%m-%d %H:%M:%S} {self.target} {self.status}{detail}{fault}"


def requests_from(noted: bytes, zone: tzinfo) -> list[TwinRequest]:
    """Return noted requests as tests look at them: with times of day, without the number."""
    found = []
    for one in msgspec.json.decode(noted, type=list[JournalRequest]):
        fields = msgspec.structs.asdict(one)
        del fields["number"]
        fields |= {"time": datetime.fromtimestamp(one.time, zone), "status": one.status or None}
        found.append(TwinRequest(**fields))
    return found


def matching(
    requests: Iterable[TwinRequest], path: str | None, method: str | None, query: Query
) -> list[TwinRequest]:
    """Return those to a path, by a method, with a query; None stands for any."""
    return [
        one
        for one in requests
        if (path is None or is_below(one.path, path))
        and method in (None, one.method)
        and _has_query(one.query, query)
    ]


def _has_query(query: str | None, wanted: Query) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return query is not None and unquote_plus(query) == unquote_plus(wanted.lstrip("?"))
    items = parse_qsl(query or "", keep_blank_values=True)
    return all((str(name), str(value)) in items for name, value in wanted.items())


def unmet(
    requests: Sequence[TwinRequest],
    found: Sequence[TwinRequest],
    path: str,
    method: str | None,
    query: Query,
    times: int | None,
) -> str:
    """Explain why an assertion about requests fails, with what was requested, nearest first."""
    wanted = path if query is None else f"{path} with the query {query!r}"
    expected = "at least once" if times is None else _times(times)
    lines = [f"{method or 'Any method'} {wanted}: expected {expected}, was {_times(len(found))}."]
    if not requests:
        return f"{lines[0]} No client has requested anything."
    lines.append("What clients requested, the nearest first:")
    ranked = sorted(requests, key=lambda one: _distance(one, path, method))
    lines += [f"  {one}" for one in ranked[:LISTED]]
    if len(ranked) > LISTED:
        lines.append(f"  and {len(ranked) - LISTED} more; twin.requests() lists all.")
    if any("***" in (one.query or "") for one in ranked) and query is not None:
        lines.append("Values that may be secrets are kept as ***.")
    return "\n".join(lines)


def _distance(request: TwinRequest, path: str, method: str | None) -> float:
    # Imported here: assertions that hold compare nothing.
    from difflib import SequenceMatcher

    likeness = SequenceMatcher(None, path, request.path).ratio()
    return -likeness - (0.1 if method in (None, request.method) else 0.0)


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
