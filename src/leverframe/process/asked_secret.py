"""Asking for a secret: at the terminal, or from standard input, where scripts write it.

Never on the command line, where other users of the machine could read it.
"""

import getpass
import sys

from leverframe.errors import ErrorForPeople


class NoSecret(ErrorForPeople):
    """Nobody can be asked for a secret: one sentence."""


def asked_secret(what: str) -> str:
    """Ask for a secret, or take the next line of standard input for it."""
    # There is none in a program that was started with it closed.
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass(f"{what}: ")
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        raise NoSecret(
            f"{what}: it is missing; type it at a terminal, or write it to standard input."
        )
    return line.rstrip("\n")
