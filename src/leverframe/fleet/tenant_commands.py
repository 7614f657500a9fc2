"""The commands `leverframe fleet tenant`, `account` and `protect`: request a node, and print."""

from typing import Any

from leverframe.errors import ErrorForPeople
from leverframe.exit_codes import DONE, NO
from leverframe.fleet.commands import (
    print_json,
    print_refused,
    print_results,
    table_of,
    tables,
)
from leverframe.fleet.node_client import CommandLineClient

Told = dict[str, Any]
OK = 200


class TenantMisspelt(ErrorForPeople):
    """The arguments for tenants or accounts make no sense: one sentence."""


def tenants(
    client: CommandLineClient,
    as_json: bool,
    what: str,
    tenant: str | None,
    names: list[str],
    tag: list[str],
    most: int | None,
    open: bool,
) -> int:
    """Create, list and remove tenants, and assign controllers to them."""
    if tenant is None and what != "list":
        raise TenantMisspelt(f"fleet tenant {what} needs the NAME of a tenant.")
    if what == "give" and not (names or tag):
        raise TenantMisspelt("fleet tenant give needs the NAME of a controller, or --tag.")
    if what == "list":
        found = client.get("tenants", {})
    elif what == "give":
        answer = client.post("tenant/give", {"tenant": tenant, "name": names, "tag": tag})
        print_json(answer["results"]) if as_json else print_results(answer)
        return NO if answer["refused"] else DONE
    else:
        more: Told = {} if most is None else {"max": str(most)}
        if what == "add":
            more["open"] = open
        found = [client.post(f"tenant/{what}", {"tenant": tenant, **more})]
    if as_json:
        print_json(found)
    elif what == "list":
        _list_tenants(found)
    else:
        print(f"{'created' if what == 'add' else 'removed'}: {tenant}")
        if what == "add":
            _print_protected(found[0])
    return DONE


def protect(client: CommandLineClient, as_json: bool, options: Told) -> int:
    """Make open controllers require sign-in, and print the passwords of their administrators."""
    answer = client.post("protect", options)
    if as_json:
        print_json(answer["results"])
    else:
        print_results(answer)
        _print_administrators(answer["results"])
    return NO if answer["refused"] else DONE


def _print_protected(answer: Told) -> None:
    """Print the effect of the first account or tenant on open controllers."""
    print_refused([one for one in answer["protected"] if one["status"] != OK])
    _print_administrators(answer["protected"])
    count = answer["left_open"]
    if count:
        some = "1 controller is" if count == 1 else f"{count} controllers are"
        print(
            f"{some} open to every user of the machine of the node. `leverframe fleet protect`"
            " makes them require sign-in."
        )


def _print_administrators(results: list[Told]) -> None:
    by_password: dict[str, list[str]] = {}
    for one in results:
        if password := one.get("password"):
            by_password.setdefault(password, []).append(one["name"])
    for password, names in by_password.items():
        have = "administrator of {} has" if len(names) == 1 else "administrators of {} have"
        print(
            f"The {have.format(', '.join(names))} the password {password}, which is shown only this"
            " once. Until now every user of the machine could use them."
        )


def _list_tenants(found: list[Told]) -> None:
    table = table_of("tenant", "controllers", "may have", "accounts")
    for one in found:
        counts = (one["controllers"], one["max_controllers"], one["accounts"])
        table.add_row(one["name"], *map(str, counts))
    tables().print(table)


def accounts(
    client: CommandLineClient,
    as_json: bool,
    what: str,
    name: str | None,
    options: Told,
) -> None:
    """Create, list and remove accounts of a node, and generate passwords for them."""
    if name is None and what in ("add", "remove"):
        raise TenantMisspelt(f"fleet account {what} needs the NAME of an account.")
    if what != "add":
        options = {name: value for name, value in options.items() if name != "open"}
    if what == "list":
        found = client.get("accounts", {})
    else:
        found = [client.post(f"account/{what}", {**options, "name": name})]
    if as_json:
        print_json(found)
    elif what == "list":
        table = table_of("account", "role", "tenant")
        for one in found:
            table.add_row(one["name"], one["role"], one["tenant"] or "(the operator)")
        tables().print(table)
    elif what == "remove":
        print(f"removed: {name}")
    else:
        _print_password(found[0])


def _print_password(made: Told) -> None:
    whose = f"of {made['tenant']}" if made["tenant"] else "of the operator"
    print(f"{made['name']}, {made['role']} {whose}, has the password {made['password']}")
    if made["administrator"] is not None:
        print(
            f"From now on all users must sign in. Your account is {made['administrator']} with"
            f" the password {made['administrator_password']}"
        )
    print("It is shown only this once.")
    _print_protected(made)
