"""The front door of a node: one port for many controllers and the node itself.

A request names a controller in one of three ways: by the first label of the `Host`
(`gh-1.localhost`), by the local address that the client connected to, or by the port. A request
that names no controller reaches the node. Unknown names are refused, so a browser that connects
under a foreign name (DNS rebinding) reaches nothing.

Connections and request time are counted per controller, so that a flood of requests to one
controller leaves connections and time for the others.
"""

import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache, partial
from ipaddress import ip_address
from types import CoroutineType
from typing import Any

from leverframe.core.runtime.event_loop import LoopShares
from leverframe.core.runtime.log_lines import CONTROLLER, finish_within
from leverframe.fleet import entrance as refusal_pages
from leverframe.fleet.cluster.directory import Directory
from leverframe.fleet.entrance import CROWDED_OUT, MISDIRECTED, Entrance, not_yet
from leverframe.fleet.records import NotRunning
from leverframe.fleet.roster import CAUSE_WITHHELD, Roster
from leverframe.fleet.shared_ports import bind_to_loopback
from leverframe.interface.table.refusals import Conflict
from leverframe.server.cross_site import OwnNames, without_port
from leverframe.server.fair_shares import DescriptorBudget, FairShares, Lease
from leverframe.server.home_assistant import PagesAddress
from leverframe.server.http.connection import Connection
from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.messages import (
    Answer,
    Handler,
    Reply,
    Request,
    SentAnswer,
    problem_reply,
)
from leverframe.server.http.server import BACKLOG, TOO_MANY, HttpListener, listening_sockets
from leverframe.server.http.server_state import ServerState
from leverframe.server.routes.headers import by_tls_only
from leverframe.server.routes.sign_in import redirect_to_https

ConnectionFactory = Callable[["Door", ServerState, "Entrance | None", Lease], Connection]

#: One controller gets at most three fifths of the connections, the next one three fifths of the
#: rest.
PER_FREE = 1.5
#: Number of host names for which the cache records whether they are addresses.
MAX_KEPT_NAMES = 256
_LOCALHOST = "localhost"
#: The address at which commands and browsers on this machine find the node.
_HOME = "127.0.0.1"
_USUAL_PORTS = {"http": 80, "https": 443}

NO_SUCH_NAME = (
    "No controller has this name. `leverframe fleet list` shows all of them; each is available"
    " at NAME.localhost, and below the names in `hosts` of the configuration."
)


class DoorNames(OwnNames):
    """The names of a controller behind a front door, which has already checked the `Host`."""

    def __init__(
        self, *, secure: bool, origins: Iterable[str] = (), has_proxies: bool = False
    ) -> None:
        super().__init__(origins=origins, secure=secure, has_proxies=has_proxies)

    def check_host(self, request: Request) -> None:
        """Do nothing: the door passes only a controller's own requests to it."""


