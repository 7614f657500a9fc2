"""The tasks of `leverframe fleet migrate`, `nodes`, `drain`, `forget`, `move`, `map`, `adopt`,
`release`, and of `leverframe passwd`.
"""

import socket
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from leverframe.core.errors import ErrorForPeople, printable_json
from leverframe.core.profile import Profile
from leverframe.fleet.client import CommandLineClient, NodeRefused
from leverframe.fleet.controller_commands import name_warning, table_of, tables
from leverframe.fleet.fleet_file import ClusterTable, is_of_fleet, needing_driver, read_fleet
from leverframe.fleet.node_storage import StoppedNode, open_stopped_node
from leverframe.fleet.records import MemberRecord, Registry, TakenPlaces, check_name, check_tags
from leverframe.host.configuration import AskedVersion, Config
from leverframe.host.configuration.reader import Sources, check_sources
from leverframe.host.maintenance import data as passwd
from leverframe.host.reach import PasswordRefused, administrator_name, check_length, set_password
from leverframe.host.start_version import read_stored_profile
from leverframe.interface.table.refusals import Refusal
from leverframe.server.passwords import Passwords
from leverframe.storage.datafolder import folder_with_store, is_of_node, refuse_missing
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.shared_chunks import SharedChunks
from leverframe.storage.lanes.lane import OF_NODE, Lane
from leverframe.storage.lanes.node_folder import (
    CannotMove,
    FleetFolder,
    FolderContent,
    empty_folder,
    move_in,
    move_out,
)

# The commands `leverframe fleet migrate|nodes|drain|forget|move`.

#: Interval between checks of a node that is being drained.
LOOK_S = 0.5
#: If a draining node still has controllers after this time, no other node can take them.
STUCK_S = 60.0


class NotEmptied(ErrorForPeople):
    """A node still has controllers; the message is one sentence."""


def migrate_tables(database: str) -> None:
    from leverframe.storage.lanes.postgres_schema import migrate

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
        name = f"{one['name']} (this node)" if one["is_this"] else one["name"]
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
    """Drain a node; report the number of remaining controllers until none is left."""
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
                f"{drained} still has {left} controllers. Check that another running node can"
                f" accept them."
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


# `leverframe fleet map`: the node of each controller, as a map file for HAProxy.
#
# Each line maps the host name of a controller to its node. A running HAProxy accepts a new map
# through its socket. The new map is built beside the old one and then replaces it in one step, so
# that no request sees an incomplete map.

#: HAProxy accepts commands of up to 16 KiB, and a name has at most 253 letters.
LINES_AT_A_TIME = 40
ANSWER_S = 10.0
#: An empty line ends the payload of a command.
_END = "\n\n"


class HaproxyRefused(ErrorForPeople):
    """HAProxy refused a map, or cannot be reached; the message is one sentence."""


def map_controllers(
    client: CommandLineClient, domain: str, haproxy: str | None, file: str, every: float | None
) -> None:
    """Print the map, or load it into a running HAProxy, once or repeatedly."""
    written: list[str] | None = None
    trouble = ""
    while True:
        try:
            lines = map_lines(client.get("owners", {}), domain)
            if lines != written:
                _put_out(lines, haproxy, file)
            written, trouble = lines, ""
        except (NodeRefused, HaproxyRefused) as error:
            if every is None:
                raise
            # If the map is loaded only once, the failure is an error; otherwise it is reported and
            # retried.
            if str(error) != trouble:
                trouble = str(error)
                print(f"leverframe: {trouble}", file=sys.stderr, flush=True)
        if every is None:
            return
        time.sleep(every)


def map_lines(owners: Mapping[str, str | None], domain: str) -> list[str]:
    """Return a line for each controller that has a node."""
    found = (f"{name}.{domain} {node}" for name, node in owners.items() if node is not None)
    return sorted(found)


def _put_out(lines: list[str], haproxy: str | None, file: str) -> None:
    if haproxy is None:
        print("\n".join(lines), flush=True)
    else:
        put_map(haproxy, file, lines)
        print(f"{haproxy} routes {len(lines)} controllers by {file}", flush=True)


