"""Run a node as a process until it is stopped: `leverframe fleet run`."""

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from leverframe import __version__
from leverframe.core.errors import print_json
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.event_loop import close_all
from leverframe.core.runtime.outgoing import Targets
from leverframe.fleet.cluster.lease import NodeLease, mark_when_stale
from leverframe.fleet.controller_actions import make_new
from leverframe.fleet.discovery import FleetDiscovery, FleetMdns
from leverframe.fleet.door import Door
from leverframe.fleet.fleet_file import ClusterTable, FleetFile, needing_driver, read_fleet
from leverframe.fleet.member import NewController
from leverframe.fleet.member_start import MemberOptions, print_password
from leverframe.fleet.node import WITHOUT_PLACE, FleetNode
from leverframe.fleet.node_storage import FileStorage, NodeStorage
from leverframe.fleet.node_web import NodeWeb
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.fleet.records import Registry, TenantRecord
from leverframe.fleet.roster import Roster
from leverframe.host.configuration import NodeConfig
from leverframe.host.configuration.reader import Sources
from leverframe.host.logs import Supervisor
from leverframe.host.logs import set_up as set_up_logs
from leverframe.host.ports import bind_errors_for_people, descriptor_budget, http_limits
from leverframe.host.reach import certificate_of, ensure_sign_in, reach_of_node, try_host
from leverframe.host.serve import (
    SMALL,
    FeatureLoader,
    clock_of,
    collect_rarely,
    listen_to_signals,
    loop_runner,
    wait_for_stop,
)
from leverframe.host.services import Sending
from leverframe.server.cross_site import is_loopback
from leverframe.server.fair_shares import DescriptorBudget
from leverframe.server.http.limits import MIB, HttpLimits, NamedProxies
from leverframe.server.passwords import Passwords
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.lanes.lane import OF_NODE, Lane
from leverframe.storage.lanes.node_folder import FleetFolder

log = logging.getLogger(__name__)

#: Interval at which a stopping node prints its progress.
PROGRESS_EVERY_S = 2.0
#: The node's paths that accept a body: a form, a template or a command.
_WITH_BODY = {one.path for one in OPERATIONS if one.takes_form}


def run_fleet(
    sources: Sources,
    database: str | None,
    node: str | None,
    inner: str | None,
    capacity: int | None,
) -> None:
    """Run a node with the controllers of a fleet file and those added later."""
    given = {"database": database, "node": node, "inner": inner, "capacity": capacity}
    fleet = read_fleet(sources, {key: value for key, value in given.items() if value is not None})
    set_up_logs(fleet.config.log_level, fleet.config.log_format, fleet.config.syslog)
    collect_rarely()
    loop_runner()(_serve(fleet))


def door_limits(*, lenient: bool) -> HttpLimits:
    """Return the limits of a door: those of controllers and of the node, which share the port."""
    of_controller = http_limits(lenient=lenient)

    def body_limit(method: str, path: str, query: str | None) -> int:
        return MIB if path in _WITH_BODY else of_controller.body_limit(method, path, query)

    return HttpLimits(body_limit=body_limit, needs_length=of_controller.needs_length)