class Door:
    """The listening sockets of a node, and the entrances behind them."""

    def __init__(
        self,
        limits: HttpLimits,
        domains: tuple[str, ...] = (),
        descriptors: DescriptorBudget | None = None,
    ) -> None:
        #: The node itself; its web part sets the handlers.
        self.node = Entrance("", _refuse_until_started, _refuse_until_started)
        #: The entrance for names that no controller has.
        self.unknown = Entrance("", self._no_such_name, self._no_such_name)
        #: The entrance for controllers that have not started yet, and the ports already open for
        #: them.
        self.starting = Entrance("", not_yet, not_yet)
        self._starting_ports: dict[int, HttpListener] = {}
        #: The controllers of the node, including those that have no entrance.
        self.roster = Roster()
        #: Returns whether strangers may read why a controller failed: the cause names files and
        #: ports.
        self.shows_causes: Callable[[], bool] = lambda: True
        self._limits = limits
        self.descriptors = descriptors or DescriptorBudget()
        self.is_secure = False
        self._domains = tuple(
            name.lower() for name in (_LOCALHOST, *domains) if not _is_address(name)
        )
        self._by_name: dict[str, Entrance] = {}
        self._by_address: dict[str, Entrance] = {}
        #: The entrances of ports that were opened before their controllers started.
        self._by_port: dict[int, Entrance] = {}
        self.shares = FairShares(self.descriptors.clients.limit, PER_FREE)
        self.state = ServerState(_refuse_until_started, limits, admission=_admit)
        self.state.handler = self._handle
        self.loop_shares = LoopShares()
        self._listener: HttpListener | None = None
        self._host = ""
        #: Whether all addresses of 127.0.0.0/8 reach this door.
        self.takes_loopback = False
        #: Creates the protocol of a new connection. With other nodes, this protocol can forward
        #: requests.
        self.connections_as: ConnectionFactory = DoorConnection
        #: The owners of controllers, if there are other nodes.
        self.directory: Directory | None = None
        self._context: ssl.SSLContext | None = None

    # --- listening --------------------------------------------------------------------------------

    async def listen(self, host: str, port: int, context: ssl.SSLContext | None = None) -> None:
        """Open the door, with TLS if there is a context.

        On loopback, one socket serves all addresses of 127.0.0.0/8.
        """
        self._host, self._context = host, context
        self.is_secure = context is not None
        loopback = bind_to_loopback(socket.SOCK_STREAM, host, port)
        self.takes_loopback = loopback is not None
        if loopback is not None:
            loopback.listen(BACKLOG)
            self._listener = self._listener_of([loopback], None)
        else:
            self._listener = self._listener_of(await listening_sockets(host, port), None)
        await self._listen_for_starting()

    async def _listen_for_starting(self) -> None:
        """Listen on the ports of controllers that have not started yet.

        If a port cannot be used, the start of its controller reports why.
        """
        for port in self.roster.list_awaited_ports():
            with suppress(OSError):
                sockets = await listening_sockets(self._host, port)
                self._starting_ports[port] = self._listener_of(sockets, self.starting)

    async def end_start(self) -> None:
        """Close the listeners of controllers that have not started."""
        for listener in self._let_starting_go():
            await listener.close()

    def _let_starting_go(self) -> list[HttpListener]:
        for connection in tuple(self.starting.connections):
            connection.stop()
        left, self._starting_ports = list(self._starting_ports.values()), {}
        return left

    def _listener_of(self, sockets: list[socket.socket], entrance: Entrance | None) -> HttpListener:
        plain = ServerState(self._to_https, self._limits, admission=self._to_https)
        return HttpListener(
            sockets,
            self._limits,
            self.descriptors,
            self.state.refusal(TOO_MANY).encode(close=True),
            partial(self.connections_as, self, self.state, entrance),
            self._context,
            partial(DoorConnection, self, plain, entrance),
        )

    @property
    def open_port(self) -> int | None:
        """The port while it is open."""
        if self._listener is None:
            return None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def connection_count(self) -> int:
        return len(self.state.connections)

    @property
    def port(self) -> int:
        assert self.open_port is not None
        return self.open_port

    def url_of(self, name: str) -> str:
        """Return the URL of a controller's pages."""
        pages = self.pages_of(name)
        port = "" if pages.port == _USUAL_PORTS[pages.scheme] else f":{pages.port}"
        return f"{pages.scheme}://{pages.host}{port}/"

    def pages_of(self, name: str) -> PagesAddress:
        scheme = "https" if self.is_secure else "http"
        port = self.open_port or _USUAL_PORTS[scheme]
        return PagesAddress(scheme, f"{name}.{self._domains[-1]}", port)

    def outward(self, handler: Handler) -> Handler:
        """Return a handler that adds the headers for browsers that came through this door."""
        return by_tls_only(handler) if self.is_secure else handler

    async def stop(self, grace_s: float = 5.0) -> None:
        listeners, self._listener = [self._listener, *self._let_starting_go()], None
        for entrance in self._by_name.values():
            listeners.append(entrance.listener)
            # The listener is closed below, so the later end of its controller has nothing to close.
            entrance.listener = None
        for listener in listeners:
            if listener is not None:
                await listener.close()
        await self.state.stop(grace_s)

    def _to_https(self, request: Request) -> Reply:
        if request.meant is self.unknown and self.name_elsewhere(request) is None:
            return self._no_such_name(request)
        return redirect_to_https(DoorNames(secure=True), request)

    # --- entrances --------------------------------------------------------------------------------

    async def open(self, entrance: Entrance, address: str | None, port: int | None) -> None:
        """Make a controller reachable by its name, and at its own address and port, if any."""
        sockets = await self.sockets_for(entrance.name, address, port)
        if port is not None and port in self._starting_ports:
            entrance.listener = self._starting_ports.pop(port)
            entrance.port, self._by_port[port] = port, entrance
        elif sockets:
            entrance.listener = self._listener_of(sockets, entrance)
        if address is not None:
            entrance.address = address
            self._by_address[address] = entrance
        self._by_name[entrance.name] = entrance
        if self.directory is not None:
            self.directory.note_open(entrance.name)

    async def check_place(self, name: str, address: str | None, port: int | None) -> None:
        """Refuse an address or a port at which the controller could not be reached."""
        for listening in await self.sockets_for(name, address, port):
            listening.close()

    async def sockets_for(
        self, name: str, address: str | None, port: int | None
    ) -> list[socket.socket]:
        """Open the sockets of a controller's own port; refuse a port that cannot be used."""
        if address is not None:
            self._check_address(name, address)
        if port is None or self._listener is None or port in self._starting_ports:
            return []
        try:
            return await listening_sockets(self._host, port)
        except OSError as error:
            raise Conflict(
                f"{name}: port {port} of {self._host} cannot be used: {error.strerror or error}."
                " Free it, or choose another port.",
                field="port",
            ) from error

    def _check_address(self, name: str, address: str) -> None:
        """Refuse an address that is the node's own, or whose connections would not arrive here."""
        if address in (_HOME, self._host):
            raise Conflict(
                f"{name}: the node itself is available at {address}.",
                field="address",
                allowed="an IPv4 address of this machine, such as 127.0.0.2",
            )
        if self._listener is None or _is_any(self._host):
            return
        if not (self.takes_loopback and ip_address(address).is_loopback):
            raise Conflict(
                f"{name}: the node listens on {self._host}, so {address} would not reach this"
                " controller.",
                field="address",
                allowed="an address of 127.0.0.0/8; any with host = 0.0.0.0",
            )

    async def close(self, entrance: Entrance) -> None:
        """Make a controller unreachable, and close its connections."""
        self._by_name.pop(entrance.name, None)
        if entrance.address is not None:
            self._by_address.pop(entrance.address, None)
        if entrance.port is not None:
            self._by_port.pop(entrance.port, None)
        if entrance.listener is not None:
            await entrance.listener.close()
        if self.directory is not None:
            # Requests that waited for their turn must not reach a controller that another node may
            # have.
            entrance.handler, entrance.admission = MISDIRECTED.handler, MISDIRECTED.admission
        for connection in tuple(entrance.connections):
            connection.controller_left()

    async def move(
        self, entrance: Entrance, address: str | None, sockets: list[socket.socket] | None
    ) -> None:
        """Move a controller to another address, and to sockets of another port.

        If `sockets` is None, the controller keeps its port; if it is empty, the controller has no
        port of its own any more.
        """
        if entrance.address is not None:
            self._by_address.pop(entrance.address, None)
        entrance.address = address
        if address is not None:
            self._by_address[address] = entrance
        # Connections through the old address or port would still reach this controller.
        for connection in tuple(entrance.connections):
            connection.stop()
        if sockets is not None:
            if entrance.port is not None:
                self._by_port.pop(entrance.port, None)
                entrance.port = None
            before = entrance.listener
            entrance.listener = self._listener_of(sockets, entrance) if sockets else None
            if before is not None:
                await before.close()

    def rename(self, entrance: Entrance, name: str) -> None:
        for connection in tuple(entrance.connections):
            connection.stop()
        del self._by_name[entrance.name]
        entrance.logged.name = name
        self._by_name[name] = entrance

    def meant(self, request: Request, by_place: "Entrance") -> "Entrance":
        """Find the entrance for a request.

        The `Host` decides, or otherwise the address or port of the connection.
        """
        host = request.headers.get("host")
        if host is None:
            return by_place
        name = _host_name(host)
        if name in self._domains:
            return by_place
        found = self._by_name.get(self._label_of(name))
        if found is not None:
            return found
        return by_place if _is_address(name) else self.unknown

    def _label_of(self, host_name: str) -> str:
        """Return the controller name in a host name, even if no such controller exists."""
        label, _, domain = host_name.partition(".")
        return label if not domain or domain in self._domains else ""

    def _no_such_name(self, request: Request) -> Reply:
        """Refuse an unknown name; if it is below a domain of the door, add a link to the node."""
        host = request.headers.get("host", "")
        name = self._label_of(_host_name(host))
        if self.roster.is_starting and name:
            return not_yet(request)
        _, _, node_host = host.partition(".")
        link = f"//{node_host}/" if _host_name(node_host) in self._domains else None
        if self.roster.knows(name):
            return self._refuse_failed(request, name, link)
        reply = problem_reply(404, NO_SUCH_NAME)
        return refusal_pages.for_people(request, reply, refusal_pages.NO_NAME, link)

    def _refuse_failed(self, request: Request, name: str, link: str | None = None) -> Reply:
        shows = self.shows_causes()
        # The controller may have started since the client connected.
        detail = self.roster.sentence(name, with_cause=shows) or CAUSE_WITHHELD
        cause = self.roster.reason_for(name) if shows else None
        reply = problem_reply(NotRunning.status, detail)
        return refusal_pages.for_people(
            request, reply, refusal_pages.NOT_STARTED_PAGE, link, cause or ""
        )

    def name_elsewhere(self, request: Request) -> str | None:
        """Return the requested controller if another node may have it and this node does not."""
        name = self._label_of(_host_name(request.headers.get("host", "")))
        if self.directory is None or not self.directory.knows(name) or self._is_failed_here(name):
            return None
        return name

    def _is_failed_here(self, name: str) -> bool:
        """Return whether a controller belongs to this node and failed to start."""
        is_mine = self.directory is not None and self.directory.is_mine(name)
        return is_mine and self.roster.knows(name)

    def answers_for(self, name: str) -> bool:
        """Return whether this node answers for a controller.

        For a controller that failed to start, the answer is the cause.
        """
        return self.has(name) or self._is_failed_here(name)

    def has(self, name: str) -> bool:
        return name in self._by_name

    def at_address(self, address: str) -> Entrance:
        found = self._by_address.get(address)
        if found is not None:
            return found
        idle = self.roster.idle_at(address)
        if idle is None or (idle.failure is None and not self.roster.is_starting):
            return self.node
        if self.roster.is_starting:
            return self.starting
        refuse = partial(self._refuse_failed, name=idle.name)
        return Entrance(idle.name, refuse, refuse)

    def at_port(self, port: int) -> Entrance:
        """Return the current entrance of a port that was opened before its controller started."""
        return self._by_port.get(port, self.starting)

    def _handle(self, request: Request) -> SentAnswer:
        return self.loop_shares.answer(request.meant.share, request, _handle)


