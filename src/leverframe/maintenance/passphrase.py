"""Asking for a passphrase: at the terminal, or from standard input; never on the command line,
where other users of the machine could read it.
"""

import getpass
import sys


def ask_for_passphrase() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Passphrase of the backup: ")
    return sys.stdin.readline().rstrip("\n")
