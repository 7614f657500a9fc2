"""The audit trail of what is switched: every way in, once for every change, bounded and kept."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable
from typing import Any

import msgspec
import pytest

from leverframe.core.engine.calls import Switch
from leverframe.core.engine.journal import Cause
from leverframe.core.tree import MASK
from leverframe.host.controller import Controller
from leverframe.server.modbus_registers import ModbusRegisters
from leverframe.server.sms_commands import SmsCommands
from leverframe.storage import audit
from leverframe.storage.action_audit import (
    GATHER_S,
    LONGEST_PAUSE_S,
    MAX_ON_DISK,
    ActionAudit,
    parse_actions,
    parse_entries,
)
from leverframe.storage.audit import ACTION_PREFIX
from leverframe.storage.sqlite import ReadOnlyStore
from leverframe.storage.store import MemoryStore, Rows, StoreUnavailable
from leverframe.storage.writer import Writer
from leverframe.testing import LoopTwin
from tests.devices.virtual_loop import run_virtually
from tests.full_disk import Disk
from tests.notify.broker import PATIENCE_S, until
from tests.server.signing_up import CONTROL_USER, basic, start_with_accounts


async def trail(twin: LoopTwin) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = await twin.json("/api/audit")
    return entries


def changes(entry: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(change["path"], change["old"], change["new"]) for change in entry["changes"]]


async def trail_of(controller: Controller) -> list[dict[str, Any]]:
    entries = await controller.action_audit.entries()
    return [msgspec.json.decode(raw) for raw in entries.values()]


async def test_switching_by_an_account_is_recorded_with_old_and_new_value() -> None:
    twin = await start_with_accounts()
    credentials = basic(*CONTROL_USER)
    assert (await twin.ask("/outs.cgi?out2=1", authorization=credentials)).status == 200
    assert (await twin.ask("/outs.cgi?out=out2", authorization=credentials)).status == 200
    *_, first, second = await trail_of(twin.controller)
    assert changes(first) == [("OUT2", 0, 1)]
    assert changes(second) == [("OUT2", 1, 0)]
    assert (second["account"], second["source"]) == ("panel", "127.0.0.1")
    assert second["time"] == twin.controller.clock.read().wall


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("out0=1&pwm1=1&vout3=1", [("OUT0", 0, 1), ("PWM1", 0, 1), ("EVENT4", 0, 1)]),
        ("out=out0&out=out0", [("OUT0", 0, 1), ("OUT0", 1, 0)]),
        ("pulse0=10", [("OUT0", 0, "on for 10 s")]),
    ],
)
async def test_joined_commands_are_one_entry(
    query: str, expected: list[tuple[str, int, int | str]]
) -> None:
    twin = await LoopTwin.start()
    await twin.ok(f"/outs.cgi?{query}")
    (entry,) = await trail(twin)
    assert changes(entry) == expected


async def test_switching_on_what_is_on_is_no_change() -> None:
    twin = await LoopTwin.start()
    for _ in range(3):
        await twin.ok("/outs.cgi?out0=1")
    assert len(await trail(twin)) == 1


async def test_settings_and_switching_read_as_one_trail_in_order() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/stm.cgi?oname=0Lamp")
    await twin.ok("/outs.cgi?out0=0")
    entries = await trail(twin)
    assert [entry["number"] for entry in entries] == [1, 2, 3]
    assert [changes(entry)[0][0] for entry in entries] == ["OUT0", "outputs.0.name", "OUT0"]


async def test_actions_without_switching_are_recorded_too() -> None:
    twin = await LoopTwin.start()
    wall = twin.controller.clock.read().wall
    for target in (
        "/stm.cgi?t_man=86400",
        "/inpa.cgi?powset=05",
        "/stm.cgi?gsmcmd=AT%2BCPIN%3D1234",
        "/stm.cgi?devrestart=1",
    ):
        await twin.ok(target)
    assert [changes(entry) for entry in await trail(twin)] == [
        [("clock", wall, 86400.0)],
        [("ENERGY1", 0.0, 0.005)],
        [("modem command", None, MASK)],
        [("restart", None, "done")],
    ]


async def test_modbus_and_sms_are_noted_with_their_source() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?gsmcode=4711")
    answer = ModbusRegisters(twin.controller).answer(
        bytes.fromhex("050000ff00"), "10.0.0.9", may_write=True
    )
    assert not isinstance(answer, Awaitable)
    said = await SmsCommands(twin.controller).take("+48123", "4711:out1=1")
    assert str(said).startswith("OK")
    modbus, sms = await trail_of(twin.controller)
    assert (changes(modbus), modbus["source"]) == ([("OUT0", 0, 1)], "10.0.0.9")
    assert (changes(sms), sms["source"]) == ([("OUT1", 0, 1)], "+48123")


async def test_newest_are_kept_in_few_rows_and_do_not_push_out_the_settings() -> None:
    store = MemoryStore()
    twin = await LoopTwin.start(store=store)
    await twin.ok("/stm.cgi?oname=0Lamp")
    for _ in range(5):
        for _ in range(audit.MAX_ENTRIES // 2):
            await twin.ok("/outs.cgi?out=out0")
        twin.controller.action_audit.write()
        await until(lambda: twin.controller.writer.is_idle)
    await until(lambda: len(store.load().audit) == 2)
    entries = await trail(twin)
    assert len(entries) == audit.MAX_ENTRIES + 1
    assert changes(entries[0])[0][0] == "outputs.0.name"
    assert entries[-1]["number"] == 1 + 5 * audit.MAX_ENTRIES // 2
    rows = [name for name in store.load().audit if name.startswith(ACTION_PREFIX)]
    assert len(rows) == 1


async def test_account_that_switches_all_day_pushes_out_only_its_own_entries() -> None:
    store = MemoryStore()
    machine, writer = (await LoopTwin.start()).controller.engine.machine, Writer(store)
    noting = ActionAudit(writer, audit.AuditTrail(()))

    def switch(account: str, times: int) -> None:
        for _ in range(times):
            noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command", account=account))

    def accounts(entries: Iterable[msgspec.Raw]) -> Counter[str]:
        return Counter(msgspec.json.decode(entry)["account"] for entry in entries)

    async def wait_for_write() -> None:
        noting.write()
        await until(lambda: writer.is_idle)

    switch("admin", 100)
    switch("panel", 300)
    await wait_for_write()
    for _ in range(10):
        switch("loud", audit.MAX_ENTRIES)
        await wait_for_write()
    expected = {"admin": 100, "panel": 300, "loud": 600}
    assert accounts((await noting.entries()).values()) == expected
    # The same after a restart, and not much more on disk.
    names = store.load().audit
    again = ActionAudit(Writer(store), audit.AuditTrail(names), names)
    assert await again.entries() == await noting.entries()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if len(parse_actions(await store.audit())) <= MAX_ON_DISK:
                break
            await asyncio.sleep(0.005)
    # A later account gets its share from the account with the most entries.
    switch("late", 200)
    assert accounts((await noting.entries()).values()) == {**expected, "loud": 400, "late": 200}


async def test_disk_that_takes_nothing_makes_no_account_lose_its_entries() -> None:
    store = Disk()
    twin = await LoopTwin.start(store=store)
    store.is_full = True
    machine, noting = twin.controller.engine.machine, twin.controller.action_audit
    noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command", account="admin"))
    for _ in range(3):
        for _ in range(audit.MAX_ENTRIES):
            noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command", account="loud"))
        noting.write()
        await until(lambda: twin.controller.writer.is_idle)
    store.is_full = False
    noting.write()
    await until(lambda: twin.controller.writer.is_idle)
    stored = [msgspec.json.decode(raw)["account"] for raw in parse_entries(await store.audit())]
    assert Counter(stored) == {"admin": 1, "loud": audit.MAX_ENTRIES - 1}


async def test_actions_survive_a_restart_and_continue_their_numbers() -> None:
    store = MemoryStore()
    twin = await LoopTwin.start(store=store)
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/outs.cgi?out0=0")
    before = await trail(twin)
    await twin.controller.stop()
    again = await LoopTwin.start(store=store)
    assert await trail(again) == before
    assert [msgspec.json.decode(raw) for raw in parse_entries(await store.audit())] == before
    await again.ok("/outs.cgi?out0=1")
    assert [entry["number"] for entry in await trail(again)] == [1, 2, 3]


async def test_entries_are_on_disk_a_moment_later_without_a_request() -> None:
    store, machine = MemoryStore(), (await LoopTwin.start()).controller.engine.machine
    noting = ActionAudit(Writer(store), audit.AuditTrail(()), gather_s=0.0)
    for label in ("OUT0", "OUT1"):
        noting.note(machine, [Switch(label, 1)], 0.0, Cause("command"))
    assert store.load().audit == []
    await until(lambda: bool(store.load().audit))
    assert len(parse_entries(await store.audit())) == 2


async def test_failed_writes_are_written_later() -> None:
    store = Disk()
    twin = await LoopTwin.start(store=store)
    await twin.ok("/outs.cgi?out0=1")
    store.is_full = True
    twin.controller.action_audit.write()
    await until(lambda: twin.controller.writer.is_idle)
    await twin.ok("/outs.cgi?out0=0")
    store.is_full = False
    twin.controller.action_audit.write()
    await until(lambda: twin.controller.writer.is_idle)
    assert len(parse_entries(await store.audit())) == 2


async def test_entries_of_earlier_starts_are_counted_and_thinned_with_the_first_new_one() -> None:
    store, machine = MemoryStore(), (await LoopTwin.start()).controller.engine.machine
    for _ in range(5):
        writer = Writer(store)
        noting = ActionAudit(writer, audit.AuditTrail(store.load().audit))
        for _ in range(audit.MAX_ENTRIES):
            noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command"))
        noting.end()
        await writer.flush()
    names = store.load().audit
    noting = ActionAudit(Writer(store), audit.AuditTrail(names), names, gather_s=0.0)
    noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command"))
    await until(lambda: len(store.load().audit) == 1)
    entries = parse_actions(await store.audit())
    assert (len(entries), entries[-1].number) == (audit.MAX_ENTRIES, 5 * audit.MAX_ENTRIES + 1)


async def test_store_that_cannot_be_read_is_not_thinned_and_nothing_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Unreadable(MemoryStore):
        async def audit(self, prefix: str = "") -> dict[str, str]:
            raise StoreUnavailable("The disk reported an error.")

    store, machine = Unreadable(), (await LoopTwin.start()).controller.engine.machine
    noting = ActionAudit(Writer(store), audit.AuditTrail(()), ["deed.000000000001"], gather_s=0.0)
    noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command"))
    await until(lambda: "could not be pruned: The disk reported an error." in caplog.text)
    assert len(store.load().audit) == 1


async def test_empty_trail_writes_nothing() -> None:
    store = MemoryStore()
    ActionAudit(Writer(store), audit.AuditTrail(())).write()
    assert store.load().kept == {}


class CountingStore(ReadOnlyStore):
    """Counts what it refuses."""

    def __init__(self) -> None:
        super().__init__(Rows(), "The disk is read-only.")
        self.tries = 0

    async def write(self, rows: Rows) -> None:
        self.tries += 1
        await super().write(rows)


def test_disk_that_takes_nothing_is_tried_less_and_less_often() -> None:
    async def scenario() -> None:
        store, machine = CountingStore(), (await LoopTwin.start()).controller.engine.machine
        noting = ActionAudit(Writer(store), audit.AuditTrail(()))
        noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command"))
        await asyncio.sleep(GATHER_S)
        await asyncio.sleep(LONGEST_PAUSE_S)
        assert 5 < store.tries < 12
        before = store.tries
        for _ in range(10):
            noting.note(machine, [Switch("OUT1", 1)], 0.0, Cause("command"))
            await asyncio.sleep(LONGEST_PAUSE_S)
        assert 8 <= store.tries - before <= 11

    run_virtually(scenario())


def test_failed_writes_at_the_end_are_not_retried() -> None:
    async def scenario() -> None:
        store, machine = CountingStore(), (await LoopTwin.start()).controller.engine.machine
        noting = ActionAudit(Writer(store), audit.AuditTrail(()))
        noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command"))
        noting.end()
        await asyncio.sleep(2 * LONGEST_PAUSE_S)
        assert store.tries == 1

    run_virtually(scenario())


def test_disk_that_takes_something_again_is_written_as_soon_as_ever() -> None:
    async def scenario() -> None:
        store, machine = Disk(), (await LoopTwin.start()).controller.engine.machine
        noting = ActionAudit(Writer(store), audit.AuditTrail(()))
        store.is_full = True
        noting.note(machine, [Switch("OUT0", 1)], 0.0, Cause("command"))
        await asyncio.sleep(600.0)
        store.is_full = False
        await asyncio.sleep(LONGEST_PAUSE_S)
        assert len(parse_entries(await store.audit())) == 1
        noting.note(machine, [Switch("OUT1", 1)], 0.0, Cause("command"))
        await asyncio.sleep(2 * GATHER_S)
        assert len(parse_entries(await store.audit())) == 2

    run_virtually(scenario())
