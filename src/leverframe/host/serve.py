"""Run one controller as a process: open its parts, serve until it is stopped, stop in order."""

import asyncio
import codecs
import gc
import logging
import platform
import signal
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leverframe import __version__
from leverframe.core.engine.schedule_times import zone_named
from leverframe.core.engine.secret_servers import url_host
from leverframe.core.errors import print_json
from leverframe.core.runtime.clock import Clock, SystemClock, VirtualClock
from leverframe.core.runtime.event_loop import stop_by_signal
from leverframe.core.runtime.outgoing import Targets
from leverframe.core.settings import Settings
from leverframe.devices import pinger
from leverframe.devices.linux import oled_panel
from leverframe.host import logs
from leverframe.host.assembly import ConfiguredIdentity, ControllerHost, build
from leverframe.host.configuration import Config, NodeConfig
from leverframe.host.controller import Controller
from leverframe.host.logs import JournalLog, Supervisor
from leverframe.host.logs import set_up as set_up_logs
from leverframe.host.ports import (
    bind_errors_for_people,
    connect_bootloader,
    descriptor_budget,
    open_ports,
    open_redirect,
    serve_http,
)
from leverframe.host.reach import (
    certificate_of,
    ensure_sign_in,
    reach_of,
    reachable_host,
    take_up_certificate,
    try_host,
)
from leverframe.host.services import Sending, Service, connect_snapshots, history_worker
from leverframe.host.start_version import settle_version
from leverframe.interface.table.params.special import TIME_ZONE
from leverframe.server import passwords
from leverframe.server.cross_site import is_loopback
from leverframe.server.home_assistant import PagesAddress
from leverframe.server.http.certificate import Certificate
from leverframe.server.http.messages import Handler
from leverframe.server.routes import files
from leverframe.server.routes.headers import by_tls_only, open_to
from leverframe.server.routes.metrics import server_families
from leverframe.server.routes.pages import pages
from leverframe.server.routes.router import Reach
from leverframe.storage import encryption
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.sqlite import open_store

# Load the files and large libraries that requests need, in the background before the first request.
#
# A request must not fail because too many files are open to load a library, and no relay may wait
# for a disk. Startup itself loads none of this: loading begins after the start was announced.
# Large, rarely used parts follow later, so that short-lived processes never load them.

log = logging.getLogger(__name__)

Load = Callable[[], object]

#: The delay before large parts are loaded; short-lived processes save 150 ms and 9 MB.
LARGE_AFTER_S = 10.0
RETRY_S = 60.0


class FeatureLoader:
    """Loads everything once, in threads, one part at a time."""

    def __init__(self, large: tuple[Load, ...] = ()) -> None:
        self._large = large
        self._missing = [*SMALL, *large]
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        await self.load(SMALL)
        log.debug("features for requests are loaded")
        await asyncio.sleep(LARGE_AFTER_S)
        await self.load(self._large)
        while self._missing:
            await asyncio.sleep(RETRY_S)
            await self.load(tuple(self._missing))

    async def load(self, loads: tuple[Load, ...]) -> None:
        for load in loads:
            try:
                await asyncio.to_thread(load)
                self._missing.remove(load)
            except Exception as error:
                log.warning("%s could not be loaded yet: %s", load.__module__, error)


def names_of_hosts() -> None:
    """Load the rules of international host names; the event loop needs them to listen."""
    codecs.lookup("idna")


def zones_of_examples() -> None:
    """Read the time zones that appear in descriptions of the commands."""
    _ZONES.extend(zone_named(name) for name in TIME_ZONE.fitting if name)


#: Keeps the zones in use: a zone without a reference would be read again.
_ZONES: list[object] = []
#: Loading all of them takes about 100 ms and 8 MB.
SMALL: tuple[Load, ...] = (
    *(names_of_hosts, zones_of_examples, pages, passwords.load, files.load, encryption.load),
    pinger.load,
)


def large_features(settings: Settings) -> tuple[Load, ...]:
    """List the large parts that these settings need; other controllers load them on demand.

    The image libraries use 5 MB of an idle process.
    """
    is_drawn = settings.oled.enabled and find_spec("PIL") is not None
    return (oled_panel.load,) if is_drawn else ()


#: Interval between checks of the machine's clock, and so the delay until the schedule follows it.
LOOK_AT_CLOCK_S = 20.0


async def serve(config: Config) -> None:
    """Run one controller until SIGTERM or SIGINT."""
    answers = None
    if config.recorded is not None:
        # Imported here: few controllers have a recording.
        from leverframe.host.recordings import read_answers

        answers = read_answers(Path(config.recorded))
    with DataFolder(Path(config.data), reading_will_do=True) as folder:
        # Check the address before a password is created and shown for a start that fails.
        with bind_errors_for_people(config.host, config.port):
            try_host(config.host, config.port)
        opened = open_store(
            folder.store_path,
            was_closed=folder.was_given_back,
            killed_history=folder.killed_history,
        )
        reach = reach_of(config)
        host = await _build(config, folder, EncryptingStore(opened.store, folder.key_path), reach)
        controller, host.answers = host.controller, answers
        for part, sentence in opened.troubles.items():
            log.error("%s", sentence)
            controller.troubles[part] = sentence
        host.add(connect_snapshots(controller, folder.store_path, opened.store.settle))
        try:
            certificate = certificate_of(config, folder.path, host.host_label)
            # Before the start is announced, so that an immediate stop is also orderly.
            stop = listen_to_signals(certificate)
            host.descriptors = descriptor_budget()
            server = await serve_http(
                host, config, reach, certificate, outward=partial(_outward, reach)
            )
            controller.figures.append(lambda: server_families(server))
            if certificate is not None:
                redirect = await open_redirect(
                    controller, config, reach, host.descriptors, server.port
                )
                if redirect is not None:
                    host.opened.append(partial(redirect.stop, 0))
            if logs.is_wanted():
                host.add(JournalLog(controller))
            await open_ports(host, config, serial_modbus=config.serial_modbus)
            port, key = config.tftp_port, config.public_key()
            host.add(connect_bootloader(controller, config.host, port, key))
            host.add(*await announce_controller(host, config, server.port))
            _print_address(host, config, server.port, certificate)
            scheme = "https" if certificate else "http"
            host.mqtt.pages_are_at(PagesAddress(scheme, config.host, server.port))
            log.info("leverframe %s started: %s", __version__, _what_runs(host, config, folder))
            # Exempt existing objects from collection: scanning them would block the loop for about
            # 25 ms each time.
            gc.freeze()
            gc.enable()
            supervisor = Supervisor()
            supervisor.ready()
            loader = FeatureLoader(large_features(controller.engine.settings))
            loader.start()
            host.add(loader)
            await wait_for_stop(stop, lambda: [controller], supervisor)
            log.info("stopping")
            supervisor.stopping()
        finally:
            await host.stop()
    log.info("leverframe %s stopped", __version__)


