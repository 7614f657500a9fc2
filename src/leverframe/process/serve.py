"""One controller as a process: opens its parts, serves until it is stopped, stops in order."""

import asyncio
import gc
import logging
import platform
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from leverframe import __version__
from leverframe.clock import Clock, SystemClock, VirtualClock
from leverframe.commands.table.bodies import LIST_BODY_LIMIT, SMALL_BODY_LIMIT
from leverframe.commands.table.matching import TABLE
from leverframe.config import Config, NodeConfig
from leverframe.controller import Controller
from leverframe.engine.http_address import url_host
from leverframe.outgoing.targets import Targets
from leverframe.process.build import BuiltController, ConfiguredIdentity, build
from leverframe.process.feature_loading import FeatureLoader
from leverframe.process.https_redirect import open_redirect
from leverframe.process.json_lines import print_json
from leverframe.process.listening import bind_errors_for_people
from leverframe.process.open_files import descriptor_budget
from leverframe.process.ports import connect_bootloader, connect_modbus, connect_snmp
from leverframe.process.reach import (
    certificate_of,
    connect_certificate,
    ensure_sign_in,
    listen,
    reach_of,
    take_up_certificate,
    try_host,
)
from leverframe.process.services import Sending, Service, connect_snapshots, history_worker
from leverframe.process.supervisor import Supervisor
from leverframe.process.version_change import settle_version
from leverframe.servers import journal_log
from leverframe.servers.accounts.cross_site import is_loopback
from leverframe.servers.http.certificate import Certificate
from leverframe.servers.http.forwarded import NamedProxies
from leverframe.servers.http.messages import Handler
from leverframe.servers.http.server import HttpLimits, HttpServer
from leverframe.servers.http_faults import HttpFaults
from leverframe.servers.journal_log import JournalLog
from leverframe.servers.mqtt.pages_address import PagesAddress
from leverframe.servers.routes.added_headers import by_tls_only
from leverframe.servers.routes.endpoints import ENDPOINTS
from leverframe.servers.routes.metrics import server_families
from leverframe.servers.routes.other_origins import opened_to
from leverframe.servers.routes.router import Reach, without_doubled_slashes
from leverframe.shutdown import close_all, stop_by_signal
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.encrypting import EncryptingStore
from leverframe.storage.opening import open_store

log = logging.getLogger(__name__)

#: How much each command with a body takes.
_BODY_LIMITS = {row.form.items[0].text: row.body.max_bytes for row in TABLE if row.body is not None}
_POST_PATH = "/post.cgi"
#: Other paths that take a body.
_ENDPOINTS_WITH_BODY = {endpoint.path for endpoint in ENDPOINTS if endpoint.body is not None}
#: How soon the schedule follows when the machine's clock is set.
LOOK_AT_CLOCK_S = 20.0


def http_limits(*, lenient: bool = False) -> HttpLimits:
    """Return the limits of a controller; a lenient one knows its paths also by doubled slashes."""
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


async def serve(config: Config) -> None:
    """Run one controller until SIGTERM or SIGINT."""
    with_recording = _with_recording(config.recorded)
    with DataFolder(Path(config.data), reading_will_do=True) as folder:
        # Before a password is made and shown for a start that comes to nothing.
        with bind_errors_for_people(config.host, config.port):
            try_host(config.host, config.port)
        opened = open_store(
            folder.store_path,
            was_closed=folder.was_given_back,
            killed_history=folder.killed_history,
        )
        reach = reach_of(config)
        built = await _built(config, folder, EncryptingStore(opened.store, folder.key_path), reach)
        for part, sentence in opened.troubles.items():
            log.error("%s", sentence)
            built.controller.troubles[part] = sentence
        server = _http_server(
            built, config, reach, with_recording(built.controller, built.web.handle)
        )
        beside: list[Service] = [
            connect_snapshots(built.controller, folder.store_path, opened.store.settle)
        ]
        try:
            certificate = certificate_of(config, folder.path, built.host_label)
            # Before the start is announced: a stop right after it is then orderly.
            stop = listen_to_signals(certificate)
            with bind_errors_for_people(config.host, config.port):
                await listen(server, config, certificate, reach)
            server.state.problem = built.problem
            built.controller.ports["http"] = lambda: server.port
            if certificate is not None:
                connect_certificate(built.controller, certificate)
                redirect = await open_redirect(
                    built.controller, config, reach, server.descriptors, server.port
                )
                beside += [redirect] if redirect is not None else []
            async for service in _services(built, config, server):
                beside.append(service)
            _print_address(built, config, server.port, certificate)
            scheme = "https" if certificate else "http"
            built.mqtt.pages_are_at(PagesAddress(scheme, config.host, server.port))
            log.info("leverframe %s started: %s", __version__, _what_runs(built, config, folder))
            # What is there by now stays: no collection needs to walk through it, which would hold
            # up the loop for some 25 ms each time.
            gc.freeze()
            gc.enable()
            supervisor = Supervisor()
            supervisor.ready()
            loader = FeatureLoader()
            loader.start()
            beside.append(loader)
            await wait_for_stop(stop, lambda: [built.controller], supervisor)
            log.info("stopping")
            supervisor.stopping()
        finally:
            services = (service.close for service in reversed(beside))
            await close_all([*services, server.stop, built.stop])
        log.info("leverframe %s stopped", __version__)


def _http_server(
    built: BuiltController, config: Config, reach: Reach, handler: Handler
) -> HttpServer:
    server = HttpServer(
        _outward(reach, built.noting(handler)),
        http_limits(lenient=config.lenient),
        admission=_outward(reach, built.web.admit_body),
        descriptors=descriptor_budget(),
    )
    server.state.proxies = NamedProxies(config.proxy_networks())
    if built.controller.faults is not None:
        HttpFaults(built.controller.faults, server, built.controller.request_journal)
    built.controller.figures.append(lambda: server_families(server))
    return server


