"""A twin as a process of its own, for tests that kill it and look at what it remembers.

It costs about half a second of processor time; `Twin` costs a few milliseconds.
"""

import ssl
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import httpx
import msgspec

from leverframe.config import Config
from leverframe.controller.saved_snapshot import decode_snapshot
from leverframe.errors import ErrorForPeople
from leverframe.fleet.given_settings import (
    GivenSettings,
    leaves_for,
    version_for,
)
from leverframe.fleet.time_words import WhenText, wall_of
from leverframe.process.listening import check_port
from leverframe.profile import Profile
from leverframe.servers.http.request_journal import BENCH_HEADER
from leverframe.storage.backup import BackupFile, pack
from leverframe.storage.datafolder import STORE_NAME
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes
from leverframe.testing.any_twin import (
    HOST,
    READ_COMMUNITY,
    STARTED_TWINS,
    WRITE_COMMUNITY,
    TwinAddress,
)
from leverframe.testing.http_twin import HttpTwin, reached
from leverframe.testing.loop_thread import LOOP_THREAD
from leverframe.testing.misuse import check_parameters
from leverframe.testing.seeds import identity_from, new_seed
from leverframe.testing.snapshot import parameters_of, read_snapshot
from leverframe.testing.twin_client import ANSWER_S, TwinRefused, checked

if TYPE_CHECKING:
    from leverframe.units.pulled_unit import PulledUnit

#: What a fork has from its original beside the snapshot.
KEPT_BY_FORKS = ("accounts", "tls", "lenient", "recorded")
#: How long a start and an end may take, in real seconds.
START_S, END_S = 30.0, 10.0
#: How long one that is to be killed may take to tell its time.
TIME_S = 2.0
#: The snapshot that `reset` goes back to.
FIRST = "start"


class TwinDidNotStart(ErrorForPeople):
    """The process ended instead of serving: what it said."""


