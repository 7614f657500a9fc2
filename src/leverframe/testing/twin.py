"""A twin in the process of the test, on real sockets and virtual time.

All twins of a process live on one event loop in a thread of its own (`loop_thread.py`). A twin
remembers nothing beyond its end, and nothing leaves it: messages are kept in its outbox.

The controller is loaded with the first twin, not with this module: a project imports `Twin` also in
runs that start none.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from leverframe.fleet.time_words import WhenText, wall_of
from leverframe.profile import Profile
from leverframe.testing.any_twin import (
    HOST,
    READ_COMMUNITY,
    STARTED_TWINS,
    WRITE_COMMUNITY,
    AnyTwin,
    TwinAddress,
)
from leverframe.testing.loop_thread import LOOP_THREAD
from leverframe.testing.seeds import identity_from, new_seed
from leverframe.testing.snapshot import THIS_PROCESS, TwinSnapshot, parameters_of, read_snapshot

if TYPE_CHECKING:
    from leverframe.controller import Controller
    from leverframe.controller.live_snapshot import LiveSnapshot
    from leverframe.controller.saved_snapshot import SavedSnapshot
    from leverframe.fleet.given_settings import GivenSettings
    from leverframe.hardware.fault_catalogue import Fault
    from leverframe.process.controller_host import ControllerHost
    from leverframe.storage.store import MemoryStore
    from leverframe.testing.process_twin import ProcessTwin
    from leverframe.units.pulled_unit import PulledUnit

#: Who is the cause of what a test does to a twin.
BY_TEST = "test"
#: How long an end waits for answers that are being made.
GRACE_S = 0.2


class Twin(AnyTwin):
    """A controller in this process, on virtual time, that nothing leaves.

    - `hw`, `sw`: the version; without them the newest, or that of the `settings` file
    - `mac`, `name`: its identity; without them one made from the `seed`
    - `start`: its first moment, like `"2026-03-29T00:30"`; `timezone`: of it and of the schedule
    - `settings`: values by path, like `{"outputs.0.name": "Pump"}`; a backup (`.toml`, `.json`,
      `.bin`); a unit file (`.toml`); a recorded unit (`.jsonl`), which also gives its answers where
      the twin has none; what `pull_unit` returns; or the URL of a unit, which is read and never
      written to. `recorded_unit` lists what a unit did not show
    - `port`: where it listens; without it, on a free port
    - `accounts`: passwords by name, the administrator first, then the user; sign-in is asked for
    - `tls`: serve HTTPS; `ca_file` is then what clients trust
    - `modbus`, `snmp`: switch these servers on; `mqtt`: a broker to connect to, `"HOST:PORT"` or
      `"mqtt://NAME:PASSWORD@HOST:PORT"`
    - `lenient`: skip commands that are not understood, as real units do
    - `recorded`: a recording by `leverframe record`; requests that the version does not know are
      answered as recorded
    - `seed`: makes what is random the same in every run
    """

    _reports_each_end = True

    def __init__(
        self,
        *,
        hw: str | None = None,
        sw: str | None = None,
        mac: str | None = None,
        name: str | None = None,
        start: WhenText | None = None,
        timezone: str = "UTC",
        settings: "GivenSettings | PulledUnit | None" = None,
        accounts: Mapping[str, str] | None = None,
        tls: bool = False,
        modbus: bool = False,
        snmp: bool = False,
        mqtt: str | None = None,
        lenient: bool = False,
        recorded: str | Path | None = None,
        seed: int | None = None,
        port: int = 0,
    ) -> None:
        from leverframe.clock import VirtualClock
        from leverframe.config import Config
        from leverframe.fleet.given_settings import leaves_for, version_for
        from leverframe.process.build import ConfiguredIdentity
        from leverframe.process.listening import check_port
        from leverframe.process.recorded import read_answers
        from leverframe.storage.store import MemoryStore
        from leverframe.testing.misuse import check_parameters

        given = {
            **{"hw": hw, "sw": sw, "mac": mac, "name": name, "start": start, "timezone": timezone},
            **{"settings": settings, "accounts": accounts, "tls": tls, "modbus": modbus},
            **{"snmp": snmp, "mqtt": mqtt, "lenient": lenient, "recorded": recorded, "seed": seed},
            "port": port or None,
        }
        check_parameters(given)
        super().__init__(**given)
        settings, recorded = self._read_settings(settings, recorded, hw, sw)
        self._profile = version_for(hw, sw, settings)
        self._config = Config(
            port=port,
            hw=self._profile.hw,
            sw=self._profile.sw,
            timezone=timezone,
            name=name,
            mac=mac,
            tls=tls,
            modbus_port=0,
            snmp_port=0,
            lenient=lenient,
            virtual_time=True,
        )
        self._config.check_name()
        check_port(port)
        self.seed = new_seed() if seed is None else seed
        self.zone = self._config.zone()
        self._wall = VirtualClock.START if start is None else wall_of(start, self.zone)
        self._leaves = {
            **leaves_for(settings, self._profile),
            **leaves_for({"modbus_tcp.enabled": True} if modbus else None, self._profile),
            **leaves_for(_snmp_leaves() if snmp else None, self._profile),
            **leaves_for(None if mqtt is None else _mqtt_leaves(mqtt), self._profile),
        }
        self._answers = read_answers(Path(recorded)) if recorded is not None else None
        self._accounts = list((accounts or {}).items())
        self._uses_mqtt = mqtt is not None
        self._identity = ConfiguredIdentity(name, self._config.mac_address())
        self._built: ControllerHost | None = None
        self._parts = AsyncExitStack()
        self._memory = MemoryStore()
        #: What `reset` goes back to.
        self._first: LiveSnapshot | None = None
        #: What it begins with, if it was loaded.
        self._saved: SavedSnapshot | None = None
        self._forks: list[Twin] = []
        if self._accounts:
            self.account = self._accounts[0]

    # --- life -------------------------------------------------------------------------------------

    def start(self) -> Self:
        if self._built is None:
            self.last_report = None
            LOOP_THREAD.run(self._start())
            STARTED_TWINS.add(self)
        return self

    def close(self) -> None:
        self._keep_report()
        for fork in self._forks:
            fork.close()
        self._forks.clear()
        if self._built is not None:
            self._built = None
            LOOP_THREAD.run(self._parts.aclose())

    async def _start(self) -> None:
        from leverframe.clock import VirtualClock
        from leverframe.controller.live_snapshot import go_back, take_snapshot
        from leverframe.controller.saved_snapshot import revive_snapshot
        from leverframe.process.build import build
        from leverframe.process.ports import open_ports, serve_http
        from leverframe.process.reach import certificate_of, reach_of
        from leverframe.process.services import Sending
        from leverframe.servers.descriptors import DescriptorBudget

        async with AsyncExitStack() as parts:
            folder = parts.enter_context(TemporaryDirectory()) if self._config.tls else ""
            store = self._memory = await self._store()
            reach = reach_of(self._config)
            built = await build(
                self._profile,
                store,
                VirtualClock(self._wall),
                self.zone,
                lenient=self._config.lenient,
                sending=Sending(capture=True),
                reach=reach,
                configured=self._identity,
            )
            parts.push_async_callback(built.stop)
            controller, descriptors = built.controller, DescriptorBudget()
            certificate = certificate_of(self._config, Path(folder), built.host_label)
            server = await serve_http(
                built,
                self._config,
                reach,
                certificate,
                descriptors,
                answers=self._answers,
                option="port=",
                grace_s=GRACE_S,
            )
            await open_ports(built, self._config, descriptors)
            if self._uses_mqtt:
                built.mqtt.start()
                built.add(built.mqtt)
            self.url = f"{'https' if certificate else 'http'}://{HOST}:{server.port}"
            self.ca_file = str(Path(folder) / "tls-certificate.pem") if certificate else None
            if self._saved is not None:
                await go_back(controller, revive_snapshot(self._saved, controller))
            self._first = await take_snapshot(controller)
            self._built, self._parts = built, parts.pop_all()

    async def _store(self) -> "MemoryStore":
        """Make the store of a unit that was set up before."""
        from leverframe.storage.store import Changes, MemoryStore

        store = MemoryStore()
        leaves, identity = await self._first_rows()
        await store.commit(Changes(settings=leaves, kept=identity))
        return store

    async def _first_rows(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings that it begins with, and what makes it this one."""
        identity = identity_from(self.seed)
        if self._saved is not None:
            identity |= self._saved.identity
        if not self._accounts:
            return self._leaves, identity
        return {**self._leaves, **await _account_leaves(self._accounts)}, identity

    @classmethod
    def process(cls, **parameters: Any) -> "ProcessTwin":
        """Return a twin as a process of its own, which can be killed; see `ProcessTwin`."""
        from leverframe.testing.misuse import check_names
        from leverframe.testing.process_twin import ProcessTwin

        check_names(ProcessTwin, "Twin.process", parameters)
        return ProcessTwin(**parameters)

    # --- snapshots --------------------------------------------------------------------------------

    def snapshot(self) -> TwinSnapshot:
        from leverframe.controller.live_snapshot import take_snapshot
        from leverframe.controller.saved_snapshot import encode_snapshot

        return TwinSnapshot(
            LOOP_THREAD.run(take_snapshot(self.controller)), encode_snapshot, THIS_PROCESS
        )

    def restore(self, snapshot: TwinSnapshot) -> None:
        from leverframe.controller.live_snapshot import go_back
        from leverframe.testing.misuse import state_of

        LOOP_THREAD.run(go_back(self.controller, state_of(snapshot, THIS_PROCESS)))
        self.clock.was_moved()

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Return a twin that begins with a saved snapshot: `with Twin.load("warm.snapshot"): ...`.

        It has the version, identity, settings and time of the snapshot. Parameters such as
        `accounts` (for `get`), `tls` or `port` are those of `Twin`.
        """
        _, saved = read_snapshot(path)
        twin = cls(**parameters_of(saved, parameters))
        twin._made_by, twin._given = "Twin.load", {"path": str(path), **parameters}
        twin._saved = saved
        return twin

    def fork(self) -> "Twin":
        """Return another twin, on ports of its own, that continues from here; closed with this.

        It stays away from a broker: there it would be taken for this one, and push it out.
        """
        from msgspec.structs import replace

        other = copy(self)
        AnyTwin.__init__(other, **{**self._given, "port": None})
        other._config = replace(self._config, port=0)
        other._built = None
        other._uses_mqtt = False
        other._forks = []
        snapshot = self.snapshot()
        other.start()
        other.restore(snapshot)
        if self._uses_mqtt:
            LOOP_THREAD.run(other._note_no_broker())
        self._forks.append(other)
        return other

    async def _note_no_broker(self) -> None:
        self.controller.connected(False)

    def reset(self) -> None:
        LOOP_THREAD.run(self._reset())
        self.clock.was_moved()

    async def _reset(self) -> None:
        from leverframe.controller.live_snapshot import go_back
        from leverframe.storage.store import Changes

        built, store = self._running, self._memory
        controller = built.controller
        assert self._first is not None
        await go_back(controller, self._first)
        if uploads := store.upload_names():
            await store.commit(Changes(blobs=dict.fromkeys(uploads)))
            for watcher in controller.upload_watchers:
                for name in uploads:
                    watcher(name)
        if controller.history is not None:
            controller.history.forget()
        if controller.journal_recorder is not None:
            controller.journal_recorder.forget()
        if controller.request_journal is not None:
            controller.request_journal.clear()
        built.web.access.sessions.close_all()

    def _step(self, limit_s: float) -> float:
        passed_s: float = LOOP_THREAD.run(self._advance_step(limit_s))
        self.clock.was_moved()
        return passed_s

    async def _advance_step(self, limit_s: float) -> float:
        controller = self.controller
        now, deadline = controller.clock.read().now, controller.next_deadline()
        passed_s = limit_s if deadline is None else min(max(deadline - now, 0.0), limit_s)
        await controller.advance(passed_s)
        return passed_s

    def _set_fault(self, fault: "Fault") -> int:
        async def set_it() -> int:
            assert self.controller.faults is not None
            return self.controller.faults.add(fault).number

        return LOOP_THREAD.run(set_it())

    # --- addresses --------------------------------------------------------------------------------

    @property
    def is_on(self) -> bool:
        return self._built is not None

    @property
    def profile(self) -> Profile:
        return self._profile if self._built is None else self._built.controller.profile

    @property
    def mac(self) -> str:
        """Its MAC address."""
        return self._running.mac

    @property
    def name(self) -> str:
        """What it is called at present."""
        return self._running.present_name

    @property
    def modbus(self) -> TwinAddress:
        return self._port("modbus", "Modbus TCP", "modbus")

    @property
    def snmp(self) -> TwinAddress:
        return self._port("snmp", "SNMP", "snmp")

    def _port(self, key: str, what: str, parameter: str) -> TwinAddress:
        port = self._running.controller.open_ports().get(key)
        if port is None:
            raise RuntimeError(f"{what} is off; switch it on with Twin({parameter}=True).")
        return TwinAddress(HOST, port)

    # --- inside -----------------------------------------------------------------------------------

    @property
    def controller(self) -> "Controller":
        """The controller itself, for use on the loop of the twins alone."""
        return self._running.controller

    @property
    def _running(self) -> "ControllerHost":
        if self._built is None:
            raise RuntimeError("The twin is off; start it with `with`, or with start().")
        return self._built

    def _operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        return LOOP_THREAD.run(self._answer(target, method, body))

    async def _answer(self, target: str, method: str, body: bytes) -> bytes:
        from leverframe.commands.table.rights import UNRESTRICTED
        from leverframe.servers.http.messages import AnyReply, Request
        from leverframe.testing.twin_client import checked

        path, mark, query = target.partition("?")
        request = Request(method, path, query if mark else None, {}, body, BY_TEST)
        answer: Any = self._running.web.handle_as(request, UNRESTRICTED)
        if not isinstance(answer, AnyReply):
            answer = await answer
        return checked(answer.status, answer.body, target)


def _snmp_leaves() -> dict[str, Any]:
    communities = {"read_community": READ_COMMUNITY, "write_community": WRITE_COMMUNITY}
    return {f"snmp.{name}": value for name, value in {"enabled": True, **communities}.items()}


def _mqtt_leaves(broker: str) -> dict[str, Any]:
    from leverframe.fleet.given_settings import BadSettings

    parts = urlsplit(broker if "://" in broker else f"mqtt://{broker}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None or parts.scheme not in ("mqtt", "mqtts"):
        # Without what was given: a password may be in it.
        raise BadSettings(
            "mqtt: this is no broker; write it like 127.0.0.1:1883, or with an account like"
            " mqtt://NAME:PASSWORD@127.0.0.1:1883."
        )
    return {
        "mqtt.enabled": True,
        "mqtt.host": parts.hostname,
        "mqtt.port": port,
        "mqtt.username": unquote(parts.username or ""),
        "mqtt.password": unquote(parts.password or ""),
        "mqtt.tls": parts.scheme == "mqtts",
    }


async def _account_leaves(accounts: list[tuple[str, str]]) -> dict[str, Any]:
    from leverframe.fleet.given_settings import BadSettings
    from leverframe.servers.accounts.passwords import Passwords

    if len(accounts) > 2:
        raise BadSettings("accounts: give the administrator, and perhaps a user.")
    passwords, leaves = Passwords(), dict[str, Any]({"access.required": True})
    for role, (name, password) in zip(("admin", "user"), accounts, strict=False):
        leaves[f"access.{role}.name"] = name
        leaves[f"access.{role}.password"] = await passwords.hash(password)
    return leaves
