"""The requests that clients made to a twin, as tests look at them."""

from collections.abc import Iterable
from datetime import datetime, tzinfo

import msgspec
from msgspec import Struct

from leverframe.servers.http.request_journal import JournalRequest


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
    #: Why it was refused, as the client was told.
    problem: str | None
    source: str

    def __str__(self) -> str:
        query = "" if self.query is None else f"?{self.query}"
        detail = f": {self.problem}" if self.problem else ""
        return (
            f"{self.time:%Y-%m-%d %H:%M:%S} {self.method} {self.path}{query} {self.status}{detail}"
        )


def requests_from(
    noted: Iterable[JournalRequest], zone: tzinfo, path: str | None, method: str | None
) -> list[TwinRequest]:
    """Return those to a path, all for None, and of a method, likewise."""
    return [
        TwinRequest(
            datetime.fromtimestamp(one.time, zone),
            one.method,
            one.path,
            one.query,
            one.status or None,
            one.problem,
            one.source,
        )
        for one in noted
        if path in (None, one.path) and method in (None, one.method)
    ]


def journal_from_json(text: bytes) -> list[JournalRequest]:
    return msgspec.json.decode(text, type=list[JournalRequest])
