"""Assemble a controller with its services and servers, on any clock, store and board."""

import secrets
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from leverframe.core.engine.findings import Finding
from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.event_loop import End, LoopTurns, close_all, turns_alone
from leverframe.core.runtime.outgoing import Targets
from leverframe.devices.board import Board
from leverframe.devices.pinger import Pinger
from leverframe.devices.simulated.simulated_board import SimulatedBoard
from leverframe.devices.wire.prometheus import Family
from leverframe.devices.wiring import BOARDS_GROUP, Wiring, board_kinds
from leverframe.host.controller import Controller
from leverframe.host.services import (
    MessageSender,
    NodeServices,
    Sending,
    Service,
    connect_faults,
    connect_firmware_check,
    connect_history,
    connect_journal,
    connect_mqtt,
    connect_outbox,
    connect_panel,
    connect_secrets,
    connect_serial,
)
from leverframe.notify.snmp_identity import EngineIdentity, boots_after, engine_id
from leverframe.server.fair_shares import DescriptorBudget
from leverframe.server.faults import FaultyServer, HttpFaults
from leverframe.server.http.messages import Answer, Handler, Reply, Request, problem_reply
from leverframe.server.http.request_journal import KEPT_BODY, OpenRequest, RequestJournal
from leverframe.server.mqtt import MqttService
from leverframe.server.passwords import password_findings
from leverframe.server.routes.context import ControllerWork, no_tenant
from leverframe.server.routes.metrics import stream_families
from leverframe.server.routes.router import THIS_MACHINE, LenientWeb, Reach, Web
from leverframe.storage.history.worker import HistoryWorker, MemoryHistory
from leverframe.storage.store import Changes, Store, Stored, StoreUnavailable

if TYPE_CHECKING:
    from leverframe.host.controller.hand_over import LiveExport
    from leverframe.host.recordings import RecordedAnswers


# A started controller with the services that it needs.
#
# A process, a node, a twin, a trial and a scenario use the same host but open different parts of
# it. Each of them has the controller and its request function; `ports.py` opens the servers.

Wrapping = Callable[[Handler], Handler]
MakeProblem = Callable[[int, str], Reply]


def as_it_is(handler: Handler) -> Handler:
    return handler


class WebOptions(Struct, frozen=True):
    """Options for creating the request function of a controller."""

    reach: Reach
    cookie_name: str
    #: The name of the controller in the configuration; empty if it has none.
    public_name: str
    tenant: Callable[[], Hashable]
    lenient: bool


