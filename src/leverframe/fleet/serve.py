"""`leverframe fleet run`: a node as a process, until it is stopped."""

import asyncio
import logging
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from leverframe import __version__
from leverframe.clock import Clock
from leverframe.commands.table.refusals import Refusal
from leverframe.config import NodeConfig
from leverframe.config.sources import Sources
from leverframe.fleet.api.endpoints import ENDPOINTS
from leverframe.fleet.door import Door
from leverframe.fleet.fleet_discovery import FleetDiscovery
from leverframe.fleet.fleet_file import FleetFile, read_fleet
from leverframe.fleet.fleet_mdns import FleetMdns
from leverframe.fleet.node import FleetNode, NewController, NodeManner
from leverframe.fleet.node_web import NodeWeb
from leverframe.hardware import display_picture
from leverframe.process.json_lines import print_json
from leverframe.process.logs import set_up as set_up_logs
from leverframe.process.open_files import descriptor_budget
from leverframe.process.reach import (
    certificate_of,
    introduce_administrator,
    reach_of_node,
    try_host,
)
from leverframe.process.run import loop_runner
from leverframe.process.serve import (
    LOOK_AT_CLOCK_S,
    clock_of,
    http_limits,
    listen_to_signals,
    told_if_it_cannot_listen,
)
from leverframe.process.services import Sending
from leverframe.process.supervisor import Supervisor
from leverframe.servers.accounts import passwords
from leverframe.servers.accounts.cross_site import is_loopback
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.descriptors import DescriptorBudget
from leverframe.servers.http.forwarded import NamedProxies
from leverframe.servers.http.limits import MIB, HttpLimits
from leverframe.servers.routes.pages import pages
from leverframe.shutdown import close_all
from leverframe.storage.fleet.lane import OF_NODE, Lane
from leverframe.storage.fleet.opening import FleetFolder, open_lane
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.snapshot_service import SnapshotService
from leverframe.storage.snapshots import Snapshots

log = logging.getLogger(__name__)

#: Paths of the node that take a form, a template or the body of a command.
_WITH_BODY = {endpoint.path for endpoint in ENDPOINTS if endpoint.takes_form}


def run_fleet(sources: Sources) -> None:
    """Run a node with the controllers of a file and those that were added to it."""
    fleet = read_fleet(sources)
    set_up_logs(fleet.config.log_level, fleet.config.log_format, fleet.config.syslog)
    loop_runner()(_serve(fleet))


def door_limits(*, lenient: bool) -> HttpLimits:
    """Return the limits of a door: those of controllers, and of the node behind the same port."""
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
) -> NodeWeb:
    """Make a node without controllers that does not listen yet."""
    reach = reach_of_node(config)
    machine = socket.gethostname().lower()
    # The last one is where addresses of controllers are shown.
    domains = (machine, f"{machine}.local") if reach.must_sign_in else ()
    door = Door(door_limits(lenient=config.lenient), (*domains, *config.hosts), descriptors)
    door.state.proxies = NamedProxies(config.proxy_networks())
    manner = NodeManner(
        config.zone(),
        config.lenient,
        Sending(config.capture, config.allow_local_targets, config.ca_file),
        reach.must_sign_in,
        config,
    )
    node = FleetNode(door, lane, clock, manner, history)
    hashes = Passwords(node.services.hashing)
    web = NodeWeb(node, lane.store(OF_NODE).load(), reach.names, hashes)
    door.node.handler, door.node.admission = web.handle, web.admit_body
    return web


async def start_controllers(
    web: NodeWeb, controllers: Sequence[NewController], *, as_json: bool
) -> list[str]:
    """Start what is stored, then what is new; return a sentence for each that cannot be."""
    node = web.node
    await node.take_over([one.record for one in controllers])
    troubles = await node.start_stored({one.record.name: one.wiring for one in controllers})
    await web.jobs.start_stored()
    known = {record.name for record in node.registry.records.values()}
    new = [one for one in controllers if one.record.name not in known]
    if not new:
        return troubles
    password, administrator = await web.new_administrator()
    made = [replace(one, leaves={**one.leaves, **administrator}) for one in new]
    try:
        await node.add(made)
    except Refusal:
        # One of them cannot be; the others are made without it.
        for one in made:
            try:
                await node.add([one])
            except Refusal as refusal:
                troubles.append(f"{one.record.name} does not start: {refusal.detail}")
    if password is not None and as_json:
        print_json({"event": "controllers", "password": password})
    elif password is not None:
        print(f"The administrators of new controllers have the password {password}", flush=True)
    return troubles


