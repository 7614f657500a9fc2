"""Open controllers of a node on loopback: closed with its first account or tenant."""

from base64 import b64encode
from typing import Any

import pytest

from tests.fleet.http_client import Answered, ask_once
from tests.fleet.loop_node import LoopNode, loop_node

HOME = "127.0.0.1"


async def state_of(node: LoopNode, name: str, password: str | None = None) -> Answered:
    """Ask a controller for its state, by its own name at the door."""
    account = None if password is None else f"admin:{password}"
    return await ask_once(
        HOME,
        node.node.door.port,
        "/api/state",
        f"{name}.localhost",
        **({} if account is None else {"account": account}),
    )


def passwords_in(answer: Any) -> dict[str, str | None]:
    return {one["name"]: one.get("password") for one in answer["protected"]}


@pytest.mark.parametrize(
    ("what", "options"), [("account/add", {"name": "anna"}), ("tenant/add", {"tenant": "acme"})]
)
async def test_first_account_or_tenant_gives_open_controllers_an_administrator(
    what: str, options: dict[str, str]
) -> None:
    async with loop_node() as node:
        await node.node.door.listen(HOME, 0)
        await node.post("add", name="gh-{n}", count=2)
        assert (await state_of(node, "gh-1")).status == 200
        answer = await node.post(what, **options)
        passwords = passwords_in(answer)
        assert list(passwords) == ["gh-1", "gh-2"]
        assert passwords["gh-1"] == passwords["gh-2"]
        assert answer["left_open"] == 0
        assert (await state_of(node, "gh-1")).status == 401
        assert (await state_of(node, "gh-2", passwords["gh-2"])).status == 200
        assert (await state_of(node, "gh-2", "wrong")).status == 401


async def test_controllers_of_different_tenants_get_different_passwords() -> None:
    async with loop_node() as node:
        await node.post("tenant/add", tenant="acme")
        await node.post("add", name="house", open=1)
        await node.post("add", name="acme-1", tenant="acme", open=1)
        report = await node.post("protect")
        passwords = {one["name"]: one["password"] for one in report["results"]}
        assert len(set(passwords.values())) == 2


async def test_controller_with_a_password_keeps_it_and_requires_sign_in() -> None:
    async with loop_node() as node:
        await node.node.door.listen(HOME, 0)
        await node.post("add", name="gh-1")
        names = [b64encode(text.encode()).decode() for text in ("admin", "own secret", "user", "")]
        await node.post("send", command="stm.cgi?auth=01" + "*".join(names))
        before = node.member("gh-1").controller.engine.settings.access
        answer = await node.post("account/add", name="anna")
        access = node.member("gh-1").controller.engine.settings.access
        assert passwords_in(answer) == {"gh-1": None}
        assert access.required
        assert access.updates_allowed == before.updates_allowed is True
        assert access.admin == before.admin
        assert (await state_of(node, "gh-1", "own secret")).status == 200


async def test_new_controllers_have_an_administrator_once_there_is_a_tenant() -> None:
    async with loop_node() as node:
        assert (await node.post("add", name="a"))["password"] is None
        assert passwords_in(await node.post("tenant/add", tenant="acme"))["a"]
        made = await node.post("add", name="acme-1", tenant="acme")
        assert made["password"] is not None
        assert node.member("acme-1").controller.engine.settings.access.required
        # With the next ones nothing changes.
        assert (await node.post("tenant/add", tenant="zulu"))["protected"] == []
        assert (await node.post("account/add", name="anna"))["protected"] == []


async def test_controllers_stay_open_only_on_request_and_the_answer_counts_them() -> None:
    async with loop_node() as node:
        await node.node.door.listen(HOME, 0)
        await node.post("add", name="gh-{n}", count=2)
        tenant = await node.post("tenant/add", tenant="acme", open=1)
        assert (tenant["protected"], tenant["left_open"]) == ([], 2)
        assert (await node.post("add", name="gh-3", open=1))["password"] is None
        assert (await state_of(node, "gh-3")).status == 200
        assert (await node.post("tenant/add", tenant="zulu"))["left_open"] == 3
        first = (await node.post("protect", name="gh-1"))["results"]
        assert [one["name"] for one in first] == ["gh-1"]
        rest = await node.post("protect")
        assert [bool(one.get("password")) for one in rest["results"]] == [False, True, True]
        assert (await state_of(node, "gh-3")).status == 401
        assert (await node.post("tenant/add", tenant="north"))["left_open"] == 0


async def test_reachable_node_leaves_no_controller_open() -> None:
    async with loop_node(host="0.0.0.0") as node:
        web = node.web
        web.accounts._always = False
        problem = await node.expect_refusal(409, "add", name="a", open=1)
        assert "Other machines can reach this node" in problem
        assert not node.node.members
