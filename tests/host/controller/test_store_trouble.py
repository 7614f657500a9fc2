"""A disk that fails: outputs keep working, changes are refused with 507, `/health` says so."""

import asyncio
from pathlib import Path

import pytest

from leverframe.core.engine.journal import Cause
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.controller import commit_path
from leverframe.host.controller.version_switch import install
from leverframe.storage.sqlite import SqliteStore
from leverframe.testing import LoopTwin
from tests.devices.waiting import until
from tests.full_disk import Disk
from tests.patience import PATIENCE_S


async def test_failing_disk_is_reported_in_health_and_outputs_keep_working() -> None:
    disk = Disk()
    twin = await LoopTwin.start(store=disk)
    disk.is_full = True
    await twin.refused("/stm.cgi?oname=0Lamp", 507)
    assert (await twin.json("/health"))["status"] == "degraded"
    assert (await twin.json("/health"))["troubles"] == ["store"]
    assert "disk is full" in (await twin.state())["troubles"]["store"]
    await twin.ok("/outs.cgi?out0=1")
    assert await twin.outputs() == "100000"


async def test_health_is_well_again_when_the_disk_is() -> None:
    disk = Disk()
    twin = await LoopTwin.start(store=disk)
    disk.is_full = True
    await twin.refused("/stm.cgi?oname=0Lamp", 507)
    disk.is_full = False
    await twin.ok("/stm.cgi?oname=0Lamp")
    assert (await twin.json("/health"))["status"] == "ok"


async def test_recovered_disk_is_noticed_without_a_change(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_path, "PAUSE_S", 0.01)
    disk = Disk()
    twin = await LoopTwin.start(store=disk)
    disk.is_full = True
    await twin.refused("/stm.cgi?oname=0Lamp", 507)
    tried = disk.refused
    await until(lambda: disk.refused > tried + 1)
    assert caplog.text.count("a change was not saved") == 1
    disk.is_full = False
    await until(lambda: not twin.controller.troubles)
    assert (await twin.json("/health"))["status"] == "ok"


async def test_state_that_cannot_be_remembered_is_reported() -> None:
    disk = Disk()
    twin = await LoopTwin.start(store=disk)
    await twin.ok("/outs.cgi?roafs=01")
    disk.is_full = True
    await twin.ask("/outs.cgi?out0=1")
    assert await twin.outputs() == "100000"
    assert (await twin.json("/health"))["troubles"] == ["store"]


async def test_request_is_not_refused_for_what_was_due_before_it() -> None:
    disk = Disk()
    twin = await LoopTwin.start(store=disk)
    await twin.ok("/inpa.cgi?powsave=1&powsel=0*10")
    await twin.ok("/sim.cgi?m1=3.6&advance=10")
    disk.is_full = True
    # The minute of the energy is over, but nothing has woken the controller yet.
    clock = twin.controller.clock
    assert isinstance(clock, VirtualClock)
    clock.move_to(clock.read().now + 61.0)
    await twin.ok("/outs.cgi?out0=1")
    await until(lambda: twin.controller.writer.is_idle)
    assert (await twin.json("/health"))["troubles"] == ["store"]


async def test_fault_in_a_change_that_is_on_disk_is_heard_by_who_waits_for_it(
    tmp_path: Path,
) -> None:
    twin = await LoopTwin.start(store=SqliteStore(tmp_path / "store.db"))

    def fail() -> None:
        raise ZeroDivisionError

    twin.controller.profile_watchers.append(fail)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(ZeroDivisionError):
            await install(twin.controller, "1.48", None, Cause("firmware"))
    await twin.controller.stop()
