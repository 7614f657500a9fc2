"""The audit trail: every change of a setting, who made it, and nothing that is secret."""

from typing import Any

import msgspec

from leverframe.core.engine.journal import Cause
from leverframe.storage import audit
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.server.signing_up import ADMINISTRATOR, basic, start_with_accounts


async def trail(twin: LoopTwin) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = await twin.json("/api/audit")
    return entries


async def test_change_is_noted_with_time_account_source_old_and_new_value() -> None:
    twin = await start_with_accounts()
    credentials = basic(*ADMINISTRATOR)
    await twin.ask("/stm.cgi?oname=0Lamp", authorization=credentials)
    await twin.ask("/stm.cgi?oname=0Pump", authorization=credentials)
    reply = await twin.ask("/api/audit", authorization=credentials)
    last = msgspec.json.decode(reply.body)[-1]
    assert last["changes"] == [{"path": "outputs.0.name", "old": "Lamp", "new": "Pump"}]
    assert (last["account"], last["source"]) == ("chief", "127.0.0.1")
    assert last["time"] == twin.controller.clock.read().wall
    assert last["not_listed"] == 0


async def test_secrets_are_masked() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?em4=first-canary")
    await twin.ok("/stm.cgi?em4=second-canary")
    await twin.ok("/stm.cgi?em4=")
    found = [entry["changes"][0] for entry in await trail(twin)]
    assert [(change["old"], change["new"]) for change in found] == [
        (None, "***"),
        ("***", "***"),
        ("***", None),
    ]


async def test_address_shows_its_server_and_a_body_nothing() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?http1=https://hook.example:8443/go%3Ft=canary&httppost1=1*canary")
    await twin.ok("/stm.cgi?http1=")
    first, second = (entry["changes"] for entry in await trail(twin))
    assert [(change["path"], change["new"]) for change in first] == [
        ("http.0.url", "https://hook.example:8443/***"),
        ("http.0.post", True),
        ("http.0.body", "***"),
    ]
    assert second == [{"path": "http.0.url", "old": "https://hook.example:8443/***", "new": None}]


async def test_refused_request_and_a_read_leave_no_entry() -> None:
    twin = await LoopTwin.start()
    await twin.refused("/stm.cgi?oname=9x", 400)
    await twin.ok("/outs.cgi")
    assert await trail(twin) == []


async def test_audit_trail_survives_a_restart_and_continues_its_numbers() -> None:
    store = MemoryStore()
    twin = await LoopTwin.start(store=store)
    await twin.ok("/stm.cgi?oname=0Lamp")
    again = await LoopTwin.start(store=store)
    await again.ok("/stm.cgi?eeprom_reset=1")
    entries = await trail(again)
    assert [entry["number"] for entry in entries] == [1, 2, 3]
    assert entries[1]["changes"] == [{"path": "outputs.0.name", "old": "Lamp", "new": ""}]


async def test_only_the_newest_entries_are_kept() -> None:
    store = MemoryStore()
    twin = await LoopTwin.start(store=store)
    fewest = most = audit.MAX_ENTRIES
    for number in range(1, audit.MAX_ENTRIES + 2 * audit.GO_TOGETHER + 4):
        await twin.ok(f"/stm.cgi?oname=0n{number}")
        if number > audit.MAX_ENTRIES:
            on_disk = len(store.load().audit)
            fewest, most = min(fewest, on_disk), max(most, on_disk)
    for reader in (twin, await LoopTwin.start(store=store)):
        entries = await trail(reader)
        assert len(entries) == audit.MAX_ENTRIES
        assert entries[-1]["changes"][0]["new"] == f"n{number}"
    # Those that are outlived go many at a time, and none before it is outlived.
    assert fewest == audit.MAX_ENTRIES
    assert most == audit.MAX_ENTRIES + audit.GO_TOGETHER - 1


def read_entry(text: str | None) -> dict[str, Any]:
    """Read an entry as it is stored: a text that holds its JSON."""
    assert text is not None
    entry: dict[str, Any] = msgspec.json.decode(msgspec.json.decode(text, type=str))
    return entry


def test_upload_is_noted_by_its_size() -> None:
    (text,) = audit.AuditTrail(()).rows(0.0, Cause("command"), [], {"site": b"1234"}).values()
    assert read_entry(text)["changes"] == [{"path": "site", "old": None, "new": "4 bytes"}]


def test_request_that_changes_everything_is_cut_short() -> None:
    leaves = [(f"variables.words.{number}", 0, 1) for number in range(1000)]
    (text,) = audit.AuditTrail(()).rows(0.0, Cause("command"), leaves, {}).values()
    entry = read_entry(text)
    assert (len(entry["changes"]), entry["not_listed"]) == (200, 800)