class ControllerHost(Struct):
    """A started controller, its request function, and its services."""

    controller: Controller
    web_options: WebOptions
    #: Wraps a handler. In virtual time, the wrapper records the requests of clients for tests.
    noting: Wrapping
    #: Builds the reply to a malformed request. In virtual time, malformed requests are recorded,
    #: too.
    problem: MakeProblem
    #: The name of the controller until a user sets another.
    name: str
    #: The default for host names, independent of the configured name.
    host_label: str
    mac: str
    snmp_identity: EngineIdentity
    mqtt: MqttService
    #: The services that the controllers of the process share.
    node: NodeServices
    #: Gives this controller its turns among the controllers of the process.
    turns: LoopTurns
    #: The targets that the controller may connect to.
    targets: Targets
    services: tuple[Service, ...] = ()
    present_web: Web | None = None
    present_descriptors: DescriptorBudget | None = None
    #: Answers for requests that the controller does not support.
    answers: "RecordedAnswers | None" = None
    #: The functions that close what was opened since the start, in the order of opening.
    opened: list[End] = []

    @property
    def web(self) -> Web:
        """Return the request function, created at its first use; idle controllers save 6 KB."""
        if self.present_web is None:
            self.present_web = self._make_web()
        return self.present_web

    def _make_web(self) -> Web:
        options, node = self.web_options, self.node
        return (LenientWeb if options.lenient else Web)(
            self.controller,
            name=self.name,
            mac=self.mac,
            lenient=options.lenient,
            reach=options.reach,
            cookie_name=options.cookie_name,
            public_name=options.public_name,
            hashing=node.hashing,
            backups=node.backups,
            documents=node.documents,
            work=ControllerWork(node.places, node.streams, self.controller, options.tenant),
        )

    def find_weak_passwords(self) -> Iterable[Finding]:
        web, access = self.present_web, self.controller.engine.settings.access
        return () if web is None else password_findings(access, web.weak_passwords)

    def count_streams(self) -> Iterable[Family]:
        web = self.present_web
        return stream_families(None if web is None else web.streams)

    @property
    def descriptors(self) -> DescriptorBudget:
        """Return the budget of file descriptors, which controllers on the same port share."""
        if self.present_descriptors is None:
            self.present_descriptors = DescriptorBudget()
        return self.present_descriptors

    @descriptors.setter
    def descriptors(self, shared: DescriptorBudget) -> None:
        self.present_descriptors = shared

    @property
    def present_name(self) -> str:
        return self.controller.engine.settings.name or self.name

    def add(self, *services: Service) -> None:
        """Close these services with the controller, before services that were added earlier."""
        self.opened += [service.close for service in services]

    def handlers(
        self, outward: Wrapping = as_it_is, *, late: bool = False
    ) -> tuple[Handler, Handler]:
        """Return the handler of requests, and the function that admits their bodies.

        `outward` adds headers for browsers; the headers depend on how the browser reached the
        controller. `late` handlers create the request function at the first request, because many
        controllers of a node never receive one.
        """
        handle: Handler = self._answer if late else self.web.handle
        admit: Handler = self._admit_body if late else self.web.admit_body
        if self.answers is not None:
            # Imported here: few controllers have a recording.
            from leverframe.host.recordings import with_recorded_answers

            handle = with_recorded_answers(self.controller, handle, self.answers.from_the_first())
        return outward(self.noting(handle)), outward(admit)

    def _answer(self, request: Request) -> Answer:
        return (self.present_web or self.web).handle(request)

    def _admit_body(self, request: Request) -> Answer:
        return self.web.admit_body(request)

    def show_faults(self, server: FaultyServer) -> None:
        """Let a server simulate the faults that are set, if the board is simulated."""
        controller = self.controller
        if controller.faults is not None:
            HttpFaults(controller.faults, server, controller.request_journal)

    async def stop(self) -> None:
        """Stop everything in reverse order; log failures."""
        services = (service.close for service in reversed(self.services))
        await close_all([*reversed(self.opened), *services, self.controller.stop])

    def take_apart(self) -> None:
        """Free the memory of a stopped controller that has no more users.

        Its parts refer to each other in cycles, and the collector never visits objects that
        `gc.freeze` has seen.
        """
        controller = self.controller
        parts = [controller.writer, controller, self.present_web, self.mqtt, *self.services]
        for part in [*parts, controller.faults]:
            if part is not None:
                _forget_attributes(part)


def _forget_attributes(part: object) -> None:
    """Delete all attributes of an object, in its slots and in its dictionary."""
    if hasattr(part, "__dict__"):
        vars(part).clear()
    for one in type(part).__mro__:
        for name in vars(one).get("__slots__", ()):
            if name != "__weakref__" and hasattr(part, name):
                delattr(part, name)


# Builds a controller with its services, on any clock, store and board.
#
# A controller in a test is built by the same function, on a virtual clock and an in-memory store.
# Drivers of rare devices are imported only where they are needed: they would cost every other
# controller startup time and memory.

SIMULATED = Wiring()
NORMALLY = Sending()
#: The class that an entry point of `BOARDS_GROUP` refers to.
BoardFactory = Callable[[Wiring, Clock], Board]


class ConfiguredIdentity(Struct, frozen=True):
    """Configured values that replace the identity generated at the first start."""

    name: str | None = None
    mac: str | None = None
    #: The address that only this controller listens on.
    address: str | None = None


AS_MADE = ConfiguredIdentity()