async def node_of(
    config: NodeConfig,
    lane: Lane,
    clock: Clock,
    descriptors: DescriptorBudget | None = None,
    history: SharedHistory | None = None,
    registry: Registry | None = None,
    lease: NodeLease | None = None,
) -> NodeWeb:
    """Create a node that has no controllers and does not listen yet.

    A node that shares a database with others has its registry there, and acts only while its lease
    is valid.
    """
    reach = reach_of_node(config)
    machine = socket.gethostname().lower()
    # URLs of controllers use the last domain.
    domains = (machine, f"{machine}.local") if reach.must_sign_in else ()
    door = Door(door_limits(lenient=config.lenient), (*domains, *config.hosts), descriptors)
    door.state.proxies = NamedProxies(config.proxy_networks())
    options = MemberOptions(
        config.zone(),
        config.lenient,
        Sending(config.capture, Targets(config.allow_local_targets, in_node=True), config.ca_file),
        reach.must_sign_in,
        partial(print_password, as_json=config.json),
        config,
    )
    if lease is not None:
        options = replace(
            options,
            sending=replace(options.sending, why_held=lease.why_not),
            why_refused=lease.hindrance,
            findings=lease.findings,
            marked=partial(mark_when_stale, lease=lease),
        )
    node = FleetNode(door, lane, clock, options, history, registry)
    hashes = Passwords(node.services.hashing)
    web = NodeWeb(node, reach.names, hashes)
    door.node.handler, door.node.admission = web.handle, web.admit_body
    return web


async def start_controllers(
    web: NodeWeb,
    controllers: Sequence[NewController],
    *,
    as_json: bool,
    is_elsewhere: Callable[[str], bool] = lambda name: False,
    tenants: Sequence[str] = (),
) -> list[str]:
    """Start the stored controllers, then the new ones; return the reason for each failure."""
    node = web.node
    for name in tenants:
        if name not in node.registry.tenants:
            await node.registry.put_tenant(TenantRecord(name))
    contradictions = await node.take_over([one.record for one in controllers])
    written = {one.record.name: one for one in controllers}
    node.in_file = written
    noted = {
        f"{WITHOUT_PLACE}{name}": written[name].at_its_line(
            f"{name} runs without its own address and port: {why.detail}", why.field or "name"
        )
        for name, why in contradictions.items()
    }
    node.troubles |= noted
    troubles = [*noted.values(), *(await node.start_stored()).values()]
    await web.jobs.start_stored()
    known = {record.name for record in node.registry.records.values()}
    new = [
        one
        for one in controllers
        if one.record.name not in known and not is_elsewhere(one.record.name)
    ]
    if not new:
        return troubles
    password, administrator = await web.new_administrator()
    why_not = await make_new(node, new, administrator)
    troubles += why_not.values()
    names = [one.record.name for one in new if one.record.name not in why_not]
    if password is not None and as_json:
        print_json({"event": "controllers", "names": names, "password": password})
    elif password is not None:
        print(f"The administrators of new controllers have the password {password}", flush=True)
    return troubles


async def _serve(fleet: FleetFile) -> None:
    config = fleet.config
    with FleetFolder(Path(config.data)) as folder:
        # Check the address before a password is generated and shown: the start may fail.
        with bind_errors_for_people(config.host, config.port):
            try_host(config.host, config.port)
        storage = await _open_storage(fleet.cluster, folder)
        own = storage.lane.store(OF_NODE)
        if reach_of_node(config).must_sign_in:
            await ensure_sign_in(own, as_json=config.json, way_on=_way_on(fleet.cluster, config))
        web = await node_of(
            config,
            storage.lane,
            clock_of(config),
            descriptor_budget(),
            storage.history(config),
            storage.registry,
            storage.lease,
        )
        node, door = web.node, web.node.door
        storage.connect(node)
        # If nodes share a database, the storage starts the controllers.
        node.in_file = {one.record.name: one for one in fleet.controllers}
        discovery = FleetDiscovery(lambda: node.members.values(), config.port, node.troubles)
        mdns = FleetMdns(node, config.port)
        supervisor = Supervisor()
        try:
            node.begin_start(one.record for one in fleet.controllers)
            stop = await _open_door(web, config, folder)
            # Load these parts before the controllers start, because controllers soon need many of
            # them.
            await FeatureLoader().load(SMALL)
            if config.discovery:
                discovery.start(config.host)
            if config.mdns and not is_loopback(config.host):
                mdns.start(config.host)
            async with supervisor.extend_time(lambda: len(node.members)):
                await storage.start()
                failed = await _start_all(web, fleet, storage)
            await node.end_start()
            _print_address(node, config, failed)
            count = len(node.members)
            log.info("leverframe %s started a node with %d controllers", __version__, count)
            supervisor.ready()
            await wait_for_stop(
                stop, lambda: [one.controller for one in node.members.values()], supervisor
            )
            supervisor.stopping()
        finally:
            async with (
                supervisor.extend_time(lambda: len(node.members)),
                print_stop(node.roster),
            ):
                await close_all(
                    [
                        *(web.time.freeze, discovery.close, mdns.close, web.jobs.close),
                        *(storage.leave, door.stop, node.close, storage.close),
                    ]
                )


