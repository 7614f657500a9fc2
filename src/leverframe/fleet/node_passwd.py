"""`leverframe passwd`: of the node where the folder is a node's, else of the controller there."""

from pathlib import Path

from msgspec.structs import replace

from leverframe.config import AskedVersion, Config
from leverframe.config.reading import checked
from leverframe.config.sources import Sources
from leverframe.fleet.fleet_file import is_of_fleet, read_fleet
from leverframe.fleet.stopped_node import StoppedNode, stopped_node
from leverframe.maintenance import passwd
from leverframe.process.administrator import (
    PasswordRefused,
    administrator_name,
    check_length,
    set_password,
)
from leverframe.process.stored_profile import stored_profile
from leverframe.profile import Profile
from leverframe.servers.accounts.passwords import Passwords
from leverframe.storage.datafolder import is_of_node
from leverframe.storage.fleet.lane import OF_NODE


async def change_password(
    sources: Sources, account: str | None, generate: bool, controller: str | None
) -> None:
    if is_of_fleet(sources):
        folder = Path(read_fleet(sources).config.data)
        await _change_in_folder(folder, account, generate, controller)
        return
    config = checked(sources, Config)
    folder = Path(config.data)
    if is_of_node(folder):
        await _change_in_folder(folder, account, generate, controller)
    elif controller is None:
        await passwd.change_password(config, account, generate)
    else:
        raise PasswordRefused(f"{folder} is not the folder of a node; leave --controller out.")


async def _change_in_folder(
    folder: Path, account: str | None, generate: bool, controller: str | None
) -> None:
    async with stopped_node(folder) as node:
        if controller is None:
            told = await _change_at_node(node, account, generate)
        else:
            told = await _change_at_controller(node, controller, account, generate)
    print(told)


async def _change_at_node(node: StoppedNode, account: str | None, generate: bool) -> str:
    own = node.lane.store(OF_NODE)
    administrator = administrator_name(own)
    name = account or administrator
    others = node.registry.accounts
    if name not in (administrator, *others):
        raise PasswordRefused(
            f"The node has no account {name!r}; it has {', '.join((administrator, *others))}. Those"
            " of a controller are reached with --controller NAME."
        )
    password = passwd.new_password(name, generate=generate)
    if name == administrator:
        await set_password(own, Profile(), name, password)
    else:
        check_length(password)
        hashed = await Passwords().hash(password)
        await node.registry.put_account(replace(others[name], password=hashed))
    return _told(f"{name} of the node", password if generate else None)


async def _change_at_controller(
    node: StoppedNode, controller: str, account: str | None, generate: bool
) -> str:
    number, record = node.controller(controller)
    store = node.lane.store(number)
    name = account or administrator_name(store)
    password = passwd.new_password(name, generate=generate)
    profile = AskedVersion(record.hw, record.sw).profile(*stored_profile(store))
    await set_password(store, profile, name, password)
    return _told(f"{name} of {controller}", password if generate else None)


def _told(whose: str, password: str | None) -> str:
    """Tell of the change; a password that was made is shown."""
    if password is None:
        return f"The password of {whose} is changed."
    return f"The password of {whose} is now {password}"
