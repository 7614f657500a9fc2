"""Tenants of a node: names, limits, controllers that change hands, accounts and their passwords."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from leverframe.fleet import page_view
from leverframe.fleet.fleet_file import TENANTS
from leverframe.fleet.serve import start_controllers
from leverframe.host.configuration import BadConfiguration
from leverframe.server.http.limits import MIB
from leverframe.server.http.messages import Request, StreamReply
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.store import Stored
from tests.cases import for_each
from tests.devices.waiting import until
from tests.fleet.loop_node import loop_node
from tests.fleet.tenant_fleet import ANONYMOUS, OPERATOR, TenantFleet, tenant_fleet
from tests.fleet.test_fleet_file import read
from tests.patience import PATIENCE_S
from tests.server.routes.test_stream import HEARTBEAT

BOTH = (("acme", ("acme-1", "acme-2"), "north"), ("zulu", ("zeta-1",), "south"))


async def expect_refusal(fleet: TenantFleet, account: str, what: str, status: int) -> str:
    answer = await fleet.ask(account, what, b"", "POST")
    assert answer.status == status, answer.text
    return answer.detail


async def test_taken_name_gets_the_same_refusal_for_any_owner() -> None:
    async with tenant_fleet(BOTH) as fleet:
        await fleet.post(OPERATOR, "add?name=house")
        for what in ("add?name=", "rename?name=acme-1&to=", "fork?name=acme-1&to="):
            sentences = {
                (await expect_refusal(fleet, "acme-chief", what + name, 409)).replace(name, "NAME")
                for name in ("acme-2", "zeta-1", "house")
            }
            (sentence,) = sentences
            assert sentence.endswith(
                ": A controller named NAME exists already; choose another name."
            )
        # None of several is created.
        await expect_refusal(fleet, "acme-chief", "add?name=zeta-{n}&count=3", 409)
        assert await fleet.names("acme-chief") == ["acme-1", "acme-2"]
        assert await fleet.names("zulu-chief") == ["zeta-1"]


class SlowLane(MemoryLane):
    """A lane that delays one answer until it is released, as a busy database may."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[asyncio.Event] = []

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        stored = await super().fetch(controllers)
        if self.held:
            await self.held.pop().wait()
        return stored


async def test_earlier_look_does_not_undo_the_first_password() -> None:
    lane = SlowLane()
    async with loop_node(lane) as node:
        fleet = TenantFleet(node)
        let_go = asyncio.Event()
        lane.held.append(let_go)
        look = asyncio.create_task(node.web.accounts.look_again())
        await asyncio.sleep(0)
        first = asyncio.create_task(fleet.add_account("oscar", "", "administrator"))
        # The account waits for the look, or is made before the look ends: both must do.
        await asyncio.wait([first], timeout=0.3)
        let_go.set()
        await asyncio.gather(first, look)
        await fleet.post(OPERATOR, "tenant/add?tenant=acme")


async def test_limit_of_controllers_binds_tenants_not_the_operator() -> None:
    async with tenant_fleet(BOTH) as fleet:
        await fleet.post(OPERATOR, "tenant/add?tenant=acme&max=3")
        problem = await expect_refusal(fleet, "acme-chief", "add?name=more-{n}&count=2", 409)
        assert "acme may have 3 controllers" in problem
        await fleet.post("acme-chief", "fork?name=acme-1&to=more-1")
        await expect_refusal(fleet, "acme-chief", "fork?name=acme-1&to=more-2", 409)
        await fleet.post(OPERATOR, "add?name=given&tenant=acme")
        await fleet.post(OPERATOR, "fork?name=acme-1&to=more-2")
        own = ["acme-1", "acme-2", "more-1", "given", "more-2"]
        assert await fleet.names("acme-guest") == own
        (acme, zulu) = (await fleet.ask(OPERATOR, "tenants")).json
        assert (acme["controllers"], acme["accounts"], acme["max_controllers"]) == (5, 2, 3)
        assert (zulu["controllers"], zulu["max_controllers"]) == (1, 100)


