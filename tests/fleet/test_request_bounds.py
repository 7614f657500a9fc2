"""What one request to a node may hold: bounded in every place, and harmless at its bounds.

The first tests walk over the types of all endpoints, so that a new text or list without a bound is
found. The others send to every endpoint what its types just allow and what they just refuse, as an
administrator of one tenant, while a controller of another one is being switched.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from time import thread_time
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from leverframe.fleet.bulk import BY_FLEET
from leverframe.fleet.operation import Operation
from leverframe.fleet.operations.context import MAX_ITEMS, list_of_texts, read_parameters
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.fleet.records import MAX_TAGS
from leverframe.host.configuration.keys import alternatives, split_type
from leverframe.interface.descriptions.schemas import FORM
from leverframe.interface.table.lookup import MAX_COMMANDS
from leverframe.interface.table.refusals import BadValue
from leverframe.server.http.limits import MIB
from leverframe.server.http.messages import Request, StreamReply
from tests.cases import for_each
from tests.effort import examples
from tests.fleet.loop_node import loop_node
from tests.fleet.tenant_fleet import OPERATOR, TenantFleet, tenant_fleet
from tests.stopwatch import Stopwatch, within

# --- bounds of all types --------------------------------------------------------------------------

_BOUNDED = (bool, int, float, type(None))


def find_unbounded(hint: Any) -> Iterator[str]:
    """Yield the parts of a type that may be as long as a client likes."""
    plain, metas = split_type(hint)
    if members := alternatives(plain):
        for member in members:
            yield from find_unbounded(member)
    elif get_origin(plain) is Literal or plain in _BOUNDED:
        return
    elif isinstance(plain, type) and issubclass(plain, Struct):
        for field in msgspec.structs.fields(plain):
            yield from (
                f"{plain.__name__}.{field.name}: {part}" for part in find_unbounded(field.type)
            )
    elif not any(meta.max_length is not None for meta in metas):
        yield str(hint)
    else:
        for member in get_args(plain):
            yield from find_unbounded(member)


def test_every_text_and_list_of_a_request_to_a_node_is_bounded() -> None:
    found = [
        f"{endpoint.path} {place}: {part}"
        for endpoint in OPERATIONS
        for place, hint in (
            *((one.name, one.type) for one in endpoint.query),
            *((("body", endpoint.body),) if endpoint.body is not None else ()),
        )
        for part in find_unbounded(hint)
    ]
    assert found == []


class _Nested(Struct):
    texts: Annotated[list[str], Meta(max_length=3)]


@for_each(
    ("hint", "count"),
    [
        (str, 1),
        (str | None, 1),
        (list[int], 1),
        (dict[str, int], 1),
        (Annotated[list[str], Meta(max_length=3)], 1),
        (_Nested, 1),
        (Any, 1),
        (bytes, 1),
        (Annotated[str, Meta(max_length=3)], 0),
        (Annotated[str, Meta(max_length=3)] | None, 0),
        (Literal["a", "b"], 0),
        (int, 0),
        (list_of_texts(3, 40), 0),
    ],
    ids=str,
)
def test_unbounded_type_is_found(hint: Any, count: int) -> None:
    assert len(list(find_unbounded(hint))) == count


# --- tags -----------------------------------------------------------------------------------------


async def test_controller_has_at_most_32_tags() -> None:
    async with loop_node() as node:
        many = ",".join(f"t{n}" for n in range(MAX_TAGS + 1))
        assert "Allowed: up to 32" in await node.expect_refusal(400, "add", name="gh", tags=many)
        most = ",".join(f"t{n}" for n in range(MAX_TAGS))
        await node.post("add", name="gh", tags=most)
        assert "up to 32 of a controller" in await node.expect_refusal(400, "tag", add="one-more")
        assert len(node.member("gh").record.tags) == MAX_TAGS
        await node.post("tag", add="one-more", remove="t0")
        assert "one-more" in node.member("gh").record.tags
        assert "is not a valid tag" in await node.expect_refusal(400, "tag", add="x" * 41)


# --- every operation at its limits ----------------------------------------------------------------

TEMPLATE = b'{"hw": "3.9", "sw": "1.75", "settings": {"outputs.0.name": "Fan"}}'
#: Parameters that a request needs to get far, by path; other paths need none.
USUAL: dict[str, dict[str, str]] = {
    "progress": {"id": "x"},
    "show": {"name": "a-1"},
    "add": {"name": "new-{n}", "dry_run": "1"},
    "remove": {"name": "a-3"},
    "rename": {"name": "a-3", "to": "a-4"},
    "place": {"name": "a-3"},
    "tag": {"add": "north"},
    "send": {"command": "outs.cgi?" + "&".join(["out0=1"] * MAX_COMMANDS)},
    "rollout": {"id": "plan"},
    **{f"rollout/{what}": {"id": "plan"} for what in ("start", "stop", "resume", "retry", "undo")},
    "rollout/remove": {"id": "plan"},
    "rollout/plan": {"command": "outs.cgi?out0=1", "dry_run": "1"},
    "advance": {"for": "366d"},
    "snapshot": {"label": "noon"},
    "snapshot/remove": {"label": "noon"},
    "restore": {"label": "noon"},
    "fork": {"name": "a-1", "to": "copy-{n}"},
    "fault": {"fault": "none"},
    "tenant/add": {"tenant": "extra"},
    "tenant/remove": {"tenant": "extra"},
    "tenant/give": {"name": "a-3", "tenant": "acme"},
    "account/add": {"name": "extra"},
    "account/remove": {"name": "extra"},
    "drain": {"node": "x"},
    "forget": {"node": "x"},
    "move": {"name": "a-1"},
}
#: One letter in one, two and four bytes, and characters with a meaning elsewhere.
LETTERS = ("x", "\N{GREEK SMALL LETTER OMEGA}", "\N{GOTHIC LETTER HWAIR}", ",", "{n}", "\x00", "%")
_ANSWERS_WITHIN_S = 5.0
#: The longest allowed delay of another tenant's switching.
_SWITCHES_WITHIN_S = 1.0


class Sent(Struct, frozen=True):
    """A request of the fuzz: its name in a failure, and its content."""

    path: str
    given: dict[str, str]
    body: bytes = b""

    def __str__(self) -> str:
        shown = {name: f"{text[:30]!r} ({len(text)})" for name, text in self.given.items()}
        return f"{self.path} {shown} body {self.body[:40]!r} ({len(self.body)})"


def texts_at_bounds(hint: Any) -> Iterator[str]:
    """Yield texts that a type just allows, and that it just refuses."""
    plain, metas = split_type(hint)
    if plain is bool:
        yield from ("1", "0", "maybe")
    elif plain in (int, float):
        limits = [one for meta in metas for one in (meta.ge, meta.le) if one is not None]
        yield from (str(one + step) for one in limits for step in (-1, 0, 1))
        yield from ("9" * 400, "-1", "nan", "inf", "1e308", "0.5", "")
    elif plain is str:
        most = next(meta.max_length for meta in metas if meta.max_length is not None)
        for count in (most, most + 1):
            yield from ((letter * count)[:count] for letter in LETTERS)
        for meta in metas:
            if items := (meta.extra or {}).get(MAX_ITEMS):
                yield ",".join(["a-1"] * min(items, most // 4))
                yield ",".join(f"{number}" for number in range(items + 1))
        yield ""
    else:
        yield from (*map(str, get_args(plain)), "x" * 1000)


def bodies_at_bounds(hint: Any) -> Iterator[bytes]:
    _, metas = split_type(hint)
    most = next(meta.max_length for meta in metas if meta.max_length is not None)
    entries = ",".join(f'"outputs.{number}.name":"{"x" * 30}"' for number in range(4900))
    yield from (
        *(b"x" * most, b"x" * (most + 1), b"\xff" * most, "\N{GOTHIC LETTER HWAIR}".encode() * 50),
        *(TEMPLATE, b'{"hw":"3.9","sw":"1.75","settings":{%b}}' % entries.encode()),
        *(b"[" * most, b'{"a":' * (most // 5), b"{" + b"[" * (most - 1), b"a." * (most // 2)),
        *(b"a=1\n" * (most // 4), b'hw="3.9"\nsw="1.75"\n[settings]\n' + b'"x"=1\n' * 9000),
        *(b"outs.cgi?out0=1\n" * 100, b"outs.cgi?out0=1\n" * 101, b"#\n" * (most // 2)),
        *(b"&s0=lamp*0*1*10*0*127*1" * 500 + b"&&", b"\x00" * most, b"\n" * most),
        *(_settings(b"[%b[]]" % (b"[]," * 5000)), _settings(b"9" * 5000), _settings(b"1e999")),
        *(_settings(b'"%b"' % (b"x" * (most // 4))), _settings(b"[" * 200 + b"]" * 200)),
    )


def _settings(value: bytes) -> bytes:
    """Return a template with a value where a text, a rule and nothing known belongs."""
    places = (b"outputs.0.name", b"rules.0.name", b"unknown")
    settings = b",".join(b'"%b":%b' % (place, value) for place in places)
    return b'{"hw":"3.9","sw":"1.75","settings":{%b}}' % settings


def requests_at_bounds(endpoint: Operation) -> Iterator[Sent]:
    usual = USUAL.get(endpoint.path.removeprefix("/api/fleet/"), {})
    for parameter in endpoint.query:
        for text in texts_at_bounds(parameter.type):
            given_ = {**usual, parameter.name: text}
            if endpoint.path.endswith("advance") and parameter.name in ("to", "step", "rate"):
                del given_["for"]
            yield Sent(endpoint.path, given_)
    if endpoint.body is not None:
        for body in bodies_at_bounds(endpoint.body):
            given_ = dict(usual)
            if endpoint.path.endswith("plan"):
                given_ = {"what": "template" if b"hw" in body else "commands", "dry_run": "1"}
            yield Sent(endpoint.path, given_, body)
    yield Sent(endpoint.path, dict(usual), b"")


REQUESTS = [request for endpoint in OPERATIONS for request in requests_at_bounds(endpoint)]
_BY_PATH = {endpoint.path: endpoint for endpoint in OPERATIONS}


class Neighbour:
    """Another tenant's controller, switched in every round of the loop beside what happens."""

    def __init__(self, fleet: TenantFleet) -> None:
        self._member = fleet.member("z-1")
        self._switched_at = thread_time()
        self._count = 0
        #: The longest time between two switches, as the processor of the loop counts it.
        self.longest_s = 0.0

    async def switch_on_and_on(self) -> None:
        while True:
            await self._switch()
            await asyncio.sleep(0)

    async def _switch(self) -> None:
        state, self._count = self._count % 2, self._count + 1
        request = Request("GET", "/outs.cgi", f"out0={state}", {}, b"", "127.0.0.1")
        answer: Any = self._member.built.web.handle(request, requester=BY_FLEET)
        reply = answer if hasattr(answer, "status") else await answer
        assert reply.status == 200, reply
        assert self._member.controller.engine.values["OUT0"] == state
        now = thread_time()
        self.longest_s = max(self.longest_s, now - self._switched_at)
        self._switched_at = now


