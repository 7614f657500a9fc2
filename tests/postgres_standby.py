"""A standby of a PostgreSQL, which is promoted when that one is gone for good."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import CalledProcessError

import psycopg

from tests.postgres_server import PostgresServer

_PATIENCE_S = 30.0
_STATES = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = %s"


class StandbyServer(PostgresServer):
    """A copy that follows another server."""

    def follow(self, primary: PostgresServer, *, synchronous: bool) -> None:
        """Copy it, and wait until whatever it commits is here as well."""
        source = ("-h", str(primary.socket), "-U", "postgres")
        copying = ("-X", "stream", "-c", "fast", "--no-sync", "-R")
        self.run("pg_basebackup", *source, "-D", str(self.data), *copying)
        self.start()
        with psycopg.connect(primary.address(), autocommit=True) as connection:
            if synchronous:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("SELECT pg_reload_conf()")
            state = "sync" if synchronous else "async"
            until = time.monotonic() + _PATIENCE_S
            while connection.execute(_STATES, (state,)).fetchone() != (1,):
                assert time.monotonic() < until, "the standby does not follow"
                time.sleep(0.05)

    def promote(self) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", "promote")


@contextmanager
def standby_of(primary: PostgresServer, *, synchronous: bool) -> Iterator[StandbyServer]:
    folder = Path(tempfile.mkdtemp(prefix="pgs"))
    standby = StandbyServer(folder)
    try:
        standby.follow(primary, synchronous=synchronous)
        yield standby
    finally:
        with suppress(CalledProcessError):
            standby.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def whichever(database: str, *servers: PostgresServer) -> str:
    """Return the address of a database at the one of several servers that takes changes."""
    words = [word for word in database.split() if not word.startswith("host=")]
    hosts = ",".join(str(server.socket) for server in servers)
    return " ".join([f"host={hosts} target_session_attrs=read-write", *words])
