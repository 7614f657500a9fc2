"""Secrets that the key no longer opens: shown under `/health` until each is set again."""

from datetime import UTC
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import ControllerHost, build
from leverframe.server.http.messages import Reply, Request
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.store import Changes, MemoryStore

SECRETS = {"email.password": "mail-canary", "gsm.code": "1234"}


async def start_controller(inner: MemoryStore, key: Path) -> ControllerHost:
    return await build(Profile(), EncryptingStore(inner, key), VirtualClock(), UTC)


@pytest.mark.parametrize("damaged", [b"", b"short", bytes(32)])
async def test_damaged_key_degrades_health_until_the_secrets_are_set_again(
    tmp_path: Path, damaged: bytes
) -> None:
    inner, key = MemoryStore(), tmp_path / "secrets.key"
    await EncryptingStore(inner, key).commit(Changes(settings=dict(SECRETS)))
    right = key.read_bytes()
    key.write_bytes(damaged)
    built = await start_controller(inner, key)
    assert built.controller.engine.settings.email.password == ""
    report = built.controller.troubles["secrets"]
    assert "email.password" in report
    assert "gsm.code" in report
    assert any("secrets.key" in finding.text for finding in built.controller.findings.report())
    await built.stop()
    key.write_bytes(right)
    built = await start_controller(inner, key)
    assert "secrets" not in built.controller.troubles
    assert built.controller.engine.settings.email.password == "mail-canary"
    await built.stop()


async def test_missing_key_is_reported_and_secrets_that_are_set_again_end_it(
    tmp_path: Path,
) -> None:
    inner, key = MemoryStore(), tmp_path / "secrets.key"
    await EncryptingStore(inner, key).commit(Changes(settings=dict(SECRETS)))
    key.unlink()
    built = await start_controller(inner, key)
    assert not key.exists()
    for command, left in (("em4=new", ["gsm.code"]), ("gsmcode=5678", [])):
        request = Request("GET", "/stm.cgi", command, {"host": "localhost"}, b"", "127.0.0.1")
        answer = built.web.handle(request)
        reply = answer if isinstance(answer, Reply) else await answer
        assert reply.status == 200
        report = built.controller.troubles.get("secrets", "")
        assert [path for path in SECRETS if path in report] == left
    await built.stop()
    built = await start_controller(inner, key)
    assert "secrets" not in built.controller.troubles
    assert built.controller.engine.settings.email.password == "new"
    await built.stop()
