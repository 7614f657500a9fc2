"""Every endpoint of a node, by all kinds of users: a tenant sees and changes only its own.

The walk is made in two fleets, one of which has another tenant besides. What is answered must be
the same, whatever is asked for: so nothing of the other is shown, no name, sum, order or count. A
new endpoint fails here until it has a rule: who may use it, and what is asked of it.
"""

import re
from typing import Literal

from leverframe.fleet.operations.table import OPERATIONS
from leverframe.fleet.records import MemberRecord
from tests.fleet.failing import fail
from tests.fleet.tenant_fleet import ANONYMOUS, OPERATOR, TenantFleet, tenant_fleet

For = Literal["all", "users", "administrators", "operator", "oneself"]
SWITCH = "command=outs.cgi?out0=1"
NAMED = "command=stm.cgi?oname=0Pump"
TEMPLATE = b'{"hw": "3.9", "sw": "1.75", "settings": {"outputs.0.name": "Fan"}}'

#: Who may use an endpoint, and what a tenant asks of it in this order; with ` template` as body.
RULES: dict[str, tuple[For, tuple[str, ...]]] = {
    "/": ("users", ("",)),
    "/health": ("all", ("",)),
    "/api/openapi.json": ("users", ("",)),
    "/api/fleet": ("users", ("",)),
    "/api/fleet/nodes": ("operator", ("",)),
    "/api/fleet/owners": ("operator", ("",)),
    "/api/fleet/drain": ("operator", ("?node=zulu",)),
    "/api/fleet/forget": ("operator", ("?node=zulu",)),
    "/api/fleet/move": ("operator", ("?name=zeta-1", "?name=acme-1")),
    "/api/fleet/list": (
        "users",
        (
            *("", "?name=zeta-1", "?name=acme-1,zeta-1", "?name=house", "?tag=zulutag"),
            *("?tag=north", "?search=zulu", "?search=acme", "?health=fine"),
        ),
    ),
    "/api/fleet/stream": (
        "users",
        ("", "?tag=zulutag", "?search=zeta", "?order=name", "?first=1", "?health=fine"),
    ),
    "/api/fleet/show": ("administrators", ("?name=acme-1", "?name=zeta-1", "?name=house")),
    "/api/fleet/export": ("administrators", ("", "?name=zeta-1", "?tag=zulutag")),
    "/api/fleet/drift": (
        "administrators",
        (" template", "?name=zeta-1 template", "?tag=zulutag template"),
    ),
    "/api/fleet/changes": (
        "administrators",
        ("", "?name=zeta-1", "?by=zulu-chief", "?by=admin&count=5"),
    ),
    "/metrics": ("administrators", ("", "?tag=north", "?tag=zulutag")),
    "/api/fleet/send": (
        "users",
        (
            *(f"?{SWITCH}", f"?{SWITCH}&name=zeta-1", f"?{SWITCH}&tag=zulutag"),
            *(f"?{SWITCH}&id=zulujob", f"?{SWITCH}&dry_run=1", f"?{NAMED}&dry_run=1"),
            *(f"?{SWITCH}&all_or_none=1", f"?{NAMED}&all_or_none=1", f"?{NAMED}"),
            f"?{SWITCH}&name=acme-1,zeta-1&dry_run=1",
        ),
    ),
    "/api/fleet/progress": ("users", ("?id=x",)),
    "/api/fleet/rollout/plan": (
        "administrators",
        (
            f"?{NAMED}&id=plan",
            f"?{NAMED}&id=zulurollout",
            f"?{NAMED}&name=zeta-1",
            f"?{NAMED}&dry_run=1",
        ),
    ),
    "/api/fleet/rollout/start": (
        "administrators",
        ("?id=plan", "?id=zulu:zulurollout", "?id=operators"),
    ),
    "/api/fleet/rollouts": ("administrators", ("",)),
    "/api/fleet/rollout": (
        "administrators",
        ("?id=plan", "?id=zulu:zulurollout", "?id=zulurollout", "?id=operators"),
    ),
    "/api/fleet/rollout/stop": ("administrators", ("?id=zulu:zulurollout", "?id=operators")),
    "/api/fleet/rollout/resume": ("administrators", ("?id=zulu:zulurollout", "?id=operators")),
    "/api/fleet/rollout/retry": ("administrators", ("?id=zulu:zulurollout", "?id=operators")),
    "/api/fleet/rollout/undo": ("administrators", ("?id=zulu:zulurollout", "?id=operators")),
    "/api/fleet/rollout/remove": (
        "administrators",
        ("?id=zulu:zulurollout", "?id=operators", "?id=zulurollout"),
    ),
    "/api/fleet/snapshot": ("administrators", ("?label=noon", "?label=x&name=zeta-1")),
    "/api/fleet/snapshots": ("administrators", ("",)),
    "/api/fleet/snapshot/remove": (
        "administrators",
        ("?label=zulusnap", "?label=zulu:zulusnap", "?label=operators", "?label=x", ""),
    ),
    "/api/fleet/restore": (
        "administrators",
        ("?label=noon", "?label=zulusnap", "?label=zulu:zulusnap", "?label=operators"),
    ),
    "/api/fleet/advance": (
        "administrators",
        ("?for=1s", "?step=1", "?for=1s&name=zeta-1", "?rate=2", "?to=2026-01-05T03:00"),
    ),
    "/api/fleet/fault": (
        "administrators",
        ("?fault=slow*delay:5s", "?fault=none", "?fault=none&name=zeta-1"),
    ),
    "/api/fleet/add": (
        "administrators",
        (
            *("?name=new-1", "?name=new-2&like=zeta-1", "?name=new-3&tenant=zulu"),
            *("?name=new-4&address=127.0.0.9", "?name=new-5&port=9", "?name=acme-1"),
            *("?name=new-{n}&count=200&dry_run=1", "?name=new-6&tenant=acme"),
        ),
    ),
    "/api/fleet/fork": (
        "administrators",
        ("?name=acme-1&to=copy", "?name=zeta-1&to=copied", "?name=acme-1&to=c&port=9"),
    ),
    "/api/fleet/place": ("operator", ("?name=acme-1&port=9", "?name=zeta-1&address=none")),
    "/api/fleet/start": ("operator", ("", "?name=acme-1", "?name=zeta-1")),
    "/api/fleet/tag": (
        "administrators",
        ("?add=south", "?add=south&name=zeta-1", "?remove=zulutag&tag=zulutag"),
    ),
    "/api/fleet/rename": (
        "administrators",
        ("?name=new-1&to=old-1", "?name=zeta-1&to=mine", "?name=acme-1&to=acme-2"),
    ),
    "/api/fleet/remove": (
        "administrators",
        ("?name=old-1", "?name=zeta-1", "?name=acme-2,zeta-1", "?tag=zulutag", "?search=zulu"),
    ),
    "/api/fleet/tenants": ("operator", ("",)),
    "/api/fleet/tenant/add": ("operator", ("?tenant=mine", "?tenant=zulu")),
    "/api/fleet/tenant/remove": ("operator", ("?tenant=zulu", "?tenant=acme")),
    "/api/fleet/tenant/give": ("operator", ("?tenant=acme&name=zeta-1",)),
    "/api/fleet/protect": ("operator", ("", "?name=zeta-1")),
    "/api/fleet/accounts": ("operator", ("",)),
    "/api/fleet/account/add": ("operator", ("?name=eve&role=administrator",)),
    "/api/fleet/account/remove": ("operator", ("?name=zulu-chief", "?name=acme-guest")),
    "/api/fleet/account/password": (
        "oneself",
        ("?name=zulu-chief", "?name=missing", "?name=acme-guest"),
    ),
}
METHODS = {endpoint.path: endpoint.methods[0] for endpoint in OPERATIONS} | {"/": "GET"}
#: What differs in any two fleets: the identity of a new controller, a new password, the time.
CHANCE = re.compile(
    r'"(?:mac|password|made|at|uptime|id|time|go_on_at|node)":(?:"[^"]*"|[\d.]+|null)|_seconds[^\n]*'
    # Whether a controller was moved from node to node is in its journal.
    r'|"happened":\[[\d,]*\]'
)
NOTHING = re.compile(r"(?!)")
ACME = ("acme", ("acme-1", "acme-2"), "north")
ZULU = ("zulu", ("zeta-1", "zeta-2"), "zulutag")


