"""The ports of a controller: HTTP, SNMP, Modbus TCP and TFTP; and the bus of modules.

Each port is opened for the host of a controller, and the host closes it.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from leverframe.core.engine.calls import WriteModbus
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.secret_servers import url_host
from leverframe.core.errors import BadUpload, ErrorForPeople
from leverframe.core.runtime.event_loop import LoopTurns
from leverframe.core.runtime.outgoing import Targets
from leverframe.devices.modbus_lines import SerialLine, TcpLine
from leverframe.devices.modbus_master import ModbusMaster
from leverframe.devices.modbus_writer import ModbusWriter, SimulatedWriter, WriteReports
from leverframe.devices.readings import Troubles
from leverframe.host.assembly import ControllerHost, Wrapping, as_it_is
from leverframe.host.configuration import Config, NodeConfig
from leverframe.host.configuration.fields import MAX_PORT
from leverframe.host.controller import Controller
from leverframe.host.services import Service
from leverframe.interface.table.bodies import LIST_BODY_LIMIT, SMALL_BODY_LIMIT
from leverframe.interface.table.lookup import TABLE
from leverframe.server.bootloader import BootloaderServer, ImageInstaller, TransferPlaces
from leverframe.server.fair_shares import MAX_CLIENTS, RESERVED, DescriptorBudget
from leverframe.server.faults import PortFaults
from leverframe.server.http.certificate import Certificate
from leverframe.server.http.limits import NamedProxies
from leverframe.server.http.server import HttpLimits, HttpServer
from leverframe.server.modbus_tcp import ModbusTcpServer
from leverframe.server.routes.endpoints import ENDPOINTS
from leverframe.server.routes.metrics import modbus_families
from leverframe.server.routes.router import Reach, without_doubled_slashes
from leverframe.server.routes.sign_in import HTTPS_PORT, redirect_to_https
from leverframe.server.shared_ports import DatagramPlace, ListeningPlace, OwnDatagramPlace, OwnPlace
from leverframe.server.snmp_agent import SnmpAgent

# Sentences for users about addresses that cannot be used, and the limit of open files.

log = logging.getLogger(__name__)

#: The number of files that all connections together may need.
ENOUGH = MAX_CLIENTS + RESERVED


class CannotListen(ErrorForPeople):
    """The address cannot be used; the message is one sentence."""


def check_port(port: int) -> None:
    """Reject a number that is not a port; 0 selects any free port."""
    if not 0 <= port <= MAX_PORT:
        raise CannotListen(f"Port {port} is out of range; ports are 1 to {MAX_PORT}.")


@contextmanager
def bind_errors_for_people(host: str, port: int, option: str = "--port") -> Iterator[None]:
    """Turn the error of an unusable address into a sentence for users.

    `option` is the option that selects another port.
    """
    try:
        yield
    except OSError as error:
        raise CannotListen(_why_not(error, host, port, option)) from error


def _why_not(error: OSError, host: str, port: int, option: str) -> str:
    address = f"{url_host(host)}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use by another program; choose another with {option}."
    if error.errno == errno.EACCES:
        return f"This account may not listen on {address}; choose a port above 1023 with {option}."
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"{host} is not an address of this machine; choose one with --host."
    return f"{address} cannot be used: {error.strerror or error}."


def descriptor_budget() -> DescriptorBudget:
    """Raise the limit of open files as far as useful and allowed; log if it stays too low."""
    import resource  # not on Windows, where twins need no such limit

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    budget = DescriptorBudget(ENOUGH if soft == resource.RLIM_INFINITY else soft)
    if budget.clients.limit < MAX_CLIENTS:
        log.warning(
            "The limit of open files is %d, so only %d clients can connect instead of %d; raise"
            " it with ulimit -n or LimitNOFILE of the systemd unit to %d.",
            *(soft, budget.clients.limit, MAX_CLIENTS, ENOUGH),
        )
    return budget


#: The plain HTTP port beside HTTPS: its name in the list of problems, and its usual number.
PART, HTTP_PORT = "HTTPS redirect", 80
#: The maximum body size of each command with a body.
_BODY_LIMITS = {row.form.items[0].text: row.body.max_bytes for row in TABLE if row.body is not None}
_POST_PATH = "/post.cgi"
#: Other paths that accept a body.
_ENDPOINTS_WITH_BODY = {endpoint.path for endpoint in ENDPOINTS if endpoint.body is not None}


def http_limits(*, lenient: bool = False) -> HttpLimits:
    """Return the limits of a controller; a lenient one also accepts paths with doubled slashes."""
    if not lenient:
        return HttpLimits(body_limit=_body_limit, needs_length=_needs_length)
    return HttpLimits(
        body_limit=lambda method, path, query: _body_limit(
            method, without_doubled_slashes(path), query
        ),
        needs_length=lambda path, query: _needs_length(without_doubled_slashes(path), query),
    )


def _body_limit(_method: str, path: str, query: str | None) -> int:
    if path == _POST_PATH:
        return _BODY_LIMITS.get(query or "", SMALL_BODY_LIMIT)
    return LIST_BODY_LIMIT if path in _ENDPOINTS_WITH_BODY else SMALL_BODY_LIMIT


def _needs_length(path: str, query: str | None) -> bool:
    return path == _POST_PATH and query in _BODY_LIMITS


async def serve_http(
    host: ControllerHost,
    config: Config,
    reach: Reach,
    certificate: Certificate | None,
    *,
    outward: Wrapping = as_it_is,
    option: str = "--port",
    grace_s: float = 5.0,
) -> HttpServer:
    """Start the HTTP server of a controller; requests have `grace_s` to end when it is closed.

    `option` is the option that selects another port if this one is in use.
    """
    controller = host.controller
    handle, admit = host.handlers(outward)
    server = HttpServer(
        handle, http_limits(lenient=config.lenient), admission=admit, descriptors=host.descriptors
    )
    server.state.proxies = NamedProxies(config.proxy_networks())
    host.show_faults(server)
    with bind_errors_for_people(config.host, config.port, option):
        if certificate is None:
            await server.start(config.host, config.port)
        else:
            to_https = partial(redirect_to_https, reach.names)
            await server.start(config.host, config.port, certificate.context, to_https)
    # Set only after the start, which prepares a refusal: the request journal would record that like
    # an answer to a client.
    server.state.problem = host.problem
    host.opened.append(partial(server.stop, grace_s))
    controller.ports["http"] = lambda: server.port
    if certificate is not None:
        controller.certificate_report = certificate.report
        controller.findings.sources.append(lambda: certificate.findings(controller.clock.wall()))
        certificate.watchers.append(controller.tell_findings)
    return server


class OpenPorts(NamedTuple):
    """Servers that can move to another place while the controller runs."""

    modbus: ModbusTcpServer
    snmp: SnmpAgent


async def open_ports(
    host: ControllerHost,
    config: NodeConfig,
    *,
    serial_modbus: str | None = None,
    modbus: ListeningPlace | None = None,
    snmp: DatagramPlace | None = None,
) -> OpenPorts:
    """Open Modbus TCP and SNMP, and connect the bus of modules.

    By default the servers use the controller's own ports. The controllers of a node share ports;
    `modbus` and `snmp` are their places there.
    """
    controller = host.controller
    server = await connect_modbus_server(controller, config, host.descriptors, modbus, host.turns)
    host.add(server, *connect_bus(controller, serial_modbus, host.targets))
    agent = await connect_snmp(host, config, snmp)
    host.add(agent)
    return OpenPorts(server, agent)


async def connect_snmp(
    host: ControllerHost, config: NodeConfig, place: DatagramPlace | None = None
) -> SnmpAgent:
    """Connect the SNMP agent, which listens after it is switched on."""
    controller = host.controller
    agent = SnmpAgent(
        controller,
        place or OwnDatagramPlace(config.host, config.snmp_port),
        name=host.name,
        identity=host.snmp_identity,
        engines=host.node.snmp_engines,
        turns=host.turns,
    )
    controller.settings_watchers.append(agent.adopt)
    controller.settings_checks["snmp.enabled"] = agent.check
    controller.ports["snmp"] = lambda: agent.port
    await agent.follow(controller.engine.settings)
    return agent


def connect_bootloader(
    controller: Controller,
    host: str | None,
    port: int,
    public_key: bytes | None,
    places: TransferPlaces | None = None,
) -> BootloaderServer:
    """Connect the firmware receiver of the bootloader; without a key it rejects every image.

    A controller of a node without its own address has no `host` to send images to; the `places` are
    shared by all controllers of the node.
    """
    installer = None
    if public_key is not None:
        installer = _image_installer(controller, public_key, places or TransferPlaces())
    bootloader = BootloaderServer(controller, host, port, installer)
    controller.ports["tftp"] = lambda: bootloader.port
    return bootloader


def _image_installer(
    controller: Controller, public_key: bytes, places: TransferPlaces
) -> ImageInstaller:
    # Imported here, at the start: only a controller with a key needs the image decoder.
    from leverframe.host.controller.version_switch import install
    from leverframe.interface.uploads.firmware import MAX_BYTES, check_image

    async def install_image(image: bytes, cause: Cause) -> None:
        firmware = await asyncio.to_thread(check_image, image, public_key, controller.profile.hw)
        if not controller.has_power:
            raise BadUpload("The controller has lost its power; send the image again.")
        # Stopping the server does not cancel a write that has begun.
        await install(controller, firmware.sw, firmware.site, cause)

    return ImageInstaller(MAX_BYTES, install_image, places)


async def connect_modbus_server(
    controller: Controller,
    config: NodeConfig,
    descriptors: DescriptorBudget,
    place: ListeningPlace | None = None,
    turns: LoopTurns | None = None,
) -> ModbusTcpServer:
    """Connect the Modbus TCP server, which listens after it is switched on."""
    place = place or OwnPlace(config.host, config.modbus_port)
    server = ModbusTcpServer(controller, place, config.writing_networks(), descriptors, turns)
    controller.settings_watchers.append(server.adopt)
    controller.settings_checks["modbus_tcp.enabled"] = server.check
    controller.ports["modbus"] = lambda: server.port
    await server.follow(controller.engine.settings)
    return server


def connect_bus(controller: Controller, serial_port: str | None, targets: Targets) -> list[Service]:
    """Connect the master of modules, on a serial port and by TCP."""
    master = ModbusMaster(
        None if serial_port is None else SerialLine(serial_port),
        controller.engine.settings,
        controller.sense,
        controller.troubles,
        lambda: controller.clock.read().wall,
        partial(TcpLine, targets.channel("modbus")),
    )
    controller.settings_watchers.append(master.adopt)
    controller.power_watchers.append(master.set_power)
    controller.reports["modbus"] = master.report
    controller.reports["modbus_statistics"] = master.statistics
    controller.figures.append(lambda: modbus_families(master.statistics()))
    controller.try_module = master.try_slot
    return [master, *connect_writing(controller, master)]


def connect_writing(controller: Controller, master: ModbusMaster) -> list[Service]:
    """Connect the writer of modules: to real modules, else to the simulated board."""

    def wall() -> float:
        return controller.clock.read().wall

    def add_entry(reason: str, fact: Fact) -> None:
        controller.engine.machine.journal.add(wall(), Cause("modbus", reason), fact)

    def on_change() -> None:
        controller.engine.machine.mark("modbus writes")
        controller.carry_out([])

    reports = WriteReports(wall, on_change)
    controller.reports["modbus_writes"] = reports.report
    writer = ModbusWriter(master.request, controller.troubles, add_entry, reports)
    controller.settings_watchers.append(writer.adopt)
    bench = controller.board.bench
    simulated = None if bench is None else SimulatedWriter(bench, reports)

    def write(effect: WriteModbus) -> "asyncio.Future[None] | None":
        if simulated is None or master.has_bus_of(effect.slot):
            return writer.write(effect)
        simulated.write(effect)
        return None

    controller.take_writes(write)
    return [writer]


def redirect_port(config: Config, https_port: int) -> int | None:
    """Return the configured port; by default 80 beside 443, as on real units."""
    if config.redirect_port is not None:
        return config.redirect_port
    return HTTP_PORT if https_port == HTTPS_PORT else None


async def open_redirect(
    controller: Controller,
    config: Config,
    reach: Reach,
    descriptors: DescriptorBudget,
    https_port: int,
) -> HttpServer | None:
    """Open the plain port, if configured; a failure does not stop the controller."""
    port = redirect_port(config, https_port)
    if port is None:
        return None
    to_https = partial(redirect_to_https, reach.names, port=https_port)
    server = HttpServer(to_https, admission=to_https, descriptors=descriptors)
    try:
        await server.start(config.host, port)
    except OSError as error:
        Troubles(controller.troubles).note(
            PART,
            f"Port {port} cannot be used, so plain HTTP there is not redirected to HTTPS"
            f" ({error.strerror or error}); free it, or choose another with --redirect-port.",
        )
        return None
    controller.ports["redirect"] = lambda: server.port
    if controller.faults is not None:
        controller.faults.join(PortFaults(server))
    return server
