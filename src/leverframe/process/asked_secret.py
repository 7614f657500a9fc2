"""Prompt for a secret at the terminal, or read it from standard input, where scripts write it.

It is never on the command line, where other users of the machine could read it.
"""

import getpass
import sys

from leverframe.errors import ErrorForPeople


class NoSecret(ErrorForPeople):
    """A secret cannot be prompted for: one sentence."""


def ask_secret(what: str) -> str:
    """Prompt for a secret, or read the next line of standard input."""
    # It is None if the program was started with standard input closed.
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass(f"{what}: ")
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        raise NoSecret(
            f"{what}: the value is missing; type it at a terminal, or write it to standard input."
        )
    return line.rstrip("\n")
