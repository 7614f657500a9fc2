"""Operations on tenants and accounts of a node."""

import logging
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from leverframe.fleet.accounts import close_open, is_open
from leverframe.fleet.bulk import BulkReport, MemberResult
from leverframe.fleet.operation import operation
from leverframe.fleet.operations.context import CHOSEN, FleetContext, Name
from leverframe.fleet.operations.controllers import all_done, check_chosen
from leverframe.fleet.operations.new_controllers import LEFT_OPEN, is_left_open
from leverframe.fleet.records import (
    MAX_ACCOUNTS,
    MAX_CONTROLLERS,
    NAME,
    OPERATOR,
    USUAL_MAX,
    FleetAccount,
    NoSuchFleetAccount,
    Role,
    TenantRecord,
    check_account_name,
    check_tenant_name,
    no_such_tenant,
)
from leverframe.fleet.scopes import at_each
from leverframe.host.reach import random_password
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.refusals import Conflict, Malformed, NotAllowed
from leverframe.interface.table.row import ACCOUNT, ADMIN

log = logging.getLogger(__name__)

_operator = partial(operation, for_tenants=False)

TENANT = QueryParameter("tenant", Name, "The name of the tenant.")
MAX = QueryParameter(
    "max",
    Annotated[int, Meta(ge=0, le=MAX_CONTROLLERS)],
    "The maximum number of controllers that administrators of the tenant may create; "
    f"{USUAL_MAX} by default.",
)
GIVEN_TO = QueryParameter("tenant", Name, "The new tenant; empty for the operator.")
OF_TENANT = QueryParameter("tenant", Name, "The tenant of the account; the operator by default.")
ACCOUNT_NAME = QueryParameter("name", Name, "The name of the account.")
WHOSE = QueryParameter("name", Name, "The account; your own by default.")
ROLE = QueryParameter(
    "role", Role, "`administrator`, or `user`, who may view and switch; `user` by default."
)


class TenantReport(Struct, frozen=True):
    name: str
    controllers: Annotated[
        int, Meta(description="Number of controllers of the tenant, on all nodes.")
    ]
    accounts: int
    max_controllers: Annotated[
        int,
        Meta(
            description="The maximum number of controllers that administrators of the tenant may"
            " create."
        ),
    ]


class FleetAccountReport(Struct, frozen=True):
    name: str
    role: Role
    tenant: Annotated[str, Meta(description="Empty for the operator.")]


Protected = Annotated[
    list[MemberResult],
    Meta(description="Controllers that were open to every user of the machine until now."),
]
LeftOpen = Annotated[
    int, Meta(description="Controllers of this node that are open to every user of the machine.")
]


class TenantAdded(TenantReport, frozen=True):
    """A new tenant, and the results for open controllers if it is the first tenant."""

    protected: Protected = []
    left_open: LeftOpen = 0


class AccountMade(Struct, frozen=True):
    """An account with a new password, which is shown only once."""

    name: str
    role: Role
    tenant: str
    password: str
    administrator: Annotated[
        str | None,
        Meta(
            description="The name of the first administrator, if this request created that account."
        ),
    ] = None
    administrator_password: str | None = None
    protected: Protected = []
    left_open: LeftOpen = 0


async def _report(context: FleetContext, record: TenantRecord) -> TenantReport:
    registry = context.node.registry
    accounts = sum(one.tenant == record.name for one in registry.accounts.values())
    count = await registry.count_of(record.name)
    return TenantReport(record.name, count, accounts, record.max_controllers)


@_operator("tenants")
async def list_tenants(context: FleetContext) -> list[TenantReport]:
    """List tenants, with their numbers of controllers and accounts."""
    tenants = context.node.registry.tenants
    return [await _report(context, record) for record in tenants.values()]


@_operator("tenant/add", TENANT, MAX, LEFT_OPEN, changes=True)
async def add_tenant(context: FleetContext) -> TenantAdded:
    """Create a tenant, or change its limit of controllers. The first tenant gives each controller
    that is open to every user of the machine an administrator, unless `open` is set."""
    name = check_tenant_name(context.require("tenant", NAME))
    closes = _closes_open(context)
    record = TenantRecord(name, context.given.get("max", USUAL_MAX))
    if name not in context.node.registry.tenants:
        # A node that was killed may have removed a tenant of this name without removing its jobs.
        await context.jobs.forget_tenant(name)
    async with context.node.changing:
        await context.node.registry.put_tenant(record)
    _note(context, "created tenant", name)
    protected = await _close_all(context) if closes else []
    report = asdict(await _report(context, record))
    return TenantAdded(**report, protected=protected, left_open=_count_open(context))


@_operator("tenant/remove", TENANT, changes=True)
async def remove_tenant(context: FleetContext) -> TenantReport:
    """Remove a tenant that has neither controllers nor accounts, and its roll-outs."""
    record = _tenant(context)
    report = await _report(context, record)
    async with context.node.changing:
        await context.node.registry.remove_tenant(record.name)
    await context.jobs.forget_tenant(record.name)
    _note(context, "removed tenant", record.name)
    return report


def _tenant(context: FleetContext) -> TenantRecord:
    name = context.require("tenant", "the name of a tenant")
    record = context.node.registry.tenants.get(name)
    if record is None:
        raise no_such_tenant(name)
    return record


