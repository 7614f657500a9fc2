"""The work of `leverframe fleet rollout`, `drift` and `changes`: ask a node, and tell."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from leverframe.errors import ErrorForPeople
from leverframe.exit_codes import DONE, NO
from leverframe.fleet.commands import asked_node, print_json, say_results, tables
from leverframe.maintenance.readable_backup import as_text, read

Told = dict[str, Any]


class RolloutMisspelt(ErrorForPeople):
    """What was asked of a roll-out makes no sense: one sentence."""


def roll_out(
    node: str,
    user: str | None,
    ca_file: str | None,
    as_json: bool,
    what: str,
    id: str | None,
    command: list[str],
    template: Path | None,
    name: list[str],
    tag: list[str],
    groups: str | None,
    success: float | None,
    errors: str | None,
    pause: str | None,
    no_health_check: bool,
    no_snapshot: bool,
    dry_run: bool,
) -> int:
    """Plan, list, show or operate roll-outs."""
    if id is None and what not in ("plan", "list"):
        raise RolloutMisspelt(f"fleet rollout {what} needs the ID of a roll-out.")
    with asked_node(node, user, ca_file) as client:
        if what == "list":
            found = client.get("rollouts", {})
            print_json(found) if as_json else _list(found)
            return DONE
        if what == "plan":
            given: Told = {
                **{"id": id, "name": name, "tag": tag, "groups": groups},
                **({} if success is None else {"success": str(success)}),
                **{"errors": errors, "pause": pause, "dry_run": dry_run},
                **({"check_health": "0"} if no_health_check else {}),
                **({"snapshot": "0"} if no_snapshot else {}),
            }
            if (template is None) is not bool(command):
                raise RolloutMisspelt("A roll-out has either --command, or --template.")
            if template is not None:
                body = as_text(read(template), ".json")
                given["what"] = "template"
            else:
                body = "\n".join(command)
            told = client.post("rollout/plan", given, body.encode())
            return _say_plan(told, as_json)
        told = client.get("rollout", {"id": id})
        if what != "show":
            told = client.post(f"rollout/{what}", {"id": id})
    if as_json:
        print_json([told])
        return DONE
    return _show(told)


def _say_plan(told: Told, as_json: bool) -> int:
    if as_json:
        print_json([told])
    else:
        say_results(told["tried"])
        sizes = ", ".join(map(str, told["groups"]))
        print(f"groups: {sizes}")
        if told["job"] is not None:
            id = told["job"]["id"]
            print(f"planned: {id}; leverframe fleet rollout start {id} begins it")
    return NO if told["tried"]["refused"] else DONE


def _list(found: list[Told]) -> None:
    table = Table("id", "kind", "what", "status", "done", "failed", "of", "by", "made")
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
            f"{datetime.fromtimestamp(one['made'], UTC):%Y-%m-%d %H:%M:%S} UTC",
        )
    tables().print(table)


def _show(told: Told) -> int:
    print(f"{told['id']}: {told['title']}")
    why = f" ({told['why']})" if told["why"] else ""
    print(f"{told['status']}{why}, {told['done']} done, {told['failed']} failed")
    for number, group in enumerate(told["groups"], start=1):
        back = f", {group['undone']} back again" if group["undone"] else ""
        print(f"group {number}: {group['done']} of {group['size']}, {group['failed']} failed{back}")
    failed = [one for one in told["results"] if one["status"] != 200]
    if failed:
        table = Table("name", "status", "why")
        for one in failed:
            table.add_row(one["name"], str(one["status"]), one.get("detail", ""))
        tables().print(table)
    return NO if told["failed"] or told["status"] == "stopped" else DONE
