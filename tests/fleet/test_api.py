"""The API of a node: who may use it, what it refuses, and that it is described."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.fleet.operations.table import OPERATIONS
from leverframe.fleet.serve import door_limits
from leverframe.host.reach import ensure_administrator
from leverframe.interface.table.row import ANYONE
from leverframe.server.http.certificate import own_certificate
from leverframe.server.http.messages import Reply, Request
from leverframe.storage.lanes.lane import OF_NODE, MemoryLane
from leverframe.storage.store import StoreUnavailable
from tests.cases import for_each
from tests.fleet.loop_node import LoopNode, loop_node


def basic(name: str, password: str) -> str:
    return "Basic " + b64encode(f"{name}:{password}".encode()).decode()


async def test_every_path_but_health_requires_the_administrator_beyond_loopback() -> None:
    lane = MemoryLane()
    password = await ensure_administrator(lane.store(OF_NODE))
    assert password is not None
    async with loop_node(lane, host="0.0.0.0") as node:
        for endpoint in OPERATIONS:
            for authorization in (None, basic("admin", "wrong")):
                more = {} if authorization is None else {"authorization": authorization}
                method = endpoint.methods[0]
                reply = await node.ask(endpoint.path, b"", method, **more)
                is_open = endpoint.role == ANYONE
                assert (reply.status == 200) is is_open, endpoint.path
                assert is_open or reply.status in (401, 429)
        challenge = await node.ask("/api/fleet", b"", "GET")
        assert dict(challenge.headers)["WWW-Authenticate"].startswith("Basic ")


async def test_administrator_signs_in_and_new_passwords_are_shown_once() -> None:
    lane = MemoryLane()
    password = await ensure_administrator(lane.store(OF_NODE))
    async with loop_node(lane, host="0.0.0.0") as node:
        account = {"authorization": basic("admin", str(password))}
        for _ in range(2):
            assert (await node.ask("/api/fleet/list", b"", "GET", **account)).status == 200
        reply = await node.ask("/api/fleet/add?name=gh-{n}&count=2", **account)
        made = msgspec.json.decode(reply.body)
        assert len(made["password"]) > 20
        access = node.member("gh-1").controller.engine.settings.access
        assert access.required
        assert access.admin.password.startswith("$argon2id$")
        shown = await node.ask("/api/fleet/show?name=gh-1", b"", "GET", **account)
        assert made["password"].encode() not in shown.body
        assert access.admin.password.encode() not in shown.body


async def test_body_is_accepted_from_permitted_accounts_only() -> None:
    lane = MemoryLane()
    password = await ensure_administrator(lane.store(OF_NODE))
    async with loop_node(lane, host="0.0.0.0") as node:

        def head(**headers: str) -> Request:
            return Request("POST", "/api/fleet/add", "name=a", headers, b"", "127.0.0.1")

        refused = node.web.admit_body(head())
        assert isinstance(refused, Reply)
        assert refused.status == 401
        checked = node.web.admit_body(head(authorization=basic("admin", str(password))))
        assert not isinstance(checked, Reply)
        assert (await checked).status == 100  # type: ignore[misc]


def test_every_operation_is_described_and_reaches_the_controllers_of_all_nodes() -> None:
    for one in OPERATIONS:
        assert one.doc.endswith("."), one.path
        # Figures of a node are its own, and `move` and `start` look controllers up themselves.
        if "tag" in {parameter.name for parameter in one.query} and one.path != "/metrics":
            assert one.scope is not None, one.path
    assert len({one.path for one in OPERATIONS}) == len(OPERATIONS)


@for_each(
    ("target", "method", "status", "message"),
    [
        ("/nothing", "GET", 404, "This is a node with many controllers"),
        ("/outs.cgi?out0=1", "GET", 404, "This is a node with many controllers"),
        ("/api/fleet/list", "POST", 405, "accepts GET"),
        ("/api/fleet/remove?name=a", "GET", 405, "accepts POST"),
        ("/api/fleet/list?colour=red", "GET", 400, "Unknown parameter"),
        ("/api/fleet/list?tag=a&tag=b", "GET", 400, "The parameter is set twice"),
        ("/api/fleet/send?command=outs.cgi?out0=1&dry_run=maybe", "POST", 400, "'maybe'"),
        ("/api/fleet/show", "GET", 400, "name is missing"),
        ("/api/fleet/fork?count=0", "POST", 400, "Allowed: a whole number from 1 to 10000."),
        ("/api/fleet/snapshot?label=a%2Fb", "POST", 400, "Allowed: 1 to 40 letters, digits, spac"),
    ],
)
async def test_invalid_api_requests_are_refused_with_the_reason(
    target: str, method: str, status: int, message: str
) -> None:
    async with loop_node() as node:
        reply = await node.ask(target, b"", method)
        assert reply.status == status
        assert message in msgspec.json.decode(reply.body)["detail"]


async def test_request_of_another_site_is_refused() -> None:
    async with loop_node() as node:
        reply = await node.ask("/api/fleet/add?name=a", origin="https://evil.example", host="x")
        assert reply.status == 403
        assert await node.get("list") == []


async def test_openapi_describes_every_path_and_parameter() -> None:
    async with loop_node() as node:
        reply = await node.ask("/api/openapi.json", b"", "GET")
        document = msgspec.json.decode(reply.body)
    assert document["openapi"] == "3.1.0"
    assert document["paths"].keys() == {endpoint.path for endpoint in OPERATIONS}
    add = document["paths"]["/api/fleet/add"]["post"]
    assert {one["name"] for one in add["parameters"]} >= {"name", "count", "hw", "sw", "dry_run"}
    assert add["requestBody"]["required"] is False


async def test_unwritable_store_is_reported_and_nothing_is_created(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(rows: object) -> None:
        raise StoreUnavailable("The disk is full.")

    lane = MemoryLane()
    async with loop_node(lane) as node:
        monkeypatch.setattr(lane.store(OF_NODE), "write", fail)
        assert await node.expect_refusal(507, "add", name="a") == "The disk is full."
        monkeypatch.undo()
        assert await node.get("list") == []
        await node.post("add", name="a")


async def test_health_reports_the_node_and_counts_controllers_with_problems() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        assert msgspec.json.decode((await node.ask("/health", b"", "GET")).body) == {
            "status": "ok",
            "controllers": 2,
        }
        node.member("gh-1").controller.troubles |= {"http1": "It refuses.", "OUT0": "It is away."}
        await node.post("send", command="stm.cgi?oname=0Pump", name="gh-1")
        assert b"degraded" in (await node.ask("/health", b"", "GET")).body
        (first, second) = await node.get("list")
        assert (first["status"], first["troubles"]) == (
            "degraded",
            ["Pump: It is away.", "HTTP request 1: It refuses."],
        )
        assert (await node.get(""))["degraded"] == 1


async def test_expiring_certificate_is_reported_with_the_days_left(tmp_path: Path) -> None:
    certificate = own_certificate(tmp_path, "node", ())

    async def message(node: LoopNode, days_left: float) -> tuple[list[str], Any, dict[str, float]]:
        certificate.ends = node.node.clock.wall() + days_left * 86_400
        health = msgspec.json.decode((await node.ask("/health", b"", "GET")).body)
        figures = (await node.ask("/metrics", b"", "GET")).body.decode().splitlines()
        own = dict(one.rsplit(" ", 1) for one in figures if one.startswith("leverframe_node_"))
        troubles = (await node.get(""))["troubles"]
        return troubles, health.get("findings"), {name: float(one) for name, one in own.items()}

    def count_findings(fault: int, attention: int) -> dict[str, float]:
        return {
            'leverframe_node_findings{severity="fault"}': fault,
            'leverframe_node_findings{severity="attention"}': attention,
            "leverframe_node_controllers_not_started": 0,
        }

    days = "leverframe_node_certificate_days"
    async with loop_node() as node:
        assert await message(node, 5) == ([], None, count_findings(0, 0))
        node.node.certificate = certificate
        assert await message(node, 30.5) == ([], None, count_findings(0, 0) | {days: 30})
        soon = "The certificate of this node expires soon. Days left: 5."
        assert await message(node, 5.5) == ([soon], 1, count_findings(0, 1) | {days: 5})
        ended = "The certificate of this node has expired: browsers reject it."
        assert await message(node, -0.5) == ([ended], 1, count_findings(1, 0) | {days: -1})


async def test_page_and_its_files_require_the_administrator() -> None:
    lane = MemoryLane()
    password = await ensure_administrator(lane.store(OF_NODE))
    async with loop_node(lane, host="0.0.0.0") as node:
        account = {"authorization": basic("admin", str(password))}
        for path in ("/", "/web/fleet/app.js", "/api/fleet/stream"):
            refused = await node.ask(path, method="GET")
            assert (refused.status, dict(refused.headers)["WWW-Authenticate"][:5]) == (401, "Basic")
            assert (await node.ask(path, method="GET", **account)).status == 200
        page = await node.ask("/", method="GET", **account)
        assert "frame-ancestors 'none'" in dict(page.headers)["Content-Security-Policy"]
        # Browsers send the password also with requests of another site.
        add = "/api/fleet/add?name=a"
        for foreign in ({"origin": "http://a.localhost"}, {"sec_fetch_site": "same-site"}):
            assert (await node.ask(add, host="localhost", **account, **foreign)).status == 403
        assert (await node.ask(add, method="GET", **account)).status == 405
        assert node.node.members == {}
        own = {"host": "localhost", "origin": "http://localhost"}
        assert (await node.ask(add, **account, **own)).status == 200
        assert (await node.ask("/web/nothing.js", method="GET", **account)).status == 404


async def test_form_body_carries_thousands_of_names() -> None:
    form = {"content_type": "application/x-www-form-urlencoded; charset=UTF-8"}
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        body = b"command=outs.cgi%3Fout0%3D1&name=" + b",".join([b"gh-1", b"gh-3"] * 10_000)
        limit = door_limits(lenient=False).body_limit("POST", "/api/fleet/send", None)
        assert len(body) < limit
        reply = await node.ask("/api/fleet/send?all_or_none=1", body, **form)
        assert [one["name"] for one in msgspec.json.decode(reply.body)["results"]] == [
            "gh-1",
            "gh-3",
        ]
        on = [node.member(f"gh-{n}").controller.engine.values["OUT0"] for n in (1, 2, 3)]
        assert on == [1, 0, 1]
        # A parameter in both is ambiguous.
        reply = await node.ask("/api/fleet/tag?name=gh-1", b"name=gh-2&add=x", **form)
        assert (reply.status, b"set twice" in reply.body) == (400, True)
        described = msgspec.json.decode((await node.ask("/api/openapi.json", b"", "GET")).body)[
            "paths"
        ]["/api/fleet/tag"]["post"]
        fields = described["requestBody"]["content"]["application/x-www-form-urlencoded"]
        assert {"name", "tag", "add"} <= set(fields["schema"]["properties"])


async def test_last_of_simultaneous_changes_is_listed_first() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-1")
        for name in ("Fan", "Pump"):
            await node.post("send", command=f"stm.cgi?oname=0{name}")
        first, second, *_ = await node.get("changes")
        assert [one["entry"]["changes"][0]["new"] for one in (first, second)] == ["Pump", "Fan"]
        assert (first["name"], first["entry"]["time"]) == ("gh-1", second["entry"]["time"])
        assert first["url"] == node.node.door.url_of("gh-1")
