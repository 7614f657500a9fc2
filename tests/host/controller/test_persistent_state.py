"""What is to be remembered and did not reach the disk reaches it later."""

import pytest

from leverframe.testing import LoopTwin
from tests.devices.waiting import until
from tests.full_disk import Disk

STATE = "output.0"


async def switch_on_full_disk() -> tuple[LoopTwin, Disk]:
    """OUT0 remembers its state, and was switched on while the disk was full."""
    disk = Disk()
    twin = await LoopTwin.start(store=disk)
    await twin.ok("/outs.cgi?roafs=01")
    disk.is_full = True
    await twin.ok("/outs.cgi?out0=1")
    disk.is_full = False
    assert twin.controller.engine.values["OUT0"] == 1
    assert disk.load().kept[STATE] is False
    return twin, disk


async def test_answer_and_the_relay_agree_while_the_disk_is_full() -> None:
    disk = Disk()
    twin = await LoopTwin.start(store=disk)
    await twin.ok("/outs.cgi?roafs=01&out0=1")
    disk.is_full = True
    for state in ("0", "1", "0"):
        reply = await twin.ok(f"/outs.cgi?out0={state}")
        assert f"<out>{state}00000</out>".encode() in reply.body
        assert await twin.outputs() == f"{state}00000"
    assert "store" in twin.controller.troubles
    # With a setting in the same request nothing of it is done.
    await twin.refused("/outs.cgi?out0=1&ortime=05", 507)
    assert await twin.outputs() == "000000"


async def test_state_is_stored_with_the_next_change() -> None:
    twin, disk = await switch_on_full_disk()
    await twin.ok("/stm.cgi?oname=0Lamp")
    assert disk.load().kept[STATE] is True
    assert twin.controller.troubles == {}


async def test_state_is_stored_with_the_next_remembered_switch() -> None:
    twin, disk = await switch_on_full_disk()
    await twin.ok("/outs.cgi?roafs=11")
    await twin.ok("/outs.cgi?out1=1")
    assert disk.load().kept[STATE] is True


async def test_failed_write_is_retried_automatically() -> None:
    _, disk = await switch_on_full_disk()
    await until(lambda: disk.load().kept[STATE] is True)


async def test_state_is_stored_at_the_stop() -> None:
    twin, disk = await switch_on_full_disk()
    await twin.controller.stop()
    assert disk.load().kept[STATE] is True


async def test_nothing_is_tried_after_the_stop() -> None:
    twin, disk = await switch_on_full_disk()
    disk.is_full = True
    await twin.controller.stop()
    assert twin.controller.persistent._again is None


@pytest.mark.parametrize("state", [0, 1])
async def test_newest_state_counts(state: int) -> None:
    twin, disk = await switch_on_full_disk()
    disk.is_full = True
    await twin.refused("/stm.cgi?oname=0Lamp", 507)
    await twin.ok("/outs.cgi?out0=0")
    if state:
        await twin.ok("/outs.cgi?out0=1")
    disk.is_full = False
    await twin.ok("/stm.cgi?oname=0Lamp")
    assert disk.load().kept[STATE] is bool(state)
