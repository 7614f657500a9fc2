"""The controller between requests, store and engine."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from leverframe.core.settings import Rule, Settings
from leverframe.host.controller import Controller
from leverframe.host.controller.commit_path import Outstanding
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import MemoryStore, Rows, StoreUnavailable
from leverframe.testing import LoopTwin


class SlowStore(MemoryStore):
    """A store whose writes finish, or fail, when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[asyncio.Future[None]] = []
        self.holds = False

    async def write(self, rows: Rows) -> None:
        if self.holds:
            self.waiting.append(asyncio.get_running_loop().create_future())
            await self.waiting[-1]
        await super().write(rows)

    def finish(self) -> None:
        self.holds = False
        for write in self.waiting:
            write.set_result(None)
        self.waiting.clear()

    def fail(self) -> None:
        for write in self.waiting:
            write.set_exception(StoreUnavailable("The disk is full; make room and try again."))
        self.waiting.clear()


@pytest.fixture
async def store() -> SlowStore:
    return SlowStore()


@pytest.fixture
async def twin(store: SlowStore) -> AsyncIterator[LoopTwin]:
    twin = await LoopTwin.start(store=store)
    store.holds = True
    yield twin
    store.finish()


async def turns() -> None:
    """Let everything run that can run."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_setting_is_answered_only_when_it_is_on_disk(
    twin: LoopTwin, store: SlowStore
) -> None:
    asked = asyncio.ensure_future(twin.ask("/stm.cgi?oname=0Lamp"))
    await turns()
    assert not asked.done()
    store.finish()
    assert (await asked).status == 200


async def test_switching_does_not_wait_for_the_disk(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out0=1")
    assert await twin.outputs() == "100000"


async def test_remembered_state_is_answered_when_it_is_on_disk(
    twin: LoopTwin, store: SlowStore
) -> None:
    store.holds = False
    await twin.ok("/outs.cgi?roafs=01")
    store.holds = True
    asked = asyncio.ensure_future(twin.ask("/outs.cgi?out0=1"))
    await turns()
    assert not asked.done()
    assert await twin.outputs() == "100000"
    store.finish()
    assert (await asked).status == 200


async def test_requests_build_on_each_other_while_the_disk_is_busy(
    twin: LoopTwin, store: SlowStore
) -> None:
    rules = [f"/inpa.cgi?event={entry}*0*0*0*0*0*0*0*0*0*0*0" for entry in (3, 1, 2)]
    asked = [asyncio.ensure_future(twin.ask(rule)) for rule in rules]
    await turns()
    assert twin.controller.engine.settings.rules == ()
    store.finish()
    assert [(await reply).status for reply in asked] == [200] * 3
    assert twin.controller.engine.settings.rules == (None, *(Rule(),) * 3)


async def test_acting_changes_of_one_write_act_in_order_and_notify_parts_once(
    twin: LoopTwin, store: SlowStore
) -> None:
    controller, notified = twin.controller, list[tuple[int, int]]()
    controller.settings_watchers.append(
        lambda old, new: notified.append((old.pwm[0].duty, new.pwm[0].duty))
    )
    await twin.ok("/outs.cgi?pwm0=1")
    asked = [asyncio.ensure_future(twin.ask(f"/stm.cgi?pwmd=0{duty}")) for duty in (10, 20, 30)]
    await turns()
    store.finish()
    assert [(await reply).status for reply in asked] == [200] * 3
    assert notified == [(50, 30)]
    changes = [entry.text for entry in controller.engine.machine.journal.since(0)[-3:]]
    steps = ((50, 10), (10, 20), (20, 30))
    assert changes == [f"pwm.0.duty changed from {old} to {new}" for old, new in steps]
    assert controller.engine.values["PWM0.duty"] == 30


async def test_fault_in_one_acting_change_fails_its_client_alone(
    twin: LoopTwin, store: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Controller._apply

    def fail_once(
        controller: Controller, settings: Settings, *given: Any, **how: Any
    ) -> Outstanding | None:
        if settings.pwm[0].duty == 20:
            raise ZeroDivisionError
        return apply(controller, settings, *given, **how)

    monkeypatch.setattr(Controller, "_apply", fail_once)
    asked = [asyncio.ensure_future(twin.ask(f"/stm.cgi?pwmd=0{duty}")) for duty in (10, 20, 30)]
    await turns()
    store.finish()
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [getattr(one, "status", type(one)) for one in found] == [200, ZeroDivisionError, 200]
    assert twin.controller.engine.settings is twin.controller.pending
    assert twin.controller.engine.settings.pwm[0].duty == 30


async def test_change_that_cannot_be_stored_is_507_and_changes_nothing(
    twin: LoopTwin, store: SlowStore
) -> None:
    before = twin.controller.engine.settings
    asked = [
        asyncio.ensure_future(twin.ask(target))
        for target in ("/stm.cgi?oname=0Lamp", "/stm.cgi?oname=1Pump")
    ]
    await turns()
    store.fail()
    replies = [await reply for reply in asked]
    assert [reply.status for reply in replies] == [507, 507]
    assert b"disk is full" in replies[0].body
    assert twin.controller.engine.settings is before
    store.holds = False
    await twin.ok("/stm.cgi?oname=2Gate")
    names = [output["name"] for output in (await twin.settings())["outputs"]]
    assert names == ["", "", "Gate", "", "", ""]


async def test_change_staged_on_one_that_fails_takes_nothing_of_it_along(
    twin: LoopTwin, store: SlowStore
) -> None:
    failing = asyncio.ensure_future(twin.ask("/stm.cgi?oname=0Lamp"))
    await turns()
    store.fail()
    # Before the failure has reached the controller another request is staged on top of it.
    store.holds = False
    await twin.refused("/stm.cgi?oname=1Pump", 507)
    assert (await failing).status == 507
    await twin.ok("/stm.cgi?oname=1Pump")
    names = [output["name"] for output in (await twin.settings())["outputs"][:2]]
    assert names == ["", "Pump"]
    assert twin.controller.pending == twin.controller.engine.settings


async def test_change_continues_when_the_client_leaves(twin: LoopTwin, store: SlowStore) -> None:
    asked = asyncio.ensure_future(twin.ask("/stm.cgi?oname=0Lamp"))
    await turns()
    asked.cancel()
    store.finish()
    await turns()
    assert twin.controller.engine.settings.outputs[0].name == "Lamp"


async def test_engine_follows_the_store_in_order_under_load(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    twin = await LoopTwin.start(store=store)

    async def count(position: int) -> None:
        for number in range(1, 101):
            await twin.ok(f"/eeprom.cgi?dword{position}={number}")

    await asyncio.gather(*(count(position) for position in range(4)))
    assert twin.controller.engine.settings.variables.dwords == (100,) * 4
    assert store.load().settings["variables.dwords"] == [100] * 4
    assert twin.controller.pending is twin.controller.engine.settings
    await twin.controller.stop()


async def test_energy_is_on_disk_after_a_clean_stop() -> None:
    store = MemoryStore()
    twin = await LoopTwin.start(store=store)
    await twin.ok("/inpa.cgi?powsave=1&powset=01500")
    await twin.ok("/inpa.cgi?powsel=0*10")
    await twin.ok("/sim.cgi?m1=2&advance=1800")
    await twin.controller.stop()
    again = await LoopTwin.start(store=store)
    assert (await again.state())["ENERGY1"] == pytest.approx(2.5)


async def test_log_shows_what_a_request_changed_but_no_secret() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?oname=0Lamp&em4=canary")
    await twin.ok("/stm.cgi?postop=0*" + "*".join(["1"] * 79))
    texts = [entry["text"] for entry in await twin.json("/api/log")]
    assert 'outputs.0.name changed from "" to "Lamp"; email.password changed' in texts
    assert max(len(text) for text in texts) < 250
    assert not any("canary" in text for text in texts)


async def test_failing_watcher_affects_neither_the_change_nor_other_watchers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    twin = await LoopTwin.start()
    calls: list[None] = []
    twin.controller.watchers |= {lambda: 1 // 0, lambda: calls.append(None)}
    await twin.ok("/stm.cgi?oname=0Pump")
    assert twin.controller.engine.settings.outputs[0].name == "Pump"
    assert calls
    assert "a part failed to apply a state change" in caplog.text


async def test_watchers_are_notified_of_every_restart() -> None:
    twin = await LoopTwin.start()
    calls: list[None] = []
    twin.controller.watchers.add(lambda: calls.append(None))
    await twin.ok("/outs.cgi?oafs=01")
    for _ in range(2):
        calls.clear()
        await twin.ok("/stm.cgi?devrestart=1")
        await asyncio.sleep(0)
        assert calls
