"""Tenants and accounts of a fleet, which decide the controllers that a user may see and change. //
Every controller belongs to one tenant, or to the operator alone. An account of a tenant reaches
only that tenant's controllers; all others look as if they did not exist. An account without a
tenant belongs to the operator, who may do everything.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from leverframe.commands.table.accounts import MAX_LETTERS
from leverframe.commands.table.refusals import BadValue, Conflict, Refusal

#: The tenant of the operator's own controllers.
OPERATOR = ""
NAME = "1 to 31 lower-case letters, digits and dashes, beginning and ending with a letter or digit"
ACCOUNT_NAME = f"1 to {MAX_LETTERS} letters, digits and . _ @ -"
#: Number of controllers that a tenant may create itself, by default.
USUAL_MAX = 100
MAX_ACCOUNTS = 1000
#: A mark that no name and no label of a user contains.
_MARK = ":"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,29}[a-z0-9])?")
_ACCOUNT_NAME = re.compile(rf"[\w.@-]{{1,{MAX_LETTERS}}}")

Role = Literal["administrator", "user"]


class NoSuchTenant(Refusal):
    status = 404
    title = "There is no such tenant"


class NoSuchFleetAccount(Refusal):
    status = 404
    title = "There is no such account"


class TenantRecord(Struct, frozen=True):
    name: str
    max_controllers: Annotated[
        int, Meta(description="Number of controllers up to which its administrators may add some.")
    ] = USUAL_MAX


class FleetAccount(Struct, frozen=True):
    """An account at the node; controllers have their own."""

    name: str
    #: An Argon2id hash, never the password itself.
    password: str
    role: Role
    tenant: str = OPERATOR


def is_label(name: str) -> bool:
    """Return whether a tenant, controller or node of this name can be part of a host name."""
    return _NAME.fullmatch(name) is not None


def check_tenant_name(name: str) -> str:
    if not is_label(name):
        raise BadValue(
            f"{name[:40]!r} is not a valid name for a tenant.", field="tenant", allowed=NAME
        )
    return name


def check_account_name(name: str) -> str:
    if not _ACCOUNT_NAME.fullmatch(name):
        raise BadValue(
            f"{name[:40]!r} is not a valid name for an account.", field="name", allowed=ACCOUNT_NAME
        )
    return name


def no_such_tenant(name: str) -> NoSuchTenant:
    return NoSuchTenant(f"There is no tenant {name[:40]!r}.", field="tenant")


def within_tenant(tenant: str | None, name: str) -> str:
    """Return the stored name of a job or a snapshot, so that those of two tenants never collide."""
    return f"{tenant}{_MARK}{name}" if tenant else name


def tenant_within(name: str) -> str:
    """Return the tenant of a job or a snapshot."""
    return name.rpartition(_MARK)[0]


def name_for_tenant(tenant: str | None, name: str) -> str:
    """Return a tenant's name for a job or a snapshot: its stored name without the tenant."""
    return name.rpartition(_MARK)[2] if tenant else name


def is_seen(tenant: str | None, owner: str) -> bool:
    """Return whether a requester may see what belongs to a tenant; None is the operator."""
    return tenant is None or tenant == owner


def check_unused(name: str, owners: Iterable[str], accounts: Iterable[FleetAccount]) -> None:
    """Refuse to remove a tenant that has controllers or accounts."""
    controllers = sum(owner == name for owner in owners)
    people = sum(one.tenant == name for one in accounts)
    if controllers or people:
        raise Conflict(
            f"{name} has {controllers} controllers and {people} accounts. Remove them first, or"
            " assign the controllers to another tenant.",
            field="tenant",
        )
