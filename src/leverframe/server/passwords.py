"""Password hashes, computed off the event loop, and the limit of wrong passwords."""

import asyncio
import hmac
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Container, Iterator
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

from leverframe.core.engine.findings import Finding
from leverframe.core.settings import AccessSettings
from leverframe.interface.table.accounts import MAX_LETTERS, list_stored_accounts
from leverframe.server.fair_shares import source_of
from leverframe.server.problems import TooManyTries

if TYPE_CHECKING:
    from argon2 import PasswordHasher


# Password hashes: Argon2id, computed off the event loop, a few at a time.
#
# By design, one hash needs 19 MiB and some tens of milliseconds. A burst of sign-ins must neither
# stop the controller nor fill its memory. Correct passwords are remembered for a while by a keyed
# digest, so that clients that send their password with every request do not wait for a hash each
# time.
#
# Only the hash of a password is stored, so a password that is easy to guess is detected only when a
# user sets it or signs in with it.

HASH_ROUNDS = 2
HASH_MEMORY_KIB = 19 * 1024
AT_A_TIME = 2
REMEMBERED = 256
MIN_STRONG_LENGTH = 8
#: Passwords that are long enough to be accepted, but among the first that attackers try.
_COMMON = frozenset(
    ("password", "password1", "passw0rd", "12345678", "123456789", "1234567890", "qwertyui")
    + ("qwertyuiop", "iloveyou", "admin123", "administrator", "leverframe", "changeme")
)


class Passwords:
    def __init__(self, turns: asyncio.Semaphore | None = None) -> None:
        """Limit concurrent hashing by `turns`; the controllers of a process share them."""
        self._turns = turns or asyncio.Semaphore(AT_A_TIME)
        self._key = secrets.token_bytes(32)
        self._right: OrderedDict[bytes, None] = OrderedDict()
        #: Hashes of passwords that are easy to guess, if they were set or used in this process.
        self.weak: set[str] = set()

    async def hash(self, password: str) -> str:
        async with self._turns:
            stored = await asyncio.to_thread(_hash, password)
        self._judge(stored, password)
        return stored

    def is_known(self, stored: str, password: str) -> bool:
        """Return whether this password was recently found to be correct."""
        return self._digest(stored, password) in self._right

    async def right(self, stored: str, password: str) -> bool:
        if not stored:
            # This takes as long as a real check, so that the time does not reveal account names.
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


# The limit of wrong passwords: it makes guessing slow and never locks the owner out.
#
# Failures are counted per account and source address. The first few cause no wait, since users
# mistype; then each wait is twice as long as the one before, and a source has at most ten tries in
# five minutes. Trying many accounts does not raise the limit of a source. All sources together have
# a hundred tries an hour for an account; beyond that, only a source that has not failed there yet
# gets one try, so that the owner, who knows the password, can still sign in.
#
# A try counts as failed until the password is known to be correct, so that simultaneous tries do
# not bypass the limit. Unknown names are treated like existing ones. A refused try leaves no
# counter behind; otherwise made-up names would displace real counters.

PAIR_FAILURES = 10
SOURCE_FAILURES = 30
WINDOW_S = 300.0
ACCOUNT_FAILURES = 100
HOUR_S = 3600.0
FREE_FAILURES = 3
LONGEST_DELAY_S = 60.0
#: Maximum number of counters of each kind; the least recently used are dropped first.
MAX_COUNTERS = 4096

MISS_S = 0.01
#: A burst of misses, each counted as `MISS_S`, causes no wait while their sum is within this time.
FREE_S = 1.0
LONGEST_PACE_WAIT_S = 2.0

Counters = OrderedDict[str, deque[float]]