async def test_controller_given_away_is_gone_for_its_first_tenant() -> None:
    async with tenant_fleet(BOTH) as fleet:
        await fleet.post("acme-chief", "snapshot?label=noon")
        plan = "rollout/plan?command=stm.cgi?oname=0Pump&id=names&groups=1,rest"
        await fleet.post("acme-chief", plan)
        await fleet.post(OPERATOR, "rename?name=acme-2&to=renamed")
        await fleet.post(OPERATOR, "tenant/give?tenant=zulu&name=renamed")
        assert await fleet.names("acme-chief") == ["acme-1"]
        assert await fleet.names("zulu-chief") == ["renamed", "zeta-1"]
        # A roll-out that was planned before leaves it alone, and does not show its new name.
        await fleet.post("acme-chief", "rollout/start?id=names")
        job = fleet.node.web.jobs.find("names", "acme")
        await job.wait_until_ended()
        answer = (await fleet.ask("acme-chief", "rollout?id=names")).json
        assert [(one["name"], one["status"]) for one in answer["results"]] == [
            ("acme-1", 200),
            ("acme-2", 404),
        ]
        names = [
            fleet.node.member(name).controller.engine.settings.outputs[0].name
            for name in ("acme-1", "renamed")
        ]
        assert names == ["Pump", ""]
        # It is in no snapshot any more, also when it returns.
        await fleet.post(OPERATOR, "tenant/give?tenant=acme&name=renamed")
        answer = await fleet.post("acme-chief", "restore?label=noon&name=renamed")
        assert answer["results"][0]["status"] == 409
        await fleet.post(OPERATOR, "tenant/give?name=renamed")
        assert await fleet.names("acme-chief") == ["acme-1"]
        assert "No controllers are chosen" in await expect_refusal(
            fleet, OPERATOR, "tenant/give?tenant=zulu", 400
        )
        problem = await expect_refusal(fleet, OPERATOR, "tenant/give?tenant=gone&name=zeta-1", 404)
        assert problem.endswith("There is no tenant 'gone'.")


async def test_rollout_does_not_see_health_of_reassigned_controllers() -> None:
    async with tenant_fleet(BOTH) as fleet:
        plan = "rollout/plan?command=stm.cgi?oname=0Pump&id=names&groups=1,rest&pause=1h"
        await fleet.post("acme-chief", plan)
        await fleet.post("acme-chief", "rollout/start?id=names")
        job = fleet.node.web.jobs.find("names", "acme")
        await until(lambda: job.state.status == "waiting")
        await fleet.post(OPERATOR, "tenant/give?tenant=zulu&name=acme-1")
        member = fleet.node.member("acme-1")
        member.controller.troubles["email"] = "A server that is private."
        await fleet.post("acme-chief", "rollout/resume?id=names")
        await job.wait_until_ended()
        answer = (await fleet.ask("acme-chief", "rollout?id=names")).text
        assert "business" not in answer
        assert "The controller does not answer." in answer


async def test_user_of_a_tenant_cannot_switch_or_set() -> None:
    async with tenant_fleet(BOTH) as fleet:
        for more in ("", "&dry_run=1", "&all_or_none=1"):
            answer = await fleet.post("acme-guest", f"send?command=outs.cgi?out0=1{more}")
            assert (answer["done"], answer["refused"]) == (2, 0)
            answer = await fleet.post("acme-guest", f"send?command=stm.cgi?oname=0Pump{more}")
            assert [one["status"] for one in answer["results"]] == [403, 403], more
            joined = "send?command=outs.cgi?out1=1%26out2=1" + more
            assert (await fleet.post("acme-guest", joined))["done"] == 0
        assert fleet.node.member("acme-1").controller.engine.values["OUT0"] == 1
        assert fleet.node.member("acme-1").controller.engine.values["OUT1"] == 0
        (entry, *_) = (await fleet.ask("acme-chief", "changes?name=acme-1")).json
        assert entry["entry"]["account"] == "acme-guest"


