"""The start of one controller of a node, with the parts that all controllers share."""

import asyncio
import weakref
from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo
from functools import lru_cache, partial
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.errors import print_json
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import Clock, SystemClock, VirtualClock
from leverframe.core.runtime.event_loop import LoopShare, LoopTurns, close_all
from leverframe.core.runtime.log_lines import CONTROLLER, LoggedName
from leverframe.core.runtime.outgoing import Targets
from leverframe.fleet.door import Door, DoorNames
from leverframe.fleet.entrance import Entrance
from leverframe.fleet.lifecycle import Running
from leverframe.fleet.member import PLAIN, Member
from leverframe.fleet.shared_ports import SharedTcpPort, SharedUdpPort
from leverframe.host import logs
from leverframe.host.assembly import ConfiguredIdentity, ControllerHost, KnownIdentity, build
from leverframe.host.configuration import Config, NodeConfig
from leverframe.host.controller import Controller
from leverframe.host.controller.findings import FindingSource
from leverframe.host.controller.hand_over import SavedLive, resumption
from leverframe.host.controller.hooks import Hindrance, SettingsWatcher
from leverframe.host.logs import JournalLog
from leverframe.host.ports import connect_bootloader, open_ports
from leverframe.host.reach import (
    ADMINISTRATOR,
    password_change,
    random_password,
    read_trusted_networks,
)
from leverframe.host.services import NodeServices, Sending
from leverframe.server.http.messages import Handler
from leverframe.server.passwords import Passwords
from leverframe.server.routes.headers import open_to
from leverframe.server.routes.router import Reach
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.lanes.lane import Lane
from leverframe.storage.store import Store, Stored

#: Shows a password, and the names of its controllers, to the user who started the node.
ShowPassword = Callable[[Sequence[str], str], None]


def print_password(names: Sequence[str], password: str, *, as_json: bool = False) -> None:
    if as_json:
        print_json({"event": "controllers", "names": names, "password": password})
        return
    have = "administrators of {} have" if len(names) > 1 else "administrator of {} has"
    print(
        f"The {have.format(', '.join(names))} the password {password}\nIt is new and is shown"
        " only once.",
        flush=True,
    )


class MemberOptions(Struct, frozen=True):
    """How the controllers of a node run."""

    timezone: tzinfo = UTC
    lenient: bool = False
    sending: Sending = Sending(targets=Targets(in_node=True))
    #: Whether all users must sign in, because strangers can reach the node.
    must_sign_in: bool = False
    #: Called with controllers that had no account, and the password that was generated for them.
    show_password: ShowPassword = print_password
    #: Where Modbus TCP and SNMP listen, and which networks may write by Modbus TCP.
    ports: NodeConfig = NodeConfig()
    #: Returns why controllers must not act now, if other nodes may have them.
    why_refused: Callable[[], Hindrance | None] | None = None
    #: Problems that all controllers of the node have.
    findings: FindingSource = tuple
    #: Wraps a handler so that it marks answers from or about controllers that may be stale.
    marked: Callable[[Handler], Handler] = lambda handler: handler


NORMALLY = MemberOptions()


