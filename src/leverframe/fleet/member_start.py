"""The start of one controller of a node, with what it shares with the others."""

import asyncio
from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from leverframe.clock import Clock, SystemClock, VirtualClock
from leverframe.config import Config
from leverframe.controller import Controller
from leverframe.controller.hand_over import SavedLive, resumption
from leverframe.controller.hooks import SettingsWatcher
from leverframe.fleet.door import Door, DoorNames
from leverframe.fleet.entrance import Entrance
from leverframe.fleet.members import PLAIN, Member, MemberOptions
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.shared_ports import SharedTcpPort, SharedUdpPort
from leverframe.log_context import CONTROLLER, LoggedName
from leverframe.loop_shares import LoopShare, LoopTurns
from leverframe.process.build import ConfiguredIdentity, build
from leverframe.process.controller_host import ControllerHost
from leverframe.process.node_services import NodeServices
from leverframe.process.ports import connect_bootloader, open_ports
from leverframe.process.reach import trusted_networks
from leverframe.profile import Profile
from leverframe.servers import journal_log
from leverframe.servers.journal_log import JournalLog
from leverframe.servers.routes.other_origins import opened_to
from leverframe.servers.routes.router import Reach
from leverframe.shutdown import close_all
from leverframe.storage.fleet.lane import Lane
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.store import Stored


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
        config: Config,
        stored: Stored,
        saved: SavedLive | None = None,
    ) -> Member:
        """Build a controller, give it its place at the door, and open its other ports."""
        public_key = await asyncio.to_thread(config.public_key) if config.firmware_key else None
        # What it begins now, timers and tasks, is logged under its name.
        logged = LoggedName(record.name)
        turns = LoopTurns(self.door.loop_shares, LoopShare())
        started: list[Member] = []

        def tenant() -> str:
            # It may be given to another one while it runs.
            return (started[0].record if started else record).tenant

        before = CONTROLLER.set(logged)
        try:
            built = await self._build(number, record, profile, config, stored, saved, turns, tenant)
        finally:
            CONTROLLER.reset(before)
        controller, built.descriptors = built.controller, self.door.descriptors
        self._connect(controller)
        controller.without_effect = keys_without_effect(
            config, record.address, self.options, controller.clock
        )
        opened = partial(opened_to, frozenset(config.cors_origins))
        handle, admit = built.handlers(lambda handler: self.door.outward(opened(handler)))
        entrance = Entrance(logged, self.options.marked(handle), admit, turns.share)
        built.mqtt.pages_are_at(self.door.pages_of(record.name))
        built.show_faults(entrance)
        if journal_log.is_wanted():
            built.add(JournalLog(controller))
        try:
            await self.door.open(entrance, record.address, record.port)
            ports = await open_ports(
                built,
                self.options.ports,
                serial_modbus=config.serial_modbus,
                modbus=self.modbus.place(record.address),
                snmp=self.snmp.place(record.address),
            )
            bootloader = connect_bootloader(
                controller,
                record.address,
                self.options.ports.tftp_port,
                public_key,
                self.services.firmware_places,
            )
            built.add(bootloader)
        except BaseException:
            await close_all([partial(self.door.close, entrance), built.stop])
            raise

        async def move_ports(address: str | None) -> None:
            controller.own_address = address
            await ports.modbus.move_to(self.modbus.place(address))
            await ports.snmp.move_to(self.snmp.place(address))
            bootloader.move_to(address)

        started.append(Member(number, record, built, entrance, move_ports))
        return started[0]

    async def _build(
        self,
        number: int,
        record: MemberRecord,
        profile: Profile,
        config: Config,
        stored: Stored,
        saved: SavedLive | None,
        turns: LoopTurns,
        tenant: Callable[[], str],
    ) -> ControllerHost:
        options = self.options
        live, clock = resumption(saved, profile, self.clock)
        if clock is None:
            clock = VirtualClock(self.clock.wall()) if self.clock.is_virtual else SystemClock()
        names = DoorNames(
            secure=self.door.is_secure,
            origins=config.cors_origins,
            has_proxies=bool(options.ports.proxies or options.ports.hosts),
        )
        return await build(
            profile,
            self.lane.store(number),
            clock,
            options.timezone,
            lenient=options.lenient,
            wiring=config.board,
            serial_port=config.serial_port,
            sending=replace(
                options.sending,
                firmware_check_url=config.firmware_check_url,
                mqtt_certificate=config.mqtt_certificate,
                mqtt_key=config.mqtt_key,
            ),
            # Another controller of the node may have another owner.
            reach=Reach(
                names, options.must_sign_in, trusted_networks(config), open_to_itself=False
            ),
            configured=ConfiguredIdentity(name=record.name, address=record.address),
            history=None if self.history is None else self.history.worker(number, tenant),
            node=self.services,
            stored=stored,
            live=live,
            turns=turns,
            tenant=tenant,
        )

    def _connect(self, controller: Controller) -> None:
        """Connect a controller with what the node says of all."""
        controller.settings_watchers += self.settings_watchers
        controller.ports["http"] = lambda: self.door.open_port
        controller.why_refused = self.options.why_refused
        controller.findings.sources.append(self.options.findings)


def keys_without_effect(
    config: Config, address: str | None, options: MemberOptions, clock: Clock
) -> dict[str, str]:
    """Return why keys that the fleet file gives a controller do nothing here."""
    reasons: dict[str, str] = {}
    if address is None:
        reasons["firmware_key"] = (
            "The controller has no address of its own, to which firmware could be sent; write"
            " address in its table of the fleet file."
        )
    if not options.must_sign_in:
        reasons["trusted"] = reasons["trusted_role"] = (
            "The node listens on a loopback address, which no other network reaches."
        )
    if options.sending.captures(clock):
        reasons["mqtt_certificate"] = reasons["mqtt_key"] = reasons["firmware_check_url"] = (
            "The node captures messages instead of sending them."
        )
    return {
        key: reason
        for key, reason in reasons.items()
        if getattr(config, key) != getattr(PLAIN, key)
    }
