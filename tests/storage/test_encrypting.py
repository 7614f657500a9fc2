"""Secrets in the store: sealed, with a key in a file of its own."""

import stat
from pathlib import Path

import pytest

from leverframe.interface.version_change.conversion import EARLIER
from leverframe.storage.encryption import EncryptingStore, KeyUnusable
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import DELETED, Changes, MemoryStore

SECRETS = {"email.password": "mail-canary", "gsm.code": "code-canary", "gsm.apn": "apn-canary"}


def content(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_sealed_value_is_read_back(tmp_path: Path) -> None:
    inner = MemoryStore()
    await EncryptingStore(inner, tmp_path / "key").commit(
        Changes(settings={**SECRETS, "x": "plain"})
    )
    assert EncryptingStore(inner, tmp_path / "key").load().settings == {**SECRETS, "x": "plain"}
    sealed = inner.load().settings
    assert sealed["x"] == "plain"
    assert all(sealed[path].startswith("sealed:1:") for path in SECRETS)


async def test_no_file_of_the_folder_holds_a_secret_in_the_clear(tmp_path: Path) -> None:
    store = EncryptingStore(SqliteStore(tmp_path / "store.db"), tmp_path / "key")
    await store.commit(Changes(settings=dict(SECRETS)))
    in_use = content(tmp_path)
    await store.close()
    afterwards = content(tmp_path)
    assert b"canary" not in in_use + afterwards


async def test_same_secret_is_sealed_differently_each_time(tmp_path: Path) -> None:
    inner = MemoryStore()
    store = EncryptingStore(inner, tmp_path / "key")
    sealed = set()
    for _ in range(10):
        await store.commit(Changes(settings={"gsm.code": "1234"}))
        sealed.add(inner.load().settings["gsm.code"])
    assert len(sealed) == 10


async def test_sealed_secret_cannot_be_moved_to_another_setting(tmp_path: Path) -> None:
    inner = MemoryStore()
    store = EncryptingStore(inner, tmp_path / "key")
    await store.commit(Changes(settings=dict(SECRETS)))
    stolen = inner.load().settings["email.password"]
    await inner.commit(Changes(settings={"gsm.code": stolen}))
    assert "gsm.code" not in store.load().settings


async def test_key_is_made_when_it_is_needed_and_is_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    store = EncryptingStore(MemoryStore(), tmp_path / "key")
    await store.commit(Changes(settings={"x": 1, "gsm.code": "", "email.password": DELETED}))
    assert not (tmp_path / "key").exists()
    await store.commit(Changes(settings={"gsm.code": "1"}))
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


async def test_without_its_key_a_secret_counts_as_not_set(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inner = MemoryStore()
    hashed = {"access.admin.password": "$argon2id$hash"}
    await EncryptingStore(inner, tmp_path / "key").commit(Changes(settings={**SECRETS, **hashed}))
    (tmp_path / "other").write_bytes(bytes(32))
    stored = EncryptingStore(inner, tmp_path / "other").load()
    assert stored.settings == hashed
    assert sorted(stored.unreadable) == sorted(SECRETS)
    assert "other does not decrypt the stored secrets" in stored.why_unreadable
    assert "email.password" in caplog.text
    assert "canary" not in caplog.text


async def test_damaged_key_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(KeyUnusable, match="damaged"):
        await EncryptingStore(MemoryStore(), tmp_path / "key").commit(
            Changes(settings=dict(SECRETS))
        )


HOOK = "https://hooks.example/canary-token"
WEB_HOOK = {"http.0.url": HOOK, "http.0.body": "canary-body"}


async def test_web_hooks_messages_and_earlier_settings_are_sealed(tmp_path: Path) -> None:
    path, key = tmp_path / "store.db", tmp_path / "key"
    store = EncryptingStore(SqliteStore(path), key)
    message = {"content": {"path": "/canary-token"}}
    await store.commit(
        Changes(settings=dict(WEB_HOOK), messages={7: message}, blobs={EARLIER: b"canary"})
    )
    in_use = content(tmp_path)
    await store.close()
    assert b"canary" not in in_use + content(tmp_path)
    again = EncryptingStore(SqliteStore(path), key)
    assert again.load().settings == WEB_HOOK
    assert again.messages() == {7: message}
    assert await again.blob(EARLIER) == b"canary"
    await again.close()


async def test_openly_stored_secret_is_read_and_reported(tmp_path: Path) -> None:
    inner = MemoryStore()
    secret = {"gsm.code": "1234"}
    message = {"content": {"path": "/canary-token"}}
    await inner.commit(
        Changes(settings={**WEB_HOOK, "x": 1}, messages={7: message}, blobs={EARLIER: b"canary"})
    )
    store = EncryptingStore(inner, tmp_path / "key")
    await store.commit(Changes(settings=dict(secret)))
    stored = store.load()
    assert stored.settings == {**WEB_HOOK, **secret, "x": 1}
    assert stored.unsealed == WEB_HOOK
    assert store.messages() == {7: message}
    assert await store.blob(EARLIER) == b"canary"


async def test_without_its_key_messages_and_earlier_settings_count_as_not_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inner = MemoryStore()
    store = EncryptingStore(inner, tmp_path / "key")
    await store.commit(Changes(messages={7: {"text": "canary"}}, blobs={EARLIER: b"canary"}))
    other = EncryptingStore(inner, tmp_path / "other")
    assert other.messages() == {}
    assert await other.blob(EARLIER) is None
    assert "message.7 cannot be decrypted" in caplog.text
    # Nor can one be put in the place of another.
    await inner.commit(Changes(messages={8: inner.messages()[7]}))
    assert store.messages() == {7: {"text": "canary"}}


async def test_damaged_key_holds_up_nothing_but_messages(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "key").write_bytes(b"short")
    inner = MemoryStore()
    store = EncryptingStore(inner, tmp_path / "key")
    await store.commit(Changes(settings={"x": 1}, messages={7: {"text": "a"}, 8: DELETED}))
    assert inner.load().settings == {"x": 1}
    assert inner.messages() == {}
    assert "messages are not stored: The key" in caplog.text


@pytest.mark.parametrize(("key", "why"), [(None, "is missing"), (b"short", "is damaged")])
async def test_unusable_key_leaves_secrets_unset_and_the_right_one_brings_them_back(
    tmp_path: Path, key: bytes | None, why: str
) -> None:
    inner, path = MemoryStore(), tmp_path / "key"
    await EncryptingStore(inner, path).commit(Changes(settings={**SECRETS, "x": 1}))
    right = path.read_bytes()
    path.unlink() if key is None else path.write_bytes(key)
    stored = EncryptingStore(inner, path).load()
    assert stored.settings == {"x": 1}
    assert why in stored.why_unreadable
    assert (path.read_bytes() if path.exists() else None) == key
    path.write_bytes(right)
    again = EncryptingStore(inner, path).load()
    assert again.settings == {**SECRETS, "x": 1}
    assert again.unreadable == []
