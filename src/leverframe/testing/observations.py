"""Observations of a twin in tests: the causes of its values, its messages, its requests."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote_plus

import msgspec
from msgspec import Struct

from leverframe.core.durations import text_from_seconds
from leverframe.core.errors import ErrorForPeople
from leverframe.core.labels import EVENT_VARIABLES, LABELS, OUTPUTS, PWMS
from leverframe.testing.misuse import BadCall, is_below

# Sentences that explain the values of a twin.

MAX_ENTRIES = 5
SWITCHED = (*OUTPUTS, *PWMS, *EVENT_VARIABLES)


class UnknownLabel(ErrorForPeople, ValueError):
    """A label is unknown; the message lists all labels."""


def explain(
    label: str,
    state: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]],
    journal: Sequence[Mapping[str, Any]],
    zone: tzinfo,
) -> str:
    """Return a value, its cause, and why each rule that uses or switches it acts or not."""
    if label not in LABELS:
        raise UnknownLabel(f"Unknown label {label!r}. Known labels: {', '.join(LABELS)}.")
    return "\n".join(_sentences(label, state, rules, journal, zone))


def _sentences(
    label: str,
    state: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]],
    journal: Sequence[Mapping[str, Any]],
    zone: tzinfo,
) -> Iterator[str]:
    value, since = state[label], state["absent_since"].get(label)
    if value is None:
        yield f"{label} is absent" + (f" since {_time(since, zone)}." if since else ".")
    else:
        yield f"{label} is {value:g}."
    if (returns := state["returns_in"].get(label)) is not None:
        yield f"It switches off in {text_from_seconds(returns)}."
    about = [entry for entry in journal if label in entry["text"].replace(":", " ").split()]
    for entry in about[-MAX_ENTRIES:]:
        yield f"{_time(entry['time'], zone)}, {_cause(entry)}: {entry['text']}"
    if not about and label in SWITCHED:
        yield "It has not been switched since the start."
    for rule in rules:
        settings = rule["settings"]
        # Also matches `PULSE OUT0`, `AutoSwitch OUT0` and `RESET ENERGY1`.
        acts_on = settings["action"].split()
        if label in (*acts_on, settings["source"], settings["source2"]):
            yield _rule(rule)


def _rule(rule: Mapping[str, Any]) -> str:
    settings = rule["settings"]
    words = f" {settings['operator']} ".join(
        f"{one['label']} {one['compare']} {one['reference']:g}"
        for one in rule["explanation"]["conditions"]
    )
    effect = rule["when_met"] or rule["when_ceasing"]
    does = effect["text"] if rule["when_met"] else f"{effect['text']} when this is no longer met"
    name = settings["name"] or rule["number"]
    return f"Rule {name}, {words}, then {does}: {rule['why']['text']}"


def _cause(entry: Mapping[str, Any]) -> str:
    return f"{entry['cause']} {entry.get('detail', '')}".rstrip()


def _time(wall: float, zone: tzinfo) -> str:
    return f"{datetime.fromtimestamp(wall, zone):%Y-%m-%d %H:%M:%S}"


# The complete messages that a twin would have sent, in the form that tests read.

_Sent = TypeVar("_Sent")


class SentEmail(Struct, frozen=True):
    """A mail to one recipient."""

    time: float
    subject: str
    sender: str
    to: str
    text: str
    headers: Mapping[str, str]
    server: str
    #: The cause of the message, like `rule 3`.
    reason: str
    #: Why it could not have been sent; None if it could.
    problem: str | None = None


class SentSms(Struct, frozen=True):
    """An SMS to one number."""

    time: float
    to: str
    text: str
    reason: str
    problem: str | None = None


class SentHttp(Struct, frozen=True):
    """A request of HTTP1 to HTTP4."""

    time: float
    slot: int
    method: str
    url: str
    body: str
    headers: Mapping[str, str]
    reason: str
    problem: str | None = None


class SentMqtt(Struct, frozen=True):
    """A message of the action MQTT."""

    time: float
    topic: str
    text: str
    qos: int
    retain: bool
    reason: str
    problem: str | None = None


class SentTrap(Struct, frozen=True):
    """An SNMP trap to one receiver."""

    time: float
    to: str
    #: The kind of the trap, as an OID.
    trap: str
    #: Values by OID.
    variables: Mapping[str, str]
    text: str
    reason: str
    problem: str | None = None


class TwinOutbox:
    """The messages that the twin would have sent since its start or `clear`, oldest first."""

    def __init__(self, report: Callable[[], dict[str, Any]], clear: Callable[[], object]) -> None:
        self._report = report
        self._clear = clear

    @property
    def emails(self) -> list[SentEmail]:
        """Every mail: `subject`, `sender`, `to`, `text`, `headers`."""
        return self._of("email", SentEmail)

    @property
    def sms(self) -> list[SentSms]:
        """Every SMS: `to`, `text`."""
        return self._of("sms", SentSms)

    @property
    def http(self) -> list[SentHttp]:
        """Every request of HTTP1 to HTTP4: `slot`, `method`, `url`, `body`, `headers`."""
        return self._of("http", SentHttp)

    @property
    def mqtt(self) -> list[SentMqtt]:
        """Every message of the action MQTT: `topic`, `text`."""
        return self._of("mqtt", SentMqtt)

    @property
    def traps(self) -> list[SentTrap]:
        """Every SNMP trap: `to`, `trap`, `variables`, `text`."""
        return self._of("snmp", SentTrap)

    @property
    def problems(self) -> list[str]:
        """Why messages could not even be composed: a missing server, recipient or address."""
        return [one["problem"] for one in self._report()["failed"]]

    def clear(self) -> None:
        """Forget the messages so far."""
        self._clear()

    def _of(self, channel: str, kind: type[_Sent]) -> list[_Sent]:
        captured: Sequence[dict[str, Any]] = self._report()["captured"]
        return [
            msgspec.convert(_fields(one), kind)
            for one in captured
            if one["channel"].rstrip("1234") == channel
        ]


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return all fields of a message, under the names that the channels use for them."""
    content, target = message["content"], message["target"]
    return {
        **dict.fromkeys(("subject", "sender", "server", "method", "body"), ""),
        "headers": {},
        "url": f"{target}{content.get('path', '')}",
        **content,
        "text": content.get("body", content.get("text", "")),
        "to": target,
        "topic": target,
        "time": message["created"],
        **{key: message[key] for key in ("slot", "reason", "problem")},
    }