async def build(
    profile: Profile,
    store: Store,
    clock: Clock,
    timezone: tzinfo,
    *,
    lenient: bool = False,
    wiring: Wiring = SIMULATED,
    serial_port: str | None = None,
    sending: Sending = NORMALLY,
    reach: Reach = THIS_MACHINE,
    history: HistoryWorker | None = None,
    configured: ConfiguredIdentity = AS_MADE,
    node: NodeServices | None = None,
    stored: Stored | None = None,
    live: "LiveExport | None" = None,
    turns: LoopTurns | None = None,
    tenant: Callable[[], Hashable] = no_tenant,
    identity: "KnownIdentity | None" = None,
) -> ControllerHost:
    """Build and start a controller on the board that the wiring describes.

    Controllers of one process share a `node`, which stays open. `stored` is the content of the
    store, if it was already read together with other stores. `live` is the live state of a
    controller that ran on another node: if the state fits, the controller and its clock resume from
    it. `turns` are the controller's turns among the controllers of the process. `identity` is the
    identity that was already stored for this start.
    """
    turns = turns or turns_alone()
    shared = node or NodeServices()
    stored = store.load() if stored is None else stored
    identity = identity or await next_identity(store, stored, clock.wall())
    host_label, made_mac, cookie_name, boots = identity
    if stored.unsealed:
        # An earlier version of the program stored this secret in plain text; writing it again
        # encrypts it. If writing fails, the next start tries again.
        with suppress(StoreUnavailable):
            await store.commit(Changes(settings=stored.unsealed))
    name, mac = configured.name or host_label, configured.mac or made_mac
    snmp_identity = EngineIdentity(engine_id(mac), boots)
    controller = Controller(profile, store, make_board(wiring, clock), clock, timezone, stored)
    controller.own_address = configured.address
    connect_secrets(controller, stored)
    services: list[Service] = [] if node else [shared]
    recorder = connect_history(controller, history or MemoryHistory())
    services += [recorder, connect_journal(controller, recorder)]
    services += await _connect_board(controller, wiring, shared, sending)
    sender = MessageSender(
        controller, sending, name, host_label, mac, snmp_identity, turns, shared.trap_threads
    )
    outbox = connect_outbox(controller, sending, sender)
    services.append(outbox)
    connect_faults(controller, outbox)
    services += connect_serial(controller, serial_port, outbox)
    mqtt = connect_mqtt(controller, sender)
    services.append(connect_firmware_check(controller, sending, capture=outbox.capture))
    # Messages left from earlier runs are sent before those of this start.
    outbox.start()
    is_on = False
    if live is not None:
        # Imported here: only a controller of a cluster can have run elsewhere.
        from leverframe.host.controller.hand_over import try_resume

        is_on = try_resume(controller, live)
    if not is_on:
        controller.start()
    if not outbox.capture:
        mqtt.start()
        services.append(mqtt)
    noting, problem = _connect_request_journal(controller)
    host = ControllerHost(
        controller,
        WebOptions(reach, cookie_name, configured.name or "", tenant, lenient),
        noting,
        problem,
        name,
        host_label,
        mac,
        snmp_identity,
        mqtt,
        shared,
        turns,
        sending.targets,
        tuple(services),
    )
    controller.findings.sources.append(host.find_weak_passwords)
    controller.figures.append(host.count_streams)
    return host


async def _connect_board(
    controller: Controller, wiring: Wiring, shared: NodeServices, sending: Sending
) -> list[Service]:
    """Open the board with its panel and the object that pings hosts for it."""
    board = controller.board
    await board.open(controller.engine.settings, controller.troubles)
    controller.settings_watchers.append(controller.pass_to_board)
    panels = [] if wiring.oled is None else [connect_panel(controller, wiring.oled)]
    return [board, *panels, *_connect_pings(controller, shared, sending)]