async def busy(fleet: TenantFleet) -> None:
    """Let the other tenant and the operator leave traces that could be shown."""
    chief = "zulu-chief"
    await fleet.post(OPERATOR, "add?name=house&tags=housetag")
    await fleet.post(chief, "send?command=stm.cgi?oname=0ZuluPump&id=zulujob")
    await fleet.post(chief, "rollout/plan?command=stm.cgi?oname=1ZuluFan&id=zulurollout")
    await fleet.post(chief, "snapshot?label=zulusnap")
    await fleet.post(OPERATOR, "snapshot?label=operators&name=zeta-1,house")
    await fleet.post(
        OPERATOR, "rollout/plan?command=outs.cgi?out1=1&id=operators&name=zeta-1,house"
    )
    fleet.member("zeta-1").controller.troubles["email"] = "The zulu server refuses it."
    fail(fleet.node.node, MemberRecord("zeta-7", tenant="zulu"), 700, "zeta-7 failed to start.")


async def walk(fleet: TenantFleet, account: str) -> dict[str, tuple[int, str]]:
    """Request everything as a tenant; return the answers."""
    answers = {}
    for path, (_, requests) in RULES.items():
        for one in requests:
            query, _, body = one.partition(" ")
            answer = await fleet.ask(
                account, path + query, TEMPLATE if body else b"", METHODS[path]
            )
            answers[path + one] = answer.status, CHANCE.sub("", answer.text)
    return answers


