"""Commands to many controllers: a result for each, tried before, all or none."""

import asyncio
from typing import Any

import msgspec
import pytest

from leverframe.core.runtime.log_lines import CONTROLLER
from leverframe.devices.simulated.fault_catalogue import fault_from_text
from leverframe.fleet.bulk import BY_FLEET as FLEET
from leverframe.fleet.bulk import each
from leverframe.fleet.member import Member
from leverframe.interface.table.lookup import Account
from leverframe.server.http.messages import Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.server.routes.router import Web
from tests.cases import for_each
from tests.fleet.loop_node import LoopNode, give_way_at_each_part, loop_node

ON = "outs.cgi?out0=1"
#: Old software does not have this command.
NEWER = "stm.cgi?eventname=1Frost"
COUNT = 60


async def add_mixed_controllers(node: LoopNode) -> list[str]:
    """Add many controllers, of which three are too old for a command; return their names."""
    await node.post("add", name="gh-{n}", count=COUNT - 3, tags="all")
    await node.post("add", name="old-{n}", count=3, hw="3.0", sw="1.18", tags="all")
    return ["old-1", "old-2", "old-3"]


def on(node: LoopNode) -> int:
    return sum(member.controller.engine.values["OUT0"] or 0 for member in members(node))


def members(node: LoopNode) -> list[Member]:
    return list(node.node.members.values())


def without_effects(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "effects"}


async def test_refusing_controllers_are_listed_and_the_others_carry_out() -> None:
    async with loop_node() as node:
        old = await add_mixed_controllers(node)
        before = [member.controller.engine.settings for member in members(node)]
        answer = await node.post("send", command=NEWER, tag="all")
        assert (answer["done"], answer["refused"]) == (COUNT - 3, 3)
        refused = [one for one in answer["results"] if one["status"] != 200]
        assert [one["name"] for one in refused] == old
        assert all("HW 3.0 SW 1.18" in one["detail"] for one in refused)
        pairs = zip(members(node), before, strict=True)
        changed = [one.controller.engine.settings is not then for one, then in pairs]
        assert changed == [True] * (COUNT - 3) + [False] * 3


async def test_all_or_none_changes_nothing_if_a_controller_refuses() -> None:
    async with loop_node() as node:
        old = await add_mixed_controllers(node)
        before = [member.controller.engine.settings for member in members(node)]
        answer = await node.post("send", command=NEWER, all_or_none=1)
        assert (answer["done"], answer["refused"]) == (0, COUNT)
        statuses = {one["name"]: one["status"] for one in answer["results"]}
        assert (statuses["gh-1"], statuses[old[0]]) == (424, 404)
        assert all(
            member.controller.engine.settings is then
            for member, then in zip(members(node), before, strict=True)
        )
        answer = await node.post("send", command=ON, all_or_none=1)
        assert (answer["done"], on(node)) == (COUNT, COUNT)


async def test_dry_run_returns_the_same_refusals_and_changes_nothing() -> None:
    async with loop_node() as node:
        await add_mixed_controllers(node)
        tried = await node.post("send", command=NEWER, dry_run=1)
        assert tried["dry_run"] is True
        assert (await node.post("send", command=ON, dry_run=1))["done"] == COUNT
        assert on(node) == 0
        done = await node.post("send", command=NEWER)
        assert [without_effects(one) for one in tried["results"]] == done["results"]


@for_each(
    ("command", "status", "message"),
    [
        ("nothing.cgi?a=1", 404, "is not a command"),
        ("outs.cgi", 404, "is not a command"),
        ("# a remark", 400, "There are no commands"),
        ("outs.cgi?out0=1\nouts.cgi?out1=1", 400, "control character"),
        ("", 400, "command is missing"),
    ],
)
async def test_invalid_command_is_refused_immediately(
    command: str, status: int, message: str
) -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        assert message in await node.expect_refusal(status, "send", command=command)


async def test_disallowed_value_is_refused_by_each_controller() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        answer = await node.post("send", command="outs.cgi?out9=1")
        assert (answer["done"], answer["refused"]) == (0, 2)
        reply = node.member("gh-1").built.web.handle(
            request("/outs.cgi", "out9=1"), requester=FLEET
        )
        assert isinstance(reply, Reply)
        assert answer["results"][0]["detail"] == msgspec.json.decode(reply.body)["detail"]


async def test_commands_with_a_body_or_a_password_are_carried_out() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        body = b"&s0=lamp*0*1*64800*0*127*1&&"
        assert (await node.post("send", body, command="post.cgi?sched_save"))["done"] == 2
        assert "several lines" in await node.expect_refusal(
            400, "send", b"a\nb", command="post.cgi?x"
        )
        schedules = [member.controller.engine.settings.schedule for member in members(node)]
        assert [entry.name for entries in schedules for entry in entries if entry] == ["lamp"] * 2


async def test_journals_and_audit_trails_name_the_fleet_and_the_account() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        await node.post("send", command="stm.cgi?sname=Cellar")
        entry = node.member("a").controller.engine.machine.journal.entries()[-1]
        assert str(entry.cause) == "command fleet 127.0.0.1"


