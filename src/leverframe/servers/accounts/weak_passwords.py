"""Passwords that are easy to guess, and the finding that says so.

Only the hash of a password is stored, so a weak one is noticed when it is set or signed in with.
"""

from collections.abc import Container, Iterator

from leverframe.engine.findings import Finding
from leverframe.engine.settings import AccessSettings

MIN_LENGTH = 8
#: Long enough, and among the first that are tried.
_COMMON = frozenset(
    ("password", "password1", "passw0rd", "12345678", "123456789", "1234567890", "qwertyui")
    + ("qwertyuiop", "iloveyou", "admin123", "administrator", "leverframe", "changeme")
)


def is_weak(password: str) -> bool:
    folded = password.casefold()
    return len(password) < MIN_LENGTH or folded in _COMMON or len(set(folded)) < 3


def password_findings(access: AccessSettings, weak: Container[str]) -> Iterator[Finding]:
    """Find the accounts whose stored hash is one of the weak ones."""
    if not access.required:
        return
    others = [(one.name, one.password) for one in access.users if one is not None and one.active]
    admin, user = access.admin, access.user
    for name, stored in ((admin.name, admin.password), (user.name, user.password), *others):
        if stored in weak:
            yield Finding("password_weak", "system?open=accounts", figures={"account": name})