def put_map(haproxy: str, file: str, lines: list[str]) -> None:
    """Replace the map of a running HAProxy with these lines."""
    answer = _query(haproxy, f"prepare map {file}\n")
    version = answer.rpartition(":")[2].strip()
    if not version.isdecimal():
        raise HaproxyRefused(f"{haproxy} has no map {file}: {answer or 'it does not answer'}")
    for some in _batches(lines):
        payload = "\n".join(some)
        _must(haproxy, f"add map @{version} {file} <<\n{payload}{_END}")
    _must(haproxy, f"commit map @{version} {file}\n")


def _batches(lines: list[str]) -> Iterator[list[str]]:
    left = iter(lines)
    while some := list(islice(left, LINES_AT_A_TIME)):
        yield some


def _must(haproxy: str, command: str) -> None:
    if answer := _query(haproxy, command):
        raise HaproxyRefused(f"{haproxy} rejects the map and keeps the old one: {answer}")


def _query(haproxy: str, command: str) -> str:
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(ANSWER_S)
            asking.connect(haproxy)
            asking.sendall(command.encode())
            asking.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: asking.recv(4096), b"")).decode().strip()
    except OSError as error:
        raise HaproxyRefused(f"{haproxy} does not answer: {error.strerror or error}.") from error


# `leverframe fleet adopt|release`: move controllers into a stopped node, and out of it.


async def adopt(sources: Sources, folder: Path, name: str | None, tags: list[str]) -> None:
    await adopt_folder(Path(read_fleet(sources).config.data), folder, name, tags)


async def release(sources: Sources, name: str, to: Path) -> None:
    fleet = read_fleet(sources)
    await release_controller(Path(fleet.config.data), name, to)
    if any(one.record.name == name for one in fleet.controllers):
        print(name_warning(str(sources.file), name))
    elif sources.file is None:
        print(name_warning("any fleet file", name))


async def adopt_folder(data_folder: Path, folder: Path, name: str | None, tag: list[str]) -> None:
    """Copy the controller of a data folder into a node; the folder is not changed."""
    with folder_with_store(folder) as source:
        content = FolderContent(source)
        kept = content.kept
        async with open_stopped_node(data_folder) as node:
            try:
                record = MemberRecord(
                    check_name(name or kept.get("identity.name") or source.path.name),
                    check_tags(tag),
                    kept.get("profile.hw"),
                    kept.get("profile.configured_sw"),
                )
                TakenPlaces(node.registry.records.values()).add(record)
            except Refusal as refusal:
                problem = refusal.detail.partition("; choose another name")[0].rstrip(".")
                raise CannotMove(f"{problem}; choose another name with --name.") from None
            if same := await _same_unit(node, kept.get("identity.mac")):
                raise CannotMove(f"The controller in {folder} is already in the node, as {same}.")
            (number,) = await node.registry.reserve(1)
            # A node that was killed may have left data under this number.
            await node.lane.forget([number])
            trouble = await move_in(content, node.lane, node.folder, number)
            # Last, because the node ignores the data without this record.
            await node.registry.put({number: record})
    print(f"{record.name} is now in the node of {data_folder}, with all data of {folder}.")
    if trouble:
        print(trouble)
    print(
        f"Remove {folder}, or keep it as a backup. Do not run it: the same unit would exist twice."
    )


async def _same_unit(node: StoppedNode, mac: str | None) -> str | None:
    """Find the controller that already has a MAC address."""
    for number, record in node.registry.records.items():
        stored = (await node.lane.fetch([number]))[number]
        if mac is not None and stored.kept.get("identity.mac") == mac:
            return record.name
    return None


async def release_controller(data_folder: Path, name: str, to: Path) -> None:
    """Move a controller of a node to its own data folder, for `leverframe run`."""
    async with open_stopped_node(data_folder) as node:
        number, _ = node.controller(name)
        with empty_folder(to) as folder:
            trouble = await move_out(node.lane, node.folder, number, name, folder)
        # Delete the data only after everything was copied, so that a failure loses nothing.
        parts = await node.registry.remove([number])
        await node.lane.forget([number, *parts])
        if node.folder.history_path.exists() and not trouble:
            shared = SharedChunks(node.folder.history_path, Bounds().max_bytes)
            try:
                shared.forget([number])
            finally:
                shared.close()
    print(f"{name} is now in {to}. Start it with `leverframe run --data {to}`.")
    if trouble:
        print(trouble)


