"""The accounts of a server: sessions with random cookies, and the account of a request."""

import asyncio
import hmac
import secrets
import time
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256

from msgspec import Struct

from leverframe.core.settings import AccessSettings
from leverframe.interface.table.accounts import list_stored_accounts
from leverframe.interface.table.lookup import ANONYMOUS, Account
from leverframe.interface.table.refusals import SignInRequired
from leverframe.interface.table.row import ADMIN, CONTROL
from leverframe.server.http.messages import Request
from leverframe.server.passwords import GuessPace, Passwords, Throttle

# The accounts of a server, and sessions: a random cookie identifies an account that signed in.
#
# A controller has its accounts in its settings, a node in its records, the watch of units in its
# inventory.
#
# A session ends after it was idle for long, when it is too old, or when its account signs in too
# often elsewhere. It ends immediately if the account gets another password or name, or is deleted;
# the session that changed its own password continues until the new password is used to sign in.
# Only a digest of the cookie is kept. Sessions exist only in memory: a restart of the process ends
# them all.
#
# Pages of an uploaded site never get the cookie. Instead, their address contains the digest, which
# gives access to the session with fewer rights (`server/routes/admission.py`).

ADMINISTRATOR_PATH = "access.admin.password"
IDLE_S = 30 * 60.0
LONGEST_S = 12 * 3600.0
MAX_PER_ACCOUNT = 16
TOKEN_BYTES = 16


class KnownAccount(Struct, frozen=True):
    account: Account
    #: An Argon2id hash; an empty one permits no sign-in.
    password: str


#: Accounts by name. Every change creates a new mapping, so holders detect a change by identity.
Accounts = Mapping[str, KnownAccount]


class Proof(Struct):
    """An account whose password was verified, and the accounts among which it was last found."""

    known: KnownAccount
    accounts: Accounts

    @property
    def account(self) -> Account:
        return self.known.account

    def holds(self, accounts: Accounts) -> bool:
        """Return whether the account still exists with the same password."""
        if accounts is self.accounts:
            return True
        if accounts.get(self.known.account.name) != self.known:
            return False
        self.accounts = accounts
        return True


class AccountsOfSettings:
    """The accounts of a controller, read from its settings again when these have changed."""

    def __init__(self, access: Callable[[], AccessSettings]) -> None:
        self._access = access
        self._read: AccessSettings | None = None
        self._accounts: Accounts = {}

    def __call__(self) -> Accounts:
        access = self._access()
        if access is not self._read:
            self._accounts, self._read = accounts_of(access), access
        return self._accounts


def accounts_of(access: AccessSettings) -> Accounts:
    found: dict[str, KnownAccount] = {}
    for path, stored in list_stored_accounts(access):
        # If accounts have the same name, the first one counts, as in `password_path`.
        found.setdefault(stored.name, KnownAccount(account_at(path, stored.name), stored.password))
    return found


def administrator_alone(name: str, password: str) -> Accounts:
    """Return accounts that consist only of the administrator, with the given password hash."""
    return {name: KnownAccount(account_at(ADMINISTRATOR_PATH, name), password)}


def account_at(path: str, name: str) -> Account:
    role = ADMIN if path == ADMINISTRATOR_PATH else CONTROL
    return Account(name, role, path, joins_commands=role == ADMIN)


class Session(Proof):
    opened: float
    used: float
    #: Whether a request of this session is changing the password of its account.
    is_changing: bool = False
    #: Whether it was opened with an earlier password of its account; it then ends when the new one
    #: is used.
    is_provisional: bool = False

    def holds(self, accounts: Accounts) -> bool:
        """Return whether the session continues; its own change of the password does not end it."""
        if super().holds(accounts):
            return True
        known = accounts.get(self.known.account.name)
        if not self.is_changing or known is None or known.account != self.known.account:
            return False
        self.known, self.accounts, self.is_provisional = known, accounts, True
        return True


