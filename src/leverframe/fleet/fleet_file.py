"""The fleet file: the configuration of a node, and its controllers as `[[controllers]]`.

    port = 8090                       # keys of `leverframe run` that concern the whole node
    virtual_time = true
    tenants = ["acme"]                # whose users see only their own controllers

    [[controllers]]
    name = "cellar"                   # with {n} for the number if there is a count
    tags = ["north"]
    hw = "3.5"                        # default: the version of the settings, or the newest
    sw = "1.49"
    settings = "cellar.toml"          # a backup with the initial settings, beside this file
    address = "127.0.0.2"             # an address and a port of its own
    port = 8091
    board = { kind = "linux" }        # default: simulated
    tenant = "acme"                   # one of those above; default: the operator
    firmware_key = "owner.pub"        # and other keys of a single controller: see MACHINE_KEYS

A mistake in the keys of the node makes the whole file invalid. A mistake in a controller is
reported with the controller's name and line, and the other controllers start.
"""

import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import HARDWARE
from leverframe.core.runtime.installation import command_for_extra
from leverframe.devices.wiring import Wiring, find_mistakes
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.member import PLAIN, NewController
from leverframe.fleet.records import (
    MAX_CONTROLLERS,
    OPERATOR,
    MemberRecord,
    TakenPlaces,
    check_address,
    check_tags,
    check_tenant_name,
    is_label,
    names_from,
    number_places,
)
from leverframe.host.configuration import BadConfiguration, Config, NodeConfig
from leverframe.host.configuration.fields import MAX_PORT, Device, File
from leverframe.host.configuration.reader import Sources, check_sources, misshapen_table, wrong_keys
from leverframe.host.maintenance.backup import read
from leverframe.host.maintenance.configuration import template_leaves, version_for
from leverframe.interface.table.refusals import BadValue, Refusal

# Sharing a database: the `[cluster]` table of the fleet file, and its flags.
#
#     [cluster]
#     database = "host=/run/postgresql dbname=fleet"   # as for psql: words, or postgresql://...
#     node = "north"                                   # its name; default: that of the machine
#     inner = "10.0.0.5:8070"                          # where the other nodes reach this one
#     capacity = 2                                     # its capacity relative to the other nodes
#     live_state_every = 1                             # seconds between saves of live states
#
# The password of the database is not in this file, but where PostgreSQL's programs look for it,
# such as `~/.pgpass`.

CLUSTER = "cluster"
NODE_NAME = "lower-case letters, digits and dashes, at most 31"


class ClusterTable(Struct, frozen=True, forbid_unknown_fields=True):
    database: Annotated[str, Meta(min_length=1)]
    node: str | None = None
    inner: str = "127.0.0.1:0"
    capacity: Annotated[int, Meta(ge=1, le=1000)] = 1
    live_state_every: Annotated[int, Meta(ge=1, le=60)] | None = None

    def node_name(self) -> str:
        name = self.node or socket.gethostname().partition(".")[0].lower()
        if not is_label(name):
            raise BadConfiguration(
                f"node: {name[:40]!r} is not a valid node name. Allowed: {NODE_NAME}."
            )
        return name

    def inner_place(self) -> Place:
        host, _, port = self.inner.rpartition(":")
        if not host or not port.isdecimal() or int(port) > MAX_PORT:
            raise BadConfiguration(
                f"inner: {self.inner[:60]!r} is not an address. Write HOST:PORT, for example"
                " 10.0.0.5:8070."
            )
        return Place(self.node_name(), host.strip("[]"), int(port))


# The driver for PostgreSQL, which is an extra of the package.


class NoDriver(ErrorForPeople):
    """The driver for the database is not installed; the message is one sentence."""


@contextmanager
def needing_driver() -> Iterator[None]:
    """Turn the failed import of the driver into an error that explains how to install it."""
    try:
        yield
    except ImportError as error:
        raise NoDriver(
            "The PostgreSQL driver is not installed. Install it with"
            f" `{command_for_extra('fleet')}`."
        ) from error


log = logging.getLogger(__name__)

CONTROLLERS = "controllers"
TENANTS = "tenants"
#: The tables of a scenario.
AT = "at"
NOTHING_GIVEN: Mapping[str, Any] = MappingProxyType({})


class ControllerTable(Struct, frozen=True):
    """A `[[controllers]]` table as written in the file."""

    name: Annotated[str, Meta(min_length=1)]
    count: Annotated[int, Meta(ge=1, le=MAX_CONTROLLERS)] = 1
    tags: tuple[str, ...] = ()
    hw: str | None = None
    sw: str | None = None
    settings: str | None = None
    address: str | None = None
    port: Annotated[int, Meta(ge=1, le=MAX_PORT)] | None = None
    board: Wiring = Wiring()
    tenant: str = OPERATOR
    serial_port: Device | None = None
    serial_modbus: Device | None = None
    trusted: tuple[str, ...] = ()
    trusted_role: Literal["user", "administrator"] = "user"
    cors_origins: tuple[str, ...] = ()
    mqtt_certificate: File | None = None
    mqtt_key: File | None = None
    firmware_key: File | None = None
    firmware_check_url: str | None = None


