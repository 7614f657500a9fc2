"""The account of a request: HTTP Basic, or the cookie of a session.

Most requests are recognised immediately: by a cookie, or by credentials that this source has
already proven. These keep working during password guessing from the same address, at the pace that
`GuessPace` leaves. Otherwise the password is checked off the event loop, within the limits of
`throttle`. What an account may do is decided by `commands/table/rights.py`.
"""

import asyncio
import hmac
import secrets
import time
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from leverframe.commands.table.refusals import SignInRequired
from leverframe.commands.table.rights import ANONYMOUS, Account
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.accounts.sessions import Accounts, Proof, Sessions
from leverframe.servers.accounts.throttle import GuessPace, Throttle
from leverframe.servers.http.messages import Request

#: Credentials of one account that are kept as proven, each with the source that they came from.
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

        Wait where the source of the request has sent too many credentials that are not proven.
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
        """Return the proof for an account whose client needs no password here."""
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
        """Return the proof for a right name and password; refuse wrong ones and too many tries."""
        key = self._digest(peer, f"{name}\0{password}")
        under_way = self._under_way.get(key)
        if under_way is None:
            # A client that opens six connections together counts as one attempt.
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
            # The client may have left; a wrong password is not an error of the program.
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