class ProcessTwin(HttpTwin):
    """A controller in a process of its own, on virtual time, with a data folder.

    Takes what `Twin` takes, but no broker, and `data`: the folder in which it remembers, if none is
    named a temporary one. After `kill`, `start` goes on with that folder and time.
    """

    def __init__(
        self,
        *,
        data: str | Path | None = None,
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
        lenient: bool = False,
        recorded: str | Path | None = None,
        seed: int | None = None,
        port: int = 0,
    ) -> None:
        given = {
            **{"data": data, "hw": hw, "sw": sw, "mac": mac, "name": name, "start": start},
            **{"timezone": timezone, "settings": settings, "accounts": accounts, "tls": tls},
            **{
                "modbus": modbus,
                "snmp": snmp,
                "lenient": lenient,
                "recorded": recorded,
                "port": port or None,
            },
        }
        check_parameters({**given, "seed": seed})
        super().__init__(**given)
        settings, recorded = self._read_settings(settings, recorded, hw, sw)
        check_port(port)
        self._profile = version_for(hw, sw, settings)
        self.seed = new_seed() if seed is None else seed
        self.zone = Config(timezone=timezone).zone()
        self._temporary: TemporaryDirectory[str] | None = None
        if data is None:
            self._temporary = TemporaryDirectory()
            data = self._temporary.name
        self.data = Path(data)
        options: dict[str, str | None] = {
            "hw": self._profile.hw,
            "sw": self._profile.sw,
            "timezone": timezone,
            "mac": mac,
            "name": name,
            "data": str(self.data),
            "recorded": None if recorded is None else str(recorded),
        }
        #: When it begins at its next start.
        self._begin = None if start is None else wall_of(start, self.zone)
        flags = {"tls": tls, "lenient": lenient, "json": True, "virtual-time": True}
        self._options = [
            *(f"--{key}={value}" for key, value in options.items() if value is not None),
            *(f"--{key}" for key, is_on in flags.items() if is_on),
            *(f"--port={port}", "--modbus-port=0", "--snmp-port=0"),
        ]
        self._leaves = leaves_for(settings, self._profile)
        self._accounts = list((accounts or {}).items())
        self._commands = [
            *(["stm.cgi?modbuson=1"] if modbus else []),
            *([f"stm.cgi?snmp=1*{READ_COMMUNITY}*{WRITE_COMMUNITY}"] if snmp else []),
        ]
        self._process: subprocess.Popen[str] | None = None
        self._client: httpx.Client | None = None
        self._ports: dict[str, int] = {}
        self._was_set_up = False
        self._snapshots = 0
        #: What it begins with, if it was loaded.
        self._saved: bytes | None = None
        self._forks: list[ProcessTwin] = []
        self.ca_file = str(self.data / "tls-certificate.pem") if tls else None

    _made_by = "Twin.process"

    @property
    def is_on(self) -> bool:
        return self._process is not None

    @property
    def profile(self) -> Profile:
        return self._profile

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._running.pid

    def start(self) -> Self:
        if self._process is not None and self._process.poll() is None:
            return self
        self.data.mkdir(parents=True, exist_ok=True)
        if not (self.data / STORE_NAME).exists():
            LOOP_THREAD.run(self._write_identity())
        with (self.data / "twin.log").open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "leverframe", "run", *self._options, *self._beginning()],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._client = None
        self._read_addresses()
        if not self._was_set_up:
            if self._saved is None:
                self._set_up()
            else:
                self._resume(self._saved)
            self._was_set_up = True
        self._operate(f"/api/sim/snapshots?take={FIRST}", "POST")
        STARTED_TWINS.add(self)
        return self

    async def _write_identity(self) -> None:
        """Make the twin of a fresh folder the one of its seed; it would take one by chance."""
        store = SqliteStore(self.data / STORE_NAME)
        try:
            await store.commit(Changes(kept=identity_from(self.seed)))
        finally:
            await store.close()

    def _beginning(self) -> list[str]:
        if self._begin is None:
            return []
        return [f"--virtual-start={datetime.fromtimestamp(self._begin, UTC).isoformat()}"]

    def kill(self) -> None:
        """End the process as a power cut would, without a word (SIGKILL)."""
        process = self._running
        self._begin = self._present_time() or self._begin
        process.kill()
        self._end()

    def _present_time(self) -> float | None:
        """Return what time it is there, if it can be reached."""
        if self._client is None:
            return None
        try:
            told = self._client.get(f"{self.url}/api/state", auth=self.account, timeout=TIME_S)
        except httpx.TransportError:
            return None
        return msgspec.json.decode(told.content)["time"] if told.is_success else None

    def close(self) -> None:
        self._keep_report()
        for fork in self._forks:
            fork.close()
        self._forks.clear()
        if self._process is not None:
            self._process.terminate()
            self._end()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _end(self) -> None:
        process, self._process = self._running, None
        if self._client is not None:
            self._client.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_S)
        finally:
            if process.stdout is not None:
                process.stdout.close()

    def _read_addresses(self) -> None:
        """Read from the process where it listens."""
        process, deadline = self._running, time.monotonic() + START_S
        assert process.stdout is not None
        for line in process.stdout:
            event = msgspec.json.decode(line)
            if event["event"] == "ready":
                self.url, self._ports = event["url"].rstrip("/"), event["ports"]
                self._client = httpx.Client(
                    verify=_context(self.ca_file),
                    timeout=ANSWER_S,
                    headers={BENCH_HEADER: "1"},
                    # A fault resets connections that are kept, perhaps under a request.
                    limits=httpx.Limits(max_keepalive_connections=0),
                )
                return
            if time.monotonic() > deadline:
                break
        self.kill()
        raise TwinDidNotStart((self.data / "twin.log").read_text(encoding="utf-8").strip())

    def _set_up(self) -> None:
        # A folder that was used before may have accounts already.
        account = self._accounts[0] if self._accounts else self.account
        self.account = account if self._asks_who_is_there() else None
        if self._leaves:
            file = BackupFile.written_now(self._profile, self._leaves)
            self._operate("/post.cgi?settingsupload", "POST", pack(file))
        self.command(*self._commands)
        if self._accounts:
            named = [*self._accounts, ("user", "")][:2]
            parts = [b64encode(text.encode()).decode() for one in named for text in one]
            self.command(f"stm.cgi?auth=11{'*'.join(parts)}")
        self.account = account

    def _resume(self, saved: bytes) -> None:
        """Begin with a saved snapshot, which has the accounts that are asked for from then on."""
        account, self.account = self.account, None
        self._operate(f"/api/sim/snapshots?load={FIRST}&restore={FIRST}", "POST", saved)
        self.account = self._accounts[0] if self._accounts else account

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Return a twin that begins with a saved snapshot, as `Twin.load` does.

        `data` must be a new folder, if one is given.
        """
        data, saved = read_snapshot(path)
        twin = cls(**parameters_of(saved, parameters))
        twin._made_by, twin._given = "ProcessTwin.load", {"path": str(path), **parameters}
        twin._saved = data
        return twin

    def fork(self) -> Self:
        """Return another one, with a data folder of its own, that resumes from here.

        It is started, and closed with this one.
        """
        data = self._encode_snapshot()
        parameters = parameters_of(decode_snapshot(data), {"seed": self.seed})
        kept = {name: self._given[name] for name in KEPT_BY_FORKS if name in self._given}
        other = type(self)(**kept | parameters)
        other._saved = data
        self._forks.append(other)
        return other.start()

    def _asks_who_is_there(self) -> bool:
        try:
            self._operate("/api/account")
        except TwinRefused as refused:
            if refused.status != HTTPStatus.UNAUTHORIZED:
                raise
            return True
        return False

    # --- what all twins can do --------------------------------------------------------------------

    def _new_label(self) -> str:
        self._snapshots += 1
        return f"{self._snapshots}"

    @property
    def _first_label(self) -> str:
        return FIRST

    @property
    def modbus(self) -> TwinAddress:
        return self._port("modbus")

    @property
    def snmp(self) -> TwinAddress:
        return self._port("snmp")

    def _port(self, name: str) -> TwinAddress:
        port = self.state["ports"].get(name)
        if port is None:
            raise RuntimeError(f"It is off; switch it on with {name}=True.")
        return TwinAddress(HOST, port)

    @property
    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("The twin is off; start it with `with`, or with start().")
        return self._process

    def _operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        if self._client is None or self._process is None:
            raise RuntimeError("The twin is off; start it with `with`, or with start().")
        client, process = self._client, self._process
        reply = reached(
            lambda: client.request(
                method, f"{self.url}{target}", content=body or None, auth=self.account
            ),
            lambda error: isinstance(error, httpx.ConnectError) and process.poll() is None,
        )
        return checked(reply.status_code, reply.content, target)


def _context(ca_file: str | None) -> ssl.SSLContext | bool:
    return True if ca_file is None else ssl.create_default_context(cafile=ca_file)