#: Devices that a single controller owns.
_DEVICES = ("serial_port", "serial_modbus")
#: Files; relative paths are relative to the folder of the fleet file.
_FILES = ("mqtt_certificate", "mqtt_key", "firmware_key")
#: Keys of a single controller's configuration that a controller of a node has, too. They concern
#: the machine, so only the operator, who writes this file, may set them.
MACHINE_KEYS = (
    *_DEVICES,
    *_FILES,
    *("trusted", "trusted_role", "cors_origins", "firmware_check_url", "board"),
)


class WrongKey(ErrorForPeople):
    """A key of a controller's table is invalid; the message is one sentence."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(sentence)
        self.key = key


class FileMistake(Struct, frozen=True):
    """A mistake in a controller of the file, with its name and line."""

    sentence: str
    #: The table, and the controller's name if the table creates several; a table may have several
    #: mistakes.
    who: str
    #: The name as written, with `{n}` if the table creates several controllers.
    name: str


class FleetFile(Struct, frozen=True):
    config: NodeConfig
    controllers: list[NewController]
    #: Controllers that cannot be created, with the reasons.
    mistakes: list[FileMistake]
    #: The database shared with other nodes; None if there is none.
    cluster: ClusterTable | None = None
    tenants: tuple[str, ...] = ()


def read_fleet(sources: Sources, of_cluster: Mapping[str, Any] = NOTHING_GIVEN) -> FleetFile:
    """Read the configuration of a node; raise `BadConfiguration` if the node cannot run.

    The flags in `of_cluster` override the file.
    """
    _refuse_scenario(sources)
    tables = sources.values.pop(CONTROLLERS, [])
    cluster = _cluster(sources, of_cluster)
    tenants = _tenants(sources)
    if not is_tables(tables):
        raise BadConfiguration(
            f"{sources.line((CONTROLLERS,))}: write {CONTROLLERS} as [[{CONTROLLERS}]] tables."
        )
    of_node, of_one = NodeConfig.__struct_fields__, Config.__struct_fields__
    strangers = [key for key in sources.values if key in of_one and key not in of_node]
    if strangers:
        where = sources.origin((strangers[0],))
        raise BadConfiguration(
            f"{where}: unknown key {strangers[0]} for a node. Known keys: {', '.join(of_node)}."
        )
    config = check_sources(sources, NodeConfig)
    controllers, mistakes = _controllers(tables, sources, config, tenants)
    return FleetFile(config, controllers, mistakes, cluster, tenants)


def is_of_fleet(sources: Sources) -> bool:
    """Return whether a file has keys that only the file of a node has."""
    return not sources.values.keys().isdisjoint((CONTROLLERS, TENANTS, CLUSTER))


def is_tables(value: Any) -> bool:
    """Return whether a value is written as `[[...]]` tables."""
    return isinstance(value, list) and all(isinstance(table, dict) for table in value)


def _refuse_scenario(sources: Sources) -> None:
    """Refuse a scenario, and name the command that simulates it."""
    if not sources.values.get(AT) or not is_tables(sources.values[AT]):
        return
    of_fleet = CONTROLLERS in sources.values
    command = f"fleet simulate --config {sources.file}" if of_fleet else f"simulate {sources.file}"
    raise BadConfiguration(
        f"{sources.line((AT,))}: [[{AT}]] tables make this a scenario, which a node does not"
        f" run. Run it with `leverframe {command}`."
    )


def _tenants(sources: Sources) -> tuple[str, ...]:
    names = sources.values.pop(TENANTS, [])
    try:
        if not isinstance(names, list):
            raise BadValue(f"{TENANTS} must be a list of names.")
        return tuple(check_tenant_name(str(name)) for name in names)
    except Refusal as refusal:
        where = sources.line((TENANTS,))
        raise BadConfiguration(f"{where}: {refusal.at_its_place}") from None


def _cluster(sources: Sources, flags: Mapping[str, Any]) -> ClusterTable | None:
    written = sources.values.pop(CLUSTER, {})
    if not isinstance(written, dict):
        raise BadConfiguration(
            f"{sources.line((CLUSTER,))}: write {CLUSTER} as a [{CLUSTER}] table."
        )
    table = {**written, **flags}
    if not table:
        return None
    for mistake in misshapen_table(table, ClusterTable, (CLUSTER,)):
        key = mistake.place[-1]
        where = f"--{key}" if key in flags else sources.line(mistake.place)
        raise BadConfiguration(f"{where}: {mistake.sentence}")
    return msgspec.convert(table, ClusterTable)


def _controllers(
    tables: list[dict[str, Any]],
    sources: Sources,
    config: NodeConfig,
    tenants: tuple[str, ...],
) -> tuple[list[NewController], list[FileMistake]]:
    found: list[NewController] = []
    mistakes: list[FileMistake] = []
    taken = TakenPlaces(())
    devices: dict[str, str] = {}
    folder = Path() if sources.file is None else sources.file.parent
    for index, table in enumerate(tables):
        name = str(table.get("name", f"controller {index + 1}"))[:40]
        who = f"table {index + 1}"
        wrong = list(misshapen_table(table, ControllerTable, (name,)))
        for mistake in wrong:
            where = sources.line((CONTROLLERS, index, *mistake.place[1:]))
            mistakes.append(FileMistake(f"{where}: {mistake.sentence}", who, name))
        if wrong:
            continue
        line_of = partial(_line_of, sources, index)
        try:
            made = _new(msgspec.convert(table, ControllerTable), folder, config, tenants)
            _take_devices(devices, made)
        except WrongKey as wrong_key:
            sentence = f"{line_of(wrong_key.key)}: {name}: {wrong_key}"
            mistakes.append(FileMistake(sentence, who, name))
            continue
        for one in made:
            try:
                taken.add(one.record)
            except Refusal as refusal:
                # Two controllers have the same name, address or port.
                where, refused = line_of(refusal.field or "name"), one.record.name
                sentence = f"{where}: {refused}: {refusal.at_its_place}"
                mistakes.append(FileMistake(sentence, f"{who} {refused}", refused))
            else:
                found.append(replace(one, line_of=line_of))
    return found, mistakes


def _line_of(sources: Sources, index: int, key: str) -> str:
    return sources.line((CONTROLLERS, index, key))


def _new(
    table: ControllerTable, folder: Path, config: NodeConfig, tenants: tuple[str, ...]
) -> list[NewController]:
    """Create the controllers of a table: one, or a number of them."""
    with _about("tenant"):
        if table.tenant and table.tenant not in tenants:
            raise BadValue(
                f"There is no tenant {table.tenant[:40]!r}.",
                allowed=f"those in {TENANTS} of this file: {', '.join(tenants) or 'none'}",
            )
    with _about("board"):
        if config.virtual_time and table.board.kind != "simulated":
            raise BadConfiguration(
                "Virtual time needs simulated boards: real devices follow real time."
            )
        for _, sentence in find_mistakes(table.board):
            raise BadConfiguration(sentence)
    with _about("settings"):
        template = None if table.settings is None else read(folder / table.settings)
    if template is not None and template.sealed is not None:
        log.warning(
            "controllers %s start without the sealed secrets of %s", table.name, table.settings
        )
    hw, sw = table.hw, table.sw
    if template is not None and hw is None and sw is None:
        hw, sw = template.hw, template.sw
    with _about("hw" if table.hw is not None and table.hw not in HARDWARE else "sw"):
        profile = version_for(hw, sw, None)
    with _about("settings"):
        start = {} if template is None else template_leaves(template, profile)
    with _about("name"):
        names = names_from(table.name, 1, table.count)
    with _about("tags"):
        tags = check_tags(table.tags)
    with _about("address"):
        address = check_address(table.address)
    with _about("port"):
        records = number_places(
            [
                MemberRecord(name, tags, table.hw, table.sw, address, table.port, table.tenant)
                for name in names
            ]
        )
    own = _config(table, folder)
    return [NewController(one, profile, start, config=own) for one in records]


def _config(table: ControllerTable, folder: Path) -> Config:
    """Return the keys of the table that are not part of the record; refuse invalid ones."""
    default = {name: getattr(PLAIN, name) for name in MACHINE_KEYS}
    given = {
        name: value for name in MACHINE_KEYS if (value := getattr(table, name)) != default[name]
    }
    if not given:
        return PLAIN
    for name in given.keys() & set(_FILES):
        given[name] = str(folder / given[name])
    config = Config(**given)
    for key, sentence in wrong_keys(config, given.keys() - {"board"}):
        raise WrongKey(key, sentence.removeprefix(f"{key}: "))
    return config


def _take_devices(owners: dict[str, str], made: list[NewController]) -> None:
    """Record the owner of each device; refuse a second owner of the same device."""
    for one in made:
        for key in _DEVICES:
            device = getattr(one.config, key)
            if device is not None and device in owners:
                raise WrongKey(
                    key,
                    f"{key}: {one.record.name} cannot use {device}, because {owners[device]}"
                    " does. A device has one owner.",
                )
            if device is not None:
                owners[device] = one.record.name


@contextmanager
def _about(key: str) -> Iterator[None]:
    """Add the key of the table to a refusal that concerns it."""
    try:
        yield
    except Refusal as refusal:
        raise WrongKey(key, refusal.at_its_place) from None
    except ErrorForPeople as error:
        raise WrongKey(key, str(error)) from None