class MemberStarter(Struct, frozen=True):
    """The shared parts of a node's controllers, and the start of a controller."""

    door: Door
    lane: Lane
    clock: Clock
    options: MemberOptions
    history: SharedHistory | None
    services: NodeServices
    #: The ports other than HTTP, shared by all controllers with an address of their own.
    modbus: SharedTcpPort
    snmp: SharedUdpPort
    #: Called for every controller with its old and new settings.
    settings_watchers: list[SettingsWatcher]

    async def start(
        self,
        member: Member,
        profile: Profile,
        config: Config,
        stored: Stored,
        saved: SavedLive | None = None,
        identity: KnownIdentity | None = None,
    ) -> Running:
        """Build a controller, register it at the door, and open its other ports."""
        record = member.record
        public_key = await asyncio.to_thread(config.public_key) if config.firmware_key else None
        # Timers and tasks that the controller starts now are logged under its name.
        logged = LoggedName(record.name)
        turns = LoopTurns(self.door.loop_shares, LoopShare())
        before = CONTROLLER.set(logged)
        try:
            built = await self._build(member, profile, config, stored, saved, turns, identity)
        finally:
            CONTROLLER.reset(before)
        controller, built.descriptors = built.controller, self.door.descriptors
        self._connect(controller)
        controller.without_effect = keys_without_effect(
            config, record.address, self.options, controller.clock
        )
        opened = partial(open_to, frozenset(config.cors_origins))
        handle, admit = built.handlers(
            lambda handler: self.door.outward(opened(handler)), late=True
        )
        entrance = Entrance(
            logged,
            self.options.marked(handle),
            admit,
            turns.share,
            tenant=tenant_of(member),
        )
        built.mqtt.pages_are_at(self.door.pages_of(record.name))
        built.show_faults(entrance)
        if logs.is_wanted():
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

        return Running(built, entrance, move_ports)

    async def _build(
        self,
        member: Member,
        profile: Profile,
        config: Config,
        stored: Stored,
        saved: SavedLive | None,
        turns: LoopTurns,
        identity: KnownIdentity | None,
    ) -> ControllerHost:
        options, number, record = self.options, member.number, member.record
        tenant = tenant_of(member)
        live, clock = resumption(saved, profile, self.clock)
        if clock is None:
            clock = VirtualClock(self.clock.wall()) if self.clock.is_virtual else SystemClock()
        has_proxies = bool(options.ports.proxies or options.ports.hosts)
        names = _names_of(self.door.is_secure, config.cors_origins, has_proxies)
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
            # Another controller of the node may have another tenant.
            reach=Reach(
                names, options.must_sign_in, read_trusted_networks(config), open_to_itself=False
            ),
            configured=ConfiguredIdentity(name=record.name, address=record.address),
            history=None if self.history is None else self.history.worker(number, tenant),
            node=self.services,
            stored=stored,
            live=live,
            turns=turns,
            tenant=tenant,
            identity=identity,
        )

    def _connect(self, controller: Controller) -> None:
        """Connect a controller with the findings of the node."""
        controller.settings_watchers += self.settings_watchers
        controller.ports["http"] = lambda: self.door.open_port
        controller.why_refused = self.options.why_refused
        controller.findings.sources.append(self.options.findings)


@lru_cache
def _names_of(secure: bool, origins: tuple[str, ...], has_proxies: bool) -> DoorNames:
    """Return a shared object for controllers with equal arguments, because each takes 1 KB."""
    return DoorNames(secure=secure, origins=origins, has_proxies=has_proxies)


def tenant_of(member: Member) -> Callable[[], str]:
    """Return a function for the tenant of a controller, which may change while it runs.

    The function refers to the controller weakly: an entrance must not keep a removed controller in
    memory.
    """
    present = weakref.ref(member)

    def tenant() -> str:
        found = present()
        return "" if found is None else found.record.tenant

    return tenant


def keys_without_effect(
    config: Config, address: str | None, options: MemberOptions, clock: Clock
) -> dict[str, str]:
    """Return the keys of a controller that have no effect here, each with the reason."""
    reasons: dict[str, str] = {}
    if address is None:
        reasons["firmware_key"] = (
            "The controller has no address of its own to receive firmware at. Set address in"
            " its table of the fleet file."
        )
    if not options.must_sign_in:
        reasons["trusted"] = reasons["trusted_role"] = (
            "The node listens on a loopback address, which other networks cannot reach."
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


class FirstPasswords:
    """One password for all controllers that need one at a start; shown even if the start fails.

    A controller that was open on a loopback address has no account. If strangers can reach the
    node, such a controller gets an administrator before it serves requests, as a single controller
    does at its first start.
    """

    def __init__(self, passwords: Passwords, show: ShowPassword) -> None:
        self._passwords = passwords
        self._show = show
        self._made: tuple[str, str] | None = None
        #: Held while the password is generated: controllers that start together get the same
        #: password.
        self._making = asyncio.Lock()
        self._names: list[str] = []

    async def ensure(self, name: str, store: Store, stored: Stored) -> bool:
        """Create an administrator for a controller that has none; return whether it did."""
        if stored.settings.get(ADMINISTRATOR):
            return False
        async with self._making:
            if self._made is None:
                password = random_password()
                self._made = password, await self._passwords.hash(password)
        await store.commit(password_change(stored, ADMINISTRATOR, self._made[1]))
        self._names.append(name)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._made is not None and self._names:
            self._show(self._names, self._made[0])
