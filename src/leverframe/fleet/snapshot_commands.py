"""The commands `leverframe fleet snapshot`, `snapshots`, `restore` and `remove-snapshot`."""

from functools import partial

from leverframe.fleet.commands import do_for_chosen, print_json, table_of, tables, zone_of
from leverframe.fleet.node_client import CommandLineClient
from leverframe.moments import moment_words, with_zone

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