@asynccontextmanager
async def beside_neighbour() -> AsyncIterator[tuple[TenantFleet, Neighbour]]:
    """Run a node with two tenants, and switch a controller of one of them all the time."""
    tenants = (("acme", ("a-1", "a-2", "a-3"), "north"), ("zulu", ("z-1",), "south"))
    async with tenant_fleet(tenants) as fleet:
        neighbour = Neighbour(fleet)
        switching = asyncio.create_task(neighbour.switch_on_and_on())
        try:
            yield fleet, neighbour
            assert not switching.done(), switching
        finally:
            switching.cancel()
            await asyncio.wait([switching])


def sender_of(sent: Sent) -> str:
    """Return the sender of a request: a tenant, or the operator if only the operator may."""
    return "acme-chief" if _BY_PATH[sent.path].for_tenants else OPERATOR


def request_of(fleet: TenantFleet, sent: Sent) -> Request:
    endpoint = _BY_PATH[sent.path]
    headers = {"authorization": fleet.basic(sender_of(sent))}
    query = "&".join(f"{name}={quote(text, safe='')}" for name, text in sent.given.items())
    method, body = endpoint.methods[0], sent.body
    if method == "POST" and not body:
        # As long as a body may be, not as a query.
        headers["content-type"], body, query = FORM, query.encode(), ""
    # A longer one is refused before the node gets it.
    return Request(method, sent.path, query, headers, body[:MIB], "127.0.0.1")