@_operator("tenant/give", *CHOSEN, GIVEN_TO, changes=True, scope=at_each)
async def give_controllers(context: FleetContext) -> BulkReport:
    """Assign the chosen controllers to a tenant, with all that they hold, or to the operator alone.
    The controllers are removed from their snapshots."""
    check_chosen(context)
    members = await context.find_chosen()
    await context.node.give(members, context.given.get("tenant", OPERATOR))
    return all_done([member.name for member in members])


# --- open controllers ---------------------------------------------------------------------------


def _closes_open(context: FleetContext) -> bool:
    """Return whether this is the first account or tenant; open controllers must then be closed.

    Refuse the request while controllers are still starting, because these would stay open.
    """
    is_first = not context.accounts.protects_controllers and not is_left_open(context)
    if is_first:
        context.node.roster.check_started(context.tenant)
    return is_first


async def _close_all(context: FleetContext) -> list[MemberResult]:
    """Close all open controllers of the fleet; return the results."""
    report = await protect_controllers.answer(replace(context, given={}))
    # The result of a controller that already required sign-in has no detail.
    return [one for one in report.results if one.detail is not None]


def _count_open(context: FleetContext) -> int:
    if context.node.options.must_sign_in:
        return 0
    return sum(map(is_open, context.node.members.values()))


@_operator("protect", *CHOSEN, changes=True, scope=at_each)
async def protect_controllers(context: FleetContext) -> BulkReport:
    """Require sign-in at those chosen controllers that are open to every user of the machine. A
    controller without a password gets an administrator; `password` is shown only once. The first
    account or tenant of a node does this for all."""
    members = await context.find_chosen()
    return await close_open(
        members, context.passwords, context.request.peer, context.at_controllers
    )


# --- accounts -------------------------------------------------------------------------------------


@_operator("accounts", while_starting=True)
def list_accounts(context: FleetContext) -> list[FleetAccountReport]:
    """List the accounts of the node, without its first administrator."""
    return [_account_report(one) for one in context.node.registry.accounts.values()]


def _account_report(account: FleetAccount) -> FleetAccountReport:
    return FleetAccountReport(account.name, account.role, account.tenant)


@_operator(
    "account/add", ACCOUNT_NAME, ROLE, OF_TENANT, LEFT_OPEN, changes=True, while_starting=True
)
async def add_account(context: FleetContext) -> AccountMade:
    """Create an account, with a password that is shown only once. From the first account on all
    users have to sign in, and controllers that are open to every user of the machine get an
    administrator each, unless `open` is set."""
    registry, given = context.node.registry, context.given
    name = check_account_name(context.require("name", "a name for the account"))
    tenant = given.get("tenant", OPERATOR)
    if tenant and tenant not in registry.tenants:
        raise no_such_tenant(tenant)
    closes = _closes_open(context)
    password = random_password()
    hashed = await context.passwords.hash(password)
    administrator = context.accounts.administrator
    async with context.node.changing:
        if name in registry.accounts or name == administrator:
            raise Conflict(f"There is an account {name} already.", field="name")
        if len(registry.accounts) >= MAX_ACCOUNTS:
            raise Conflict(f"A fleet has at most {MAX_ACCOUNTS} accounts.")
        account = FleetAccount(name, hashed, given.get("role", "user"), tenant)
        # From now on all users must sign in, so the creator of the account must be able to sign in.
        first = await context.accounts.first_administrator()
        await registry.put_account(account)
    _note(context, "created account", name)
    protected = await _close_all(context) if closes else []
    left_open = _count_open(context)
    made = AccountMade(name, account.role, tenant, password, None, None, protected, left_open)
    if first is None:
        return made
    return replace(made, administrator=administrator, administrator_password=first)


@_operator("account/remove", ACCOUNT_NAME, changes=True, while_starting=True)
async def remove_account(context: FleetContext) -> FleetAccountReport:
    """Remove an account, and sign out its users."""
    name = context.require("name", "the name of an account")
    async with context.node.changing:
        account = _account(context, name)
        await context.node.registry.remove_account(name)
    _note(context, "removed account", name)
    return _account_report(account)


def _account(context: FleetContext, name: str) -> FleetAccount:
    account = context.node.registry.accounts.get(name)
    if account is None:
        raise NoSuchFleetAccount(f"There is no account {name[:40]!r}.", field="name")
    return account


@operation("account/password", WHOSE, changes=True, role=ACCOUNT, while_starting=True)
async def make_password(context: FleetContext) -> AccountMade:
    """Generate a new password for your own account; it is shown only once. The operator can do this
    for any account."""
    own = context.account.name
    name = context.given.get("name") or own
    is_operator = context.tenant is None and context.account.role == ADMIN
    if name != own and not is_operator:
        raise NotAllowed("Only the operator may set passwords of other accounts.")
    if not name:
        raise Malformed("name is missing.", field="name", allowed="the name of an account")
    _account(context, name)
    password = random_password()
    hashed = await context.passwords.hash(password)
    async with context.node.changing:
        account = replace(_account(context, name), password=hashed)
        await context.node.registry.put_account(account)
    _note(context, "set a new password for account", name)
    return AccountMade(name, account.role, account.tenant, password)


def _note(context: FleetContext, what: str, name: str) -> None:
    who = context.account.name or "a local user"
    log.info("%s %s %s, from %s", who, what, name, context.request.peer)
