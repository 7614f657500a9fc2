"""The backup file: everything comes back, and a file that is not whole is known as such."""

from hashlib import sha256
from random import Random

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, leaves, with_value
from leverframe.interface.table.refusals import Restored
from leverframe.interface.table.versions import all_profiles
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.limits import EDITION, Content
from leverframe.storage import backup as backup_file
from leverframe.storage.backup import (
    FORMAT,
    MAGIC,
    MAX_ENTRIES,
    BackupFile,
    BackupRefused,
    content_of,
    decode_backup,
    encode_backup,
    pack,
    unpack,
)
from tests.cases import for_each
from tests.random_settings import random_settings

#: Read before the tests' own cheap ones are set.
REAL_ROUNDS, REAL_MEMORY_KIB = backup_file.KEY_ROUNDS, backup_file.KEY_MEMORY_KIB
NEWEST = Profile()
#: Without custom devices a file is short, and every byte of it can be tried.
SMALL = Profile("3.0", "1.58a")
PASSPHRASE = "correct horse"
PASSWORD = "hunter2 of the mail account"


def tree_with_secret() -> Settings:
    return with_value(defaults(NEWEST), "email.password", PASSWORD)


def test_backup_written_by_this_program_means_what_this_program_means() -> None:
    written = BackupFile.create(NEWEST, {"outputs.0.name": "Lamp"})
    assert content_of(unpack(pack(written)), None).edition == EDITION


def pack_file(content: object) -> bytes:
    """A file whose checksum fits, whatever it holds."""
    text = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return MAGIC + bytes([FORMAT]) + sha256(text).digest() + text


@pytest.mark.parametrize("profile", [NEWEST, Profile("3.0", "1.58a"), Profile("3.5", "1.40")])
def test_sealed_backup_brings_everything_back(profile: Profile) -> None:
    tree = random_settings(profile, Random(3), 200)
    content = decode_backup(encode_backup(profile, tree, PASSPHRASE), PASSPHRASE)
    assert carry_over(content, profile, defaults(profile)) == Restored(tree)


def test_guessing_a_passphrase_costs_time_and_memory_and_older_files_still_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cheap = encode_backup(NEWEST, tree_with_secret(), PASSPHRASE)
    monkeypatch.setattr(backup_file, "KEY_ROUNDS", REAL_ROUNDS)
    monkeypatch.setattr(backup_file, "KEY_MEMORY_KIB", REAL_MEMORY_KIB)
    assert (REAL_ROUNDS, REAL_MEMORY_KIB) == (3, 64 * 1024)
    sealed = encode_backup(NEWEST, tree_with_secret(), PASSPHRASE)
    assert decode_backup(sealed, PASSPHRASE).settings["email.password"] == PASSWORD
    # The key depends on the cost: what was made with another does not open.
    with pytest.raises(BackupRefused, match="passphrase does not open"):
        decode_backup(cheap, PASSPHRASE)


def test_secrets_are_left_out_without_a_passphrase_and_named() -> None:
    backup = encode_backup(NEWEST, tree_with_secret())
    assert PASSWORD.encode() not in backup
    content = decode_backup(backup)
    assert content.left_out == ("email.password",)
    assert not content.with_secrets


def test_sealed_secrets_cannot_be_read_without_the_passphrase() -> None:
    backup = encode_backup(NEWEST, tree_with_secret(), PASSPHRASE)
    assert PASSWORD.encode() not in backup
    assert "email.password" not in decode_backup(backup).settings
    assert not decode_backup(backup).with_secrets
    with pytest.raises(BackupRefused, match="passphrase does not open"):
        decode_backup(backup, "another phrase")


def test_short_passphrase_is_refused() -> None:
    with pytest.raises(BackupRefused, match="at least 8"):
        encode_backup(NEWEST, defaults(NEWEST), "1234567")


def test_every_changed_byte_is_noticed() -> None:
    backup = encode_backup(SMALL, random_settings(SMALL, Random(1)))
    for place in range(len(backup)):
        changed = bytearray(backup)
        changed[place] ^= 1 << (place % 8)
        with pytest.raises(BackupRefused):
            decode_backup(bytes(changed))


def test_every_truncation_is_noticed() -> None:
    backup = encode_backup(SMALL, random_settings(SMALL, Random(1)))
    for length in range(len(backup)):
        with pytest.raises(BackupRefused):
            decode_backup(backup[:length])
    with pytest.raises(BackupRefused):
        decode_backup(backup + b" ")


@for_each(
    ("data", "reason"),
    [
        (b"", "its header is wrong"),
        (b"PK\x03\x04", "its header is wrong"),
        (MAGIC, "cut short"),
        (MAGIC + b"\x02" + bytes(32), "has format 2"),
        (pack_file(b"[" * 100_000), "settings in an unknown format"),
        (pack_file(b'{"hw": "3.9"}'), "settings in an unknown format"),
        (pack_file(b'{"hw": "\xff"}'), "settings in an unknown format"),
        (pack_file({"hw": "9.9", "sw": "1.75", "settings": {}}), "unknown version"),
        (pack_file({"hw": "3.9", "sw": "x", "settings": {}}), "unknown version"),
        (
            pack_file({"hw": "3.9", "sw": "1.75", "settings": {"email.password": "x"}}),
            "not sealed",
        ),
        (bytes(MAGIC) + bytes(1 << 21), "no backup is that large"),
    ],
)
def test_refusal_says_which_check_failed(data: bytes, reason: str) -> None:
    with pytest.raises(BackupRefused, match=reason):
        decode_backup(data)


@pytest.mark.parametrize(
    "file",
    [
        {"settings": {f"unknown.{number}": 1 for number in range(MAX_ENTRIES + 1)}},
        {"settings": {}, "left_out": [f"email.{number}" for number in range(MAX_ENTRIES + 1)]},
    ],
    ids=["settings", "secrets that were left out"],
)
def test_more_settings_than_any_controller_has_are_refused(file: dict[str, object]) -> None:
    with pytest.raises(BackupRefused, match=f"has {MAX_ENTRIES + 1} settings; at most"):
        decode_backup(pack_file({"hw": "3.9", "sw": "1.75", **file}))


def test_sealed_secrets_count_as_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    backup = encode_backup(NEWEST, tree_with_secret(), PASSPHRASE)
    monkeypatch.setattr("leverframe.storage.backup.MAX_ENTRIES", len(unpack(backup).settings))
    decode_backup(backup)
    with pytest.raises(BackupRefused, match="at most"):
        decode_backup(backup, PASSPHRASE)


def test_all_settings_that_a_controller_can_have_are_taken() -> None:
    most = max(len(dict(leaves(defaults(profile)))) for profile in all_profiles())
    assert most * 2 < MAX_ENTRIES


def test_additions_of_a_later_program_are_ignored() -> None:
    later = pack_file({"hw": "3.9", "sw": "1.75", "settings": {}, "colour": "green"})
    assert decode_backup(later) == Content(NEWEST, {}, edition=1)


def test_damaged_seal_is_refused() -> None:
    seal = {"salt": "AAAA", "nonce": "!", "data": ""}
    file = {"hw": "3.9", "sw": "1.75", "settings": {}, "sealed": seal}
    with pytest.raises(BackupRefused, match="sealed part"):
        decode_backup(pack_file(file), PASSPHRASE)