async def answer_to(fleet: TenantFleet, sent: Sent, request: Request) -> int:
    answer: Any = fleet.node.web.handle(request)
    reply = answer if hasattr(answer, "status") else await answer
    if isinstance(reply, StreamReply):
        await anext(aiter(reply.chunks))
        await reply.chunks.aclose()  # type: ignore[attr-defined]
    elif sent.path.endswith("password") and reply.status == 200:
        fleet.passwords[sender_of(sent)] = msgspec.json.decode(reply.body)["password"]
    status: int = reply.status
    return status


async def restore_fleet(fleet: TenantFleet) -> None:
    """Create what a request removed, and remove what it created."""
    node = fleet.node.node
    for name in ("a-1", "a-2", "a-3"):
        if name not in node.members:
            await fleet.post(OPERATOR, f"add?name={name}&tenant=acme&tags=north")
    for name in [one for one in node.members if one not in ("a-1", "a-2", "a-3", "z-1")]:
        await fleet.post(OPERATOR, f"remove?name={name}")
    if not fleet.node.web.snapshots.labels("acme"):
        await fleet.post("acme-chief", "snapshot?label=noon")
    if not fleet.node.web.jobs.all("acme"):
        await fleet.post("acme-chief", "rollout/plan?id=plan&command=outs.cgi?out0=1")


