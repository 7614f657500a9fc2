"""A started controller with the services that it needs.

A process, a node, a twin, a trial and a scenario use the same host and open different parts of it:
all of them have the controller and its request function, and `ports.py` opens servers for it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from leverframe.controller import Controller
from leverframe.loop_shares import LoopTurns
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.outgoing.targets import Targets
from leverframe.process.node_services import NodeServices
from leverframe.process.services import Service
from leverframe.servers.descriptors import DescriptorBudget
from leverframe.servers.http.messages import Handler, Reply
from leverframe.servers.http_faults import FaultyServer, HttpFaults
from leverframe.servers.mqtt.service import MqttService
from leverframe.servers.routes.router import Web
from leverframe.shutdown import End, close_all

if TYPE_CHECKING:
    from leverframe.exchanges.recorded_answers import RecordedAnswers

Wrapping = Callable[[Handler], Handler]
MakeProblem = Callable[[int, str], Reply]


def as_it_is(handler: Handler) -> Handler:
    return handler


class ControllerHost(Struct):
    """A started controller, its request function, and its services."""

    controller: Controller
    web: Web
    #: Wraps a handler to record the requests of clients, on virtual time, for tests.
    noting: Wrapping
    #: Answers malformed requests; these are recorded, too.
    problem: MakeProblem
    #: Its name until a user sets another.
    name: str
    #: The same for host names, independent of the configured name.
    host_label: str
    mac: str
    snmp_identity: EngineIdentity
    mqtt: MqttService
    #: The services it shares with other controllers of the process.
    node: NodeServices
    #: The turns at which it may be accessed beside other controllers.
    turns: LoopTurns
    #: The targets it may connect to.
    targets: Targets
    services: tuple[Service, ...] = ()
    #: The file descriptors for its connections, shared by controllers of one port.
    descriptors: DescriptorBudget = field(default_factory=DescriptorBudget)
    #: Answers for requests that the controller does not support.
    answers: "RecordedAnswers | None" = None
    #: Opened for it since the start, in this order.
    opened: list[End] = []

    @property
    def present_name(self) -> str:
        return self.controller.engine.settings.name or self.name

    def add(self, *services: Service) -> None:
        """Close these together with the controller, before earlier ones."""
        self.opened += [service.close for service in services]

    def handlers(self, outward: Wrapping = as_it_is) -> tuple[Handler, Handler]:
        """Return the handler of requests, and the function that admits their bodies.

        `outward` adds headers about the path on which browsers came.
        """
        handle: Handler = self.web.handle
        if self.answers is not None:
            # Imported here: few controllers have a recording.
            from leverframe.process.recorded import with_recorded_answers

            handle = with_recorded_answers(self.controller, handle, self.answers.from_the_first())
        return outward(self.noting(handle)), outward(self.web.admit_body)

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
        parts = [controller.writer, controller, self.web, self.mqtt, *self.services]
        if controller.faults is not None:
            parts.append(controller.faults)
        for part in parts:
            vars(part).clear()