def _outward(reach: Reach, handler: Handler) -> Handler:
    """Return a handler that adds the headers for browsers: CORS, and TLS only."""
    opened = open_to(reach.names.origins, handler)
    return by_tls_only(opened) if reach.names.secure else opened


async def _build(
    config: Config, folder: DataFolder, store: EncryptingStore, reach: Reach
) -> ControllerHost:
    """Build the controller from its store; create an administrator if strangers can reach it."""
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
        # `stored` is still valid unless a version or an administrator was written since it was
        # read.
        stored=None if is_new or reach.must_sign_in else stored,
    )


def clock_of(config: NodeConfig) -> Clock:
    """Return the clock of the configuration."""
    if not config.virtual_time:
        return SystemClock()
    wall = config.first_moment()
    return VirtualClock() if wall is None else VirtualClock(wall)


async def announce_controller(
    host: ControllerHost, config: Config, http_port: int
) -> Sequence[Service]:
    """Announce the controller in the network if configured, but not if it listens on loopback.

    Other machines could not reach it there, and a twin on a developer's machine must not answer for
    a device in the network.
    """
    if is_loopback(config.host):
        return []
    from leverframe.server.mdns import Announcing, announce

    return await announce(
        host.controller,
        Announcing(config.discovery, config.udp_bootloader, config.mdns),
        name=host.name,
        host_label=host.host_label,
        mac=host.mac,
        host=config.host,
        port=http_port,
    )


#: How the ports other than HTTP are named in the output.
_PORT_WORDS = {
    "redirect": "redirect from port {}",
    "modbus": "Modbus TCP on port {}",
    "snmp": "SNMP on UDP port {}",
    "discovery": "discovery on UDP port {}",
}


def _print_address(
    host: ControllerHost, config: Config, port: int, certificate: Certificate | None
) -> None:
    """Print the address of the controller and all open ports."""
    controller, scheme = host.controller, "https" if certificate else "http"
    url = f"{scheme}://{url_host(reachable_host(config.host))}:{port}/"
    fingerprint = certificate.fingerprint if certificate else None
    ports = controller.open_ports()
    if config.json:
        about = {"event": "ready", "name": host.present_name, "mac": host.mac, "url": url}
        print_json({**about, "ports": ports, "fingerprint": fingerprint})
        return
    beside = [words.format(ports[name]) for name, words in _PORT_WORDS.items() if name in ports]
    print(
        f"{host.present_name} ({controller.profile}, {controller.board.kind} board) answers at "
        f"{url} {''.join(f'and {words} ' for words in beside)}- stop with Ctrl+C",
        flush=True,
    )
    if fingerprint:
        print(f"Certificate fingerprint: {fingerprint}", flush=True)


def _what_runs(host: ControllerHost, config: Config, folder: DataFolder) -> str:
    """Describe the controller in the log, so that the source of an old log is known."""
    return (
        f"{host.present_name} ({host.controller.profile}, {host.controller.board.kind} board),"
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
    """Wait for the stop, check the machine's clock regularly, and notify the supervisor."""
    interval_s = min(LOOK_AT_CLOCK_S, supervisor.interval_s or LOOK_AT_CLOCK_S)
    while not stop.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(interval_s):
                await stop.wait()
        supervisor.alive()
        for controller in controllers():
            if controller.clock.was_stepped():
                controller.clock_changed()


# `leverframe run`: set up logging and serve one controller until it is stopped.

#: The number of new containers before a process collects garbage. With Python's default of 700,
#: collection scans pending requests again and again, which reduces the rate of durable changes by 2
#: to 4 %.
NEW_BEFORE_A_LOOK = 10_000


def run(config: Config) -> None:
    """Run one controller, on uvloop if it is installed."""
    # Startup creates hardly any garbage; collection would take a twentieth of the time until the
    # first answer. `serve` enables collection once it serves.
    gc.disable()
    collect_rarely()

    set_up_logs(config.log_level, config.log_format, config.syslog)
    loop_runner()(serve(config))


def collect_rarely() -> None:
    """Collect garbage less often in a process that serves."""
    gc.set_threshold(NEW_BEFORE_A_LOOK)


def loop_runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """Return the function that runs a coroutine on the fastest installed event loop."""
    # Imported here, after garbage collection was disabled (see `run`).
    import asyncio

    # Outside the `except`: otherwise the failed import would be the context of every later error,
    # even for code that inspects the context.
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run
