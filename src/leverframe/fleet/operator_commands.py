"""The tasks of `leverframe fleet rollout`, `snapshot`, `tenant`, `account` and others: send
requests to a node, and print the answers.
"""

import json
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from leverframe.core.durations import moment_words, with_zone
from leverframe.core.errors import DONE, NO, ErrorForPeople
from leverframe.fleet.client import CommandLineClient
from leverframe.fleet.controller_commands import (
    do_for_chosen,
    print_json,
    print_refused,
    print_results,
    table_of,
    tables,
    zone_of,
)

# The commands `leverframe fleet rollout`, `drift` and `changes`.

Reply = dict[str, Any]


class RolloutMisspelt(ErrorForPeople):
    """The arguments for a roll-out are inconsistent; the message is one sentence."""


def roll_out(
    client: CommandLineClient,
    as_json: bool,
    what: str,
    id: str | None,
    command: list[str],
    template: Path | None,
    options: Reply,
) -> int:
    """Plan, list, show or operate roll-outs."""
    if id is None and what not in ("plan", "list"):
        raise RolloutMisspelt(f"fleet rollout {what} needs the ID of a roll-out.")
    if what == "list":
        found = client.get("rollouts", {})
        if as_json:
            print_json(found)
        else:
            _list(found, zone_of(client.get("", {})))
        return DONE
    if what == "plan":
        if (template is None) is not bool(command):
            raise RolloutMisspelt(
                "A roll-out needs either --command or --template; pass exactly one of them."
            )
        if template is not None:
            body, kind = _text_of(template), "template"
        else:
            body, kind = "\n".join(command), None
        answer = client.post("rollout/plan", {**options, "id": id, "what": kind}, body.encode())
        return _print_plan(answer, as_json)
    answer = client.get("rollout", {"id": id})
    if what != "show":
        answer = client.post(f"rollout/{what}", {"id": id})
    if as_json:
        print_json([answer])
        return DONE
    return _show(answer)


def _text_of(template: Path) -> str:
    """Return a template with all settings that it names, including factory settings."""
    from leverframe.host.maintenance.configuration import read_template_file

    return msgspec.json.encode(read_template_file(template)).decode()


def _print_plan(answer: Reply, as_json: bool) -> int:
    if as_json:
        print_json([answer])
    else:
        print_results(answer["tried"])
        sizes = ", ".join(map(str, answer["groups"]))
        print(f"groups: {sizes}")
        if answer["job"] is not None:
            id = answer["job"]["id"]
            print(f"planned: {id}; leverframe fleet rollout start {id} starts it")
    return NO if answer["tried"]["refused"] else DONE


def _list(found: list[Reply], zone: tzinfo) -> None:
    made = with_zone("made", zone)
    table = table_of("id", "kind", "what", "status", "done", "failed", "of", "by", made)
    for one in found:
        table.add_row(
            one["id"],
            one["kind"],
            one["title"],
            one["status"],
            str(one["done"]),
            str(one["failed"]),
            str(one["controllers"]),
            one["by"],
            # In the node's time, which nodes of older versions do not report.
            moment_words(one["at"] if "at" in one else one["made"], zone),
        )
    tables().print(table)


def _show(answer: Reply) -> int:
    print(f"{answer['id']}: {answer['title']}")
    why = f" ({answer['why']})" if answer["why"] else ""
    print(f"{answer['status']}{why}, {answer['done']} done, {answer['failed']} failed")
    for number, group in enumerate(answer["groups"], start=1):
        back = f", {group['undone']} restored" if group["undone"] else ""
        print(f"group {number}: {group['done']} of {group['size']}, {group['failed']} failed{back}")
    print_refused([one for one in answer["results"] if one["status"] != 200])
    return NO if answer["failed"] or answer["status"] == "stopped" else DONE


