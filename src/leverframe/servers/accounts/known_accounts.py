"""The accounts with which clients can sign in, and the proof that one of them did.

A controller has them in its settings, a node in its records, the watch of units in its inventory.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from leverframe.commands.table.accounts import stored_accounts
from leverframe.commands.table.rights import Account
from leverframe.commands.table.row import ADMIN, CONTROL
from leverframe.engine.settings import AccessSettings

ADMINISTRATOR_PATH = "access.admin.password"


class KnownAccount(Struct, frozen=True):
    account: Account
    #: An Argon2id hash; with an empty one nobody can sign in.
    password: str


#: By name. What changes comes as another mapping: who holds one knows it by its identity.
Accounts = Mapping[str, KnownAccount]


class Proof(Struct):
    """An account whose password was given, and the accounts among which it was found last."""

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
    """The accounts of a controller, read from its settings when these have changed."""

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
    for path, stored in stored_accounts(access):
        # As by `password_path`, the first of a name counts.
        found.setdefault(stored.name, KnownAccount(account_at(path, stored.name), stored.password))
    return found


def administrator_alone(name: str, password: str) -> Accounts:
    """Return the accounts where there is only the administrator, with a hash."""
    return {name: KnownAccount(account_at(ADMINISTRATOR_PATH, name), password)}


def account_at(path: str, name: str) -> Account:
    role = ADMIN if path == ADMINISTRATOR_PATH else CONTROL
    return Account(name, role, path, joins_commands=role == ADMIN)