def _connect_pings(controller: Controller, shared: NodeServices, sending: Sending) -> list[Service]:
    """Ping real hosts, or hosts of the simulated board in virtual time."""
    bench = controller.board.bench
    if controller.clock.is_virtual and bench is not None:
        bench.hosts.answered = controller.ping_answered
        controller.on_ping = bench.hosts.ping
        return []
    pinger = Pinger(controller.ping_answered, shared.lookups, sending.targets.channel("ping"))
    controller.on_ping = pinger.ping
    return [pinger]


def _connect_request_journal(controller: Controller) -> tuple[Wrapping, MakeProblem]:
    """Record the requests of clients in virtual time, for tests."""
    if not controller.clock.is_virtual:
        return as_it_is, problem_reply
    journal = RequestJournal(controller.clock.wall, _without_secrets)
    controller.request_journal = journal
    return journal.before, journal.before_refusals(problem_reply)


def _without_secrets(request: Request) -> OpenRequest:
    # Imported here: only twins record requests.
    from leverframe.interface.exchange import mask_request, without_secret_headers

    is_large = len(request.body) > KEPT_BODY
    body = b"" if is_large else request.body
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind.endswith("json") or body[:1] in (b"{", b"["):
        # Many clients send JSON without the matching content type.
        kind = "application/json"
    shown = mask_request(request.path, request.query, kind, body)
    left_out = "large" if is_large else shown.body.left_out
    text = shown.body.text if request.body and not left_out else None
    return OpenRequest(
        shown.path, shown.query, without_secret_headers(request.headers), text, left_out
    )


def make_identity(randbytes: Callable[[int], bytes]) -> dict[str, str]:
    """Return the identity of a controller: its name, MAC address and cookie.

    Controllers at one address need cookies with different names; these names reveal nothing about
    them.
    """
    tail = randbytes(5)
    return {
        "identity.name": f"leverframe-{tail[-3:].hex()}",
        "identity.mac": ":".join(f"{byte:02X}" for byte in (0x02, *tail)),
        "identity.cookie": f"leverframe_{randbytes(6).hex().upper()}",
    }


class KnownIdentity(NamedTuple):
    """The identity of a controller, and how often it has started."""

    name: str
    mac: str
    cookie: str
    #: The number of starts.
    boots: int


async def next_identity(store: Store, stored: Stored, wall: float) -> KnownIdentity:
    """Count and store this start; return the identity, which the first start generates."""
    kept = stored.kept
    first = make_identity(secrets.token_bytes)
    made: dict[str, Any] = {path: value for path, value in first.items() if path not in kept}
    made["snmp.boots"] = boots_after(kept.get("snmp.boots"), wall)
    try:
        await store.commit(Changes(kept=made))
    except StoreUnavailable:
        if "identity.mac" in made:
            raise
        # On a read-only disk, the cookie gets another name at each start, and the boot count
        # increases only because it depends on the clock.
    kept |= made
    name, mac, cookie = (kept[path] for path in first)
    return KnownIdentity(name, mac, cookie, kept["snmp.boots"])


class UnknownBoard(ErrorForPeople):
    """No installed package provides the board: one sentence with the available boards."""


def make_board(wiring: Wiring, clock: Clock) -> Board:
    """Create the board of the wiring; nothing is opened yet."""
    return _OWN.get(wiring.kind, _of_package)(wiring, clock)


def _linux(wiring: Wiring, _: Clock) -> Board:
    # Imported here: its drivers would cost every other controller startup time and memory.
    from leverframe.devices.linux.board import LinuxBoard

    return LinuxBoard(wiring)


def _of_package(wiring: Wiring, clock: Clock) -> Board:
    # Imported here because the import takes 20 ms.
    from importlib.metadata import entry_points

    for found in entry_points(group=BOARDS_GROUP, name=wiring.kind):
        factory: BoardFactory = found.load()
        return factory(wiring, clock)
    known = ", ".join(board_kinds())
    raise UnknownBoard(
        f"No installed package provides the board {wiring.kind!r}; known boards: {known}."
    )


_OWN: dict[str, BoardFactory] = {
    "simulated": lambda _, clock: SimulatedBoard(clock.now),
    "linux": _linux,
}
