"""`leverframe unit watch`: monitor the units of an inventory until stopped.

The watch listens on a loopback address unless a password is configured. Values are stored in a
history like that of a controller; notices go through an outbox that survives a restart.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.machine import Traced
from leverframe.core.engine.secret_servers import url_host
from leverframe.core.errors import DONE, NO, ErrorForPeople, print_json, print_line, print_lines
from leverframe.core.runtime.clock import Clock, SystemClock
from leverframe.core.runtime.event_loop import close_all, stop_by_signal
from leverframe.core.runtime.outgoing import Targets
from leverframe.core.settings import Email, Gsm, HttpClient, Mqtt, Snmp
from leverframe.host.ports import bind_errors_for_people, check_port
from leverframe.interface.table.accounts import MIN_PASSWORD_LETTERS
from leverframe.notify.channel import Trust
from leverframe.notify.email import Mail
from leverframe.notify.http import HttpCalls
from leverframe.notify.mqtt import MqttLink, MqttMessages
from leverframe.notify.outbox import MessageStore, Outbox
from leverframe.server.cross_site import OwnNames, is_loopback
from leverframe.server.http.server import HttpLimits, HttpServer
from leverframe.server.passwords import Passwords
from leverframe.server.routes.metrics import history_families, outbox_families
from leverframe.server.sessions import Accounts, administrator_alone
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.worker import HistoryRecorder, ThreadHistoryWorker
from leverframe.storage.sqlite import open_store
from leverframe.storage.writer import PersistentMessageStore, Writer
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.units.comparison import DriftedSetting, drift_from
from leverframe.units.inventory import Inventory, InventoryUnit, load_inventory
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_health import UnitHealth, UnitNotice, worst_first
from leverframe.units.watch_changes import UnitChanges, Wanted
from leverframe.units.watch_table import AlarmChannels
from leverframe.units.watch_web import WatchWeb
from leverframe.units.watcher import LOOK_EVERY_S, PULL_EVERY_S, UnitWatcher, WatchedUnit

log = logging.getLogger(__name__)

#: No request here has a body.
_LIMITS = HttpLimits(body_limit=lambda *_: 0)
#: Number of units polled in parallel with --once.
AT_A_TIME = 10
#: Below the data folder: journals of changes made from the page.
JOURNALS = "journals"
#: The name of the program in mails and at the broker.
SENDER = "leverframe-watch"
HISTORY_BOUNDS = Bounds(raw_days=7, max_bytes=1024 * 1024 * 1024)


class CannotWatch(ErrorForPeople):
    """The watch cannot start; the message is one sentence."""


class WatchOrder(Struct, frozen=True):
    """All options of a watch."""

    units: tuple[WatchedUnit, ...]
    data: Path
    host: str = "127.0.0.1"
    port: int = 8090
    #: Password of the account `admin`; None is allowed only on loopback.
    password: str | None = None
    alarms: AlarmChannels = AlarmChannels()
    look_every_s: float = LOOK_EVERY_S
    pull_every_s: float = PULL_EVERY_S
    #: By name of the unit, for units with a file.
    wanted: Mapping[str, Wanted] = {}


async def watch(inventory: Path, port: int, once: bool, ca_file: str | None, as_json: bool) -> int:
    """Watch the units of an inventory until SIGTERM or SIGINT, or poll each of them once."""
    order = order_of(load_inventory(inventory), port, ca_file)
    if not order.units:
        raise CannotWatch(f"{inventory} contains no units to watch.")
    if once:
        return await look_once(order, as_json=as_json)
    await serve_watch(order, stop_by_signal(), as_json=as_json)
    return DONE


async def look_once(order: WatchOrder, *, as_json: bool = False) -> int:
    """Print the state of each unit, worst first; return 1 if a unit has a problem."""
    _check(order)
    watcher = UnitWatcher(order.units, SystemClock())
    turns = asyncio.Semaphore(AT_A_TIME)

    async def look(name: str) -> None:
        async with turns:
            if (await watcher.look(name)).is_up:
                await watcher.pull(name)

    await watcher.open()
    try:
        await asyncio.gather(*map(look, watcher.units))
    finally:
        await watcher.close()
    for health in worst_first(watcher.health.values()):
        _print_health(health, as_json=as_json)
    return NO if any(health.problems for health in watcher.health.values()) else DONE


def _print_health(health: UnitHealth, *, as_json: bool) -> None:
    if as_json:
        print_json(health.public_fields())
        return
    version = f"HW {health.hardware} SW {health.software}" if health.hardware else "version unknown"
    sentences = [*health.troubles.values()] or ["no problems."]
    first = f"{health.name}, {version}: "
    if len(sentences) == 1:
        sentences = [first + sentences[0]]
    else:
        sentences = [f"{first}{len(sentences)} problems", *(f"   {one}" for one in sentences)]
    print_lines([*sentences, *(f"   -  {line}" for line in health.drift or ())])


def order_of(inventory: Inventory, port: int, ca_file: str | None) -> WatchOrder:
    """Return the options in an inventory."""
    table = inventory.watch
    return WatchOrder(
        units=tuple(_watch_unit(inventory, unit, ca_file) for unit in inventory.units),
        data=inventory.path.parent / table.data,
        host=table.host,
        port=port,
        password=table.password,
        alarms=table.alarms,
        look_every_s=table.every_s,
        pull_every_s=table.read_every_s,
        wanted={
            unit.name: partial(inventory.read_file, unit) for unit in inventory.units if unit.file
        },
    )


def _watch_unit(inventory: Inventory, unit: InventoryUnit, ca_file: str | None) -> WatchedUnit:
    def compare(pulled: PulledUnit) -> list[DriftedSetting]:
        # Read each time: the file or the version of the unit may have changed.
        file = inventory.read_file(unit, pulled.profile, need_secrets=False)
        return [] if file is None else drift_from(file, pulled)

    login = None if unit.user is None else UnitLogin(unit.user, unit.password or "")
    compared = None if unit.file is None else compare
    return WatchedUnit(unit.name, unit.address, login, ca_file, unit.mac, compared, unit.groups)


async def serve_watch(order: WatchOrder, stop: asyncio.Event, *, as_json: bool = False) -> None:
    """Watch until `stop` is set; then shut down in order."""
    _check(order)
    clock = SystemClock()
    with DataFolder(order.data) as folder:
        opened = open_store(
            folder.store_path,
            was_closed=folder.was_given_back,
            killed_history=folder.killed_history,
        )
        troubles = dict(opened.troubles)
        writer = Writer(opened.store)
        recorder = HistoryRecorder(ThreadHistoryWorker(folder.history_path, HISTORY_BOUNDS), clock)
        alarms = Alarms(order.alarms, PersistentMessageStore(writer), clock, troubles)

        def send_notice(notice: UnitNotice) -> None:
            log.warning("%s: %s", notice.unit, notice.sentence)
            alarms.send(notice)

        def record(samples: list[Traced]) -> None:
            recorder.samples += samples
            recorder.flush_if_due()

        watcher = UnitWatcher(
            order.units,
            clock,
            look_every_s=order.look_every_s,
            pull_every_s=order.pull_every_s,
            on_notice=send_notice,
            on_values=record,
        )
        changes = UnitChanges(watcher, dict(order.wanted), order.data / JOURNALS)
        web = WatchWeb(
            watcher,
            recorder,
            clock,
            OwnNames(order.host),
            changes,
            await _accounts(order.password),
            lambda: [
                *outbox_families(alarms.outbox.figures()),
                *history_families(recorder.figures),
            ],
        )
        server = HttpServer(web.handle, _LIMITS)
        try:
            await watcher.open()
            with bind_errors_for_people(order.host, order.port):
                await server.start(order.host, order.port)
            alarms.start()
            watcher.start()
            _print_address(order, server.port, as_json=as_json)
            await stop.wait()
        finally:
            parts = (server.stop, changes.close, watcher.close, alarms.close)
            await close_all([*parts, recorder.close, opened.store.close])


def _check(order: WatchOrder) -> None:
    check_port(order.port)
    if order.password is None and not is_loopback(order.host):
        raise CannotWatch(
            f"Anyone in the network could reach {order.host}: configure a password, or listen on"
            f" 127.0.0.1."
        )
    if order.password is not None and len(order.password) < MIN_PASSWORD_LETTERS:
        raise CannotWatch(
            f"The password of the watch needs at least {MIN_PASSWORD_LETTERS} characters."
        )


async def _accounts(password: str | None) -> Accounts | None:
    if password is None:
        return None
    return administrator_alone("admin", await Passwords().hash(password))


def _print_address(order: WatchOrder, port: int, *, as_json: bool) -> None:
    url = f"http://{url_host(order.host)}:{port}/"
    if as_json:
        print_json({"event": "ready", "url": url, "units": len(order.units)})
    else:
        print_line(f"Watching {len(order.units)} units at {url}; stop with Ctrl+C", flush=True)


class AlarmSettings(Struct, frozen=True):
    """The settings of the channels; channels missing in the inventory are off."""

    http: tuple[HttpClient, ...]
    email: Email
    mqtt: Mqtt
    gsm: Gsm = Gsm()
    snmp: Snmp = Snmp()


class Alarms:
    def __init__(
        self,
        channels: AlarmChannels,
        store: MessageStore,
        clock: Clock,
        troubles: dict[str, str],
        *,
        capture: bool = False,
    ) -> None:
        self._channels = channels
        self._settings = settings = AlarmSettings(
            (replace(channels.http or HttpClient(), post=True),),
            channels.email or Email(),
            replace(channels.mqtt or Mqtt(), enabled=channels.mqtt is not None),
        )
        self._trust = Trust(channels.ca_file)
        targets = Targets(channels.allow_local)
        self._link = MqttLink(SENDER, self._trust, targets.channel("mqtt"))
        self.outbox = Outbox(store, clock, lambda: settings, capture=capture, troubles=troubles)
        if channels.http is not None:
            self.outbox.add("http1", HttpCalls(1, self._trust, targets.channel("http")))
        if channels.email is not None:
            self.outbox.add("email", Mail(SENDER, self._trust, targets.channel("email")))
        if channels.mqtt is not None:
            self.outbox.add("mqtt", MqttMessages(lambda: self._link))

    def start(self) -> None:
        self._link.on_change = lambda: self.outbox.try_again("mqtt")
        if self._channels.mqtt is not None and not self.outbox.capture:
            self._link.adopt(self._settings.mqtt)
        self.outbox.start()

    def send(self, notice: UnitNotice) -> None:
        """Put a notice into the outbox, once for each channel."""
        for effect in self._effects(notice):
            self.outbox.notify(effect)

    def _effects(self, notice: UnitNotice) -> Sequence[Notify]:
        reason, text = f"{notice.unit}: {notice.kind}", f"{notice.unit}: {notice.sentence}"
        found = []
        if (http := self._channels.http) is not None:
            body = msgspec.json.encode(_as_object(notice)).decode()
            found.append(Notify("http", 1, notice.active, reason, text=http.url, body=body))
        if self._channels.email is not None:
            found.append(Notify("email", 0, notice.active, reason, text=text))
        if self._channels.mqtt is not None:
            # The message contains label and value; the sentence is its reason.
            found.append(Notify("mqtt", 0, notice.active, text, label=notice.kind))
        return found

    async def close(self) -> None:
        await close_all([self.outbox.close, self._link.close])


def _as_object(notice: UnitNotice) -> dict[str, Any]:
    return {
        "unit": notice.unit,
        "kind": notice.kind,
        "active": notice.active,
        "severity": notice.severity,
        "text": notice.sentence,
    }
