"""Virtual time of several tenants: no tenant waits for another, and abandoned requests end."""

import asyncio
from collections.abc import Iterable
from functools import partial

import pytest

from leverframe.devices.simulated.plant_wiring import plant_from_text
from leverframe.fleet.groups import WINDOW_S, MoveCancelled, advance_together
from leverframe.host.controller import Controller
from tests.cases import for_each
from tests.fleet.loop_node import give_way_at_each_part, loop_node
from tests.fleet.tenant_fleet import TenantFleet, tenant_fleet
from tests.patience import PATIENCE_S
from tests.stopwatch import within

BEGIN = 1767571200.0
#: The longest that one request may ask for.
YEAR = "366d"
#: Something is due every few seconds.
METER = "meter*switch:OUT0*reading:INPD1*watts:0*standby:500*pulses:1000"


def make_busy(controllers: Iterable[Controller]) -> None:
    for controller in controllers:
        assert controller.board.bench is not None
        controller.board.bench.wire(plant_from_text(METER))


async def two_tenants(fleet: TenantFleet) -> None:
    await fleet.add_tenant("acme", "a-1", "a-2")
    await fleet.add_tenant("zulu", "z-1")
    make_busy(member.controller for member in fleet.node.node.members.values())


async def begin_year(fleet: TenantFleet) -> "asyncio.Task[object]":
    """Let one tenant move its time by a year; return when that is under way."""
    move = asyncio.create_task(fleet.post("acme-chief", f"advance?for={YEAR}"))
    await moving(fleet.member("a-1").controller)
    return move


async def moving(controller: Controller, before: float = BEGIN) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while controller.clock.wall() == before:  # noqa: ASYNC110 - each look is a turn of the loop
            await asyncio.sleep(0)


async def give_up(move: "asyncio.Task[object]") -> None:
    move.cancel()
    with within(5), pytest.raises(asyncio.CancelledError):
        await move


async def test_time_of_a_tenant_waits_for_no_other_tenant() -> None:
    async with tenant_fleet() as fleet:
        await two_tenants(fleet)
        year = await begin_year(fleet)
        with within(5):
            await fleet.post("zulu-chief", "advance?for=10s")
            await fleet.post("zulu-chief", "advance?to=2026-01-05T00:01:00")
            await fleet.post("zulu-chief", "advance?step=1")
        assert not year.done()
        await give_up(year)


async def test_moves_of_one_tenant_wait_for_each_other_and_add_up() -> None:
    async with tenant_fleet() as fleet:
        await two_tenants(fleet)
        await give_way_at_each_part()
        move = partial(fleet.post, "acme-chief", "advance?for=1m")
        await asyncio.gather(*(move() for _ in range(3)))
        walls = {fleet.member(name).controller.clock.wall() for name in ("a-1", "a-2")}
        assert walls == {BEGIN + 180}


async def test_operator_waiting_for_a_tenant_delays_no_other() -> None:
    async with tenant_fleet() as fleet:
        await two_tenants(fleet)
        year = await begin_year(fleet)
        of_all = asyncio.create_task(fleet.post("admin", "advance?for=1h"))
        with within(5):
            await fleet.post("zulu-chief", "advance?for=10s")
        assert not of_all.done()
        await give_up(year)
        await of_all
        assert fleet.member("z-1").controller.clock.wall() == BEGIN + 10 + 3600


async def test_running_time_continues_while_a_tenant_moves_its_own() -> None:
    async with tenant_fleet() as fleet:
        await two_tenants(fleet)
        year = await begin_year(fleet)
        await fleet.post("admin", "advance?rate=100")
        await moving(fleet.member("z-1").controller)
        assert not year.done()
        await give_up(year)
        await fleet.post("admin", "advance?rate=0")


@for_each("count", [1, 5])
async def test_cancelled_move_leaves_all_at_the_same_time(count: int) -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=count)
        await node.post("add", name="idle")
        controllers = [one.controller for one in node.node.members.values()]
        make_busy(controllers[:-1])
        await give_way_at_each_part()
        move = asyncio.create_task(advance_together(controllers, 1e7, WINDOW_S))
        await moving(controllers[0])
        move.cancel()
        with pytest.raises(MoveCancelled) as cancelled:
            await move
        assert {one.clock.wall() for one in controllers} == {BEGIN + cancelled.value.moved_s}
        assert 0 < cancelled.value.moved_s < 3600


async def test_cancelled_move_of_all_moves_the_common_time_equally() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        make_busy(one.controller for one in node.node.members.values())
        for how in ("for=300d", "to=2026-09-01T00:00"):
            before = node.node.clock.wall()
            move = asyncio.create_task(node.ask(f"/api/fleet/advance?{how}"))
            await moving(node.member("gh-1").controller, before)
            await give_up(move)
            times = {one["time"] for one in await node.get("list")}
            assert times == {node.node.clock.wall()}
            assert before < node.node.clock.wall() < before + 300 * 86400


@for_each("options", [{"for_": "367d"}, {"for_": "36500d"}, {"to": "2027-06-01T00:00"}], ids=str)
async def test_too_long_move_of_time_is_refused(options: dict[str, str]) -> None:
    async with loop_node() as node:
        await node.post("add", name="gh")
        problem = await node.expect_refusal(400, "advance", **options)
        assert "Allowed: up to 366d; send several requests." in problem
        assert node.member("gh").controller.clock.wall() == BEGIN


async def test_move_of_a_year_is_allowed() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh")
        assert (await node.post("advance", for_=YEAR))["moved_s"] == 366 * 86400


async def test_long_snapshot_does_not_delay_other_changes() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=20)
        await give_way_at_each_part()
        taking = asyncio.create_task(node.post("snapshot", label="noon"))
        held = []
        while not taking.done():
            held.append(node.node.changing.locked())
            await asyncio.sleep(0)
        assert (await taking)["done"] == 20
        assert held.count(True) < len(held) / 4


async def test_controller_removed_during_a_snapshot_is_not_in_it() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=20)
        await give_way_at_each_part()
        taking = asyncio.create_task(node.post("snapshot", label="noon"))
        await asyncio.sleep(0)
        removed = node.member("gh-1").number
        await node.post("remove", name="gh-1")
        await taking
        assert removed not in node.node.registry.snapshots["noon"].parts
        assert (await node.post("restore", label="noon"))["refused"] == 0
