"""The settings as one file: magic, format version, checksum, content.

The content is the profile and every leaf of the settings tree by path, as JSON. Secrets are
encrypted with a key derived from a passphrase (Argon2id, ChaCha20-Poly1305), or omitted; the file
names the secrets that were set. The same applies to the addresses and bodies of HTTP1-HTTP4, which
may contain tokens; files of earlier versions contain them in plain text. The checksum covers the
content, so a truncated or changed file is detected. New keys may be added to the content; programs
ignore unknown keys.
"""

import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection
from hashlib import sha256
from typing import Any

import msgspec

from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile, UnknownProfile
from leverframe.core.settings import Settings
from leverframe.core.tree import is_confidential, is_secret, leaves
from leverframe.interface.table.system import MAX_BACKUP_BYTES
from leverframe.interface.version_change.limits import EDITION, Content

MAGIC = b"LEVERFRAME\x00"
FORMAT = 1
MIN_PASSPHRASE_LETTERS = 8
#: Used instead of paths if a file does not list its encrypted secrets.
ALL_SECRETS = "all passwords and keys"
#: A controller has at most 2,700 settings; newer programs may have more.
MAX_ENTRIES = 5000
_HEAD_BYTES = len(MAGIC) + 1
_CHECKSUM_BYTES = 32
_SALT_BYTES, _NONCE_BYTES, _KEY_BYTES = 16, 12, 32
#: A passphrase can be guessed offline, so deriving this key is more expensive than a password hash.
KEY_ROUNDS, KEY_MEMORY_KIB = 3, 64 * 1024
_PURPOSE = b"leverframe backup secrets 1"


class BackupRefused(ErrorForPeople):
    """The file or the passphrase is unusable; the message is one sentence."""


class Sealed(msgspec.Struct):
    """Secrets encrypted with a passphrase, in Base64."""

    salt: str
    nonce: str
    data: str


