"""Encryption of confidential values in the store, with a key in a separate file.

A copy of the store, a snapshot or a discarded disk must not reveal a mail password or the address
of a web hook. The encrypted values are secrets, the addresses and bodies of HTTP1-HTTP4, messages
of the outbox, and the settings of an earlier version. The key file is created when the first such
value is stored; only its owner can read it. If many controllers share a key file, each uses a
different key derived from it. Password hashes are not encrypted: they reveal nothing, and users
must be able to sign in when the key is lost. A value that the key does not decrypt counts as not
set, and the log and `/health` report it. It stays in the store, and is available again with the
right key.

Stores of earlier programs contain some of these values in plain text. These values can be read, and
are encrypted at the next start of the controller.
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

#: The row of a fleet's job, whose work may include setting a password.
JOB_WORK = "job.work"
_MARK = "sealed:1:"
#: Uploads that contain settings.
_SEALED_BLOBS = frozenset({EARLIER})
_KEY_BYTES = 32
#: Maximum number of secrets that a sentence names.
_NAMED = 5
_NONCE_BYTES = 12
#: Values of a secret that is not set or is removed.
_NOT_SET = frozenset({'""', "null"})
_EMPTY = ("", None)


class Cipher(Protocol):
    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


class KeyUnusable(StoreUnavailable):
    """The key file cannot be read or created; the message is one sentence."""


class EncryptingStore(Store):
    """A store that encrypts secrets when it writes them and decrypts them when it reads them."""

    def __init__(self, store: Store, key_path: Path) -> None:
        self._store = store
        self.folder = store.folder
        self._sealer = Sealer(KeyFile(key_path))
        if isinstance(store, SqliteStore):
            # The rows are encrypted in the thread that writes them.
            store.seal = self._sealer.seal
            self.shared_queue = store.shared_queue

    def load(self) -> Stored:
        return self.open_secrets(self._store.load())

    def open_secrets(self, stored: Stored) -> Stored:
        """Decrypt the secrets in the content of the inner store."""
        return self._sealer.open_secrets(stored)

    async def audit(self, prefix: str = "") -> dict[str, str]:
        return await self._store.audit(prefix)

    async def blob(self, name: str) -> bytes | None:
        return self._sealer.open_blob(name, await self._store.blob(name))

    def messages(self) -> dict[int, Any]:
        return self._sealer.open_messages(self._store.messages())

    async def write(self, rows: Rows) -> None:
        if self.shared_queue is None and needs_sealing(rows):
            # In a thread, because reading the key and loading the library may block.
            rows = await asyncio.to_thread(self._sealer.seal, rows)
        await self._store.write(rows)

    async def close(self) -> None:
        await self._store.close()


def needs_sealing(rows: Rows) -> bool:
    """Return whether any of the rows may be of a kind that is encrypted."""
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
    """Encrypts and decrypts with the key of a file, or with a controller's key derived from it."""

    def __init__(self, key_file: "KeyFile", controller: int | None = None) -> None:
        self._key_file = key_file
        self._controller = controller
        self._cipher: Cipher | None = None

    def seal(self, rows: Rows) -> Rows:
        """Return the rows with confidential values encrypted; reads a file, so not on the event
        loop.
        """
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
        """Encrypt messages; without a key they are not stored, but other rows are."""
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
        """Decrypt stored settings; settings that cannot be decrypted count as not set."""
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
        """Decrypt messages of the outbox; omit messages that cannot be decrypted."""
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
        """Decrypt a value; raise KeyUnusable if it was encrypted with another key."""
        from cryptography.exceptions import InvalidTag

        cipher = self._with_key(must_exist=True)
        nonce, data = packed[:_NONCE_BYTES], packed[_NONCE_BYTES:]
        try:
            return cipher.decrypt(nonce, data, path.encode())
        except (ValueError, InvalidTag):
            raise KeyUnusable(
                f"The key {self._key_file.path} does not decrypt the stored secrets."
            ) from None

    def _with_key(self, *, must_exist: bool = False) -> Cipher:
        if self._cipher is None:
            # Imported on first use, because the library is large and many stores contain no secret.
            from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

            self._cipher = ChaCha20Poly1305(
                self._key_file.key(self._controller, must_exist=must_exist)
            )
        return self._cipher


def load() -> None:
    """Load the encryption library, in a thread, before a secret is set or a backup encrypted."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # noqa: F401


def _is_sealed(path: str) -> bool:
    return path == JOB_WORK or (is_confidential(path) and not path.startswith("access."))


def _has_mark(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_MARK)


def _message_path(number: object) -> str:
    """Return the path that a message is bound to; under another number, it cannot be decrypted."""
    return f"message.{number}"


def _blob_path(name: str) -> str:
    return f"blob.{name}"


class KeyFile:
    """A file with a key, read or created at first use, in any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._key: bytes | None = None

    def key(self, controller: int | None = None, *, must_exist: bool = False) -> bytes:
        """Return the key, or the key of a controller derived from it.

        Raises KeyUnusable if the file is unusable; with `must_exist`, also if it does not exist.
        """
        with self._lock:
            if self._key is None:
                self._key = _read_or_made(self.path, must_exist=must_exist)
        if controller is None:
            return self._key
        return blake2b(str(controller).encode(), key=self._key, digest_size=_KEY_BYTES).digest()


def unreadable_sentence(paths: Sequence[str], why: str) -> str:
    """Return a sentence that names the missing secrets, the reason, and what to do."""
    named = ", ".join(paths[:_NAMED]) + (" and more" if len(paths) > _NAMED else "")
    return (
        f"{why} Stored secrets count as not set: {named}. Restore the right key and restart, or"
        f" set the secrets again."
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
