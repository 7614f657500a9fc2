"""Whether the secrets of a backup come along: by a passphrase, or left out by an explicit choice.

Nothing is lost silently. A terminal is asked; a script names a file with the passphrase, writes it
to standard input, or says that the secrets are to be left out.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from leverframe.plain_text import print_line
from leverframe.process.asked_secret import asked_secret
from leverframe.storage.backup import BackupFile, BackupRefused

_PASSPHRASE = "Passphrase of the backup"
#: So many secrets are named in a sentence.
_MAX_NAMED = 8


class SecretsChoice(Struct, frozen=True):
    """What the options of a command say about secrets; at most one is given."""

    #: Ask for the passphrase, or read it from standard input.
    passphrase: bool = False
    #: Read it from the first line of this file.
    passphrase_file: Path | None = None
    without_secrets: bool = False

    def check(self) -> None:
        if self.passphrase + (self.passphrase_file is not None) + self.without_secrets > 1:
            raise BackupRefused(
                "Pass only one of --passphrase, --passphrase-file and --without-secrets."
            )

    def named_passphrase(self) -> str | None:
        """Return the passphrase that the options name; None where they name none."""
        if self.passphrase_file is not None:
            return _first_line(self.passphrase_file)
        return asked_secret(_PASSPHRASE) if self.passphrase else None


def passphrase_to_open(file: BackupFile, choice: SecretsChoice) -> str | None:
    """Return what opens the secrets of a backup; None where they are left out on purpose."""
    choice.check()
    if file.sealed is None or choice.without_secrets:
        return None
    if (named := choice.named_passphrase()) is not None:
        return named
    sealed = f"The backup holds secrets, sealed with a passphrase: {named_in_short(file.secrets)}."
    if not _is_terminal():
        raise BackupRefused(
            f"{sealed} Pass --passphrase or --passphrase-file to restore them, or"
            " --without-secrets to leave them out."
        )
    print_line(sealed)
    typed = asked_secret(f"{_PASSPHRASE} (Ctrl+C stops; --without-secrets leaves them out)")
    if not typed:
        raise BackupRefused(
            "No passphrase was typed; nothing was changed. Pass --without-secrets to leave the"
            " secrets out."
        )
    return typed


def passphrase_to_seal(secrets: Sequence[str], choice: SecretsChoice) -> str | None:
    """Return what seals the secrets of a new backup; None where they are left out."""
    choice.check()
    if choice.without_secrets:
        return None
    if choice.passphrase_file is not None or (choice.passphrase and not _is_terminal()):
        return choice.named_passphrase()
    if not _is_terminal() or not (secrets or choice.passphrase):
        return None
    print_line(f"The controller has secrets: {named_in_short(secrets)}.")
    typed = asked_secret("Passphrase to seal them with (empty leaves them out)")
    if typed and asked_secret("The same again") != typed:
        raise BackupRefused("The two passphrases differ; nothing was written.")
    return typed or None


def named_in_short(secrets: Sequence[str]) -> str:
    """List secrets by their paths, the first few of them."""
    more = len(secrets) - _MAX_NAMED
    return ", ".join(secrets[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _is_terminal() -> bool:
    # There is none in a program that was started with it closed.
    return sys.stdin is not None and sys.stdin.isatty()


def _first_line(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BackupRefused(f"{path} cannot be read: {why}.") from None
    first = text.partition("\n")[0].rstrip("\r")
    if not first:
        raise BackupRefused(f"{path} holds no passphrase; its first line is empty.")
    return first
