"""The commands `leverframe fleet migrate|nodes|drain|forget|move`."""

import time
from typing import Any

import msgspec

from leverframe.errors import ErrorForPeople
from leverframe.fleet.commands import table_of, tables
from leverframe.fleet.node_client import CommandLineClient
from leverframe.plain_text import printable_json

#: Seconds between two looks at a node that is being drained.
LOOK_S = 0.5
#: A node that keeps controllers for this long has no other node to release them to.
STUCK_S = 60.0


class NotEmptied(ErrorForPeople):
    """A node still has controllers: one sentence."""


def migrate_tables(database: str) -> None:
    from leverframe.storage.fleet.postgres_schema import migrate

    done = migrate(database)
    print(f"Done: {', '.join(done)}." if done else "The tables are up to date.")


def list_nodes(client: CommandLineClient, as_json: bool) -> None:
    """Print the nodes as a table, or the whole report as JSON."""
    report = client.get("nodes", {})
    if as_json:
        print(printable_json(msgspec.json.encode(report).decode()))
        return
    table = table_of("node", "state", "controllers", "capacity", "life", "inner address")
    for one in report["nodes"]:
        name = f"{one['name']} (asked)" if one["is_this"] else one["name"]
        table.add_row(
            name,
            _state(one),
            str(one["controllers"]),
            str(one["capacity"]),
            str(one["epoch"]),
            one["inner"],
        )
    tables().print(table)
    if report["free"]:
        print(f"{report['free']} controllers have no node yet.")
    if report["is_in_doubt"]:
        print("This node cannot reach the database, and refuses commands.")


def _state(node: dict[str, Any]) -> str:
    drained = ", drained" if node["is_drained"] else ""
    if not node["is_alive"]:
        # Nodes of older versions do not report it.
        return f"{'stopped' if node.get('has_resigned') else 'dead'}{drained}"
    return "is being drained" if drained and node["controllers"] else f"runs{drained}"


def drain_node(client: CommandLineClient, drained: str, *, undo: bool) -> None:
    """Drain a node and wait; report the number of controllers left until none is."""
    report = client.post("drain", {"node": drained, "undo": undo})
    if undo:
        print(f"{drained} accepts controllers again.")
        return
    last, since = -1, time.monotonic()
    while left := next(
        (one["controllers"] for one in report["nodes"] if one["name"] == drained), 0
    ):
        if left != last:
            print(f"{drained} has {left} controllers left", flush=True)
            last, since = left, time.monotonic()
        elif time.monotonic() - since > STUCK_S:
            raise NotEmptied(
                f"{drained} still has {left} controllers. Is another node running that can take "
                "them?"
            )
        time.sleep(LOOK_S)
        report = client.get("nodes", {})
    print(
        f"{drained} is drained and stays empty; `fleet drain {drained} --undo` lets it accept "
        "controllers again."
    )


def forget_node(client: CommandLineClient, forgotten: str) -> None:
    client.post("forget", {"node": forgotten})
    print(f"{forgotten} is removed from the list.")


def move_controller(client: CommandLineClient, name: str, to: str | None) -> None:
    client.post("move", {"name": name, "node": to})
    print(f"{name} moves to {to}." if to else f"{name} may run on any node.")
