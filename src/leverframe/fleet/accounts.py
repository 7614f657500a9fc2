"""Accounts at a node, and controllers that are open to every user of the machine."""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.core.runtime.outgoing import OWN_PEER
from leverframe.core.settings import AccessSettings
from leverframe.fleet.bulk import DONE, BulkReport, MemberResult, report_of, submit_all
from leverframe.fleet.member import Member
from leverframe.fleet.records import FleetAccount, Registry
from leverframe.host.reach import random_password
from leverframe.interface.table.lookup import UNRESTRICTED, Account
from leverframe.interface.table.refusals import SignInRequired
from leverframe.interface.table.row import ADMIN, CONTROL
from leverframe.server.http.messages import Request
from leverframe.server.passwords import Passwords
from leverframe.server.sessions import (
    ADMINISTRATOR_PATH,
    Access,
    Accounts,
    KnownAccount,
    administrator_alone,
)
from leverframe.storage.lanes.lane import OF_NODE, Lane
from leverframe.storage.store import Changes

# Authentication at a node: accounts of the operator and of tenants, by HTTP Basic.
#
# On a loopback address, a node without accounts is open to all users of this machine. From the
# first account on, all users must sign in, as on any other address: a proxy could admit strangers
# even on loopback.

log = logging.getLogger(__name__)

#: The path of the administrator's name. Controllers store the name under the same path, so the same
#: commands set it at a node and at a controller.
_NAME_PATH = "access.admin.name"


class Asking(Struct, frozen=True, forbid_unknown_fields=True):
    """An authenticated requester and its tenant; None for the operator, who may do everything."""

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
        #: The account records that `_accounts` was built from.
        self._known: dict[str, FleetAccount] | None = None
        #: Held during reads: a read that began before a password was generated must not overwrite
        #: it.
        self._reading = asyncio.Lock()
        self._take(lane.store(OF_NODE).load().settings)

    @property
    def must_sign_in(self) -> bool:
        return self._always or bool(self._registry.accounts)

    @property
    def protects_controllers(self) -> bool:
        """Return whether new controllers require sign-in, because strangers may reach the node."""
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
        """Check the name and password, and return the requester; refuse wrong ones."""
        return self._asking(await self._access.who(request))

    def watch(self, asking: Asking) -> Callable[[], bool]:
        """Return a function that checks whether a requester may still receive a stream."""
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
        """Read the administrator's account again: a command may have changed it in a database."""
        async with self._reading:
            self._take(await self._fetch())

    async def _fetch(self) -> dict[str, Any]:
        return (await self._lane.fetch([OF_NODE]))[OF_NODE].settings

    def _take(self, leaves: dict[str, Any]) -> None:
        name = leaves.get(_NAME_PATH, AccessSettings().admin.name)
        self._administrator = administrator_alone(name, leaves.get(ADMINISTRATOR_PATH, ""))
        self._known = None

    def _current(self) -> Accounts:
        """Return the current accounts; another node may have changed them."""
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


# Open controllers, which every user of the machine may use, and how they are closed.
#
# On a loopback address a new controller requires no sign-in. The first account or tenant of the
# node changes that, since other users then share the machine or come through a proxy. So each open
# controller then gets an administrator. Controllers of one tenant get the same password, which the
# response shows once. A controller that already has a password keeps it.

NEW_ADMINISTRATOR = "The controller now requires sign-in and has an administrator."
PASSWORD_STAYS = "The controller now requires sign-in; its passwords were not changed."


def is_open(member: Member) -> bool:
    """Return whether a controller of a node on loopback requires no sign-in."""
    return not member.controller.pending.access.required


async def close_open(
    members: Sequence[Member], passwords: Passwords, source: str, requester: Account
) -> BulkReport:
    """Make open controllers require sign-in; return a result for each controller."""
    results = {member.name: MemberResult(member.name, DONE) for member in members}
    by_tenant: dict[str, list[Member]] = {}
    for member in members:
        if is_open(member):
            by_tenant.setdefault(member.record.tenant, []).append(member)
    for some in by_tenant.values():
        for one in await _close_some(some, passwords, source, requester):
            results[one.name] = one
    return report_of(list(results.values()))


async def _close_some(
    members: Sequence[Member], passwords: Passwords, source: str, requester: Account
) -> list[MemberResult]:
    """Make controllers of one tenant require sign-in; those without a password share a new one."""
    new = {member.name for member in members if not _access(member).admin.password}
    password = random_password()
    hashes = {password: await passwords.hash(password)} if new else {}

    def command(member: Member) -> str:
        return _command_to_require_sign_in(member, password if member.name in new else "")

    report = await submit_all(members, command, source, requester, hashes)
    return [
        one
        if one.status != DONE
        else replace(one, detail=NEW_ADMINISTRATOR, password=password)
        if one.name in new
        else replace(one, detail=PASSWORD_STAYS)
        for one in report.results
    ]


def _access(member: Member) -> AccessSettings:
    return member.controller.pending.access


def _command_to_require_sign_in(member: Member, password: str) -> str:
    """Return the command that requires sign-in; an empty password keeps the current one."""
    access = _access(member)
    texts = (access.admin.name, password, access.user.name, "")
    packed = "*".join(b64encode(text.encode()).decode() for text in texts)
    return f"stm.cgi?auth=1{int(access.updates_allowed)}{packed}"
