"""The work of `leverframe fleet tenant` and `fleet account`: ask a node, and tell."""

from typing import Any

from leverframe.errors import ErrorForPeople
from leverframe.exit_codes import DONE, NO
from leverframe.fleet.commands import print_json, print_results, table_of, tables
from leverframe.fleet.node_client import CommandLineClient

Told = dict[str, Any]


class TenantMisspelt(ErrorForPeople):
    """What was asked of tenants or accounts makes no sense: one sentence."""


def tenants(
    client: CommandLineClient,
    as_json: bool,
    what: str,
    tenant: str | None,
    names: list[str],
    tag: list[str],
    most: int | None,
) -> int:
    """Make, list and remove tenants, and give them controllers."""
    if tenant is None and what != "list":
        raise TenantMisspelt(f"fleet tenant {what} needs the NAME of a tenant.")
    if what == "give" and not (names or tag):
        raise TenantMisspelt("fleet tenant give needs the NAME of a controller, or --tag.")
    with client:
        if what == "list":
            found = client.get("tenants", {})
        elif what == "give":
            answer = client.post("tenant/give", {"tenant": tenant, "name": names, "tag": tag})
            print_json(answer["results"]) if as_json else print_results(answer)
            return NO if answer["refused"] else DONE
        else:
            limit = {} if most is None else {"max": str(most)}
            found = [client.post(f"tenant/{what}", {"tenant": tenant, **limit})]
    if as_json:
        print_json(found)
    elif what == "list":
        _list_tenants(found)
    else:
        print(f"{'made' if what == 'add' else 'removed'}: {tenant}")
    return DONE


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
    given: Told,
) -> None:
    """Make, list and remove accounts of a node, and make passwords for them."""
    if name is None and what in ("add", "remove"):
        raise TenantMisspelt(f"fleet account {what} needs the NAME of an account.")
    with client:
        if what == "list":
            found = client.get("accounts", {})
        else:
            found = [client.post(f"account/{what}", {**given, "name": name})]
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
            f"From now on everybody signs in here: you as {made['administrator']} with the password"
            f" {made['administrator_password']}"
        )
    print("It is shown only this once.")
