"""The work of `leverframe fleet snapshot` and its kin: ask a node, and tell."""

from functools import partial

from leverframe.fleet.commands import do_for_chosen, print_json, table_of, tables, zone_of
from leverframe.fleet.node_client import CommandLineClient
from leverframe.moments import moment_words, with_zone

take_snapshot_of = partial(do_for_chosen, "snapshot")
restore_snapshot = partial(do_for_chosen, "restore")


def list_snapshots(client: CommandLineClient, as_json: bool) -> None:
    """Print the snapshots that the node keeps as a table, or one JSON object a line."""
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