async def _serve(fleet: FleetFile) -> None:
    config = fleet.config
    with FleetFolder(Path(config.data)) as folder:
        # Before a password is made and shown for a start that comes to nothing.
        with told_if_it_cannot_listen(config):
            try_host(config.host, config.port)
        opened = open_lane(folder)
        own = opened.lane.store(OF_NODE)
        if reach_of_node(config).must_sign_in:
            await introduce_administrator(own, as_json=config.json)
        web = await node_of(
            config, opened.lane, clock_of(config), descriptor_budget(), _history(config, folder)
        )
        node, door = web.node, web.node.door
        for part, sentence in opened.troubles.items():
            log.error("%s", sentence)
            node.troubles[part] = sentence
        snapshots = Snapshots(folder.store_path, opened.lane.settle)
        service = SnapshotService(snapshots, node.troubles)
        node.settings_watchers.append(service.settings_changed)
        discovery = FleetDiscovery(lambda: node.members.values(), config.port, node.troubles)
        mdns = FleetMdns(node, config.port)
        try:
            wildcards = tuple(f"*.{name}" for name in config.hosts)
            of_all = replace(config, hosts=(*config.hosts, *wildcards))
            certificate = certificate_of(of_all, folder.path, "leverframe fleet")
            stop = listen_to_signals(certificate)
            with told_if_it_cannot_listen(config):
                context = None if certificate is None else certificate.context
                await door.listen(config.host, config.port, context)
            door.node.handler = door.outward(web.handle)
            door.node.admission = door.outward(web.admit_body)
            # What requests need is loaded before the first of them, beside the loop.
            for load in (pages, passwords.load, display_picture.load):
                await asyncio.to_thread(load)
            if config.discovery:
                discovery.start(config.host)
            troubles = await start_controllers(web, fleet.controllers, as_json=config.json)
            if config.mdns and not is_loopback(config.host):
                mdns.start(config.host)
            for number, sentence in enumerate((*fleet.mistakes, *troubles), start=1):
                print(f"leverframe: {sentence}", file=sys.stderr, flush=True)
                node.troubles[f"start {number}"] = sentence
            _say_where(node, config, len(fleet.mistakes) + len(troubles))
            count = len(node.members)
            log.info("leverframe %s started a node with %d controllers", __version__, count)
            supervisor = Supervisor()
            supervisor.ready()
            await _told_to_stop(stop, node, supervisor)
            supervisor.stopping()
        finally:
            await close_all(
                [
                    *(web.time.freeze, discovery.close, mdns.close),
                    *(door.stop, web.jobs.close, service.close, node.close),
                ]
            )


def _history(config: NodeConfig, folder: FleetFolder) -> SharedHistory | None:
    """Return the history that is kept; on virtual time none is."""
    if config.virtual_time:
        return None
    bounds = Bounds(raw_days=config.history_days, max_bytes=config.history_max_mb * MIB)
    return SharedHistory(folder.history_path, bounds)


def _say_where(node: FleetNode, config: NodeConfig, failed: int) -> None:
    url = node.door.url_of("NAME")
    own = url.replace("NAME.", "", 1)
    count = len(node.members)
    if config.json:
        said = {"event": "ready", "url": own, "controllers": count, "failed": failed}
        print_json(said)
        return
    print(
        f"A node with {count} controllers answers at {own}, each controller at {url}"
        " - stop with Ctrl+C",
        flush=True,
    )


async def _told_to_stop(stop: asyncio.Event, node: FleetNode, supervisor: Supervisor) -> None:
    """Wait for the stop; meanwhile check the machine's clock and notify the supervisor."""
    interval_s = min(LOOK_AT_CLOCK_S, supervisor.interval_s or LOOK_AT_CLOCK_S)
    while not stop.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(interval_s):
                await stop.wait()
        supervisor.alive()
        for member in tuple(node.members.values()):
            if member.controller.clock.was_stepped():
                member.controller.clock_changed()
