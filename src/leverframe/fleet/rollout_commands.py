"""The commands `leverframe fleet rollout`, `drift` and `changes`: request a node, and print."""

import json
from datetime import tzinfo
from pathlib import Path
from typing import Any

import msgspec

from leverframe.errors import ErrorForPeople
from leverframe.exit_codes import DONE, NO
from leverframe.fleet.commands import (
    print_json,
    print_refused,
    print_results,
    table_of,
    tables,
    zone_of,
)
from leverframe.fleet.node_client import CommandLineClient
from leverframe.moments import moment_words, with_zone

Told = dict[str, Any]


class RolloutMisspelt(ErrorForPeople):
    """The arguments for a roll-out make no sense: one sentence."""


def roll_out(
    client: CommandLineClient,
    as_json: bool,
    what: str,
    id: str | None,
    command: list[str],
    template: Path | None,
    options: Told,
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
            raise RolloutMisspelt("A roll-out needs either --command or --template.")
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
    from leverframe.maintenance.given_settings import read_template_file

    return msgspec.json.encode(read_template_file(template)).decode()


def _print_plan(answer: Told, as_json: bool) -> int:
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


def _list(found: list[Told], zone: tzinfo) -> None:
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
            # By the time of the node; nodes of older versions do not report it.
            moment_words(one["at"] if "at" in one else one["made"], zone),
        )
    tables().print(table)


def _show(answer: Told) -> int:
    print(f"{answer['id']}: {answer['title']}")
    why = f" ({answer['why']})" if answer["why"] else ""
    print(f"{answer['status']}{why}, {answer['done']} done, {answer['failed']} failed")
    for number, group in enumerate(answer["groups"], start=1):
        back = f", {group['undone']} restored" if group["undone"] else ""
        print(f"group {number}: {group['done']} of {group['size']}, {group['failed']} failed{back}")
    print_refused([one for one in answer["results"] if one["status"] != 200])
    return NO if answer["failed"] or answer["status"] == "stopped" else DONE


def show_drift(client: CommandLineClient, as_json: bool, template: Path, options: Told) -> int:
    """Print how controllers differ from a template; return 1 if any does."""
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


def show_changes(client: CommandLineClient, as_json: bool, options: Told) -> None:
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