class Sessions:
    def __init__(self, cookie_name: str, now: Callable[[], float]) -> None:
        self._cookie_name = cookie_name
        self._now = now
        #: Sessions by the digest of their cookie; the most recently used session is at the end.
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def open(self, proof: Proof) -> str:
        """Start a session; return the value of its cookie."""
        now = self._now()
        for old in [key for key, session in self._sessions.items() if _is_over(session, now)]:
            del self._sessions[old]
        account = proof.account
        for old in [key for key, session in self._sessions.items() if session.account == account]:
            if self._sessions[old].is_provisional:
                del self._sessions[old]
        same = [key for key, session in self._sessions.items() if session.account == account]
        for key in same[: max(0, len(same) + 1 - MAX_PER_ACCOUNT)]:
            del self._sessions[key]
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._sessions[_digest(token)] = Session(proof.known, proof.accounts, now, now)
        return token

    def account(self, cookies: str, accounts: Accounts) -> Account | None:
        """Return the account of the session that the cookies name, if it is still valid."""
        return self._account_of(_digest(self._token(cookies)), accounts)

    def site_key(self, cookies: str) -> str:
        """Return the key that identifies the session in the address of an uploaded page."""
        return _digest(self._token(cookies)).hex()

    def account_of_site(self, site_key: str, accounts: Accounts) -> Account | None:
        try:
            return self._account_of(bytes.fromhex(site_key), accounts)
        except ValueError:
            return None

    def _account_of(self, key: bytes, accounts: Accounts) -> Account | None:
        session = self._sessions.get(key)
        if session is None:
            return None
        now = self._now()
        if _is_over(session, now) or not session.holds(accounts):
            del self._sessions[key]
            return None
        session.used = now
        self._sessions.move_to_end(key)
        return session.account

    @contextmanager
    def changing_password(self, cookies: str, name: str, accounts: Accounts) -> Iterator[None]:
        """Let the session of these cookies continue while its request changes its own password.

        So a mistyped password locks no one out: the session can change the password again. It ends
        when someone signs in with the new password.
        """
        account = self.account(cookies, accounts)
        if account is None or account.name != name:
            yield
            return
        session = self._sessions[_digest(self._token(cookies))]
        session.is_changing = True
        try:
            yield
        finally:
            session.is_changing = False

    def close(self, cookies: str) -> None:
        self._sessions.pop(_digest(self._token(cookies)), None)

    def close_all(self) -> None:
        self._sessions.clear()

    def is_in(self, cookies: str) -> bool:
        """Return whether the cookies name a session, even one that has ended."""
        return bool(self._token(cookies))

    def set_cookie(self, token: str, *, secure: bool) -> str:
        """Return the Set-Cookie header for a token; an empty token removes the cookie."""
        cookie = f"{self._cookie_name}={token}; Path=/; HttpOnly; SameSite=Strict"
        if not token:
            cookie += "; Max-Age=0"
        return f"{cookie}; Secure" if secure else cookie

    def _token(self, cookies: str) -> str:
        for pair in cookies.replace(",", ";").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self._cookie_name:
                return value
        return ""


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _is_over(session: Session, now: float) -> bool:
    return now >= session.used + IDLE_S or now >= session.opened + LONGEST_S


# The account of a request: HTTP Basic, or the cookie of a session.
#
# Most requests are recognised immediately: by a cookie, or by credentials that this source has
# already proven. Such credentials keep working while another client guesses passwords from the same
# address, at the pace that `GuessPace` allows. Any other password is checked off the event loop,
# within the limits of `Throttle`. The rights of an account are decided in
# `interface/table/lookup.py`.

#: Maximum number of proven credentials per account, each with the source that it came from.
MAX_PROVEN_PER_ACCOUNT = 64


