"""A started controller with what it is asked to serve.

A process, a node, a twin, a trial and a scenario have the same host and open different parts of it:
all of them have the controller and its request function, `ports.py` opens servers for it.
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
    """A controller that has been started, its request function, and what runs beside it."""

    controller: Controller
    web: Web
    #: Makes a handler record the requests of clients, on virtual time, where tests run.
    noting: Wrapping
    #: Makes the refusals of what is no request; these are recorded, too.
    problem: MakeProblem
    #: Its name until a user gives it one.
    name: str
    #: The same in names of hosts, whatever the configuration calls it.
    host_label: str
    mac: str
    snmp_identity: EngineIdentity
    mqtt: MqttService
    #: What it shares with other controllers of the process.
    node: NodeServices
    #: When it may be asked, beside others.
    turns: LoopTurns
    #: What it may connect to.
    targets: Targets
    services: tuple[Service, ...] = ()
    #: Files that its connections may take; shared with others at one door.
    descriptors: DescriptorBudget = field(default_factory=DescriptorBudget)
    #: Stand in for what the controller does not know.
    answers: "RecordedAnswers | None" = None
    #: What was opened for it since, the first first.
    opened: list[End] = []

    @property
    def present_name(self) -> str:
        return self.controller.engine.settings.name or self.name

    def add(self, *services: Service) -> None:
        """Close these with the controller, before what was opened earlier."""
        self.opened += [service.close for service in services]

    def handlers(self, outward: Wrapping = as_it_is) -> tuple[Handler, Handler]:
        """Return what answers requests, and what admits their bodies.

        `outward` adds what browsers are to know of the way that they came by.
        """
        handle: Handler = self.web.handle
        if self.answers is not None:
            # Imported here: few controllers have a recording.
            from leverframe.process.recorded import with_recorded_answers

            handle = with_recorded_answers(self.controller, handle, self.answers.from_the_first())
        return outward(self.noting(handle)), outward(self.web.admit_body)

    def show_faults(self, server: FaultyServer) -> None:
        """Let a server show the faults that are set, where the board is simulated."""
        controller = self.controller
        if controller.faults is not None:
            HttpFaults(controller.faults, server, controller.request_journal)

    async def stop(self) -> None:
        """Stop everything, what was opened last first; log what failed."""
        services = (service.close for service in reversed(self.services))
        await close_all([*reversed(self.opened), *services, self.controller.stop])

    def take_apart(self) -> None:
        """Free the memory of a controller that was stopped and that nobody asks any more.

        Its parts refer to each other in circles, and the collector never looks at what `gc.freeze`
        has seen.
        """
        controller = self.controller
        parts = [controller.writer, controller, self.web, self.mqtt, *self.services]
        if controller.faults is not None:
            parts.append(controller.faults)
        for part in parts:
            vars(part).clear()