# `leverframe passwd`: for a node if the folder belongs to one, else for the controller in it.


async def change_password(
    sources: Sources,
    account: str | None,
    generate: bool,
    controller: str | None,
    database: str | None = None,
    node: str | None = None,
) -> None:
    given = {"database": database, "node": node}
    of_cluster = {key: value for key, value in given.items() if value is not None}
    if of_cluster or is_of_fleet(sources):
        fleet = read_fleet(sources, of_cluster)
        folder = Path(fleet.config.data)
        if fleet.cluster is None:
            await _change_in_folder(folder, account, generate, controller)
        else:
            await _change_in_database(fleet.cluster, folder, account, generate, controller)
        return
    config = check_sources(sources, Config)
    folder = Path(config.data)
    if is_of_node(folder):
        await _change_in_folder(folder, account, generate, controller)
    elif controller is None:
        await passwd.change_password(config, account, generate)
    else:
        raise PasswordRefused(f"{folder} is not the folder of a node. Omit --controller.")


async def _change_in_folder(
    folder: Path, account: str | None, generate: bool, controller: str | None
) -> None:
    async with open_stopped_node(folder) as node:
        if controller is not None:
            sentence = await _change_at_controller(node, controller, account, generate)
        else:
            name = _account_at(node.lane, node.registry, account)
            password = passwd.new_password(name, generate=generate)
            await _set_at_node(node.lane, node.registry, name, password)
            sentence = _describe_change(f"{name} of the node", password if generate else None)
    print(sentence)


async def _change_in_database(
    table: ClusterTable,
    data: Path,
    account: str | None,
    generate: bool,
    controller: str | None,
) -> None:
    if controller is not None:
        raise PasswordRefused(
            f"{controller} is in a shared database, and a node may be running it. Set its"
            f" accounts with `leverframe fleet send 'stm.cgi?auth=...' {controller}` while a node"
            " runs."
        )
    with needing_driver():
        from leverframe.fleet.cluster.database_setup import NameTaken, short_life
    refuse_missing(data)
    with FleetFolder(data) as folder:
        try:
            async with short_life(table, folder) as life:
                name = _account_at(life.lane, life.registry, account)
            # Prompt outside of `short_life`: other nodes could declare this life dead while the
            # user types.
            password = passwd.new_password(name, generate=generate)
            async with short_life(table, folder) as life:
                await _set_at_node(life.lane, life.registry, name, password)
        except NameTaken as error:
            raise PasswordRefused(
                f"The node {table.node_name()} is running; stop it first."
            ) from error
    print(_describe_change(f"{name} of the node", password if generate else None))


def _account_at(lane: Lane, registry: Registry, account: str | None) -> str:
    """Return the requested account of a node, by default the administrator."""
    administrator = administrator_name(lane.store(OF_NODE))
    name = account or administrator
    others = registry.accounts
    if name not in (administrator, *others):
        raise PasswordRefused(
            f"The node has no account {name!r}; it has {', '.join((administrator, *others))}."
            " For accounts of a controller use --controller NAME."
        )
    return name


async def _set_at_node(lane: Lane, registry: Registry, name: str, password: str) -> None:
    own = lane.store(OF_NODE)
    if name == administrator_name(own):
        await set_password(own, Profile(), name, password)
    else:
        check_length(password)
        hashed = await Passwords().hash(password)
        await registry.put_account(replace(registry.accounts[name], password=hashed))


async def _change_at_controller(
    node: StoppedNode, controller: str, account: str | None, generate: bool
) -> str:
    number, record = node.controller(controller)
    store = node.lane.store(number)
    name = account or administrator_name(store)
    password = passwd.new_password(name, generate=generate)
    profile = AskedVersion(record.hw, record.sw).profile(*read_stored_profile(store))
    await set_password(store, profile, name, password)
    return _describe_change(f"{name} of {controller}", password if generate else None)


def _describe_change(whose: str, password: str | None) -> str:
    """Describe the change, including a generated password."""
    if password is None:
        return f"Changed the password of {whose}."
    return f"The password of {whose} is now {password}"