class BackupFile(msgspec.Struct, omit_defaults=True):
    """The content of a backup file."""

    hw: str
    sw: str
    settings: dict[str, Any]
    left_out: tuple[str, ...] = ()
    sealed: Sealed | None = None
    #: Paths of the encrypted settings; files of earlier versions do not list them.
    sealed_settings: tuple[str, ...] = ()
    #: How the program that wrote the file interprets settings (`EDITION`); the first edition had no
    #: key.
    edition: int = 1

    @classmethod
    def create(
        cls, profile: Profile, settings: dict[str, Any], left_out: tuple[str, ...] = ()
    ) -> "BackupFile":
        """Create a backup of settings by path, in the edition of this program."""
        return cls(profile.hw, profile.sw, settings, left_out, edition=EDITION)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the paths of secrets that the controller had but that are not in `settings`."""
        if self.sealed is not None and not self.sealed_settings:
            return (ALL_SECRETS,)
        return self.left_out if self.sealed is None else self.sealed_settings

    def without_secrets(self) -> "BackupFile":
        """Return the backup without its encrypted part, whose paths are listed as omitted."""
        return BackupFile(
            self.hw, self.sw, self.settings, left_out=self.secrets, edition=self.edition
        )


def confidential_leaves(settings: Settings) -> dict[str, Any]:
    """Return by path the settings that a backup encrypts or omits, if they are set."""
    return {path: value for path, value in leaves(settings) if is_confidential(path) and value}


def encode_backup(profile: Profile, settings: Settings, passphrase: str | None = None) -> bytes:
    """Encode the backup of a controller; with a passphrase this is slow."""
    every = {path: value for path, value in leaves(settings) if not path.startswith("profile.")}
    hidden = confidential_leaves(settings)
    sealed = None if passphrase is None else _seal(hidden, passphrase)
    return pack(
        BackupFile(
            profile.hw,
            profile.sw,
            {path: value for path, value in every.items() if not is_confidential(path)},
            () if sealed else tuple(hidden),
            sealed,
            tuple(hidden) if sealed else (),
            EDITION,
        )
    )


def decode_backup(data: bytes, passphrase: str | None = None) -> Content:
    """Read a backup; with a passphrase this is slow. Raises `BackupRefused`."""
    return content_of(unpack(data), passphrase)


def content_of(file: BackupFile, passphrase: str | None) -> Content:
    try:
        profile = Profile(file.hw, file.sw)
    except UnknownProfile as error:
        raise BackupRefused(f"The backup is of an unknown version. {error}") from None
    _check_count(file.settings, file.left_out)
    _check_count(file.sealed_settings)
    if any(is_secret(path) for path in file.settings):
        raise BackupRefused(
            "The backup contains a secret that is not sealed; the file was tampered with."
        )
    if file.sealed is None or passphrase is None:
        return Content(profile, file.settings, file.secrets, edition=file.edition)
    opened = _open(file.sealed, passphrase)
    _check_count(file.settings, opened)
    every = file.settings | opened
    return Content(profile, every, with_secrets=True, edition=file.edition)


def _check_count(*parts: Collection[str]) -> None:
    """Reject a backup with too many settings for a controller: processing would take seconds."""
    if (count := sum(map(len, parts))) > MAX_ENTRIES:
        raise BackupRefused(
            f"The backup has {count} settings; at most {MAX_ENTRIES} are accepted. No controller "
            "has that many: the file was tampered with."
        )


def pack(file: BackupFile) -> bytes:
    content = msgspec.json.encode(file)
    return MAGIC + bytes([FORMAT]) + sha256(content).digest() + content


def unpack(data: bytes) -> BackupFile:
    """Unpack the content of a file; raise `BackupRefused` if it is incomplete or damaged."""
    if len(data) > MAX_BACKUP_BYTES:
        raise BackupRefused(f"The file has {len(data)} bytes; no backup is that large.")
    if not data.startswith(MAGIC):
        raise BackupRefused("The file is not a settings backup: its header is wrong.")
    if len(data) < _HEAD_BYTES + _CHECKSUM_BYTES:
        raise BackupRefused("The backup is cut short; download it again.")
    if data[len(MAGIC)] != FORMAT:
        raise BackupRefused(
            f"The backup has format {data[len(MAGIC)]}; this program reads format {FORMAT}."
        )
    content = data[_HEAD_BYTES + _CHECKSUM_BYTES :]
    if sha256(content).digest() != data[_HEAD_BYTES : _HEAD_BYTES + _CHECKSUM_BYTES]:
        raise BackupRefused(
            "The backup is damaged or cut short: its checksum does not match. Download it again."
        )
    try:
        return msgspec.json.decode(content, type=BackupFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BackupRefused("The backup contains settings in an unknown format.") from None


def _seal(hidden: dict[str, Any], passphrase: str) -> Sealed:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    salt, nonce = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_NONCE_BYTES)
    cipher = ChaCha20Poly1305(_key(_check_passphrase(passphrase), salt))
    data = cipher.encrypt(nonce, msgspec.json.encode(hidden), _PURPOSE)
    return Sealed(*(b64encode(part).decode() for part in (salt, nonce, data)))


def _open(sealed: Sealed, passphrase: str) -> dict[str, Any]:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        salt, nonce, data = (
            b64decode(part, validate=True) for part in (sealed.salt, sealed.nonce, sealed.data)
        )
        if (len(salt), len(nonce)) != (_SALT_BYTES, _NONCE_BYTES):
            raise ValueError
    except ValueError:
        raise BackupRefused("The sealed part of the backup is damaged.") from None
    try:
        text = ChaCha20Poly1305(_key(passphrase, salt)).decrypt(nonce, data, _PURPOSE)
        hidden = msgspec.json.decode(text, type=dict[str, Any])
    except (InvalidTag, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BackupRefused(
            "The passphrase does not open this backup. Enter the right passphrase, or choose to "
            "restore it without its secrets; the command line does so with --without-secrets."
        ) from None
    return {path: value for path, value in hidden.items() if is_confidential(path)}


def _check_passphrase(passphrase: str) -> str:
    if len(passphrase) < MIN_PASSPHRASE_LETTERS:
        raise BackupRefused(
            f"The passphrase has {len(passphrase)} characters; it must have at least "
            f"{MIN_PASSPHRASE_LETTERS}."
        )
    return passphrase


def _key(passphrase: str, salt: bytes) -> bytes:
    from argon2.low_level import Type, hash_secret_raw

    return hash_secret_raw(
        passphrase.encode(), salt, KEY_ROUNDS, KEY_MEMORY_KIB, 1, _KEY_BYTES, Type.ID
    )
