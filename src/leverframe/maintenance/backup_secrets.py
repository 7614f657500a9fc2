"""The secrets of a backup: encrypted with a passphrase, or left out by an explicit choice.

Secrets are never dropped silently. At a terminal the passphrase is prompted for. A script names a
file with it, writes it to standard input, or chooses to leave the secrets out.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from leverframe.plain_text import print_line
from leverframe.process.asked_secret import ask_secret
from leverframe.storage.backup import BackupFile, BackupRefused

_PASSPHRASE = "Passphrase of the backup"
#: The number of secrets that a sentence lists.
_MAX_NAMED = 8


class SecretsChoice(Struct, frozen=True):
    """The options of a command about secrets; they exclude each other."""

    #: Prompt for the passphrase, or read it from standard input.
    passphrase: bool = False
    #: Read it from the first line of this file.
    passphrase_file: Path | None = None
    without_secrets: bool = False

    def check(self) -> None:
        if self.passphrase + (self.passphrase_file is not None) + self.without_secrets > 1:
            raise BackupRefused(
                "Use only one of --passphrase, --passphrase-file and --without-secrets."
            )

    def read_passphrase(self) -> str | None:
        """Return the passphrase that the options provide, or None."""
        if self.passphrase_file is not None:
            return _first_line(self.passphrase_file)
        return ask_secret(_PASSPHRASE) if self.passphrase else None


def passphrase_to_open(file: BackupFile, choice: SecretsChoice) -> str | None:
    """Return the passphrase that decrypts a backup; None if its secrets are left out on purpose."""
    choice.check()
    if file.sealed is None or choice.without_secrets:
        return None
    if (named := choice.read_passphrase()) is not None:
        return named
    sealed = (
        f"The backup contains secrets, encrypted with a passphrase: {list_secrets(file.secrets)}."
    )
    if not _is_terminal():
        raise BackupRefused(
            f"{sealed} Pass --passphrase or --passphrase-file to restore them, or"
            " --without-secrets to leave them out."
        )
    print_line(sealed)
    typed = ask_secret(f"{_PASSPHRASE} (Ctrl+C stops; --without-secrets leaves them out)")
    if not typed:
        raise BackupRefused(
            "No passphrase was entered; nothing was changed. Use --without-secrets to leave the"
            " secrets out."
        )
    return typed


def passphrase_to_seal(secrets: Sequence[str], choice: SecretsChoice) -> str | None:
    """Return the passphrase that encrypts a new backup; None to leave its secrets out."""
    choice.check()
    if choice.without_secrets:
        return None
    if choice.passphrase_file is not None or (choice.passphrase and not _is_terminal()):
        return choice.read_passphrase()
    if not _is_terminal() or not (secrets or choice.passphrase):
        return None
    print_line(f"The controller has secrets: {list_secrets(secrets)}.")
    typed = ask_secret("Passphrase to encrypt them (empty to leave them out)")
    if typed and ask_secret("Repeat the passphrase") != typed:
        raise BackupRefused("The two passphrases differ; nothing was written.")
    return typed or None


def list_secrets(secrets: Sequence[str]) -> str:
    """List secrets by their paths, the first few of them."""
    more = len(secrets) - _MAX_NAMED
    return ", ".join(secrets[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _is_terminal() -> bool:
    # It is None if the program was started with standard input closed.
    return sys.stdin is not None and sys.stdin.isatty()


def _first_line(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BackupRefused(f"{path} cannot be read: {why}.") from None
    first = text.partition("\n")[0].rstrip("\r")
    if not first:
        raise BackupRefused(f"{path} holds no passphrase; its first line is empty.")
    return first
