"""Authentication at a node: accounts of the operator and of tenants, by HTTP Basic.

On a loopback address a node without accounts is open to this machine. With the first account, all
users sign in, there as on every other address: a proxy in front of it brings strangers along.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from leverframe.commands.table.refusals import SignInRequired
from leverframe.commands.table.rights import UNRESTRICTED, Account
from leverframe.commands.table.row import ADMIN, CONTROL
from leverframe.engine.settings import AccessSettings
from leverframe.fleet.records import Registry
from leverframe.fleet.tenants import FleetAccount
from leverframe.log_throttle import LogThrottle
from leverframe.outgoing.own_connections import OWN_PEER
from leverframe.process.administrator import random_password
from leverframe.servers.accounts.access import Access
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.accounts.sessions import (
    ADMINISTRATOR_PATH,
    Accounts,
    KnownAccount,
    administrator_alone,
)
from leverframe.servers.http.messages import Request
from leverframe.storage.fleet.lane import OF_NODE, Lane
from leverframe.storage.store import Changes

log = logging.getLogger(__name__)

#: Where a node keeps its administrator: as a controller does, so that commands set both alike.
_NAME_PATH = "access.admin.name"


class Asking(Struct, frozen=True, forbid_unknown_fields=True):
    """An authenticated requester and its tenant; None is the operator, who may do everything."""

    account: Account
    tenant: str | None = None


THE_OPERATOR = Asking(UNRESTRICTED)


class NodeAccounts:
    def __init__(
        self, registry: Registry, lane: Lane, passwords: Passwords, *, must_sign_in: bool
    ) -> None:
        self._registry = registry
        self._lane = lane
        self._passwords = passwords
        self._always = must_sign_in
        self._access = Access(
            self._current, passwords, self._log_failed_sign_in, "leverframe_fleet"
        )
        self._warn = LogThrottle(log).warning
        self._administrator: Accounts = {}
        self._accounts: Accounts = {}
        #: The records that are among the accounts.
        self._known: dict[str, FleetAccount] | None = None
        #: A read that started before a password was generated must not overwrite it.
        self._reading = asyncio.Lock()
        self._take(lane.store(OF_NODE).load().settings)

    @property
    def must_sign_in(self) -> bool:
        return self._always or bool(self._registry.accounts)

    @property
    def protects_controllers(self) -> bool:
        """Return whether new controllers require sign-in: strangers may reach the node."""
        return self.must_sign_in or bool(self._registry.tenants)

    @property
    def administrator(self) -> str:
        return next(iter(self._administrator))

    def recognise(self, request: Request) -> Asking | None:
        """Return the requester if it is known immediately; None if a password must be checked."""
        if not self.must_sign_in and request.peer != OWN_PEER:
            return THE_OPERATOR
        account = self._access.recognise(request)
        return None if account is None else self._asking(account)

    async def who(self, request: Request) -> Asking:
        """Return the requester by name and password, or refuse wrong ones."""
        return self._asking(await self._access.who(request))

    def watch(self, asking: Asking) -> Callable[[], bool]:
        """Return a function that returns whether a requester may still receive a stream."""
        account = asking.account
        known = self._registry.accounts.get(account.name)

        def still() -> bool:
            if not account.path:
                return not self.must_sign_in
            return account.path == ADMINISTRATOR_PATH or (
                known is not None and self._registry.accounts.get(account.name) == known
            )

        return still

    async def first_administrator(self) -> str | None:
        """Create a password for the administrator if there is none yet, and return it."""
        async with self._reading:
            stored = await self._fetch()
            password = None
            if not stored.get(ADMINISTRATOR_PATH):
                password = random_password()
                hashed = await self._passwords.hash(password)
                made = {ADMINISTRATOR_PATH: hashed, "access.required": True}
                await self._lane.store(OF_NODE).commit(Changes(made))
                stored = {**stored, **made}
            self._take(stored)
            return password

    async def look_again(self) -> None:
        """Read the administrator's account, which a command may have changed in a database."""
        async with self._reading:
            self._take(await self._fetch())

    async def _fetch(self) -> dict[str, Any]:
        return (await self._lane.fetch([OF_NODE]))[OF_NODE].settings

    def _take(self, leaves: dict[str, Any]) -> None:
        name = leaves.get(_NAME_PATH, AccessSettings().admin.name)
        self._administrator = administrator_alone(name, leaves.get(ADMINISTRATOR_PATH, ""))
        self._known = None

    def _current(self) -> Accounts:
        """Return the accounts as they are now, which another node may have changed."""
        records = self._registry.accounts
        if records is not self._known:
            known = {
                one.name: KnownAccount(_account_of(one), one.password) for one in records.values()
            }
            self._accounts, self._known = {**known, **self._administrator}, records
        return self._accounts

    def _asking(self, account: Account) -> Asking:
        if account.path in ("", ADMINISTRATOR_PATH):
            return Asking(account)
        known = self._registry.accounts.get(account.name)
        if known is None:
            raise SignInRequired("The user name or password is wrong.")
        return Asking(_account_of(known), known.tenant or None)

    def _log_failed_sign_in(self, name: str, source: str) -> None:
        self._warn(source, "sign-in", "wrong password for the fleet from %s", source)


def _account_of(record: FleetAccount) -> Account:
    is_admin = record.role == "administrator"
    role = ADMIN if is_admin else CONTROL
    return Account(record.name, role, f"accounts.{record.name}", joins_commands=is_admin)
