"""The login for a unit: the name from the command line, the password from who sits there."""

import getpass
import sys

from leverframe.recording.replayer import UnitLogin


def asked_login(user: str | None) -> UnitLogin | None:
    """Ask for the password of an account, or read it from standard input."""
    if user is None:
        return None
    if sys.stdin.isatty():
        return UnitLogin(user, getpass.getpass(f"Password of {user}: "))
    return UnitLogin(user, sys.stdin.readline().rstrip("\n"))