def request(path: str, query: str) -> Request:
    return Request("GET", path, query, {}, b"", "127.0.0.1")


async def test_dry_run_lists_the_changes() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        await node.post("send", command="stm.cgi?oname=0Pump")

        async def effects(command: str) -> list[dict[str, Any]]:
            answer = await node.post("send", command=command, dry_run=1)
            found: list[dict[str, Any]] = answer["results"][0]["effects"]
            return found

        assert await effects(ON) == [{"what": "Pump", "old": 0, "new": 1, "is_state": True}]
        assert await effects("outs.cgi?out1=0") == [
            {"what": "OUT1", "old": 0, "new": 0, "is_state": True}
        ]
        (named,) = await effects("stm.cgi?oname=0Fan")
        assert (named["what"], named["old"], named["new"]) == ("outputs.0.name", "Pump", "Fan")
        # A secret is named, never shown.
        secret = await effects("stm.cgi?auth=11YWRtaW4=*c2VjcmV0*dXNlcg==*")
        hidden = [one["new"] for one in secret if one["what"].endswith("password")]
        assert (len(hidden) > 0, set(hidden)) == (True, {None})


#: Sign-in with a password for the administrator, named admin.
PASSWORD = "stm.cgi?auth=11YWRtaW4=*c2VjcmV0*dXNlcg==*"


async def test_all_or_none_sets_passwords_together_after_hashing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        answer = await node.post("send", command=PASSWORD, all_or_none=1)
        assert (answer["done"], answer["refused"]) == (3, 0)
        access = [one.controller.engine.settings.access for one in members(node)]
        assert {one.admin.password[:9] for one in access} == {"$argon2id"}
        assert all(one.required for one in access)

    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        hashed = Passwords.hash

        async def lose_power_while_hashing(self: Passwords, password: str) -> str:
            node.member("gh-2").controller.lose_power()
            return await hashed(self, password)

        monkeypatch.setattr(Passwords, "hash", lose_power_while_hashing)
        answer = await node.post("send", command=PASSWORD, all_or_none=1)
        assert [one["status"] for one in answer["results"]] == [424, 503, 424]
        assert not any(one.controller.engine.settings.access.required for one in members(node))


async def test_controller_without_power_refuses_also_in_a_dry_run() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        node.member("gh-1").controller.lose_power()
        for more in ({"dry_run": 1}, {}):
            answer = await node.post("send", command=ON, **more)
            refused = {one["name"]: one.get("detail") for one in answer["results"]}
            assert refused == {"gh-1": "The controller has no power.", "gh-2": None}
        assert on(node) == 1


async def test_log_lines_have_the_current_name_of_their_controller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    handle = Web.handle

    def noting(self: Web, request: Request, *, requester: Account) -> Any:
        seen.append(CONTROLLER.get().name)

        async def later() -> Any:
            seen.append(CONTROLLER.get().name)
            answer = handle(self, request, requester=requester)
            return answer if isinstance(answer, Reply) else await answer  # type: ignore[misc]

        return later()

    monkeypatch.setattr(Web, "handle", noting)
    async with loop_node() as node:
        await node.post("add", name="a")
        controller = node.member("a").controller
        controller.settings_watchers.append(
            lambda old, new: seen.append(CONTROLLER.get().name)  # type: ignore[func-returns-value]
        )
        await node.post("send", command="stm.cgi?oname=0Pump")
        assert set(seen) == {"a"}
        seen.clear()
        await node.post("rename", name="a", to="b")
        await node.post("send", command="stm.cgi?oname=0Fan")
        assert set(seen) == {"b"}
        assert CONTROLLER.get().name == ""


async def test_bulk_work_leaves_turns_to_others() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh")
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def work(_member: Member) -> None:
            """Do something that waits for nothing."""

        beside = asyncio.ensure_future(other())
        await give_way_at_each_part()
        assert (await each([node.member("gh")] * 4, work)).done == 4
        beside.cancel()
        assert turns >= 4


async def test_all_or_none_retries_after_a_concurrent_change() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=10)
        await give_way_at_each_part()
        sending = asyncio.ensure_future(
            node.ask(f"/api/fleet/send?all_or_none=1&command={ON}&name=gh-1,gh-2,gh-3,gh-4,gh-5")
        )
        # The first controllers have been tried by now.
        for _ in range(6):
            await asyncio.sleep(0)
        assert not sending.done()
        faults = node.member("gh-1").controller.faults
        assert faults is not None
        faults.add(fault_from_text("reboot*takes:1h"))
        answer = msgspec.json.decode((await sending).body)
        assert (answer["done"], on(node)) == (0, 0)
        assert answer["results"][0]["status"] == 503


async def test_all_or_none_is_limited_to_one_turn_of_the_loop() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=51)
        many = "outs.cgi?" + "&".join(["out0=1"] * 100)
        said = await node.expect_refusal(400, "send", command=many, all_or_none=1)
        assert "100 commands for 51 controllers" in said
        assert "up to 5000 commands in all" in said
        assert on(node) == 0
