"""Encryption of what is confidential in the store, with a key that lies in a file of its own.

A copy of the store, a snapshot or a disk handed on gives no password of a mail account and no
address of a web hook away. Sealed are secrets, the addresses and bodies of HTTP1-HTTP4, messages of
the outbox, and the settings of an earlier version. The key file is made when the first of these is
stored and is for its owner alone. Where it is the key of many controllers, each has its own, made
from it. Password hashes are not sealed: nothing can be read from them, and signing in must keep
working when a key is lost. What the key does not open counts as not set; the log and `/health` say
so. It stays in the store: with the right key it is there again.

Stores of earlier programs hold some of it openly. That is read as it is, and sealed at the next
start of the controller.
"""

import asyncio
import logging
import secrets
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.core.tree import is_confidential
from leverframe.interface.version_change.conversion import EARLIER
from leverframe.storage.private_files import write_private
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Rows, Store, Stored, StoreUnavailable

log = logging.getLogger(__name__)
_warn = LogThrottle(log).warning

#: The row of a fleet's job that holds what it does, which may be to set a password.
JOB_WORK = "job.work"
_MARK = "sealed:1:"
#: Uploads that hold settings.
_SEALED_BLOBS = frozenset({EARLIER})
_KEY_BYTES = 32
#: Secrets that a sentence names at most.
_NAMED = 5
_NONCE_BYTES = 12
#: What stands in the place of a secret that is not set, or is removed.
_NOT_SET = frozenset({'""', "null"})
_EMPTY = ("", None)


class Cipher(Protocol):
    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


class KeyUnusable(StoreUnavailable):
    """The key file cannot be read or made: one sentence."""


class EncryptingStore(Store):
    """A store that seals secrets on their way in and opens them on their way out."""

    def __init__(self, store: Store, key_path: Path) -> None:
        self._store = store
        self._sealer = Sealer(KeyFile(key_path))
        if isinstance(store, SqliteStore):
            # It seals in the thread that writes.
            store.seal = self._sealer.seal
            self.shared_queue = store.shared_queue

    def load(self) -> Stored:
        return self.open_secrets(self._store.load())

    def open_secrets(self, stored: Stored) -> Stored:
        """Open the secrets in what the store beneath holds."""
        return self._sealer.open_secrets(stored)

    async def audit(self, prefix: str = "") -> dict[str, str]:
        return await self._store.audit(prefix)

    async def blob(self, name: str) -> bytes | None:
        return self._sealer.open_blob(name, await self._store.blob(name))

    def messages(self) -> dict[int, Any]:
        return self._sealer.open_messages(self._store.messages())

    async def write(self, rows: Rows) -> None:
        if self.shared_queue is None and needs_sealing(rows):
            # The key may have to be read first, and the library loaded.
            rows = await asyncio.to_thread(self._sealer.seal, rows)
        await self._store.write(rows)

    async def close(self) -> None:
        await self._store.close()


def needs_sealing(rows: Rows) -> bool:
    """Return whether something among rows may be of a kind that is sealed."""
    return bool(rows.messages or rows.blobs) or any(map(_is_sealed, rows.settings))


def _messages_in(rows: Rows) -> dict[str, str]:
    return {number: text for number, text in rows.messages.items() if text is not None}


def _blobs_in(rows: Rows) -> dict[str, bytes]:
    found = ((name, rows.blobs.get(name)) for name in _SEALED_BLOBS) if rows.blobs else ()
    return {name: data for name, data in found if data is not None}


def _secrets_in(rows: Rows) -> dict[str, str]:
    return {
        path: text
        for path, text in rows.settings.items()
        if text is not None and text not in _NOT_SET and _is_sealed(path)
    }


