"""The administrator's account: its first password, and a new one after a lost password.

Both work on the store while no controller uses it: before the start, or with `leverframe passwd`.
"""

import secrets
import time

from leverframe.commands.table.accounts import (
    MAX_PASSWORD_LETTERS,
    MIN_PASSWORD_LETTERS,
    list_stored_accounts,
    password_path,
)
from leverframe.engine.factory_settings import defaults
from leverframe.engine.journal import Cause
from leverframe.engine.tree import settings_from_leaves
from leverframe.errors import ErrorForPeople
from leverframe.profile import Profile
from leverframe.servers.accounts.passwords import Passwords
from leverframe.storage.audit import AuditTrail
from leverframe.storage.store import Changes, Store, Stored

#: 32 unambiguous letters and digits, 5 bits each.
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP_LETTERS = 4, 6


#: The setting with the password of the administrator.
ADMINISTRATOR = "access.admin.password"
#: The actor in the audit trail: a user with access to the machine.
BY_HAND = Cause("command line")


class PasswordRefused(ErrorForPeople):
    """The password or account is not usable: one sentence."""


def random_password() -> str:
    """Generate a password of 120 random bits that is easy to read and type."""
    return "-".join(
        "".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_LETTERS)) for _ in range(_GROUPS)
    )


async def ensure_administrator(store: Store) -> str | None:
    """Set and return a password for the administrator if there is none yet, else return None."""
    if store.load().settings.get(ADMINISTRATOR):
        return None
    password = random_password()
    await _store_password(store, ADMINISTRATOR, password)
    return password


async def set_password(store: Store, profile: Profile, name: str, password: str) -> None:
    """Set the password of an account by name."""
    settings, _ = settings_from_leaves(profile, store.load().settings)
    path = password_path(settings, name)
    if path is None:
        names = [account.name for _, account in list_stored_accounts(settings.access)]
        raise PasswordRefused(f"Unknown account {name!r}; known accounts: {', '.join(names)}.")
    check_length(password)
    await _store_password(store, path, password)


def check_length(password: str) -> None:
    if not MIN_PASSWORD_LETTERS <= len(password) <= MAX_PASSWORD_LETTERS:
        raise PasswordRefused(
            f"The password has {len(password)} characters; it must have {MIN_PASSWORD_LETTERS} to"
            f" {MAX_PASSWORD_LETTERS}."
        )


def administrator_name(store: Store) -> str:
    name: str = store.load().settings.get(
        "access.admin.name", defaults(Profile()).access.admin.name
    )
    return name


async def _store_password(store: Store, path: str, password: str) -> None:
    hashed = await Passwords().hash(password)
    await store.commit(password_change(store.load(), path, hashed))


def password_change(before: Stored, path: str, hashed: str) -> Changes:
    """Return the changes that set a password and require sign-in, with their audit entry."""
    leaves = [(path, before.settings.get(path), hashed)]
    audit = AuditTrail(before.audit).rows(time.time(), BY_HAND, leaves, {})
    return Changes({path: hashed, "access.required": True}, audit=audit)
