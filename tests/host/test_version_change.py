"""A data folder that is started as another version."""

from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.host import serve
from leverframe.host.configuration import AskedVersion, Config
from leverframe.host.start_version import STORED_EDITION, UPDATE, settle_version
from leverframe.server.routes.router import THIS_MACHINE
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.store import DELETED, Changes, MemoryStore, Rows, Store, Stored
from leverframe.testing import LoopTwin


async def start_twin(store: MemoryStore, hw: str | None = None, sw: str | None = None) -> LoopTwin:
    """As `leverframe run --hw --sw` does."""
    settled = await settle_version(store, AskedVersion(hw, sw), store.load())
    return await LoopTwin.start(settled.profile, store=store)


async def test_settings_that_the_other_version_lacks_are_reported() -> None:
    store = MemoryStore()
    new = await start_twin(store)
    await new.ok("/stm.cgi?oname=0Pump&modbus_sensor=21")
    await new.ok("/outs.cgi?roafs=01")
    await new.ok("/inpa.cgi?diffsel=5*0*1*1")
    old = await start_twin(store, "3.0", "1.58a")
    assert old.controller.profile == Profile("3.0", "1.58a")
    settings = await old.settings()
    assert settings["outputs"][0] | {"name": "Pump", "remember": False} == settings["outputs"][0]
    assert len(settings["differentials"]) == 3
    report = {entry["path"] for entry in await old.json("/api/restore-report")}
    assert {"modbus_slots.2.module", "outputs.0.remember", "differentials.5.second"} <= report
    changed = (await old.json("/api/audit"))[-1]
    assert changed["cause"] == "start"
    assert [change["path"] for change in changed["changes"]] == ["profile.hw", "profile.sw"]


async def test_state_unknown_to_the_version_between_switches_nothing_on() -> None:
    store = MemoryStore()
    new = await start_twin(store, "3.9", "1.75")
    await new.ok("/outs.cgi?roafs=01")
    await new.ok("/outs.cgi?out0=1")
    old = await start_twin(store, "3.5", "1.29")
    await old.ok("/outs.cgi?out0=1")
    await old.ok("/outs.cgi?out0=0")
    await old.controller.stop()
    again = await start_twin(store, "3.9", "1.75")
    assert (await again.settings())["outputs"][0]["remember"] is True
    assert (await again.outputs())[0] == "0"


async def test_event_entries_keep_their_meaning_in_the_dialect_of_the_version() -> None:
    store = MemoryStore()
    old = await start_twin(store, "3.0", "1.58a")
    await old.ok("/inpa.cgi?event=0*10*0*2150*50*0*7*0*0*0*0*0&eventon=0*1")
    (rule,) = old.controller.engine.settings.rules
    new = await start_twin(store, "3.9", "1.75")
    assert new.controller.engine.settings.rules == (rule,)
    assert (rule.source, rule.action, rule.value) == ("DS1", "OUT3", 1)
    texts = [(await twin.ok("/xml/eve2.xml")).body for twin in (old, new)]
    assert texts[0] != texts[1]
    assert await new.json("/api/restore-report") == []


async def test_lists_follow_the_version_both_ways_and_nothing_is_lost() -> None:
    store = MemoryStore()
    new = await start_twin(store)
    flags = "01" * 66
    await new.ok(f"/stm.cgi?echeck={flags}")
    await new.ok("/inpa.cgi?diffsel=5*0*1*1")
    before = await new.settings()
    old = await start_twin(store, "3.5", "1.40")
    assert len((await old.settings())["layout"]["visible"]) < len(flags)
    assert len((await old.settings())["differentials"]) == 3
    again = await start_twin(store, "3.9", "1.75")
    assert await again.settings() == before
    assert await again.json("/api/restore-report") == []


async def test_reset_discards_the_settings_of_an_earlier_version() -> None:
    store = MemoryStore()
    new = await start_twin(store)
    await new.ok("/inpa.cgi?diffsel=5*0*1*1")
    old = await start_twin(store, "3.0", "1.58a")
    await old.ok("/stm.cgi?eeprom_reset=1")
    again = await start_twin(store, "3.9", "1.75")
    assert again.controller.engine.settings == (await LoopTwin.start()).controller.engine.settings


async def test_same_version_is_started_without_a_report() -> None:
    store = MemoryStore()
    first = await start_twin(store)
    await first.ok("/stm.cgi?oname=0Pump")
    again = await start_twin(store)
    assert (await again.settings())["outputs"][0]["name"] == "Pump"
    assert await store.blob("restore-report") is None
    assert await store.blob("earlier-version") is None


