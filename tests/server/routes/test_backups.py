"""Backup and restore over HTTP: all or nothing, and the answer says what was left behind."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from random import Random
from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.storage.backup import FORMAT, MAGIC, encode_backup, pack, unpack
from leverframe.testing import LoopTwin
from tests.boundary_profiles import PROFILES
from tests.cases import for_each
from tests.full_disk import Disk
from tests.fuzzed_uploads import fuzz
from tests.patience import PATIENCE_S
from tests.random_settings import random_settings

OLD = Profile("3.0", "1.58a")
UPLOAD = "/post.cgi?settingsupload"
PASSPHRASE = "zażółć gęślą"
ENCODED = "za%C5%BC%C3%B3%C5%82%C4%87%20g%C4%99%C5%9Bl%C4%85"


async def with_settings(profile: Profile, tree: Settings) -> LoopTwin:
    twin = await LoopTwin.start(profile)
    await twin.ok(UPLOAD, "POST", encode_backup(profile, tree))
    return twin


def pack_content(content: object) -> bytes:
    text = msgspec.json.encode(content)
    return MAGIC + bytes([FORMAT]) + sha256(text).digest() + text


@for_each("profile", PROFILES[::5], ids=str)
async def test_backup_reset_and_restore_is_the_identity(profile: Profile) -> None:
    twin = await with_settings(profile, random_settings(profile, Random(str(profile)), 100))
    before = twin.controller.engine.settings
    backup = await twin.ok("/dev_settings.bin")
    await twin.ok("/stm.cgi?eeprom_reset=1")
    assert twin.controller.engine.settings != before
    reply = await twin.ok(UPLOAD, "POST", backup.body)
    assert ("Not-Carried-Over", "0") in reply.headers
    assert reply.content_type == "text/xml"
    assert twin.controller.engine.settings == before


async def test_passphrase_carries_passwords_and_accounts() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?em4=hunter2&http1=example.org&oname=0Lamp")
    await twin.ok("/stm.cgi?auth=01YWRtaW4=*c2VjcmV0*dXNlcg==*")
    backup = await twin.ask("/dev_settings.bin", backup_passphrase=ENCODED)
    other = await LoopTwin.start()
    reply = await other.ask(UPLOAD, "POST", backup.body, backup_passphrase=ENCODED)
    assert reply.status == 200
    assert other.controller.engine.settings == twin.controller.engine.settings
    assert other.controller.engine.settings.email.password == "hunter2"


async def test_without_the_passphrase_passwords_are_left_out_and_reported() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?em4=hunter2&oname=0Lamp")
    backup = await twin.ok("/dev_settings.bin")
    assert b"hunter2" not in backup.body
    other = await LoopTwin.start()
    reply = await other.ok(UPLOAD, "POST", backup.body)
    assert ("Not-Carried-Over", "1") in reply.headers
    (lost,) = await other.json("/api/restore-report")
    assert (lost["path"], lost["value"]) == ("email.password", None)
    assert "without its secrets" in lost["reason"]


async def test_restore_trial_names_what_would_change_and_changes_nothing() -> None:
    other = await LoopTwin.start()
    await other.ok("/stm.cgi?em4=hunter2&oname=0Lamp")
    backup = (await other.ask("/dev_settings.bin", backup_passphrase=ENCODED)).body
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?oname=1Pump&em4=earlier")
    await twin.ok("/inpa.cgi?event=0*104*1*1*0*0*0*0*0*0*0&rulename=0*Door")
    before = twin.controller.engine.settings
    reply = await twin.ask("/api/restore/try", "POST", backup, backup_passphrase=ENCODED)
    trial = msgspec.json.decode(reply.body)
    changes = {one["path"]: (one["old"], one["new"]) for one in trial["changes"]}
    assert changes["outputs.0.name"] == ("", "Lamp")
    assert changes["outputs.1.name"] == ("Pump", "")
    assert changes["email.password"] == ("***", "***")
    assert changes["rules.0.name"] == ("Door", None)
    assert trial["not_carried_over"] == []
    assert twin.controller.engine.settings is before
    await twin.ask(UPLOAD, "POST", backup, backup_passphrase=ENCODED)
    reply = await twin.ask("/api/restore/try", "POST", backup, backup_passphrase=ENCODED)
    assert msgspec.json.decode(reply.body)["changes"] == []
    without = await twin.ok("/api/restore/try", "POST", backup)
    (lost,) = msgspec.json.decode(without.body)["not_carried_over"]
    assert (lost["path"], lost["value"]) == ("email.password", None)
    assert (await twin.ask("/api/restore/try", "POST", backup[:-1])).status == 400


async def test_backup_of_an_earlier_program_reports_the_rules_that_mean_the_opposite_now(
    caplog: pytest.LogCaptureFixture,
) -> None:
    twin = await LoopTwin.start()
    await twin.ok(
        "/inpa.cgi?event=4*104*1*1*0*0*0*0*0*0*0&rulename=4*Door&event=6*104*0*1*0*0*0*0*0*0*0"
    )
    backup = (await twin.ok("/dev_settings.bin")).body
    other = await LoopTwin.start()
    await other.ok(UPLOAD, "POST", backup)
    assert await other.json("/api/restore-report") == []
    earlier = pack(msgspec.structs.replace(unpack(backup), edition=1))
    assert b"edition" not in earlier, "earlier programs wrote no such key"
    reply = await other.ok(UPLOAD, "POST", earlier)
    assert ("Not-Carried-Over", "1") in reply.headers
    (remark,) = await other.json("/api/restore-report")
    assert (remark["path"], remark["value"]) == ("rules.4", "EVENT1 < 1")
    assert remark["reason"].startswith("Rule Door: EVENT1 < 1 is met at 0")
    assert "Rule Door" in caplog.text
    assert other.controller.engine.settings.rules == twin.controller.engine.settings.rules


async def test_restore_without_the_passphrase_names_the_secrets_it_left_out() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?em4=hunter2&oname=0Lamp")
    backup = await twin.ask("/dev_settings.bin", backup_passphrase=ENCODED)
    other = await LoopTwin.start()
    await other.ok("/stm.cgi?em4=present")
    reply = await other.ok(UPLOAD, "POST", backup.body)
    assert ("Secrets-Not-Restored", "email.password") in reply.headers
    settings = other.controller.engine.settings
    assert (settings.outputs[0].name, settings.email.password) == ("Lamp", "present")
    (lost,) = await other.json("/api/restore-report")
    assert lost["path"] == "email.password"
    whole = await other.ask(UPLOAD, "POST", backup.body, backup_passphrase=ENCODED)
    assert "Secrets-Not-Restored" not in dict(whole.headers)


@for_each("name", ["x\r\nSet-Cookie: a=b", "email.password\n", "http.\u0661.url", ""])
async def test_made_up_name_of_a_secret_is_in_no_header(name: str) -> None:
    twin = await LoopTwin.start()
    content = {"hw": "3.9", "sw": "1.75", "settings": {}, "left_out": [name]}
    reply = await twin.ok(UPLOAD, "POST", pack_content(content))
    assert ("Secrets-Not-Restored", "all") in reply.headers


HOOK = "/stm.cgi?http1=https://hook.example/go%3Ftoken=canary-url&httppost1=1*canary-body"


async def test_addresses_and_bodies_of_http_are_in_a_backup_only_with_a_passphrase() -> None:
    twin = await LoopTwin.start()
    await twin.ok(HOOK)
    backup = (await twin.ok("/dev_settings.bin")).body
    assert b"canary" not in backup
    other = await LoopTwin.start()
    await other.ok("/stm.cgi?http1=own.example/x")
    await other.ok(UPLOAD, "POST", backup)
    assert other.controller.engine.settings.http[0].url == "own.example/x"
    assert {lost["path"] for lost in await other.json("/api/restore-report")} == {
        "http.0.url",
        "http.0.body",
    }
    sealed = (await twin.ask("/dev_settings.bin", backup_passphrase=ENCODED)).body
    assert b"canary" not in sealed
    await other.ask(UPLOAD, "POST", sealed, backup_passphrase=ENCODED)
    assert other.controller.engine.settings.http == twin.controller.engine.settings.http


async def test_backup_of_an_earlier_version_that_holds_addresses_openly_restores_them() -> None:
    twin = await LoopTwin.start()
    earlier = {"hw": "3.9", "sw": "1.75", "settings": {"http.0.url": "hook.example/x?t=1"}}
    await twin.ok(UPLOAD, "POST", pack_content(earlier))
    assert twin.controller.engine.settings.http[0].url == "hook.example/x?t=1"


async def test_bad_address_in_a_backup_is_not_repeated() -> None:
    twin = await LoopTwin.start()
    bad = {"hw": "3.9", "sw": "1.75", "settings": {"http.0.url": "ftp://x/?canary"}}
    reply = await twin.ask(UPLOAD, "POST", pack_content(bad))
    assert reply.status == 400
    assert b"canary" not in reply.body


async def test_wrong_passphrase_changes_nothing() -> None:
    twin = await LoopTwin.start()
    backup = await twin.ask("/dev_settings.bin", backup_passphrase=ENCODED)
    await twin.ok("/stm.cgi?oname=0Lamp")
    reply = await twin.ask(UPLOAD, "POST", backup.body, backup_passphrase="wrong-one")
    assert reply.status == 400
    assert b"passphrase" in reply.body
    assert (await twin.settings())["outputs"][0]["name"] == "Lamp"


async def test_passphrase_that_will_not_do_is_refused_and_not_repeated() -> None:
    twin = await LoopTwin.start()
    for bad in ("short", "x" * 129, "%FF%FEabcdefgh", "a%00bcdefghij"):
        reply = await twin.ask("/dev_settings.bin", backup_passphrase=bad)
        assert reply.status == 400
        assert bad.encode() not in reply.body


async def test_backup_of_another_version_is_converted_and_the_rest_listed() -> None:
    old = await LoopTwin.start(OLD)
    await old.ok("/stm.cgi?oname=0Pump&modbusid=12")
    await old.ok("/inpa.cgi?event=0*10*0*2150*50*0*7*0*0*0*0*0&eventon=0*1")
    new = await LoopTwin.start()
    await new.ok(UPLOAD, "POST", (await old.ok("/dev_settings.bin")).body)
    there = new.controller.engine.settings
    assert (there.outputs[0].name, there.modbus_slots[0].slave_id) == ("Pump", 12)
    assert (there.rules[0].source, there.rules[0].action, there.rules[0].value) == (
        "DS1",
        "OUT3",
        1,
    )
    assert await new.json("/api/restore-report") == []
    await new.ok("/outs.cgi?roafs=01")
    await new.ok("/stm.cgi?modbus_sensor=21")
    reply = await old.ok(UPLOAD, "POST", (await new.ok("/dev_settings.bin")).body)
    assert ("Not-Carried-Over", "2") in reply.headers
    listed = [lost["path"] for lost in await old.json("/api/restore-report")]
    assert sorted(listed) == ["modbus_slots.2.module", "outputs.0.remember"]
    assert old.controller.engine.settings.rules == there.rules


async def test_restore_is_in_the_log_and_the_audit_trail() -> None:
    twin = await LoopTwin.start()
    await twin.ok(UPLOAD, "POST", pack_content({"hw": "3.9", "sw": "1.75", "settings": {"a.b": 1}}))
    assert any("restore-report" in entry["text"] for entry in await twin.json("/api/log"))
    assert (await twin.json("/api/audit"))[-1]["changes"]


async def test_restore_that_leaves_much_out_is_one_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    twin = await LoopTwin.start()
    unknown = {f"unknown.{number}": 1 for number in range(4000)}
    reply = await twin.ok(
        UPLOAD, "POST", pack_content({"hw": "3.9", "sw": "1.75", "settings": unknown})
    )
    assert ("Not-Carried-Over", "4000") in reply.headers
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == "the restore skipped 4000 settings; /api/restore-report lists them"
    assert len(await twin.json("/api/restore-report")) == 4000


class HeldThreads(ThreadPoolExecutor):
    """The threads beside the loop, which begin a piece of work only on command."""

    def __init__(self) -> None:
        super().__init__(1)
        self._held = asyncio.Semaphore(0)
        self._go = threading.Semaphore(0)
        asyncio.get_running_loop().set_default_executor(self)

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        self._held.release()

        def when_released() -> Any:
            # Not for ever: a test that fails must end.
            assert self._go.acquire(timeout=PATIENCE_S)
            return work(*given, **named)

        return super().submit(when_released)

    async def hold_something(self) -> None:
        await asyncio.wait_for(self._held.acquire(), PATIENCE_S)

    def proceed(self) -> None:
        self._go.release()


@for_each(
    ("target", "body"),
    [
        (UPLOAD, pack_content({})),
        ("/post.cgi?sched_save", b"x" * 40_000),
        ("/post.cgi?oled_save", b"x" * 40_000),
        ("/post.cgi?wwwfileupload", b"x"),
        ("/post.cgi?pictureupload", b"x"),
    ],
)
async def test_clients_are_answered_while_a_body_is_checked(target: str, body: bytes) -> None:
    twin, threads = await LoopTwin.start(), HeldThreads()
    asked = asyncio.ensure_future(twin.ask(target, "POST", body))
    await threads.hold_something()
    await twin.ok("/outs.cgi?out0=1")
    assert not asked.done()
    threads.proceed()
    assert (await asked).status == 400


async def test_password_that_is_changed_during_a_restore_stays_changed() -> None:
    twin = await LoopTwin.start()
    backup = (await twin.ok("/dev_settings.bin")).body
    threads = HeldThreads()
    restoring = asyncio.ensure_future(twin.ask(UPLOAD, "POST", backup))
    # While it is decoded, while it is converted, and not any more while it is converted again.
    for command in ("oname=0Lamp", "em4=hunter2", None):
        await threads.hold_something()
        if command is not None:
            await twin.ok(f"/stm.cgi?{command}")
        threads.proceed()
    assert (await restoring).status == 200
    assert twin.controller.engine.settings.email.password == "hunter2"
    assert twin.controller.engine.settings.outputs[0].name != "Lamp"


async def test_restore_gives_up_where_settings_change_all_the_time() -> None:
    twin = await LoopTwin.start()
    backup = (await twin.ok("/dev_settings.bin")).body
    threads = HeldThreads()
    restoring = asyncio.ensure_future(twin.ask(UPLOAD, "POST", backup))
    for number in range(6):
        await threads.hold_something()
        await twin.ok(f"/stm.cgi?oname=0Lamp{number}")
        threads.proceed()
    assert (await restoring).status == 409
    assert b"send the backup again" in (await restoring).body
    assert twin.controller.engine.settings.outputs[0].name == "Lamp5"


@for_each(
    "settings",
    [{"pwm.0.duty": 101}, {"outputs.0.name": 7}, {"rules.0.source": "nothing"}, {"outputs": 5}],
)
async def test_one_bad_value_voids_the_whole_restore(settings: dict[str, object]) -> None:
    twin = await LoopTwin.start()
    before = twin.controller.engine.settings
    content = {"hw": "3.9", "sw": "1.75", "settings": {"outputs.1.name": "Lamp", **settings}}
    reply = await twin.ask(UPLOAD, "POST", pack_content(content))
    assert reply.status == 400
    assert reply.content_type == "application/problem+json"
    assert twin.controller.engine.settings is before
    assert twin.controller.pending is before


async def test_fuzzed_backups_are_refused_and_change_nothing() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?oname=0Lamp")
    sound = (await twin.ok("/dev_settings.bin")).body
    before = twin.controller.engine.settings
    for data in fuzz(sound, Random(8), 300):
        assert (await twin.ask(UPLOAD, "POST", data)).status == 400
    assert twin.controller.engine.settings is before


async def test_restore_that_cannot_be_stored_is_507_and_changes_nothing() -> None:
    store = Disk()
    twin = await LoopTwin.start(store=store)
    backup = (await twin.ok("/dev_settings.bin")).body
    await twin.ok("/stm.cgi?oname=0Lamp")
    before = twin.controller.engine.settings
    store.is_full = True
    assert (await twin.ask(UPLOAD, "POST", backup)).status == 507
    assert twin.controller.engine.settings is before
    assert twin.controller.pending is before


async def test_restore_comes_alone() -> None:
    twin = await LoopTwin.start()
    await twin.refused(f"{UPLOAD}&settingsupload", 400, "POST")
