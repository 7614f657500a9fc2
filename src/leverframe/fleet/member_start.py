"""The start of one controller of a node, with what it shares with the others."""

from functools import partial

from msgspec import Struct

from leverframe.clock import Clock, SystemClock, VirtualClock
from leverframe.controller import Controller
from leverframe.controller.hand_over import SavedLive, resumption
from leverframe.controller.hooks import SettingsWatcher
from leverframe.fleet.door import Door, DoorNames
from leverframe.fleet.entrance import Entrance
from leverframe.fleet.members import Member, MemberOptions
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.shared_ports import SharedTcpPort, SharedUdpPort
from leverframe.log_context import CONTROLLER, LoggedName
from leverframe.loop_shares import LoopShare, LoopTurns
from leverframe.process.build import BuiltController, ConfiguredIdentity, build
from leverframe.process.node_services import NodeServices
from leverframe.process.ports import connect_bus, connect_modbus_server, connect_snmp
from leverframe.process.services import Service
from leverframe.profile import Profile
from leverframe.servers import journal_log
from leverframe.servers.http_faults import HttpFaults
from leverframe.servers.journal_log import JournalLog
from leverframe.servers.routes.router import Reach
from leverframe.shutdown import close_all
from leverframe.storage.fleet.lane import Lane
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.store import Stored
from leverframe.wiring import Wiring


class MemberStarter(Struct, frozen=True):
    """What all controllers of a node share, and the start of one of them."""

    door: Door
    lane: Lane
    clock: Clock
    options: MemberOptions
    history: SharedHistory | None
    services: NodeServices
    #: Ports beside HTTP, which controllers with an address of their own share.
    modbus: SharedTcpPort
    snmp: SharedUdpPort
    #: Called for every controller with its old and new settings.
    settings_watchers: list[SettingsWatcher]

    async def start(
        self,
        number: int,
        record: MemberRecord,
        profile: Profile,
        wiring: Wiring,
        stored: Stored,
        saved: SavedLive | None = None,
    ) -> Member:
        """Build a controller, give it its place at the door, and open its other ports."""
        # What it begins now, timers and tasks, is logged under its name.
        logged = LoggedName(record.name)
        turns = LoopTurns(self.door.loop_shares, LoopShare())
        before = CONTROLLER.set(logged)
        try:
            built = await self._build(number, record, profile, wiring, stored, saved, turns)
        finally:
            CONTROLLER.reset(before)
        controller = built.controller
        self._connect(controller)
        entrance = Entrance(
            logged,
            self.options.marked(self.door.outward(built.noting(built.web.handle))),
            self.door.outward(built.web.admit_body),
            turns.share,
        )
        built.mqtt.pages_are_at(self.door.pages_of(record.name))
        if controller.faults is not None:
            HttpFaults(controller.faults, entrance, controller.request_journal)
        beside: list[Service] = []
        if journal_log.is_wanted():
            beside.append(JournalLog(controller))
        try:
            await self.door.open(entrance, record.address, record.port)
            place = self.modbus.place(record.address)
            modbus = await connect_modbus_server(
                controller, self.options.ports, self.door.descriptors, place, turns
            )
            beside += [modbus, *connect_bus(controller, None, self.options.sending.targets)]
            snmp = await connect_snmp(built, self.options.ports, self.snmp.place(record.address))
            beside.append(snmp)
        except BaseException:
            leave = partial(self.door.close, entrance)
            await close_all([*(one.close for one in beside), leave, built.stop])
            raise

        async def move_ports(address: str | None) -> None:
            controller.own_address = address
            await modbus.move_to(self.modbus.place(address))
            await snmp.move_to(self.snmp.place(address))

        return Member(number, record, built, entrance, tuple(beside), move_ports)

    async def _build(
        self,
        number: int,
        record: MemberRecord,
        profile: Profile,
        wiring: Wiring,
        stored: Stored,
        saved: SavedLive | None,
        turns: LoopTurns,
    ) -> BuiltController:
        options = self.options
        live, clock = resumption(saved, profile, self.clock)
        if clock is None:
            clock = VirtualClock(self.clock.wall()) if self.clock.is_virtual else SystemClock()
        names = DoorNames(secure=self.door.is_secure)
        return await build(
            profile,
            self.lane.store(number),
            clock,
            options.timezone,
            lenient=options.lenient,
            wiring=wiring,
            sending=options.sending,
            # Another controller of the node may have another owner.
            reach=Reach(names, must_sign_in=options.must_sign_in, open_to_itself=False),
            configured=ConfiguredIdentity(name=record.name, address=record.address),
            history=None if self.history is None else self.history.worker(number),
            node=self.services,
            stored=stored,
            live=live,
            turns=turns,
        )

    def _connect(self, controller: Controller) -> None:
        """Connect a controller with what the node says of all."""
        controller.settings_watchers += self.settings_watchers
        controller.ports["http"] = lambda: self.door.open_port
        # A node has no port for firmware.
        controller.takes_firmware = False
        controller.why_refused = self.options.why_refused
        controller.findings.sources.append(self.options.findings)