async def test_jobs_and_snapshots_of_two_tenants_may_have_the_same_names() -> None:
    async with tenant_fleet(BOTH) as fleet:
        for number, who in enumerate(("acme-chief", "zulu-chief", OPERATOR)):
            answer = await fleet.post(who, f"send?command=stm.cgi?oname={number}Same&id=same")
            assert answer["refused"] == 0
            await fleet.post(who, "snapshot?label=same")
        assert len((await fleet.ask("acme-chief", "rollouts")).json) == 1
        of_all = (await fleet.ask(OPERATOR, "rollouts")).json
        assert [one["id"] for one in of_all] == ["same", "zulu:same", "acme:same"]
        assert (await fleet.ask("zulu-guest", "/api/fleet")).json["snapshots"] == ["same"]
        node = (await fleet.ask(OPERATOR, "/api/fleet")).json
        assert node["snapshots"] == ["acme:same", "zulu:same", "same"]
        answer = await fleet.post(OPERATOR, "restore?label=acme:same&name=acme-1")
        assert answer["done"] == 1
        outputs = fleet.node.member("acme-1").controller.engine.settings.outputs
        assert [output.name for output in outputs[:2]] == ["Same", ""]
        await expect_refusal(fleet, "zulu-guest", "snapshot/remove?label=same", 403)
        assert (await fleet.post("zulu-chief", "snapshot/remove?label=same"))["controllers"] == 1
        assert (await fleet.ask("zulu-chief", "snapshots")).json == []
        kept = (await fleet.ask(OPERATOR, "snapshots")).json
        assert {one["label"]: one["controllers"] for one in kept} == {"acme:same": 2, "same": 3}
        await fleet.post(OPERATOR, "snapshot/remove?label=acme:same")
        assert (await fleet.ask("acme-chief", "snapshots")).json == []


async def test_limits_of_jobs_and_snapshots_apply_to_each_tenant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leverframe.fleet.jobs.jobs.MAX_ENDED", 1)
    monkeypatch.setattr("leverframe.fleet.groups.MAX_LABELS", 1)
    async with tenant_fleet(BOTH) as fleet:
        for who in ("acme-chief", "zulu-chief"):
            for id in ("first", "second"):
                await fleet.post(who, f"send?command=outs.cgi?out0=1&id={id}")
            await fleet.post(who, "snapshot?label=one")
            await expect_refusal(fleet, who, "snapshot?label=two", 409)
        ids = [one["id"] for one in (await fleet.ask(OPERATOR, "rollouts")).json]
        assert ids == ["zulu:second", "acme:second"]


async def test_tenant_moves_its_own_time_and_the_operator_that_of_all() -> None:
    async with tenant_fleet([BOTH[0]]) as fleet:
        start = fleet.node.node.clock.wall()
        answer = await fleet.post("acme-chief", "advance?for=1h")
        assert (answer["time"], fleet.node.node.clock.wall()) == (start + 3600, start)
        await fleet.post(OPERATOR, "advance?for=1h")
        assert fleet.node.node.clock.wall() == start + 3600
        assert "only the operator" in await expect_refusal(
            fleet, "acme-chief", "advance?rate=1", 403
        )


