"""A twin in its own process, for tests that kill it and examine its stored data.

It costs about half a second of processor time; `Twin` costs a few milliseconds.
"""

import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import msgspec

from leverframe.core.durations import WhenText
from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.host.api_client import NO_ANSWER, ApiClient
from leverframe.host.assembly import make_identity
from leverframe.host.controller.snapshot import decode_snapshot
from leverframe.host.maintenance.configuration import GivenSettings
from leverframe.storage.backup import BackupFile, pack
from leverframe.storage.datafolder import STORE_NAME
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes
from leverframe.testing.any_twin import AnyTwin
from leverframe.testing.initial_state import Beginning, parameters_of
from leverframe.testing.transport import LOOP_THREAD, READ_COMMUNITY, WRITE_COMMUNITY, TwinRefused
from leverframe.testing.twin_client import ANSWER_S, HttpTransport

if TYPE_CHECKING:
    from leverframe.units.pulled_unit import PulledUnit

#: The parameters that a fork inherits in addition to the snapshot.
KEPT_BY_FORKS = ("accounts", "tls", "lenient", "recorded")
#: Time limits of the start and of the end, in real seconds.
START_S, END_S = 30.0, 10.0
#: Time limit for reading a process's time before it is killed, in real seconds.
TIME_S = 2.0
#: The snapshot that `reset` restores.
FIRST = "start"


class TwinDidNotStart(ErrorForPeople):
    """The process ended instead of serving; the message contains its output."""