class DoorConnection(Connection):
    """A connection that passes each request to the entrance that it names."""

    def __init__(
        self, door: Door, state: ServerState, entrance: Entrance | None, lease: Lease
    ) -> None:
        super().__init__(state, lease)
        self._door = door
        #: The entrance for requests that name no controller.
        self._by_place = entrance or door.node
        self._by_port = entrance is not None
        #: The entrance to which the connection is charged.
        self._used_for: Entrance | None = None
        #: The name of that entrance when the connection was charged to it.
        self._held_as = ""

    def connection_made(self, transport: Any) -> None:
        local = transport.get_extra_info("sockname")
        if local and not self._by_port:
            self._by_place = self._door.at_address(local[0])
        super().connection_made(transport)

    def _at_place(self) -> Entrance:
        """Return the entrance at the address or the port that the client connected to."""
        address, port, *_ = self._transport.get_extra_info("sockname")
        return self._door.at_port(port) if self._by_port else self._door.at_address(address)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def _leave(self) -> None:
        if self._used_for is not None:
            self._used_for.connections.discard(self)
            self._door.shares.give_back(self._held_as)
            self._used_for = None

    def controller_left(self) -> None:
        """Complete the current response, then close: the controller of the connection is gone."""
        self.stop()

    def _meant(self, request: Request) -> Entrance:
        if self._by_place is self._door.starting:
            # The controller may have started since.
            self._by_place = self._at_place()
        return self._door.meant(request, self._by_place)

    def _lead(self, request: Request) -> None:
        """Find the entrance for a request, and charge the connection to it."""
        meant = self._meant(request)
        if meant is not self._used_for and meant not in (self._door.unknown, MISDIRECTED):
            self._leave()
            if self._door.shares.take(meant.name):
                self._used_for, self._held_as = meant, meant.name
                meant.connections.add(self)
            else:
                meant = CROWDED_OUT
        request.meant = meant

    def _answer(self, request: Request) -> None:
        self._lead(request)
        self._answer_led(request)

    def _answer_led(self, request: Request) -> None:
        if request.meant.is_closed:
            self.reset()
        else:
            super()._answer(request)

    def _check_body(self, request: Request) -> None:
        self._lead(request)
        request.owner = request.meant.tenant()
        self._check_led(request)

    def _check_led(self, request: Request) -> None:
        super()._check_body(request)


def _handle(request: Request) -> SentAnswer:
    entrance: Entrance = request.meant
    before = CONTROLLER.set(entrance.logged)
    try:
        answer = entrance.handler(request)
    finally:
        CONTROLLER.reset(before)
    if isinstance(answer, CoroutineType):
        return finish_within(entrance.logged, answer)
    return answer


def _refuse_until_started(request: Request) -> Reply:
    return problem_reply(503, "The node is starting.")


def _admit(request: Request) -> Answer:
    entrance: Entrance = request.meant
    return entrance.admission(request)


def _host_name(host: str) -> str:
    return without_port(host).lower().rstrip(".")


# Cached because parsing an address costs 4 us, a tenth of a short request.
@lru_cache(maxsize=MAX_KEPT_NAMES)
def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_any(host: str) -> bool:
    return not host or (_is_address(host) and ip_address(host).is_unspecified)