class Throttle:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._pairs: Counters = OrderedDict()
        self._sources: Counters = OrderedDict()
        self._accounts: Counters = OrderedDict()
        self._all = (self._pairs, self._sources, self._accounts)

    def begin(self, account: str, peer: str) -> None:
        """Count a try as failed until it is known to be right; refuse it after too many tries."""
        now, source = self._now(), source_of(peer)
        names = _names(account, source)
        pair, of_source, of_account = (
            _recent(counters, name, now) for counters, name in zip(self._all, names, strict=True)
        )
        ready_at = max(
            _end_of_delay(pair, now),
            _end_of_window(pair, PAIR_FAILURES, WINDOW_S),
            _end_of_window(of_source, SOURCE_FAILURES, WINDOW_S),
            _end_of_window(of_account, ACCOUNT_FAILURES, HOUR_S) if pair else 0.0,
        )
        if ready_at > now:
            raise TooManyTries(ceil(ready_at - now))
        for counters, name in zip(self._all, names, strict=True):
            _count(counters, name, now)

    def was_right(self, account: str, peer: str) -> None:
        """Forget the failed tries of this source with this account: the password was right."""
        of_pair, *others = _names(account, source_of(peer))
        pair = self._pairs.pop(of_pair, deque())
        for counters, name in zip(self._all[1:], others, strict=True):
            counter = counters.get(name, deque())
            for moment in pair:
                if moment in counter:
                    counter.remove(moment)
            if not counter:
                counters.pop(name, None)


class GuessPace:
    """The pace at which one source learns whether credentials are among those already proven.

    Proven credentials are accepted while another client guesses from the same address; otherwise
    one client behind a proxy could lock out all the others. An attacker at this address could learn
    from that which credentials are right: a hit is answered, a miss is not. So beyond a hundred
    misses a second, all credentials from that source wait before they are compared. Clients with
    proven credentials then wait a little longer, but still get their answer.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        #: For each source, the moment until which its misses last, each counted as `MISS_S`; and
        #: the latest of these moments.
        self._over_at: OrderedDict[str, float] = OrderedDict()
        self._latest = 0.0

    def wait_s(self, peer: str) -> float:
        """Return how long credentials from this source must wait before they are compared."""
        begin = self._now() + FREE_S
        if self._latest <= begin:
            return 0.0
        wait_s = self._over_at.get(source_of(peer), 0.0) - begin
        return min(max(0.0, wait_s), LONGEST_PACE_WAIT_S)

    def count_miss(self, peer: str) -> None:
        source = source_of(peer)
        over_at = max(self._now(), self._over_at.get(source, 0.0)) + MISS_S
        self._over_at[source] = over_at
        self._over_at.move_to_end(source)
        self._latest = max(self._latest, over_at)
        if len(self._over_at) > MAX_COUNTERS:
            self._over_at.popitem(last=False)


def _names(account: str, source: str) -> tuple[str, str, str]:
    """Return the keys under which tries are counted: for the pair, the source and the account."""
    # Longer names do not exist, so they share a counter.
    account = account[: MAX_LETTERS + 1]
    return f"{source} {account}", source, account


def _recent(counters: Counters, name: str, now: float) -> deque[float]:
    """Return the counter of a name without expired tries."""
    counter = counters.get(name, deque())
    while counter and counter[0] <= now - HOUR_S:
        counter.popleft()
    return counter


def _count(counters: Counters, name: str, now: float) -> None:
    counters.setdefault(name, deque(maxlen=ACCOUNT_FAILURES)).append(now)
    counters.move_to_end(name)
    if len(counters) > MAX_COUNTERS:
        counters.popitem(last=False)


def _end_of_delay(pair: deque[float], now: float) -> float:
    failures = sum(moment > now - WINDOW_S for moment in pair)
    if failures < FREE_FAILURES:
        return 0.0
    return pair[-1] + min(LONGEST_DELAY_S, 2.0 ** (failures - FREE_FAILURES))


def _end_of_window(counter: deque[float], most: int, window_s: float) -> float:
    """Return when the counter has room again because its oldest tries leave the window."""
    return counter[-most] + window_s if len(counter) >= most else 0.0
