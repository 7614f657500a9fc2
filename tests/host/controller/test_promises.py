"""What an answer promises of a controller that another node may take over."""

import asyncio

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from leverframe.host.services import Sending
from leverframe.testing import LoopTwin
from tests.devices.waiting import until
from tests.full_disk import Disk
from tests.host.controller.test_controller import SlowStore

STATE, KEPT, PLAIN = "output.0", "/outs.cgi?out0={}", "/outs.cgi?out1={}"
NOT_STORED = "not stored yet"


async def movable(store: Disk | SlowStore) -> LoopTwin:
    """Start a controller of a cluster, whose OUT0 remembers its state."""
    twin = await LoopTwin.start(store=store, sending=Sending(capture=False))
    twin.controller.why_refused = lambda: None
    await twin.ok("/outs.cgi?roafs=01&roafs=10")
    return twin


async def test_remembered_switch_is_not_acknowledged_before_it_is_stored() -> None:
    disk = Disk()
    twin = await movable(disk)
    disk.is_full = True
    reply = await twin.ask(KEPT.format(1))
    assert reply.status == 503
    problem = msgspec.json.decode(reply.body)
    assert problem["title"] == "Not yet known whether the change is stored"
    assert NOT_STORED in problem["detail"]
    assert twin.controller.engine.values["OUT0"] == 1
    # The same request again changes nothing, and promises no more.
    assert (await twin.ask(KEPT.format(1))).status == 503
    disk.is_full = False
    await twin.ok(KEPT.format(1))
    assert disk.load().kept[STATE] is True
    await twin.controller.stop()


async def test_output_that_is_not_remembered_switches_without_the_store() -> None:
    disk = Disk()
    twin = await movable(disk)
    disk.is_full = True
    await twin.ok(PLAIN.format(1))
    assert twin.controller.engine.values["OUT1"] == 1
    # Also beside one whose state is missing.
    assert (await twin.ask(KEPT.format(1))).status == 503
    await twin.ok(PLAIN.format(0))
    await twin.controller.stop()


async def test_repeated_switch_waits_for_the_write_of_the_first() -> None:
    store = SlowStore()
    twin = await movable(store)
    store.holds = True
    first = asyncio.ensure_future(twin.ask(KEPT.format(1)))
    await until(lambda: bool(store.waiting))
    again = asyncio.ensure_future(twin.ask(KEPT.format(1)))
    await asyncio.sleep(0)
    assert not first.done()
    assert not again.done()
    store.holds = False
    store.fail()
    assert [(await first).status, (await again).status] == [503, 503]
    await until(lambda: store.load().kept[STATE] is True)
    await twin.controller.stop()


async def test_message_is_not_acknowledged_before_it_is_stored() -> None:
    disk = Disk()
    twin = await movable(disk)
    await twin.ok("/stm.cgi?em1=127.0.0.1&em5=bert@example.org")
    disk.is_full = True
    reply = await twin.ask("/stm.cgi?testemail=1")
    assert reply.status == 503
    assert NOT_STORED in msgspec.json.decode(reply.body)["detail"]
    disk.is_full = False
    await twin.ok("/stm.cgi?testemail=1")
    assert disk.messages()
    await twin.controller.stop()


@given(st.lists(st.sampled_from(["0", "1", "full", "room"]), max_size=12))
def test_acknowledged_states_are_stored_whatever_came_before(steps: list[str]) -> None:
    async def run() -> None:
        disk = Disk()
        twin = await movable(disk)
        for step in steps:
            if step in "01":
                reply = await twin.ask(KEPT.format(step))
                if reply.status == 200:
                    assert disk.load().kept[STATE] is (step == "1")
                assert twin.controller.engine.values["OUT0"] == int(step)
            else:
                disk.is_full = step == "full"
        await twin.controller.stop()

    asyncio.run(run())