class Sealer:
    """Seals and opens with the key of a file, or with one made from it for one of several."""

    def __init__(self, key_file: "KeyFile", controller: int | None = None) -> None:
        self._key_file = key_file
        self._controller = controller
        self._cipher: Cipher | None = None

    def seal(self, rows: Rows) -> Rows:
        """Return rows with what is confidential sealed; not on the event loop: it reads a file."""
        if not needs_sealing(rows):
            return rows
        texts = {path: self._seal_text(path, text) for path, text in _secrets_in(rows).items()}
        blobs = {
            name: _MARK.encode() + self._seal(_blob_path(name), data)
            for name, data in _blobs_in(rows).items()
        }
        return replace(
            rows,
            settings=rows.settings | texts,
            messages=self._seal_messages(rows),
            blobs=rows.blobs | blobs,
        )

    def _seal_messages(self, rows: Rows) -> dict[str, str | None]:
        """Seal messages; without a key they are not stored, and hold up nothing else."""
        found = _messages_in(rows)
        try:
            sealed = {
                number: self._seal_text(_message_path(number), text)
                for number, text in found.items()
            }
        except KeyUnusable as error:
            _warn(str(self._key_file.path), "messages", "messages are not stored: %s", error)
            sealed = {}
        return {number: None for number in rows.messages if number not in found} | sealed

    def open_secrets(self, stored: Stored) -> Stored:
        """Open the settings among what is stored; those that it cannot open count as not set."""
        for path, value in list(stored.settings.items()):
            if not _is_sealed(path) or value in _EMPTY:
                continue
            if not _has_mark(value):
                stored.unsealed = {**stored.unsealed, path: value}
                continue
            try:
                stored.settings[path] = msgspec.json.decode(self._open_text(path, value))
            except KeyUnusable as error:
                del stored.settings[path]
                stored.unreadable.append(path)
                stored.why_unreadable = str(error)
        if stored.unreadable:
            log.error("%s", unreadable_sentence(stored.unreadable, stored.why_unreadable))
        return stored

    def open_messages(self, messages: dict[int, Any]) -> dict[int, Any]:
        """Open messages of the outbox; leave those out that it cannot open."""
        found: dict[int, Any] = {}
        for number, value in messages.items():
            if not _has_mark(value):
                found[number] = value
                continue
            path = _message_path(number)
            try:
                found[number] = msgspec.json.decode(self._open_text(path, value))
            except KeyUnusable as error:
                log.warning("%s cannot be decrypted and is skipped: %s", path, error)
        return found

    def open_blob(self, name: str, data: bytes | None) -> bytes | None:
        if name not in _SEALED_BLOBS or data is None or not data.startswith(_MARK.encode()):
            return data
        path = _blob_path(name)
        try:
            return self._open_sealed(path, data.removeprefix(_MARK.encode()))
        except KeyUnusable as error:
            log.warning("%s cannot be decrypted and is skipped: %s", path, error)
            return None

    def _seal_text(self, path: str, text: str) -> str:
        sealed = b64encode(self._seal(path, text.encode())).decode()
        return msgspec.json.encode(_MARK + sealed).decode()

    def _seal(self, path: str, data: bytes) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._with_key().encrypt(nonce, data, path.encode())

    def _open_text(self, path: str, value: str) -> bytes:
        try:
            packed = b64decode(value.removeprefix(_MARK), validate=True)
        except ValueError:
            packed = b""
        return self._open_sealed(path, packed)

    def _open_sealed(self, path: str, packed: bytes) -> bytes:
        """Open what is sealed; raise KeyUnusable where the key does not."""
        from cryptography.exceptions import InvalidTag

        cipher = self._with_key(must_exist=True)
        nonce, data = packed[:_NONCE_BYTES], packed[_NONCE_BYTES:]
        try:
            return cipher.decrypt(nonce, data, path.encode())
        except (ValueError, InvalidTag):
            raise KeyUnusable(f"The key {self._key_file.path} does not decrypt them.") from None

    def _with_key(self, *, must_exist: bool = False) -> Cipher:
        if self._cipher is None:
            # Loaded when there is something to seal: it is large, and many stores hold no secret.
            from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

            self._cipher = ChaCha20Poly1305(
                self._key_file.key(self._controller, must_exist=must_exist)
            )
        return self._cipher


def load() -> None:
    """Load what sealing takes, in a thread, before a secret is set or a backup sealed."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # noqa: F401


def _is_sealed(path: str) -> bool:
    return path == JOB_WORK or (is_confidential(path) and not path.startswith("access."))


def _has_mark(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_MARK)


def _message_path(number: object) -> str:
    """Return what a message is bound to: sealed it is of no use under another number."""
    return f"message.{number}"


def _blob_path(name: str) -> str:
    return f"blob.{name}"


class KeyFile:
    """A file with a key, read or made when it is first needed, in whichever thread that is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._key: bytes | None = None

    def key(self, controller: int | None = None, *, must_exist: bool = False) -> bytes:
        """Return the key, or the one of a controller: what it seals is of no use to another.

        Raises KeyUnusable; where it must exist, also instead of making it.
        """
        with self._lock:
            if self._key is None:
                self._key = _read_or_made(self.path, must_exist=must_exist)
        if controller is None:
            return self._key
        return blake2b(str(controller).encode(), key=self._key, digest_size=_KEY_BYTES).digest()


def unreadable_sentence(paths: Sequence[str], why: str) -> str:
    """Say which secrets are not there, why, and what to do."""
    named = ", ".join(paths[:_NAMED]) + (" and more" if len(paths) > _NAMED else "")
    return (
        f"{why} Stored secrets count as not set: {named}. Restore the right key and restart, or "
        "set them again."
    )


def _read_or_made(path: Path, *, must_exist: bool) -> bytes:
    try:
        if not must_exist and not path.exists():
            write_private(path, secrets.token_bytes(_KEY_BYTES))
        key = path.read_bytes()
    except FileNotFoundError as error:
        raise KeyUnusable(f"The key {path} is missing.") from error
    except OSError as error:
        raise KeyUnusable(f"The key {path} cannot be used: {error.strerror}.") from error
    if len(key) != _KEY_BYTES:
        remedy = "" if must_exist else " Restore the right key, or remove this one."
        raise KeyUnusable(
            f"The key {path} is damaged: it does not have {_KEY_BYTES} bytes.{remedy}"
        )
    return key