class Access:
    def __init__(
        self,
        accounts: Callable[[], Accounts],
        passwords: Passwords,
        on_failure: Callable[[str, str], None],
        cookie_name: str,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        #: Called each time, because accounts change.
        self.accounts = accounts
        self._passwords = passwords
        self.sessions = Sessions(cookie_name, now)
        #: Called with the account's name, empty for an unknown account, and the source.
        self._on_failure = on_failure
        self._throttle = Throttle(now)
        self._key = secrets.token_bytes(32)
        self._pace = GuessPace(now)
        #: Proven credentials by digest; the most recently proven ones are at the end.
        self._proven: OrderedDict[bytes, Proof] = OrderedDict()
        self._under_way: dict[bytes, asyncio.Future[Proof]] = {}

    def recognise(self, request: Request) -> Account | None:
        """Return the account if it is known immediately; None if a password must be checked."""
        authorization = request.headers.get("authorization")
        if authorization is None:
            cookies = request.headers.get("cookie")
            if cookies is None:
                return ANONYMOUS
            return self.sessions.account(cookies, self.accounts()) or ANONYMOUS
        if self._pace.wait_s(request.peer):
            return None
        return self._proven_account(request.peer, authorization)

    async def who(self, request: Request) -> Account:
        """Return the account of a request's credentials, or refuse wrong ones.

        Wait if the source of the request has sent too many unproven credentials.
        """
        peer, authorization = request.peer, request.headers.get("authorization", "")
        if wait_s := self._pace.wait_s(peer):
            await asyncio.sleep(wait_s)
        if proven := self._proven_account(peer, authorization):
            return proven
        self._pace.count_miss(peer)
        name, password = _credentials(authorization)
        proof = await self.check(name, password, peer)
        self._note_proof(self._digest(peer, authorization), proof)
        return proof.account

    def proof_without_password(self, name: str) -> Proof:
        """Return the proof for an account that needs no password here."""
        accounts = self.accounts()
        return Proof(accounts[name], accounts)

    def _proven_account(self, peer: str, authorization: str) -> Account | None:
        proof = self._proven.get(self._digest(peer, authorization))
        return proof.account if proof is not None and proof.holds(self.accounts()) else None

    def _note_proof(self, key: bytes, proof: Proof) -> None:
        same = [k for k, known in self._proven.items() if known.account.path == proof.account.path]
        for old in same[: max(0, len(same) + 1 - MAX_PROVEN_PER_ACCOUNT)]:
            del self._proven[old]
        self._proven[key] = proof

    async def check(self, name: str, password: str, peer: str) -> Proof:
        """Verify a name and password; refuse wrong ones and too many tries."""
        key = self._digest(peer, f"{name}\0{password}")
        under_way = self._under_way.get(key)
        if under_way is None:
            # Several simultaneous connections of a client with the same password count as one
            # attempt.
            self._throttle.begin(name, peer)
            under_way = asyncio.ensure_future(self._check(name, password, peer))
            self._under_way[key] = under_way
            under_way.add_done_callback(partial(self._was_checked, key))
        return await asyncio.shield(under_way)

    async def _check(self, name: str, password: str, peer: str) -> Proof:
        accounts = self.accounts()
        known = accounts.get(name)
        stored = "" if known is None else known.password
        if not await self._passwords.right(stored, password) or known is None:
            self._on_failure("" if known is None else name, peer)
            raise SignInRequired("The user name or password is wrong.")
        self._throttle.was_right(name, peer)
        return Proof(known, accounts)

    def _was_checked(self, key: bytes, checked: asyncio.Future[Proof]) -> None:
        del self._under_way[key]
        if not checked.cancelled():
            # The client may have left. Without this call, asyncio would log a wrong password as an
            # error.
            checked.exception()

    def _digest(self, *texts: str) -> bytes:
        return hmac.digest(self._key, "\0".join(texts).encode("utf-8", "replace"), "sha256")


def _credentials(authorization: str) -> tuple[str, str]:
    scheme, _, packed = authorization.partition(" ")
    try:
        if scheme.lower() != "basic":
            raise ValueError(scheme)
        name, colon, password = b64decode(packed.strip(), validate=True).decode().partition(":")
    except ValueError:
        raise SignInRequired("The Authorization header is not HTTP Basic.") from None
    if not colon:
        raise SignInRequired("The Authorization header has no password.")
    return name, password