async def state_of_zulu(fleet: TenantFleet) -> object:
    """Return what the operator sees of the other tenant, but for the time."""
    seen = []
    for what in ("export?name=zeta-1,zeta-2,house", "rollout?id=zulu:zulurollout", "accounts"):
        seen.append(CHANCE.sub("", (await fleet.ask(OPERATOR, what)).text))
    members = [fleet.member(name) for name in ("zeta-1", "zeta-2", "house")]
    values = [member.controller.engine.values["OUT0"] for member in members]
    # Time that runs by itself is no change.
    clocks = [
        member.controller.clock.wall() for member in members if member.controller.clock.is_virtual
    ]
    return seen, values, clocks, (await fleet.ask("zulu-chief", "/api/fleet")).json["snapshots"]


async def compare(
    alone: TenantFleet, shared: TenantFleet, account: str, besides: re.Pattern[str] = NOTHING
) -> None:
    """Make the walk in a fleet without, and in one with another tenant.

    What is found `besides` may differ, too.
    """
    before = await state_of_zulu(shared)
    without, beside = await walk(alone, account), await walk(shared, account)
    for asked, answer in without.items():
        both = [(status, besides.sub("", text)) for status, text in (beside[asked], answer)]
        assert both[0] == both[1], (account, asked)
    assert await state_of_zulu(shared) == before
    # Requests that do not name the other tenant show nothing of it.
    for asked, (_, text) in beside.items():
        if not re.search("zulu|zeta|house|operators", asked):
            assert not re.search("zulu|zeta|house", text, re.IGNORECASE), asked


def test_every_endpoint_has_a_rule_and_is_asked_for_something() -> None:
    assert RULES.keys() == {endpoint.path for endpoint in OPERATIONS} | {"/"}
    assert all(requests for _, requests in RULES.values())


async def test_tenant_answers_do_not_depend_on_other_tenants() -> None:
    for who in ("acme-chief", "acme-guest"):
        async with tenant_fleet([ACME]) as alone, tenant_fleet([ACME, ZULU]) as shared:
            await busy(shared)
            await compare(alone, shared, who)


async def test_endpoint_permissions_match_its_rule() -> None:
    expected: dict[For, tuple[int | None, ...]] = {
        # no account, a user of a tenant, an administrator of it, a user of the operator
        "all": (None, None, None, None),
        "users": (401, None, None, None),
        "oneself": (401, None, None, None),
        "administrators": (401, 403, None, 403),
        "operator": (401, 403, 403, 403),
    }
    async with tenant_fleet([ACME, ZULU]) as fleet:
        await fleet.add_account("olga", "", "user")
        askers = (ANONYMOUS, "zulu-guest", "zulu-chief", "olga")
        for path, (rule, _) in RULES.items():
            for who, status in zip(askers, expected[rule], strict=True):
                # Without parameters: a permitted request is refused for the missing ones.
                answer = await fleet.ask(who, f"{path}?x=1", b"", METHODS[path])
                assert answer.status == (status or answer.status), (path, who)
                assert (answer.status in (401, 403)) is (status is not None), (path, who, answer)
        assert len(await fleet.names("olga")) == 4
        assert await fleet.names("zulu-guest") == ["zeta-1", "zeta-2"]


async def test_removed_account_is_refused() -> None:
    async with tenant_fleet([ACME]) as fleet:
        assert (await fleet.ask("acme-guest", "list")).status == 200
        await fleet.post(OPERATOR, "account/remove?name=acme-guest")
        for path in ("/", "/api/fleet", "/api/fleet/send"):
            assert (await fleet.ask("acme-guest", path, b"", METHODS[path])).status in (401, 429)
