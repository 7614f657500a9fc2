"""`leverframe passwd`: for the node if the folder is a node's, else for the controller there."""

from pathlib import Path

from msgspec.structs import replace

from leverframe.config import AskedVersion, Config
from leverframe.config.reading import check_sources
from leverframe.config.sources import Sources
from leverframe.fleet.cluster.cluster_table import ClusterTable
from leverframe.fleet.cluster.driver import needing_driver
from leverframe.fleet.fleet_file import is_of_fleet, read_fleet
from leverframe.fleet.records import Registry
from leverframe.fleet.stopped_node import StoppedNode, open_stopped_node
from leverframe.maintenance import passwd
from leverframe.process.administrator import (
    PasswordRefused,
    administrator_name,
    check_length,
    set_password,
)
from leverframe.process.stored_profile import read_stored_profile
from leverframe.profile import Profile
from leverframe.servers.accounts.passwords import Passwords
from leverframe.storage.datafolder import is_of_node, refuse_missing
from leverframe.storage.fleet.lane import OF_NODE, Lane
from leverframe.storage.fleet.opening import FleetFolder


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
        from leverframe.fleet.cluster.beginning import NameTaken
        from leverframe.fleet.cluster.opening import short_life
    refuse_missing(data)
    with FleetFolder(data) as folder:
        try:
            async with short_life(table, folder) as life:
                name = _account_at(life.lane, life.registry, account)
            # A node's life cannot wait until the user has typed.
            password = passwd.new_password(name, generate=generate)
            async with short_life(table, folder) as life:
                await _set_at_node(life.lane, life.registry, name, password)
        except NameTaken as error:
            raise PasswordRefused(
                f"The node {table.node_name()} is running; stop it first."
            ) from error
    print(_describe_change(f"{name} of the node", password if generate else None))


def _account_at(lane: Lane, registry: Registry, account: str | None) -> str:
    """Return the requested account of a node, the administrator by default."""
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
    """Describe the change; show a generated password."""
    if password is None:
        return f"Changed the password of {whose}."
    return f"The password of {whose} is now {password}"
