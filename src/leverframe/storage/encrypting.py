"""Encryption of secrets in the store, with a key that lies in a file of its own.

A copy of the store, a snapshot or a disk handed on gives no password of a mail account away. The
key file is made when the first secret is stored and is for its owner alone. Where it is the key of
many controllers, each has its own, made from it. Password hashes are not sealed: nothing can be
read from them, and signing in must go on working when a key is lost. Secrets that the key does not
open count as not set; the log says so.
"""

import asyncio
import logging
import secrets
from base64 import b64decode, b64encode
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from leverframe.engine.tree import is_secret
from leverframe.storage.private_file import write_private
from leverframe.storage.store import Rows, Store, Stored, StoreUnavailable

log = logging.getLogger(__name__)

#: The row of a fleet's job that holds what it does, which may be to set a password.
JOB_WORK = "job.work"
_MARK = "sealed:1:"
_KEY_BYTES = 32
_NONCE_BYTES = 12
#: What stands in the place of a secret that is not set, or is removed.
_NOT_SET = frozenset({'""', "null"})


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

    def load(self) -> Stored:
        return self.opened(self._store.load())

    def opened(self, stored: Stored) -> Stored:
        """Open the secrets in what the store beneath holds."""
        return self._sealer.opened(stored)

    async def audit(self, prefix: str = "") -> dict[str, str]:
        return await self._store.audit(prefix)

    async def blob(self, name: str) -> bytes | None:
        return await self._store.blob(name)

    def messages(self) -> dict[int, Any]:
        return self._store.messages()

    async def write(self, rows: Rows) -> None:
        if secrets_in(rows):
            # The key may have to be read first, and the library loaded.
            rows = await asyncio.to_thread(self._sealer.sealed, rows)
        await self._store.write(rows)

    async def close(self) -> None:
        await self._store.close()


def secrets_in(rows: Rows) -> dict[str, str]:
    """Return the settings among rows that must not be stored as they are."""
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

    def sealed(self, rows: Rows) -> Rows:
        """Return rows with their secrets sealed; not on the event loop, since it reads a file."""
        texts = {path: self._sealed_text(path, text) for path, text in secrets_in(rows).items()}
        return replace(rows, settings=rows.settings | texts) if texts else rows

    def opened(self, stored: Stored) -> Stored:
        """Open the secrets among what is stored; those that it cannot open count as not set."""
        for path, value in list(stored.settings.items()):
            if isinstance(value, str) and value.startswith(_MARK) and _is_sealed(path):
                opened = self._opened(path, value)
                if opened is None:
                    del stored.settings[path]
                else:
                    stored.settings[path] = opened
        return stored

    def _sealed_text(self, path: str, text: str) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._with_key().encrypt(nonce, text.encode(), path.encode())
        return msgspec.json.encode(_MARK + b64encode(nonce + sealed).decode()).decode()

    def _opened(self, path: str, value: str) -> Any:
        from cryptography.exceptions import InvalidTag

        try:
            packed = b64decode(value.removeprefix(_MARK), validate=True)
            nonce, data = packed[:_NONCE_BYTES], packed[_NONCE_BYTES:]
            return msgspec.json.decode(self._with_key().decrypt(nonce, data, path.encode()))
        except (ValueError, InvalidTag):
            log.warning(
                "%s cannot be opened with the key %s and counts as not set; set it again, or put "
                "the right key back",
                path,
                self._key_file.path,
            )
            return None

    def _with_key(self) -> Cipher:
        if self._cipher is None:
            # Loaded when there is something to seal: it is large, and many stores hold no secret.
            from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

            self._cipher = ChaCha20Poly1305(self._key_file.key(self._controller))
        return self._cipher


def load() -> None:
    """Load what sealing takes, in a thread, before somebody sets a secret or seals a backup."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # noqa: F401


def _is_sealed(path: str) -> bool:
    return path == JOB_WORK or (is_secret(path) and not path.startswith("access."))


class KeyFile:
    """A file with a key, read or made when it is first needed, in whichever thread that is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._key: bytes | None = None

    def key(self, controller: int | None = None) -> bytes:
        """Return the key, or the one of a controller: what it seals is of no use to another."""
        with self._lock:
            if self._key is None:
                self._key = _read_or_made(self.path)
        if controller is None:
            return self._key
        return blake2b(str(controller).encode(), key=self._key, digest_size=_KEY_BYTES).digest()


def _read_or_made(path: Path) -> bytes:
    try:
        if not path.exists():
            write_private(path, secrets.token_bytes(_KEY_BYTES))
        key = path.read_bytes()
    except OSError as error:
        raise KeyUnusable(f"The key {path} cannot be used: {error.strerror}.") from error
    if len(key) != _KEY_BYTES:
        raise KeyUnusable(f"The key {path} is damaged: it does not have {_KEY_BYTES} bytes.")
    return key
