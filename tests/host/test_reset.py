"""After a reset no byte of an erased secret is left in the data folder."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from leverframe.__main__ import main
from tests.host.controller_process import ControllerProcess, contents_of, controller_process

#: Mail, SMS, HTTP1 and the modem: secrets that are sealed in the store.
SECRETS = (
    "/stm.cgi?em4=hunter2-of-the-mail",
    "/stm.cgi?gsmcode=hunter2-sms",
    "/stm.cgi?httpauth1=keeper*hunter2-of-http",
    "/stm.cgi?gsmapn=%22internet%22,%22me%22,%22hunter2-of-apn%22",
)


def read_stored_secrets(data: Path) -> set[bytes]:
    """Sealed secrets and password hashes as they stand in the store."""
    with closing(sqlite3.connect(data / "store.db")) as store:
        query = "SELECT value FROM setting WHERE value LIKE '%sealed:%' OR value LIKE '%argon2%'"
        return {value.strip('"').encode() for (value,) in store.execute(query)}


def files_with(data: Path, secrets: set[bytes]) -> list[str]:
    return [
        name
        for name, content in contents_of(data).items()
        if any(secret in content for secret in secrets)
    ]


def fill(process: ControllerProcess) -> set[bytes]:
    for command in SECRETS:
        status, body = process.ask(command)
        assert status == 200, (command, body)
    # Written over many times, so that old pages and the log have held them.
    for number in range(10):
        assert process.ask(f"/stm.cgi?oname=0Name{number}")[0] == 200
    return read_stored_secrets(process.folder)


def test_reset_over_http_leaves_no_byte_of_a_secret(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with controller_process(tmp_path) as process:
        secrets = fill(process)
        assert len(secrets) >= 3
    # A second start takes a snapshot that holds them.
    with controller_process(tmp_path) as process:
        assert {"store.db"} <= set(files_with(data, secrets))
        assert process.ask("/stm.cgi?eeprom_reset=1")[0] == 200
        left = files_with(data, secrets)
        assert [name for name in left if name.startswith("store.db")] == []
    assert files_with(data, secrets) == []
    assert files_with(data, {b"hunter2"}) == []


@pytest.mark.thorough
def test_reset_with_accounts_leaves_no_byte_of_their_passwords(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with controller_process(tmp_path) as process:
        fill(process)
        accounts = "/stm.cgi?auth=01YWRtaW4=*c2VjcmV0IHBhc3N3b3Jk*dXNlcg==*b3RoZXIgcGFzc3dvcmQ="
        assert process.ask(accounts)[0] == 200
        secrets = read_stored_secrets(data)
        assert any(secret.startswith(b"$argon2id$") for secret in secrets)
    assert main(["data", "reset", "--accounts", "--data", str(data)]) == 0
    assert files_with(data, secrets) == []
    assert files_with(data, {b"argon2id", b"hunter2"}) == []
    assert not (data / "secrets.key").exists()
