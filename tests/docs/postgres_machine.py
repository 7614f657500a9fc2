"""A Debian machine with PostgreSQL, as far as the guides use it: a folder and small programs.

`apt install postgresql` creates and starts the cluster 15/main, as the package does; `systemctl`
calls the real `pg_ctlcluster` of this cluster, or starts and stops a node; `sudo` becomes the user
that PostgreSQL runs as. All machines have the same port, each at a loopback address of its own.
What the guides write below `/etc` and `/var` goes into the folder.
"""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.conftest import PROGRAM_FOLDERS

PATIENCE_S = 60
_CLUSTER = "15 main"
_PROGRAMS = {
    "apt": """\
[ -e {folder}/etc/15/main ] && exit 0
pg_createcluster {cluster} --port {port} --datadir {folder}/var/15/main --socketdir {folder}/run \\
  --logfile {folder}/run/log --start-conf manual -- --no-sync
# Other machines may not do what a machine may at its own loopback address.
sed -i '/^host/d' {folder}/etc/15/main/pg_hba.conf
exec systemctl start postgresql
""",
    "pip": "exit 0\n",
    # The disk is not what is tried.
    "pg_basebackup": 'exec /usr/bin/pg_basebackup --no-sync "$@"\n',
    "sudo": """\
unset PGPORT  # as it does; Debian's programs find the cluster of the machine automatically
if [ "$1" = -u ]; then
  as=$2; shift 2
  [ "$(id -u)" = 0 ] && exec runuser -u "$as" -- "$@"
fi
exec "$@"
""",
    "leverframe": "exec {python} -m leverframe \"$@\"\n",
    "systemctl": """\
case "$1 $2" in
stop\\ leverframe@*)
  node=$(cat {folder}/node.pid)
  kill $node
  while kill -0 $node 2> /dev/null; do sleep 0.02; done ;;
start\\ leverframe@*)
  export PGPORT={port}
  leverframe fleet run --config ${{2#leverframe@}}.toml > node.log 2>&1 &
  echo $! > {folder}/node.pid ;;
reload\\ postgresql|stop\\ postgresql)
  exec pg_ctlcluster --skip-systemctl-redirect {cluster} "$1" ;;
*)
  # As pg_ctlcluster does, which looks only every other second. Each machine has its own address.
  exec sudo -u postgres /usr/lib/postgresql/15/bin/pg_ctl "$1" --silent --wait \\
    --pgdata {folder}/var/15/main --log {folder}/run/log --options \\
    "-c config_file={folder}/etc/15/main/postgresql.conf -c fsync=off \\
    -c listen_addresses={address} -c external_pid_file={folder}/run/pid" ;;
esac
""",
}  # fmt: skip


class PostgresMachine:
    """One of the machines of a guide."""

    def __init__(self, folder: Path, address: str, port: int) -> None:
        self.folder = folder
        self.address = address
        self.port = port
        for name in ("etc", "var/15", "run", "home", "programs"):
            (folder / name).mkdir(parents=True)
        if os.getuid() == 0:
            for name in ("var/15", "run"):
                shutil.chown(folder / name, "postgres", "postgres")
        for name, text in _PROGRAMS.items():
            path = folder / "programs" / name
            given = {"folder": folder, "port": port, "address": self.address}
            text = text.format(cluster=_CLUSTER, python=sys.executable, **given)
            path.write_text(f"#!/bin/bash\n{text}", encoding="utf-8")
            path.chmod(0o755)

    def type(self, block: str, exchanged: dict[str, str], answers: str = "") -> str:
        """Run a block here with answers to its prompts; return its output."""
        here = {
            "/etc/postgresql/": f"{self.folder}/etc/",
            "/var/lib/postgresql/": f"{self.folder}/var/",
        }
        for text, other in {**here, **exchanged}.items():
            block = block.replace(text, other)
        done = subprocess.run(
            ["timeout", str(PATIENCE_S), "bash", "-euo", "pipefail", "-c", block],
            cwd=self.folder / "home",
            env=self._environment(),
            input=answers,
            capture_output=True,
            text=True,
            check=False,
            # Without a terminal, passwords are asked for on the standard input.
            start_new_session=True,
        )
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        return done.stdout

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.folder / 'programs'}:{PROGRAM_FOLDERS}",
            "HOME": str(self.folder / "home"),
            "PG_CLUSTER_CONF_ROOT": str(self.folder / "etc"),
            "PGPORT": str(self.port),
        }

    def node_log(self) -> str:
        return (self.folder / "home" / "node.log").read_text(encoding="utf-8")

    def server_log(self) -> str:
        return (self.folder / "run" / "log").read_text(encoding="utf-8")

    def switch_off(self) -> None:
        """Kill everything that runs."""
        for pid in (self.folder / "node.pid", self.folder / "var" / "15" / "main/postmaster.pid"):
            with suppress(OSError, ProcessLookupError):
                # SIGQUIT also ends the processes of the server.
                quit_now = signal.SIGQUIT if pid.name == "postmaster.pid" else signal.SIGKILL
                os.kill(int(pid.read_text().split()[0]), quit_now)
