"""Password hashes: Argon2id, worked off the event loop, a few at a time.

One hash takes 19 MiB and some tens of milliseconds on purpose; a burst of sign-ins must neither
stop the controller nor fill its memory. Right answers are remembered for a while by a keyed digest,
so that clients that send their password with every request do not pay each time.

Only the hash of a password is stored, so one that is easy to guess is noticed when it is set or
signed in with.
"""

import asyncio
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Container, Iterator
from functools import cache
from typing import TYPE_CHECKING

from leverframe.commands.table.accounts import list_stored_accounts
from leverframe.engine.findings import Finding
from leverframe.engine.settings import AccessSettings

if TYPE_CHECKING:
    from argon2 import PasswordHasher

HASH_ROUNDS = 2
HASH_MEMORY_KIB = 19 * 1024
AT_A_TIME = 2
REMEMBERED = 256
MIN_STRONG_LENGTH = 8
#: Long enough, and among the first that are tried.
_COMMON = frozenset(
    ("password", "password1", "passw0rd", "12345678", "123456789", "1234567890", "qwertyui")
    + ("qwertyuiop", "iloveyou", "admin123", "administrator", "leverframe", "changeme")
)


class Passwords:
    def __init__(self, turns: asyncio.Semaphore | None = None) -> None:
        """Hash in turn; the controllers of a process share the turns."""
        self._turns = turns or asyncio.Semaphore(AT_A_TIME)
        self._key = secrets.token_bytes(32)
        self._right: OrderedDict[bytes, None] = OrderedDict()
        #: Hashes of passwords that are easy to guess, as far as they were set or used here.
        self.weak: set[str] = set()

    async def hash(self, password: str) -> str:
        async with self._turns:
            stored = await asyncio.to_thread(_hash, password)
        self._judge(stored, password)
        return stored

    def is_known(self, stored: str, password: str) -> bool:
        """Return whether this password was found right recently."""
        return self._digest(stored, password) in self._right

    async def right(self, stored: str, password: str) -> bool:
        if not stored:
            # It takes as long as a check: timing reveals no account names.
            await self.hash("")
            return False
        if self.is_known(stored, password):
            return True
        async with self._turns:
            if not await asyncio.to_thread(_verify, stored, password):
                return False
        self._judge(stored, password)
        self._right[self._digest(stored, password)] = None
        while len(self._right) > REMEMBERED:
            self._right.popitem(last=False)
        return True

    def _judge(self, stored: str, password: str) -> None:
        if password and is_weak(password):
            self.weak.add(stored)

    def _digest(self, stored: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{stored}\0{password}".encode(), "sha256")


def load() -> None:
    """Load the hashing library in a thread before the first sign-in."""
    _hasher(HASH_ROUNDS, HASH_MEMORY_KIB)


@cache
def _hasher(rounds: int, memory_kib: int) -> "PasswordHasher":
    """Load Argon2 in the first worker thread that needs it: many controllers require no sign-in."""
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=rounds, memory_cost=memory_kib, parallelism=1)


def _hash(password: str) -> str:
    return _hasher(HASH_ROUNDS, HASH_MEMORY_KIB).hash(password)


def _verify(stored: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return _hasher(HASH_ROUNDS, HASH_MEMORY_KIB).verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False


def is_weak(password: str) -> bool:
    folded = password.casefold()
    return len(password) < MIN_STRONG_LENGTH or folded in _COMMON or len(set(folded)) < 3


def password_findings(access: AccessSettings, weak: Container[str]) -> Iterator[Finding]:
    """Find the accounts whose stored hash is one of the weak ones."""
    if not access.required:
        return
    for _, one in list_stored_accounts(access):
        if one.password in weak:
            yield Finding("password_weak", "system?open=accounts", figures={"account": one.name})