#: Conditions on INPD1: those of entries 0 and 2 are `< 1`; the second condition of 3 is not used.
DIGITAL_RULES = (
    "event=0*100*1*1*0*0*0*0*0*0*0&rulename=0*Door&eventon=0*1"
    "&event=1*100*0*1*0*0*0*0*0*0*0&event=2*10*0*2150*0*1*0*100*1*1*0&event=3*10*0*1*0*0*0*100*1*1*0"
    "&event=5*100*1*0*0*0*0*0*0*0*0"
)


async def of_an_earlier_program(store: MemoryStore) -> None:
    """Make a store as programs left it that took `< 1` of a digital source as 1."""
    first = await start_twin(store)
    await first.ok(f"/inpa.cgi?{DIGITAL_RULES}")
    await first.controller.stop()
    await store.commit(Changes(kept={STORED_EDITION: DELETED}))


async def test_rules_that_an_update_reverses_are_reported_once_by_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    await of_an_earlier_program(store)
    stored = store.load().settings
    updated = await start_twin(store)
    assert store.load().settings == stored, "the entries stay as they were sent"
    report = await updated.json("/api/restore-report")
    assert [(one["path"], one["value"]) for one in report] == [
        ("rules.0", "INPD1 < 1"),
        ("rules.2", "INPD1 < 1"),
    ]
    assert report[0]["reason"].startswith("Rule Door: INPD1 < 1 is met at 0")
    assert [one.message[:9] for one in caplog.records] == ["Rule Door", "Rule 3: I"]
    (entry,) = [one for one in await updated.json("/api/audit") if one["detail"] == UPDATE.detail]
    assert [(one["path"], one["old"], one["new"]) for one in entry["changes"]] == [
        ("rules.0", "met at 1", "met at 0"),
        ("rules.2", "met at 1", "met at 0"),
    ]
    caplog.clear()
    count = len(await updated.json("/api/audit"))
    again = await start_twin(store)
    assert (caplog.records, len(await again.json("/api/audit"))) == ([], count)
    assert await again.json("/api/restore-report") == report


async def test_rules_are_reported_with_what_another_version_lacks() -> None:
    store = MemoryStore()
    await of_an_earlier_program(store)
    old = await start_twin(store, "3.0", "1.58a")
    report = [one["path"] for one in await old.json("/api/restore-report")]
    assert report[-2:] == ["rules.0", "rules.2"]


async def test_rules_of_this_program_are_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    first = await start_twin(store)
    await first.ok(f"/inpa.cgi?{DIGITAL_RULES}")
    again = await start_twin(store)
    assert (caplog.records, await again.json("/api/restore-report")) == ([], [])


class ReadableStore(MemoryStore):
    """Holds what it was given until writing is forbidden."""

    may_write = True

    async def write(self, rows: Rows) -> None:
        assert self.may_write, "nothing was to be written"
        await super().write(rows)


async def test_same_version_is_settled_without_writing() -> None:
    store = ReadableStore()
    for asked in (AskedVersion(), AskedVersion("3.0", "1.58a")):
        store.may_write = True
        first, is_new = await settle_version(store, asked, store.load())
        assert is_new
        store.may_write = False
        assert await settle_version(store, asked, store.load()) == (first, False)


async def test_start_reads_the_store_once_unless_its_version_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Store] = []
    load = EncryptingStore.load

    def count_load(store: EncryptingStore) -> Stored:
        loads.append(store)
        return load(store)

    monkeypatch.setattr(EncryptingStore, "load", count_load)
    rows, folder = MemoryStore(), DataFolder(tmp_path / "data")
    for sw, count in (("1.58a", 2), ("1.58a", 1), ("1.75", 2)):
        config = Config(hw="3.0" if sw == "1.58a" else "3.9", sw=sw)
        store = EncryptingStore(rows, folder.key_path)
        built = await serve._build(config, folder, store, THIS_MACHINE)
        await built.stop()
        assert built.controller.profile.sw == sw
        assert len(loads) == count
        loads.clear()
    folder.close()


async def test_settings_that_cannot_be_converted_do_not_block_the_start() -> None:
    store = MemoryStore()
    first = await start_twin(store)
    await first.ok("/stm.cgi?oname=0Pump")
    store._rows.settings["pwm.0.duty"] = "101"
    again = await start_twin(store, "3.9", "1.60a")
    assert (await again.settings())["outputs"][0]["name"] == "Pump"
    (entry,) = await again.json("/api/restore-report")
    assert "could not be converted" in entry["reason"]
