"""A standby of a PostgreSQL, which is promoted when that one is gone for good."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import CalledProcessError

import psycopg

from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

_STATES = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = %s"


@contextmanager
def standby_of(primary: PostgresServer, *, synchronous: bool) -> Iterator[PostgresServer]:
    folder = Path(tempfile.mkdtemp(prefix="pgs"))
    standby = PostgresServer(folder)
    try:
        follow(standby, primary, synchronous=synchronous)
        yield standby
    finally:
        with suppress(CalledProcessError):
            standby.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def follow(standby: PostgresServer, primary: PostgresServer, *, synchronous: bool) -> None:
    """Let a server that does not run be a copy of another one, whatever it was before; wait until
    whatever that one commits is here as well."""
    shutil.rmtree(standby.data, ignore_errors=True)
    source = ("-h", str(primary.socket), "-U", "postgres")
    copying = ("-X", "stream", "-c", "fast", "--no-sync", "-R")
    standby.run("pg_basebackup", *source, "-D", str(standby.data), *copying)
    standby.start()
    with psycopg.connect(primary.address(), autocommit=True) as connection:
        if synchronous:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        state = "sync" if synchronous else "async"
        until = time.monotonic() + PATIENCE_S
        while connection.execute(_STATES, (state,)).fetchone() != (1,):
            assert time.monotonic() < until, "the standby does not follow"
            time.sleep(0.05)


def promote(standby: PostgresServer) -> None:
    standby.run("pg_ctl", "-D", str(standby.data), "-w", "promote")


def whichever(database: str, *servers: PostgresServer) -> str:
    """Return the address of a database at the one of several servers that takes changes."""
    words = [word for word in database.split() if not word.startswith("host=")]
    hosts = ",".join(str(server.socket) for server in servers)
    return " ".join([f"host={hosts} target_session_attrs=read-write", *words])