async def test_only_empty_tenants_are_removed_and_leave_nothing() -> None:
    async with tenant_fleet(BOTH) as fleet:
        problem = await expect_refusal(fleet, OPERATOR, "tenant/remove?tenant=zulu", 409)
        assert "zulu has 1 controllers and 2 accounts" in problem
        await fleet.post("zulu-chief", "send?command=outs.cgi?out0=1&id=mine")
        await fleet.post("zulu-chief", "rollout/plan?command=outs.cgi?out0=1&id=plan&pause=1h")
        for name in ("zulu-chief", "zulu-guest"):
            await fleet.post(OPERATOR, f"account/remove?name={name}")
        await fleet.post(OPERATOR, "remove?name=zeta-1")
        await fleet.post(OPERATOR, "tenant/remove?tenant=zulu")
        assert (await fleet.ask(OPERATOR, "rollouts")).json == []
        problem = await expect_refusal(fleet, OPERATOR, "tenant/remove?tenant=zulu", 404)
        assert problem.endswith("There is no tenant 'zulu'.")
        await fleet.add_tenant("zulu", "zeta-1")
        assert (await fleet.ask("zulu-chief", "rollouts")).json == []


async def test_running_job_ends_with_its_tenant() -> None:
    async with tenant_fleet(BOTH) as fleet:
        plan = "rollout/plan?command=outs.cgi?out0=1&id=slow&groups=1,rest&pause=1h"
        await fleet.post("acme-chief", plan)
        await fleet.post("acme-chief", "rollout/start?id=slow")
        job = fleet.node.web.jobs.find("slow", "acme")
        await until(lambda: job.state.status == "waiting")
        await fleet.post(OPERATOR, "tenant/give?name=acme-1,acme-2")
        for name in ("acme-chief", "acme-guest"):
            await fleet.post(OPERATOR, f"account/remove?name={name}")
        await fleet.post(OPERATOR, "tenant/remove?tenant=acme")
        assert fleet.node.web.jobs.all() == []


@for_each(
    ("what", "status", "message"),
    [
        ("tenant/add?tenant=Upper", 400, "'Upper' is not a valid name for a tenant"),
        ("tenant/add", 400, "tenant is missing"),
        ("account/add?name=a:b", 400, "'a:b' is not a valid name for an account"),
        ("account/add?name=eve&tenant=gone", 404, "There is no tenant 'gone'"),
        ("account/add?name=acme-chief", 409, "There is an account acme-chief already"),
        ("account/add?name=admin", 409, "There is an account admin already"),
        ("account/add?name=eve&role=king", 400, "'king' is not allowed"),
        ("account/remove?name=eve", 404, "There is no account 'eve'"),
        ("account/password?name=eve", 404, "There is no account 'eve'"),
        ("add?name=x&tenant=gone", 404, "There is no tenant 'gone'"),
    ],
)
async def test_invalid_tenant_request_is_refused_with_the_reason(
    what: str, status: int, message: str
) -> None:
    async with tenant_fleet(BOTH[:1]) as fleet:
        before = (await fleet.ask(OPERATOR, "accounts")).text
        assert message in await expect_refusal(fleet, OPERATOR, what, status)
        assert (await fleet.ask(OPERATOR, "accounts")).text == before


async def test_first_account_requires_sign_in_and_keeps_users_signed_in() -> None:
    lane = MemoryLane()
    async with loop_node(lane) as node:
        fleet = TenantFleet(node)
        assert (await fleet.ask(ANONYMOUS, "list")).status == 200
        assert "name is missing" in await expect_refusal(fleet, ANONYMOUS, "account/password", 400)
        await fleet.add_account("anna", "", "user")
        assert (await fleet.ask(ANONYMOUS, "list")).status == 401
        assert (await fleet.ask(OPERATOR, "list")).status == 200
        assert (await fleet.ask("anna", "list")).status == 200
        await fleet.add_account("berta", "", "user")
    async with loop_node(lane) as again:
        passwords, fleet = fleet.passwords, TenantFleet(again)
        assert (await fleet.ask(ANONYMOUS, "list")).status == 401
        fleet.passwords = passwords
        for name in (OPERATOR, "anna", "berta"):
            assert (await fleet.ask(name, "list")).status == 200


