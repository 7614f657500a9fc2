"""A PostgreSQL of Debian's package, in a folder and on a socket of its own."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from leverframe.storage.lanes.postgres_schema import migrate

_INSTALLED = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
_PATIENCE_S = 60
#: A standby looks soon again for a primary that was away.
_OPTIONS = (
    "-c listen_addresses='' -c max_connections=50 -c shared_buffers=16MB"
    " -c wal_retrieve_retry_interval=200ms"
)
#: What makes it quick: tests are about the program, not about the disk.
_NOT_DURABLE = "-c fsync=off"


def is_installed() -> bool:
    return bool(_INSTALLED)


class PostgresServer:
    def __init__(self, folder: Path, *, is_durable: bool = False) -> None:
        self._options = _OPTIONS if is_durable else f"{_OPTIONS} {_NOT_DURABLE}"
        self._bin = _INSTALLED[-1].parent
        self.data = folder / "data"
        self.socket = folder
        self._names = count(1)
        self._has_template = False
        self._of_folders: dict[Path, str] = {}
        folder.chmod(0o755)
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")

    def initialise(self) -> None:
        """Copy new files of a server: to make them takes a second of the processor."""
        self._run("cp", "-a", str(_new_files()), str(self.data))

    def start(self) -> None:
        options = f"{self._options} -k {self.socket}"
        log = str(self.socket / "log")
        self.run("pg_ctl", "-D", str(self.data), "-w", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", "-m", mode, "stop")

    def is_running(self) -> bool:
        return (self.data / "postmaster.pid").exists()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all of its processes for a while, as a machine does that hangs."""
        pids = self.processes()
        _signal(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(pids, signal.SIGCONT)

    def processes(self) -> list[int]:
        main = int((self.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]

    def run(self, program: str, *arguments: str) -> None:
        self._run(str(self._bin / program), *arguments)

    def _run(self, *command: str) -> None:
        # PostgreSQL does not run as root.
        as_other = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run(
            [*as_other, *command],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            cwd=self.socket,
        )

    def address(self, database: str = "postgres") -> str:
        return f"host={self.socket} user=postgres dbname={database}"

    def new_database(self, template: str = "template0") -> str:
        """Make a database, an empty one unless it is a copy; return its address."""
        name = f"db{next(self._names)}"
        self._create(name, template)
        return self.address(name)

    def new_fleet(self) -> str:
        """Make a database with the tables of a fleet; return its address."""
        if not self._has_template:
            self._create("fleet", "template0")
            migrate(self.address("fleet"))
            self._has_template = True
        return self.new_database("fleet")

    def _create(self, name: str, template: str) -> None:
        with psycopg.connect(self.address(), autocommit=True) as connection:
            query = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            connection.execute(query.format(sql.Identifier(name), sql.Identifier(template)))

    def fleet_of(self, folder: Path) -> str:
        """Return the database that goes with a folder, with the tables of a fleet."""
        if folder not in self._of_folders:
            self._of_folders[folder] = self.new_fleet()
        return self._of_folders[folder]


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        # A session that was just ending may be gone.
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@cache
def _new_files() -> Path:
    """Make the files of a server that was never started, once for this process."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = PostgresServer(folder)
    server.run("initdb", "-D", str(server.data), "-A", "trust", "-U", "postgres", "--no-sync")
    return server.data


@contextmanager
def postgres_server(*, is_durable: bool = False) -> Iterator[PostgresServer]:
    """Run a server in a new folder."""
    if not is_installed():
        pytest.skip("PostgreSQL is not installed")
    # Its own user must reach it, and the path of a socket has at most some 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    server = PostgresServer(folder, is_durable=is_durable)
    try:
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            # Some tests end it themselves.
            with suppress(subprocess.CalledProcessError):
                server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def server_of_process() -> PostgresServer:
    """Return the one server of this process, which ends with it."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(postgres_server())