async def _start_all(web: NodeWeb, fleet: FleetFile, storage: NodeStorage) -> int:
    """Start the controllers; print the failures and return their number."""
    troubles = await start_controllers(
        web,
        fleet.controllers,
        as_json=fleet.config.json,
        is_elsewhere=storage.is_elsewhere,
        tenants=fleet.tenants,
    )
    for mistake in fleet.mistakes:
        web.node.roster.note_mistake(mistake.who, mistake.sentence, mistake.name)
    sentences = [*(mistake.sentence for mistake in fleet.mistakes), *troubles]
    for sentence in sentences:
        print(f"leverframe: {sentence}", file=sys.stderr, flush=True)
    return len(sentences)


@asynccontextmanager
async def print_stop(roster: Roster) -> AsyncIterator[None]:
    """Print the progress to standard error while all controllers are being stopped."""
    roster.count_at_stop = len(roster.running)
    printing = asyncio.create_task(_print_stop(roster))
    try:
        yield
    finally:
        printing.cancel()


async def _print_stop(roster: Roster) -> None:
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        if (progress := roster.stop_progress()) is not None:
            print(
                f"leverframe: the node is stopping: {progress.done:,} of {progress.of:,}"
                " controllers have stopped",
                file=sys.stderr,
                flush=True,
            )


def _way_on(cluster: ClusterTable | None, config: NodeConfig) -> str:
    """Return advice on how to change the first password."""
    # The output must not reveal the address of the database.
    where = "" if cluster is None else " --database WHERE"
    command = f"leverframe passwd --data {config.data}{where}"
    return f"change it with `{command}` while the node is stopped"


async def _open_door(web: NodeWeb, config: NodeConfig, folder: FleetFolder) -> asyncio.Event:
    """Listen on the node's address, with its certificate, if any; return the event for a stop."""
    node, door = web.node, web.node.door
    wildcards = tuple(f"*.{name}" for name in config.hosts)
    of_all = replace(config, hosts=(*config.hosts, *wildcards))
    certificate = certificate_of(of_all, folder.path, "leverframe fleet")
    if certificate is not None:
        node.certificate = certificate
        certificate.watchers.append(node.notify_watchers)
    stop = listen_to_signals(certificate)
    with bind_errors_for_people(config.host, config.port):
        context = None if certificate is None else certificate.context
        await door.listen(config.host, config.port, context)
    door.node.handler = door.outward(web.handle)
    door.node.admission = door.outward(web.admit_body)
    return stop


async def _open_storage(cluster: ClusterTable | None, folder: FleetFolder) -> NodeStorage:
    if cluster is None:
        return FileStorage(folder)
    with needing_driver():
        from leverframe.fleet.cluster.storage import open_database
    return await open_database(cluster, folder)


def _print_address(node: FleetNode, config: NodeConfig, failed: int) -> None:
    url = node.door.url_of("NAME")
    own = url.replace("NAME.", "", 1)
    count = len(node.members)
    if config.json:
        said = {"event": "ready", "url": own, "controllers": count, "failed": failed}
        print_json(said)
        return
    some = "1 controller" if count == 1 else f"{count} controllers"
    print(
        f"A node with {some} answers at {own}, each controller at {url} - stop with Ctrl+C",
        flush=True,
    )