async def test_account_gets_a_new_password_and_the_old_one_ends() -> None:
    async with tenant_fleet(BOTH[:1]) as fleet:
        made = await fleet.post("acme-guest", "account/password")
        assert (made["name"], made["tenant"]) == ("acme-guest", "acme")
        assert (await fleet.ask("acme-guest", "list")).status == 401
        fleet.passwords["acme-guest"] = made["password"]
        assert (await fleet.ask("acme-guest", "list")).status == 200
        problem = await expect_refusal(fleet, "acme-chief", "account/password?name=acme-guest", 403)
        assert problem.startswith("Only the operator")
        made = await fleet.post(OPERATOR, "account/password?name=acme-guest")
        assert made["password"] != fleet.passwords["acme-guest"]
        assert (await fleet.ask("acme-guest", "list")).status == 401


async def test_account_removed_during_its_password_check_is_refused() -> None:
    async with tenant_fleet(BOTH[:1]) as fleet:
        asked = asyncio.create_task(fleet.ask("acme-guest", "list"))
        await asyncio.sleep(0)
        await fleet.node.node.registry.remove_account("acme-guest")
        assert (await asked).status == 401


async def test_number_of_accounts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leverframe.fleet.operations.tenants.MAX_ACCOUNTS", 1)
    async with tenant_fleet() as fleet:
        assert "at most 1 accounts" in await expect_refusal(
            fleet, OPERATOR, "account/add?name=eve", 409
        )


async def test_stream_ends_with_its_account_and_keeps_beating_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_view, "GATHER_S", 0.0)
    monkeypatch.setattr(page_view, "HEARTBEAT_S", 0.05)
    async with tenant_fleet(BOTH) as fleet:
        for name in ("acme-guest", "zulu-guest"):
            await fleet.names(name)
        headers = {"authorization": fleet.basic("acme-guest")}
        request = Request("GET", "/api/fleet/stream", None, headers, b"", "127.0.0.1")
        reply = fleet.node.web.handle(request)
        assert isinstance(reply, StreamReply)
        chunks = aiter(reply.chunks)
        assert b"acme-1" in await anext(chunks)
        for out in range(5):
            await fleet.post("zulu-guest", f"send?command=outs.cgi?out{out}=1")
            assert (await anext(chunks)).startswith(HEARTBEAT)
        await fleet.post("acme-guest", "send?command=outs.cgi?out0=1")
        while (chunk := await anext(chunks)).startswith(HEARTBEAT):
            pass
        assert b"zeta" not in chunk
        await fleet.post(OPERATOR, "account/remove?name=acme-guest")
        assert [one async for one in chunks if not one.startswith(HEARTBEAT)] == []


async def test_stream_of_an_open_node_ends_when_sign_in_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_view, "HEARTBEAT_S", 0.01)
    monkeypatch.setattr(page_view, "GATHER_S", 0.0)
    async with loop_node() as node:
        request = Request("GET", "/api/fleet/stream", None, {}, b"", "127.0.0.1")
        reply = node.web.handle(request)
        assert isinstance(reply, StreamReply)
        chunks = aiter(reply.chunks)
        await anext(chunks)
        await TenantFleet(node).add_account("anna", "", "user")
        assert [one async for one in chunks if not one.startswith(HEARTBEAT)] == []


async def test_tenants_accounts_and_owners_survive_a_restart(tmp_path: Path) -> None:
    def lane() -> SqliteLane:
        return SqliteLane(tmp_path / "fleet.db", tmp_path / "fleet.key")

    async with tenant_fleet(BOTH, lane()) as fleet:
        passwords = fleet.passwords
    async with loop_node(lane()) as node:
        await start_controllers(node.web, [], as_json=False)
        again = TenantFleet(node)
        again.passwords = passwords
        assert await again.names("acme-guest") == ["acme-1", "acme-2"]
        assert await again.names("zulu-chief") == ["zeta-1"]
        assert len(await again.names("oscar")) == 3
    content = (tmp_path / "fleet.db").read_bytes()
    assert all(password.encode() not in content for password in passwords.values())


