"""Who is asking, and may they: the one gate before anything runs.

Without required sign-in everybody is the administrator. With it, every request carries HTTP Basic
credentials of the administrator, the user or an active control user. What a command needs is data
on its row; paths that are not commands say so here.
"""

from base64 import b64decode
from collections.abc import Sequence

from leverframe.commands.refusals import NotAllowed, Refusal
from leverframe.commands.row import ADMIN, ANYBODY, CONTROL
from leverframe.commands.table import Call
from leverframe.engine.settings import Settings
from leverframe.servers.passwords import Passwords


class SignInRequired(Refusal):
    status = 401
    title = "Sign in first"


class Account:
    __slots__ = ("name", "role")

    def __init__(self, name: str, role: str) -> None:
        self.name = name
        self.role = role


OPEN = Account("", ADMIN)
NOBODY = Account("", ANYBODY)


class Access:
    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords

    async def who(self, authorization: str | None, settings: Settings) -> Account:
        """The account of the credentials, or nobody where there are none; wrong ones refuse."""
        if authorization is None:
            return NOBODY
        name, password = _credentials(authorization)
        for account, stored in _accounts(settings):
            if account.name == name:
                if await self._passwords.right(stored, password):
                    return account
                break
        raise _wrong()

    async def check(self, name: str, password: str, settings: Settings) -> None:
        """Refuse unless these are the credentials of an account."""
        for account, stored in _accounts(settings):
            if account.name == name and await self._passwords.right(stored, password):
                return
        raise _wrong()


def require(account: Account, role: str) -> None:
    if role == ANYBODY or account.role == ADMIN or (role == CONTROL == account.role):
        return
    if account is NOBODY:
        raise SignInRequired("This controller asks for a user name and password.")
    raise NotAllowed("Only the administrator may do this.")


def require_for_calls(account: Account, calls: Sequence[Call], settings: Settings) -> None:
    """May the account run these commands?"""
    for call in calls:
        require(account, call.row.role)
    if account.role == ADMIN:
        return
    if len(calls) > 1:
        raise NotAllowed("Only the administrator may join several commands in one request.")
    is_user = account.name == settings.access.user.name
    if is_user and settings.ui.user_read_only and any(call.row.role == CONTROL for call in calls):
        raise NotAllowed("The user account is read-only on this controller.")


def _accounts(settings: Settings) -> list[tuple[Account, str]]:
    access = settings.access
    accounts = [
        (Account(access.admin.name, ADMIN), access.admin.password),
        (Account(access.user.name, CONTROL), access.user.password),
    ]
    accounts += [
        (Account(user.name, CONTROL), user.password)
        for user in access.users
        if user is not None and user.active
    ]
    return accounts


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


def _wrong() -> SignInRequired:
    return SignInRequired("The user name or password is wrong.")