def show_drift(client: CommandLineClient, as_json: bool, template: Path, options: Reply) -> int:
    """Print how controllers differ from a template; return 1 if any of them differs."""
    body = _text_of(template).encode()
    found = client.post("drift", options, body)
    differing = [one for one in found if one.get("differs") or one["status"] != 200]
    if as_json:
        print_json(found)
        return NO if differing else DONE
    for one in differing:
        if one["status"] != 200:
            print(f"{one['name']}: cannot be compared: {one['detail']}")
            continue
        count = one["differs"]
        print(f"{one['name']}: differs in {count} setting{'s' if count > 1 else ''}")
        for setting in one["settings"]:
            old, new = (json.dumps(setting[key]) for key in ("old", "new"))
            print(f"  {setting['what']} = {old}, not {new}")
    print(f"same: {len(found) - len(differing)}, different: {len(differing)}")
    return NO if differing else DONE


def show_changes(client: CommandLineClient, as_json: bool, options: Reply) -> None:
    """Print the changes of controllers with their authors, newest first."""
    found = client.get("changes", options)
    if as_json:
        print_json(found)
        return
    zone = zone_of(client.get("", {}))
    table = table_of(with_zone("when", zone), "name", "who", "from", "what")
    for one in found:
        entry = one["entry"]
        what = "\n".join(
            f"{change['path']}: {json.dumps(change['old'])} -> {json.dumps(change['new'])}"
            for change in entry["changes"]
        )
        who = entry["account"] or entry["cause"]
        table.add_row(moment_words(entry["time"], zone), one["name"], who, entry["source"], what)
    tables().print(table)


# The commands `leverframe fleet tenant`, `account` and `protect`.

OK = 200


class TenantMisspelt(ErrorForPeople):
    """The arguments for tenants or accounts are inconsistent; the message is one sentence."""


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
        more: Reply = {} if most is None else {"max": str(most)}
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


def protect(client: CommandLineClient, as_json: bool, options: Reply) -> int:
    """Make open controllers require sign-in, and print the passwords of their administrators."""
    answer = client.post("protect", options)
    if as_json:
        print_json(answer["results"])
    else:
        print_results(answer)
        _print_administrators(answer["results"])
    return NO if answer["refused"] else DONE


def _print_protected(answer: Reply) -> None:
    """Print the effect of the first account or tenant on open controllers."""
    print_refused([one for one in answer["protected"] if one["status"] != OK])
    _print_administrators(answer["protected"])
    count = answer["left_open"]
    if count:
        some = "1 controller is" if count == 1 else f"{count} controllers are"
        print(
            f"{some} open to every user of the node's machine. `leverframe fleet protect`"
            " makes them require sign-in."
        )


def _print_administrators(results: list[Reply]) -> None:
    by_password: dict[str, list[str]] = {}
    for one in results:
        if password := one.get("password"):
            by_password.setdefault(password, []).append(one["name"])
    for password, names in by_password.items():
        have = "administrator of {} has" if len(names) == 1 else "administrators of {} have"
        print(
            f"The {have.format(', '.join(names))} the password {password}, which is shown only"
            " once. Until now every user of the machine could use them."
        )


def _list_tenants(found: list[Reply]) -> None:
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
    options: Reply,
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


def _print_password(made: Reply) -> None:
    whose = f"of {made['tenant']}" if made["tenant"] else "of the operator"
    print(f"{made['name']}, {made['role']} {whose}, has the password {made['password']}")
    if made["administrator"] is not None:
        print(
            f"From now on all users must sign in. Your account is {made['administrator']} with"
            f" the password {made['administrator_password']}"
        )
    print("It is shown only once.")
    _print_protected(made)


# The commands `leverframe fleet snapshot`, `snapshots`, `restore` and `remove-snapshot`.

take_snapshot_of = partial(do_for_chosen, "snapshot")
restore_snapshot = partial(do_for_chosen, "restore")


def list_snapshots(client: CommandLineClient, as_json: bool) -> None:
    """Print the snapshots of the node as a table, or as JSON Lines."""
    found = client.get("snapshots", {})
    if as_json:
        print_json(found)
        return
    zone = zone_of(client.get("", {}))
    table = table_of("label", with_zone("taken", zone), "controllers")
    for one in found:
        table.add_row(one["label"], moment_words(one["at"], zone), str(one["controllers"]))
    tables().print(table)


def remove_snapshot(client: CommandLineClient, as_json: bool, label: str) -> None:
    answer = client.post("snapshot/remove", {"label": label})
    if as_json:
        print_json([answer])
    else:
        print(f"removed: {label}")