FILE = f"""\
{TENANTS} = ["acme", "zulu"]

[[controllers]]
name = "acme-{{n}}"
count = 2
tenant = "acme"

[[controllers]]
name = "house"
"""


async def test_fleet_file_names_tenants_and_owners(tmp_path: Path) -> None:
    lane = MemoryLane()
    for text, owners in (
        (FILE, ["acme", "acme", ""]),
        # Owners stay if the file names none; otherwise the file applies.
        (FILE, ["acme", "acme", "zulu"]),
        (FILE.replace('tenant = "acme"', 'tenant = "zulu"'), ["zulu", "zulu", "zulu"]),
    ):
        fleet = read(tmp_path, text)
        async with loop_node(lane) as node:
            problems = await start_controllers(
                node.web, fleet.controllers, as_json=False, tenants=fleet.tenants
            )
            assert problems == []
            assert [one["tenant"] for one in await node.get("list")] == owners
            await node.post("tenant/give", tenant="zulu", name="house")
            assert [one["name"] for one in await node.get("tenants")] == ["acme", "zulu"]


async def test_mistake_about_tenants_in_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    fleet = read(tmp_path, FILE.replace('tenant = "acme"', 'tenant = "gone"'))
    (mistake,) = (one.sentence for one in fleet.mistakes)
    assert "line 6: acme-{n}: There is no tenant 'gone'" in mistake
    assert [one.record.name for one in fleet.controllers] == ["house"]
    for wrong in ('"acme"', '["Upper"]'):
        with pytest.raises(BadConfiguration, match="line 1"):
            read(tmp_path, FILE.replace('["acme", "zulu"]', wrong))


async def test_health_omits_the_number_of_controllers_with_tenants() -> None:
    async with tenant_fleet(BOTH) as fleet:
        fleet.node.member("zeta-1").controller.troubles["email"] = "The server refuses it."
        fleet.node.node.roster.note_mistake("table 2", "line 5: b.hwx is unknown.")
        assert (await fleet.ask(ANONYMOUS, "/health")).json == {"status": "ok", "controllers": None}
        fleet.node.node.troubles["database"] = "It is away."
        assert (await fleet.ask(ANONYMOUS, "/health")).json["status"] == "degraded"


async def test_uploads_of_a_tenant_are_bounded_over_all_addresses() -> None:
    async with tenant_fleet(BOTH) as fleet:
        door = fleet.node.node.door
        await door.listen("127.0.0.1", 0)
        bodies, count = door.state.bodies, door.state.limits.bodies_of_owner_bytes // MIB + 1
        head = f"POST /api/fleet/drift HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MIB}\r\n"
        statuses: list[int] = []
        async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as connections:

            async def upload(account: str, source: str) -> asyncio.StreamReader:
                """Send a body without its last byte."""
                streams = asyncio.open_connection("127.0.0.1", door.port, local_addr=(source, 0))
                reader, writer = await streams
                connections.callback(writer.close)
                signed_in = f"{head}Authorization: {fleet.basic(account)}\r\n\r\n"
                writer.write(signed_in.encode() + bytes(MIB - 1))
                return reader

            readers = [
                await upload("acme-chief", f"127.0.0.{1 + number % 3}") for number in range(count)
            ]
            await upload("zulu-chief", "127.0.0.1")
            await until(lambda: bodies.bytes_of_owner("zulu") >= MIB // 2)
            refused = [asyncio.ensure_future(reader.readline()) for reader in readers]
            done, waiting = await asyncio.wait(refused, return_when=asyncio.FIRST_COMPLETED)
            statuses += [int(line.result().split()[1]) for line in done]
            for line in waiting:
                line.cancel()
            assert bodies.bytes_of_owner("acme") <= door.state.limits.bodies_of_owner_bytes
        assert set(statuses) == {429}
        await until(lambda: bodies.used == 0)
        assert bodies.bytes_of_owner("acme") == bodies.bytes_of_owner("zulu") == 0