async def send_all(requests: Sequence[Sent]) -> None:
    async with beside_neighbour() as (fleet, neighbour):
        await restore_fleet(fleet)
        for sent in requests:
            request = request_of(fleet, sent)
            await asyncio.sleep(0)
            neighbour.longest_s, watch = 0.0, Stopwatch()
            try:
                status = await answer_to(fleet, sent, request)
            except Exception as error:
                error.add_note(str(sent))
                raise
            took_s = watch.seconds()
            assert status != 500, str(sent)
            assert took_s < _ANSWERS_WITHIN_S, f"{sent}: {took_s:.2f} s"
            await asyncio.sleep(0)
            held_s = neighbour.longest_s
            assert held_s < _SWITCHES_WITHIN_S, f"{sent}: switching waited for {held_s:.2f} s"
            await restore_fleet(fleet)


async def test_operations_at_their_limits_are_answered_while_another_tenant_switches() -> None:
    await send_all(REQUESTS[::25])


@pytest.mark.thorough
async def test_every_operation_at_its_limits_is_answered_while_another_tenant_switches() -> None:
    # Some of more than two thousand: each operation has several of them.
    await send_all(REQUESTS[1::8])


_PIECES = st.sampled_from(
    ("x", "a-1", "out0=1&", "outs.cgi?", "\n", ",", "é", "%", "{n}", "[", ".")
)


@examples(200)
@given(st.data())
def test_parameters_with_any_text_are_read_or_refused(data: st.DataObject) -> None:
    endpoint = data.draw(st.sampled_from(OPERATIONS))
    names = st.sampled_from([one.name for one in endpoint.query] or ["none"])
    texts = st.lists(_PIECES, max_size=40).map("".join)
    given_ = data.draw(st.dictionaries(names, texts, max_size=4))
    query = "&".join(f"{name}={quote(text, safe='')}" for name, text in given_.items())
    with suppress(BadValue):
        assert read_parameters(query, endpoint.query).keys() == given_.keys()


async def test_command_of_660_kilobytes_is_refused_immediately() -> None:
    async with beside_neighbour() as (fleet, neighbour):
        command = "outs.cgi?" + "&".join(["out0=1"] * 94_000)
        for sent in (
            Sent("/api/fleet/send", {"command": command}),
            Sent("/api/fleet/send", {"command": "outs.cgi?out0=1"}, b"x" * 660_000),
            Sent("/api/fleet/rollout/plan", {}, command.encode()),
        ):
            request = request_of(fleet, sent)
            await asyncio.sleep(0)
            neighbour.longest_s = 0.0
            with within(1):
                assert await answer_to(fleet, sent, request) == 400
            assert neighbour.longest_s < _SWITCHES_WITHIN_S


async def test_many_templates_sent_together_are_read_in_turns() -> None:
    entries = b",".join(b'"outputs.%d.name":1' % number for number in range(8000))
    sent = Sent("/api/fleet/drift", {}, b'{"hw":"3.9","sw":"1.75","settings":{%b}}' % entries)
    async with beside_neighbour() as (fleet, neighbour):
        # The first one signs in.
        assert await answer_to(fleet, sent, request_of(fleet, sent)) == 400
        neighbour.longest_s = 0.0
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(answer_to(fleet, sent, request_of(fleet, sent)))
                for _ in range(60)
            ]
        assert {one.result() for one in asked} == {400}
        assert neighbour.longest_s < _SWITCHES_WITHIN_S / 4