class ProcessTwin(AnyTwin):
    """A controller in its own process, in virtual time, with a data folder.

    It accepts the parameters of `Twin` except a broker, and `data`, the folder for its data
    (default: a temporary folder). After `kill`, `start` resumes with the same folder, at the
    time of the kill.
    """

    _made_by = "Twin.process"
    _transport: "OwnProcess"

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
        beginning = self._begin(locals())
        temporary = None
        if data is None:
            temporary = TemporaryDirectory()
            data = temporary.name
        self.data = Path(data)
        self._transport = OwnProcess(beginning, self.seed, self.data, temporary)

    @property
    def pid(self) -> int:
        """The ID of its process."""
        return self._transport.running.pid

    def kill(self) -> None:
        """End the process like a power failure (SIGKILL)."""
        self._transport.kill()

    def reset(self) -> None:
        """Restore the state at the start; forget the requests and messages since then.

        Uploads, sessions, the history and the audit trail are kept.
        """
        super().reset()

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Return a twin that starts from a saved snapshot, like `Twin.load`.

        `data`, if given, must be a new folder.
        """
        return cls._load("ProcessTwin.load", path, parameters)

    def fork(self) -> Self:
        """Return another twin with its own data folder that resumes from here.

        The new twin is already started; it is closed together with this one.
        """
        data = self._transport.encode_snapshot()
        snapshot = decode_snapshot(data)
        kept = {name: self._given[name] for name in KEPT_BY_FORKS if name in self._given}
        other = type(self)(**kept | parameters_of(snapshot, {"seed": self.seed}))
        other._transport.saved = data, snapshot
        self._forks.append(other)
        return other.start()


class OwnProcess(HttpTransport):
    """A controller in its own process, in virtual time, with a data folder."""

    closed = "This server is off; switch it on with {key}=True."
    first = FIRST

    def __init__(
        self,
        beginning: Beginning,
        seed: int,
        data: Path,
        temporary: "TemporaryDirectory[str] | None",
    ) -> None:
        given = beginning.given
        self._beginning = beginning
        self._seed = seed
        self._data = data
        self._temporary = temporary
        #: The wall time of its next start.
        self._begin = beginning.wall
        options: dict[str, object] = {
            "hw": beginning.profile.hw,
            "sw": beginning.profile.sw,
            **{name: given[name] for name in ("timezone", "mac", "name")},
            "data": data,
            "recorded": beginning.recorded,
        }
        flags = {"tls": given["tls"], "lenient": given["lenient"], "json": True}
        self._options = [
            *(f"--{key}={value}" for key, value in options.items() if value is not None),
            *(f"--{key}" for key, is_on in flags.items() if is_on),
            *("--virtual-time", f"--port={given['port'] or 0}", "--modbus-port=0", "--snmp-port=0"),
        ]
        self._commands = [
            *(["stm.cgi?modbuson=1"] if given["modbus"] else []),
            *([f"stm.cgi?snmp=1*{READ_COMMUNITY}*{WRITE_COMMUNITY}"] if given["snmp"] else []),
        ]
        self._process: subprocess.Popen[str] | None = None
        self._was_set_up = False
        self._snapshots = 0
        self.ca_file = str(data / "tls-certificate.pem") if given["tls"] else None

    @property
    def profile(self) -> Profile:
        return self._beginning.profile

    @property
    def running(self) -> "subprocess.Popen[str]":
        if self._process is None:
            raise RuntimeError("The twin is off; start it with `with`, or with start().")
        return self._process

    def start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._data.mkdir(parents=True, exist_ok=True)
        if not (self._data / STORE_NAME).exists():
            LOOP_THREAD.run(self._write_identity())
        begin = f"--virtual-start={datetime.fromtimestamp(self._begin, UTC).isoformat()}"
        with (self._data / "twin.log").open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "leverframe", "run", *self._options, begin],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._read_addresses()
        if not self._was_set_up:
            if self.saved is None:
                self._set_up()
            else:
                self._resume(self.saved[0])
            self._was_set_up = True
        self.operate(f"/api/sim/snapshots?take={FIRST}", "POST")

    async def _write_identity(self) -> None:
        """Give the twin of a new folder the identity of its seed, instead of a random one."""
        store = SqliteStore(self._data / STORE_NAME)
        try:
            identity = make_identity(Random(self._seed).randbytes)
            await store.commit(Changes(kept=identity))
        finally:
            await store.close()

    def _read_addresses(self) -> None:
        """Read the addresses from the process."""
        process, deadline = self.running, time.monotonic() + START_S
        assert process.stdout is not None
        for line in process.stdout:
            event = msgspec.json.decode(line)
            if event["event"] == "ready":
                self.url = event["url"].rstrip("/")
                self.client = ApiClient(self.url, self.ca_file, ANSWER_S)
                return
            if time.monotonic() > deadline:
                break
        self.kill()
        raise TwinDidNotStart((self._data / "twin.log").read_text(encoding="utf-8").strip())

    def kill(self) -> None:
        process = self.running
        self._begin = self._present_time() or self._begin
        process.kill()
        self._end()

    def _present_time(self) -> float | None:
        """Return the time of the process, if it can be reached."""
        if self.client is None:
            return None
        try:
            reply = self.ask("/api/state", answer_s=TIME_S)
        except NO_ANSWER:
            return None
        return msgspec.json.decode(reply.body)["time"] if reply.status == HTTPStatus.OK else None

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._end()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _end(self) -> None:
        process, self._process, self.client = self.running, None, None
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_S)
        finally:
            if process.stdout is not None:
                process.stdout.close()

    def _set_up(self) -> None:
        accounts, beginning = self._beginning.accounts, self._beginning
        # A folder that was used before may already have accounts.
        account = accounts[0] if accounts else self.account
        self.account = account if self._asks_for_login() else None
        if beginning.leaves:
            file = BackupFile.create(beginning.profile, beginning.leaves)
            self.operate("/post.cgi?settingsupload", "POST", pack(file))
        commands = [*self._commands]
        if accounts:
            named = [*accounts, ("user", "")][:2]
            parts = [b64encode(text.encode()).decode() for one in named for text in one]
            commands.append(f"stm.cgi?auth=11{'*'.join(parts)}")
        for command in commands:
            self.operate(f"/{command}")
        self.account = account

    def _resume(self, saved: bytes) -> None:
        """Start from a saved snapshot, whose accounts apply from then on."""
        account, self.account = self.account, None
        self.operate(f"/api/sim/snapshots?load={FIRST}&restore={FIRST}", "POST", saved)
        accounts = self._beginning.accounts
        self.account = accounts[0] if accounts else account

    def _asks_for_login(self) -> bool:
        try:
            self.operate("/api/account")
        except TwinRefused as refused:
            if refused.status != HTTPStatus.UNAUTHORIZED:
                raise
            return True
        return False

    def may_repeat(self, target: str, method: str, error: Exception) -> bool:
        return isinstance(error, ConnectionRefusedError) and self.running.poll() is None

    def new_label(self) -> str:
        self._snapshots += 1
        return f"{self._snapshots}"