# The requests that clients sent to a twin, as tests see them.

Query = str | Mapping[str, object] | None
#: The number of requests that a failure lists.
LISTED = 20


class NotRequested(ErrorForPeople, AssertionError):
    """No request matches an assertion; the failure lists the actual requests."""


class TwinRequest(Struct, frozen=True):
    """A request that the twin got from a client, and its answer."""

    #: The time by the twin's clock.
    time: datetime
    method: str
    path: str
    #: As received, percent-encoded; without values that may be secrets.
    query: str | None
    #: None as long as there is no answer, or if a fault withheld it.
    status: int | None
    #: The reason of a refusal, as the client saw it.
    problem: str | None
    #: The address of the client.
    source: str
    #: By lower-case names; possible secrets read `***`.
    headers: Mapping[str, str] = {}
    #: As text with secrets masked; None if there was no body, or if it was left out.
    body: str | None = None
    #: Why a body was left out: `secret`, `file` (not text) or `large` (more than 16 KiB).
    body_left_out: str = ""
    #: Seconds of real time until the answer; None as long as there is no answer.
    duration: float | None = None
    #: The faults that affected it, in the syntax of `/sim.cgi?fault=`; None without faults.
    fault: str | None = None

    def json(self) -> Any:
        """Return the value of a JSON body."""
        if self.body is None:
            why = f", because it was not kept: {self.body_left_out}" if self.body_left_out else ""
            raise BadCall(f"{self.target} has no body{why}.")
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError as error:
            raise BadCall(f"The body of {self.target} is not JSON: {error}.") from None

    @property
    def target(self) -> str:
        """Method, path and query, as users write them."""
        return f"{self.method} {self.path}" + ("" if self.query is None else f"?{self.query}")

    def __str__(self) -> str:
        detail = f": {self.problem}" if self.problem else ""
        fault = f" (fault {self.fault})" if self.fault else ""
        return f"{self.time:%Y-%m-%d %H:%M:%S} {self.target} {self.status}{detail}{fault}"


def requests_from(noted: bytes, zone: tzinfo) -> list[TwinRequest]:
    """Convert recorded requests for tests: with wall times, and without their numbers."""
    from leverframe.server.http.request_journal import JournalRequest

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
    """Return the requests with a path, a method and a query; None matches any."""
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
    """Explain why an assertion about requests fails; list the actual ones, best match first."""
    wanted = path if query is None else f"{path} with the query {query!r}"
    expected = "at least once" if times is None else _times(times)
    lines = [f"{method or 'Any method'} {wanted}: expected {expected}, was {_times(len(found))}."]
    if not requests:
        return f"{lines[0]} No client has sent a request."
    lines.append("What clients requested, the nearest first:")
    ranked = sorted(requests, key=lambda one: _distance(one, path, method))
    lines += [f"  {one}" for one in ranked[:LISTED]]
    if len(ranked) > LISTED:
        lines.append(f"  and {len(ranked) - LISTED} more; twin.requests() lists all.")
    if any("***" in (one.query or "") for one in ranked) and query is not None:
        lines.append("Values that may be secrets are shown as ***.")
    return "\n".join(lines)


def _distance(request: TwinRequest, path: str, method: str | None) -> float:
    # Imported here: an assertion that holds compares nothing.
    from difflib import SequenceMatcher

    likeness = SequenceMatcher(None, path, request.path).ratio()
    return -likeness - (0.1 if method in (None, request.method) else 0.0)


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