def _with_recording(recorded: str | None) -> Callable[[Controller, Handler], Handler]:
    """Read the recording that is configured; return what adds its answers to a handler."""
    if recorded is None:
        return lambda _, handler: handler
    # Imported here: few controllers have one.
    from leverframe.process.recorded import read_answers, with_recorded_answers

    answers = read_answers(Path(recorded))
    return lambda controller, handler: with_recorded_answers(controller, handler, answers)


def _outward(reach: Reach, handler: Handler) -> Handler:
    """Return a handler with what browsers are to know of the way that they came by."""
    opened = opened_to(reach.names.origins, handler)
    return by_tls_only(opened) if reach.names.secure else opened


async def _built(
    config: Config, folder: DataFolder, store: EncryptingStore, reach: Reach
) -> BuiltController:
    """Build the controller from its store; with an administrator if strangers can reach it."""
    stored = store.load()
    profile, is_new = await settle_version(store, config.version, stored)
    if reach.must_sign_in:
        await ensure_sign_in(store, as_json=config.json)
    return await build(
        profile,
        store,
        clock_of(config),
        config.zone(),
        lenient=config.lenient,
        wiring=config.board,
        serial_port=config.serial_port,
        sending=Sending(
            config.capture,
            Targets(config.allow_local_targets),
            config.ca_file,
            config.firmware_check_url,
            config.mqtt_certificate,
            config.mqtt_key,
        ),
        reach=reach,
        history=history_worker(config, folder),
        configured=ConfiguredIdentity(config.name, config.mac_address(), config.own_address()),
        # What was read holds unless a version or an administrator was written since.
        stored=None if is_new or reach.must_sign_in else stored,
    )


def clock_of(config: NodeConfig) -> Clock:
    """Return the clock that the configuration asks for."""
    if not config.virtual_time:
        return SystemClock()
    wall = config.first_moment()
    return VirtualClock() if wall is None else VirtualClock(wall)


async def _services(
    built: BuiltController, config: Config, server: HttpServer
) -> AsyncIterator[Service]:
    """Start the services beside HTTP one by one, so that a failure closes those before it."""
    controller = built.controller
    if journal_log.is_wanted():
        yield JournalLog(controller)
    for service in await connect_modbus(controller, config, server.descriptors):
        yield service
    yield await connect_snmp(built, config)
    yield connect_bootloader(controller, config.host, config.tftp_port, config.public_key())
    for service in await announced(built, config, server.port):
        yield service


async def announced(built: BuiltController, config: Config, http_port: int) -> Sequence[Service]:
    """Announce the controller in the network as far as it is wanted, never on loopback.

    There nobody else could reach it anyway, and a twin on a developer's machine must not answer
    for a device in the network.
    """
    if is_loopback(config.host):
        return []
    from leverframe.servers.discovery.announcing import Announcing, announce

    return await announce(
        built.controller,
        Announcing(config.discovery, config.udp_bootloader, config.mdns),
        name=built.name,
        host_label=built.host_label,
        mac=built.mac,
        host=config.host,
        port=http_port,
    )


#: How people call what is spoken at the ports beside HTTP.
_PORT_WORDS = {
    "redirect": "leads there from port {}",
    "modbus": "Modbus TCP on port {}",
    "snmp": "SNMP on UDP port {}",
    "discovery": "discovery on UDP port {}",
}


def _print_address(
    built: BuiltController, config: Config, port: int, certificate: Certificate | None
) -> None:
    """Print where the controller answers, on all the ports that it has opened."""
    controller, scheme = built.controller, "https" if certificate else "http"
    url = f"{scheme}://{url_host(config.host)}:{port}/"
    fingerprint = certificate.fingerprint if certificate else None
    ports = controller.open_ports()
    if config.json:
        about = {"event": "ready", "name": built.present_name, "mac": built.mac, "url": url}
        print_json({**about, "ports": ports, "fingerprint": fingerprint})
        return
    beside = [words.format(ports[name]) for name, words in _PORT_WORDS.items() if name in ports]
    print(
        f"{built.present_name} ({controller.profile}, {controller.board.kind} board) answers at "
        f"{url} {''.join(f'and {words} ' for words in beside)}- stop with Ctrl+C",
        flush=True,
    )
    if fingerprint:
        print(f"Fingerprint of its certificate: {fingerprint}", flush=True)


def _what_runs(built: BuiltController, config: Config, folder: DataFolder) -> str:
    """Describe the controller for the log, so that an old log can be identified."""
    return (
        f"{built.present_name} ({built.controller.profile}, {built.controller.board.kind} board),"
        f" data in {folder.path}, Python {platform.python_version()},"
        f" {'virtual' if config.virtual_time else 'real'} time"
    )


def listen_to_signals(certificate: Certificate | None) -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set; reload the certificate on SIGHUP."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, take_up_certificate, certificate)
    return stop_by_signal()


async def wait_for_stop(
    stop: asyncio.Event, controllers: Callable[[], Iterable[Controller]], supervisor: Supervisor
) -> None:
    """Wait for the stop; meanwhile check the machine's clock and notify the supervisor."""
    interval_s = min(LOOK_AT_CLOCK_S, supervisor.interval_s or LOOK_AT_CLOCK_S)
    while not stop.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(interval_s):
                await stop.wait()
        supervisor.alive()
        for controller in controllers():
            if controller.clock.was_stepped():
                controller.clock_changed()
