"""The connections of a controller: receivers of its effects, watchers, and reports of parts.

Parts register here when they are connected to the controller. The controller itself knows no part.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from leverframe.core.engine import calls
from leverframe.core.engine.calls import Effect
from leverframe.core.engine.timers import Moment
from leverframe.core.settings import Settings
from leverframe.devices.module_trial import ModuleTrial
from leverframe.devices.wire.prometheus import Family
from leverframe.host.controller.commit_path import Command, perform_or_skip
from leverframe.host.controller.faults import Faults
from leverframe.host.controller.findings import ObservedTroubles
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.stage import Stage
from leverframe.storage.history.journal_recorder import JournalRecorder
from leverframe.storage.history.worker import HistoryRecorder

# Refusals of a node that may not act for a controller now.


class ControllerElsewhere(Refusal):
    """The controller may already run elsewhere."""

    status = 503
    title = "This node may have lost the controller"


class StoreAway(Refusal):
    """Nothing can be stored now; nothing was changed."""

    status = 507
    title = "The change could not be stored"


class Hindrance(msgspec.Struct, frozen=True):
    """Why this node may not act for the controller now."""

    reason: str
    #: Whether the stored state cannot be reached, while the controller may still belong to this
    #: node.
    store_is_away: bool = False

    def refuse(self, commands: Sequence[Command], stage: Stage) -> None:
        """Raise a refusal that depends on the effect of the commands; without commands, do nothing.

        The effect is determined from settings that may be outdated, so it decides nothing else.
        """
        perform_or_skip(commands, stage, [])
        if self.store_is_away and (stage.given or stage.blobs or stage.replaces_all):
            raise StoreAway(self.reason)
        if commands:
            raise ControllerElsewhere(self.reason)


MOVING = Hindrance(
    "This controller is moving to another node. Nothing was changed; repeat the request."
)


log = logging.getLogger(__name__)

#: Called with the old and the new settings; a returned task ends when the new ones are in effect.
SettingsWatcher = Callable[[Settings, Settings], asyncio.Task[None] | None]


#: Called with wanted settings and the number of a slot (1-3); returns None if the slot has no bus.
TryModule = Callable[[Settings, int], Coroutine[Any, Any, ModuleTrial] | None]
WriteToModules = Callable[[calls.WriteModbus], asyncio.Future[None] | None]
#: Maximum number of early writes that are kept; rules cannot request that many during a start.
MAX_EARLY_WRITES = 64


class DeadlinePart(Protocol):
    """A part that must be called at a certain monotonic second."""

    def next_deadline(self) -> float | None: ...

    def tick(self, at: Moment) -> None: ...


class LivePart(Protocol):
    """A part around the controller whose state its snapshots contain."""

    #: Its name in saved snapshots, and the type of its state there.
    live_name: ClassVar[str]
    live_type: ClassVar[Any]

    def live_state(self) -> Any:
        """Return its whole state, in a form that does not change afterwards."""

    def resume_from(self, state: Any) -> None:
        """Restore a state that `live_state` returned."""


class RequestLog(Protocol):
    """The journal of the requests of clients."""

    def note(self, request: Any) -> Any:
        """Record a request; its answer is filled in later."""

    def entries(self) -> list[Any]: ...

    def clear(self) -> None: ...


class Hooks:
    __slots__ = (
        "_early_writes",
        "bootloader_watchers",
        "certificate_report",
        "faults",
        "figures",
        "firmware_report",
        "forget_captured",
        "history",
        "journal_recorder",
        "live_parts",
        "modem_report",
        "new_name",
        "on_modbus_write",
        "on_modem",
        "on_notify",
        "on_ping",
        "on_screen",
        "outbox_report",
        "own_address",
        "ports",
        "power_watchers",
        "profile_watchers",
        "reports",
        "request_journal",
        "settings_checks",
        "settings_revision",
        "settings_watchers",
        "timed",
        "troubles",
        "try_module",
        "upload_watchers",
        "watchers",
        "without_effect",
    )

    def __init__(self) -> None:
        #: Effects that leave the controller; the parts that send notifications or pings set these.
        #: The future of a notification is done when its messages are on disk.
        self.on_notify: Callable[[calls.Notify], asyncio.Future[None] | None] = _drop
        self.on_modem: Callable[[calls.SendModem], None] = _drop
        #: Writes to a module; the future is done when the module has accepted the value, or raises
        #: a refusal.
        self.on_modbus_write: WriteToModules = self._keep_write
        #: Reads the module in a slot that the settings passed to it describe; set by the part that
        #: has the bus.
        self.try_module: TryModule = _try_nothing
        #: Writes that were requested before there was a recipient.
        self._early_writes: list[calls.WriteModbus] = []
        self.on_ping: Callable[[calls.PingHost], None] = _drop
        self.on_screen: Callable[[calls.ShowScreen], None] = _drop
        #: Called with the old and the new tree once the engine has adopted new settings.
        self.settings_watchers: list[SettingsWatcher] = []
        #: Checks by path, which may refuse wanted settings. If a command sets the path, even to its
        #: present value, the check is called with the wanted tree before it is stored.
        self.settings_checks: dict[str, Callable[[Settings], None]] = {}
        #: Number of times that new settings were adopted; an unchanged number means unchanged
        #: settings.
        self.settings_revision = 0
        #: Called when the version of the controller has changed.
        self.profile_watchers: list[Callable[[], None]] = []
        #: Called with the name of an uploaded file once it is stored or removed.
        self.upload_watchers: list[Callable[[str], None]] = []
        #: Called with True when the bootloader starts to wait, and with False when it stops.
        self.bootloader_watchers: list[Callable[[bool], None]] = []
        #: Called with False when the power fails, and with True when it is back. Parts that receive
        #: or send follow this or check `Controller.has_power`: without power a controller is
        #: silent.
        self.power_watchers: list[Callable[[bool], None]] = []
        #: The name that it was given on its node; empty if it was never renamed there.
        self.new_name = ""
        #: The address that only this controller listens on, by which managers identify it; None if
        #: it has no such address.
        self.own_address: str | None = None
        #: Called when something changed that is visible in the state.
        self.watchers: set[Callable[[], None]] = set()
        #: Records every value and answers queries (`/api/history`).
        self.history: HistoryRecorder | None = None
        self.journal_recorder: JournalRecorder | None = None
        #: Problems of parts around the controller: a sentence for each part (`/health`).
        self.troubles = ObservedTroubles(self._call_watchers)
        #: The reports of parts around the controller in `/api/state`, by key.
        self.reports: dict[str, Callable[[], Any]] = {}
        #: Configuration keys that have no effect here, each with the reason (`/health`).
        self.without_effect: dict[str, str] = {}
        #: The ports that parts around the controller listen on, by protocol; None while a port is
        #: closed.
        self.ports: dict[str, Callable[[], int | None]] = {}
        #: Counters of parts around the controller, for `/metrics`.
        self.figures: list[Callable[[], Iterable[Family]]] = []
        #: The messages that wait, were sent, or failed (`/api/outbox`).
        self.outbox_report: Callable[[], Any] = dict
        #: Deletes the captured messages.
        self.forget_captured: Callable[[], None] = _nothing
        #: The requests of clients; None if they are not recorded.
        self.request_journal: RequestLog | None = None
        #: The report on newer firmware (`/api/firmware`).
        self.firmware_report: Callable[[], Any] = dict
        #: The certificate of this controller; None if it does not serve TLS itself.
        self.certificate_report: Callable[[], Any] = _nothing
        #: Parts around the controller that do something at a time of its clock.
        self.timed: list[DeadlinePart] = []
        #: The simulated faults; None if the board is not simulated.
        self.faults: Faults | None = None
        #: Parts around the controller that are restored with its snapshots.
        self.live_parts: list[LivePart] = []
        #: The report of the GSM modem to the administrator, with the answer to the last command.
        self.modem_report: Callable[[], Any] = dict

    def check_settings(self, wanted: Settings, paths: Collection[str]) -> None:
        """Let parts refuse the wanted tree if they cannot do what a command requires."""
        if not self.settings_checks.keys().isdisjoint(paths):
            for path, check in self.settings_checks.items():
                if path in paths:
                    check(wanted)

    def notify_settings(
        self, old: Settings, new: Settings, uploads: Iterable[str]
    ) -> list[asyncio.Task[None]]:
        """Announce that the engine adopted new settings, and which uploads were added or removed.

        Return the tasks in progress. Until they are done, some parts still use the old settings.
        """
        self.settings_revision += 1
        under_way = [
            task
            for settings_watcher in self.settings_watchers
            if (task := settings_watcher(old, new)) is not None
        ]
        for upload_watcher in self.upload_watchers:
            for name in uploads:
                upload_watcher(name)
        for task in under_way:
            task.add_done_callback(_log_fault)
        return under_way

    def _call_watchers(self) -> None:
        for watcher in self.watchers:
            try:
                watcher()
            except Exception:
                log.exception("a part failed to apply a state change")

    def take_writes(self, write: WriteToModules) -> None:
        """Set the function that writes to modules; pass it writes that were requested before."""
        self.on_modbus_write = write
        early, self._early_writes = self._early_writes, []
        for effect in early:
            write(effect)

    def _keep_write(self, effect: calls.WriteModbus) -> None:
        self._early_writes = [*self._early_writes, effect][-MAX_EARLY_WRITES:]

    def open_ports(self) -> dict[str, int]:
        """Return the ports that are open at present, by protocol."""
        return {name: port for name, find in self.ports.items() if (port := find()) is not None}

    def notify_profile(self) -> None:
        for watcher in self.profile_watchers:
            watcher()

    def notify_power(self, *, on: bool) -> None:
        for watcher in self.power_watchers:
            watcher(on)

    def notify_bootloader(self, *, waits: bool) -> None:
        for watcher in self.bootloader_watchers:
            watcher(waits)


def _log_fault(part: asyncio.Task[None]) -> None:
    if not part.cancelled() and (fault := part.exception()) is not None:
        log.error("a part failed to apply changed settings", exc_info=fault)


def _try_nothing(_wanted: Settings, _slot: int) -> None:
    """Try no module: nothing is connected to a bus."""


def _nothing() -> None:
    """Do nothing: no part has anything to do."""


def _drop(effect: Effect) -> None:
    """Ignore an effect that no part handles yet."""
