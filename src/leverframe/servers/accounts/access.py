"""The account of a request: HTTP Basic, or the cookie of a session.

Most requests are recognised at once: a cookie, or the very credentials that this source was found
right with a moment ago. Otherwise the password is checked off the event loop, within what
`throttle` allows. What an account may do is decided by `commands/table/rights.py`.
"""

import asyncio
import hmac
import secrets
from base64 import b64decode
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from leverframe.commands.table import accounts as account_rows
from leverframe.commands.table.refusals import SignInRequired
from leverframe.commands.table.rights import ANONYMOUS, Account
from leverframe.commands.table.row import ADMIN, CONTROL
from leverframe.engine.settings import AccessSettings, Settings
from leverframe.engine.tree import value_at
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.accounts.sessions import Sessions
from leverframe.servers.accounts.throttle import Throttle
from leverframe.servers.http.messages import Request

#: How long credentials that were right are taken without checking them again.
TRUSTED_S = 300.0
MAX_TRUSTED = 1024


class Trusted(Struct, frozen=True):
    account: Account
    access: AccessSettings
    until: float


class Access:
    def __init__(
        self,
        passwords: Passwords,
        sessions: Sessions,
        now: Callable[[], float],
        on_failure: Callable[[str, str], None],
    ) -> None:
        self._passwords = passwords
        self.sessions = sessions
        self._now = now
        #: Told the account's name, empty where there is no such account, and the source.
        self._on_failure = on_failure
        self._throttle = Throttle(now)
        self._key = secrets.token_bytes(32)
        self._trusted: dict[bytes, Trusted] = {}
        self._under_way: dict[bytes, asyncio.Future[Account]] = {}

    def recognise(self, request: Request, settings: Settings) -> Account | None:
        """Return the account where it is known at once; None where a password must be checked."""
        authorization = request.headers.get("authorization")
        if authorization is None:
            cookies = request.headers.get("cookie")
            if cookies is None:
                return ANONYMOUS
            return self.sessions.account(cookies, settings) or ANONYMOUS
        trusted = self._trusted.get(self._digest(request.peer, authorization))
        if (
            trusted is None
            or trusted.access is not settings.access
            or self._now() >= trusted.until
            # Else another client at the same address could try passwords without being counted.
            or self._throttle.has_failures_of(request.peer)
        ):
            return None
        return trusted.account

    async def who(self, request: Request, settings: Settings) -> Account:
        """Return the account of a request's credentials, or refuse wrong ones."""
        authorization = request.headers.get("authorization", "")
        name, password = _credentials(authorization)
        account = await self.check(name, password, request.peer, settings)
        if len(self._trusted) >= MAX_TRUSTED:
            self._trusted.clear()
        self._trusted[self._digest(request.peer, authorization)] = Trusted(
            account, settings.access, self._now() + TRUSTED_S
        )
        return account

    async def check(self, name: str, password: str, peer: str, settings: Settings) -> Account:
        """Return the account with this name and password; refuse wrong ones and too many tries."""
        key = self._digest(peer, f"{name}\0{password}")
        under_way = self._under_way.get(key)
        if under_way is None:
            # A client that opens six connections at once has tried once.
            self._throttle.begin(name, peer)
            under_way = asyncio.ensure_future(self._checked(name, password, peer, settings))
            self._under_way[key] = under_way
            under_way.add_done_callback(partial(self._was_checked, key))
        return await asyncio.shield(under_way)

    async def _checked(self, name: str, password: str, peer: str, settings: Settings) -> Account:
        path = account_rows.password_path(settings, name)
        stored = value_at(settings, path) if path else ""
        if not await self._passwords.right(stored, password) or path is None:
            self._on_failure(name if path else "", peer)
            raise SignInRequired("The user name or password is wrong.")
        self._throttle.was_right(name, peer)
        return account_at(path, name)

    def _was_checked(self, key: bytes, checked: asyncio.Future[Account]) -> None:
        del self._under_way[key]
        if not checked.cancelled():
            # Whoever asked may have left; a wrong password is no fault of the program.
            checked.exception()

    def _digest(self, *texts: str) -> bytes:
        return hmac.digest(self._key, "\0".join(texts).encode("utf-8", "replace"), "sha256")


def account_at(path: str, name: str) -> Account:
    role = ADMIN if path == "access.admin.password" else CONTROL
    return Account(name, role, path, joins_commands=role == ADMIN)


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
