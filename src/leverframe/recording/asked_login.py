"""The login for a unit: the name from the command line, the password from who sits there."""

from leverframe.process.asked_secret import asked_secret
from leverframe.recording.replayer import UnitLogin


def asked_login(user: str | None) -> UnitLogin | None:
    """Ask for the password of an account, or read it from standard input."""
    return None if user is None else UnitLogin(user, asked_secret(f"Password of {user}"))
