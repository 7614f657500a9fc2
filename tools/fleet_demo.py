"""Run two nodes on one PostgreSQL on this machine, for a first try: `make fleet-demo`.

    python -m tools.fleet_demo [--port 8081]

It starts a database server in a new folder, on a private socket, and two nodes that share twenty
controllers created from a template. It runs until Ctrl+C; then it stops everything and removes the
folder.
"""

import argparse
import getpass
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

PROJECT = Path(__file__).parent.parent
TEMPLATE = PROJECT / "examples" / "fleet" / "greenhouse.toml"
#: The folder in which Debian installs PostgreSQL's programs, by version.
INSTALLED = Path("/usr/lib/postgresql")
NODES = ("north", "south")
COUNT = 20
NAME = "gh-{n}"
#: PostgreSQL refuses to run as root; its package creates this user.
UNPRIVILEGED = "postgres"
PATIENCE_S = 60
LOOK_S = 0.2


class NoDemo(Exception):
    """The demo is not possible; the message says why in one sentence."""


def postgres_programs() -> Path:
    """Return the folder of PostgreSQL's programs, of the newest version that is installed."""
    folders = [found.parent for found in INSTALLED.glob("*/bin/initdb")]
    if folders:
        return max(folders, key=lambda folder: float(folder.parent.name))
    found = shutil.which("initdb")
    if found is None:
        raise NoDemo("PostgreSQL is not here; install it with: sudo apt install postgresql")
    return Path(found).resolve().parent


def _as_server(*command: str) -> list[str]:
    return ["runuser", "-u", UNPRIVILEGED, "--", *command] if os.getuid() == 0 else [*command]


def _run(command: list[str], folder: Path) -> None:
    said = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if said.returncode != 0:
        lines = (said.stderr or said.stdout).strip().splitlines()
        raise NoDemo(lines[-1] if lines else f"{' '.join(command)} failed.")


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """Run a server in a folder of its own; yield the address of an empty database."""
    programs = postgres_programs()
    place = folder / "postgresql"
    place.mkdir(mode=0o700)
    user = getpass.getuser()
    if os.getuid() == 0:
        user = UNPRIVILEGED
        try:
            shutil.chown(place, UNPRIVILEGED, UNPRIVILEGED)
        except LookupError:
            raise NoDemo(
                f"There is no user {UNPRIVILEGED}, and PostgreSQL does not run as root;"
                " run this as another user."
            ) from None
    data = place / "data"
    control = [str(programs / "pg_ctl"), "-D", str(data), "-w"]
    # Any user of the socket is trusted, because only this user can access the folder.
    make = (str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", user, "-E", "UTF8")
    _run(_as_server(*make), place)
    options = f"-c listen_addresses='' -k {place}"
    _run(_as_server(*control, "-l", str(place / "log"), "-o", options, "start"), place)
    try:
        yield f"host={place} user={user} dbname=postgres"
    finally:
        _run(_as_server(*control, "-m", "fast", "stop"), place)


class DemoNode:
    """A node as a process, with its own data folder and log."""

    def __init__(self, name: str, port: int, address: str, folder: Path) -> None:
        self.name = name
        self.url = f"http://127.0.0.1:{port}"
        self.data = folder / name
        self.command = [sys.executable, "-m", "leverframe", "fleet", "run", "--database", address]
        self.command += ["--node", name, "--port", str(port), "--data", str(self.data)]
        # Modbus TCP and SNMP cannot address controllers by name; the demo only uses HTTP.
        self.command += ["--modbus-port", "0"]
        self._log = folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("wb") as log:
            # Ctrl+C must reach only the demo, which stops the nodes in order.
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + PATIENCE_S
        while not self.is_ready():
            if not self.is_alive or time.monotonic() > until:
                lines = self._read_log().strip().splitlines()
                raise NoDemo(lines[-1] if lines else f"{self.name} does not start.")
            time.sleep(LOOK_S)

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def is_ready(self) -> bool:
        return self.is_alive and "answers at" in self._read_log()

    def _read_log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        if self.process is not None and self.is_alive:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def controllers(self) -> int | None:
        """Return the number of controllers of the node; None if it does not answer."""
        try:
            with urlopen(f"{self.url}/api/fleet/nodes", timeout=PATIENCE_S) as reply:
                nodes = json.load(reply)["nodes"]
        except (URLError, OSError):
            return None
        return sum(one["controllers"] for one in nodes if one["name"] == self.name)


def _leverframe(*words: str) -> None:
    _run([sys.executable, "-m", "leverframe", "fleet", *words], PROJECT)


def _say(text: str) -> None:
    print(text, flush=True)


def _say_what_to_try(nodes: list[DemoNode]) -> None:
    port = nodes[1].url.rpartition(":")[2]
    _say("")
    for node in nodes:
        assert node.process is not None
        place = f"{node.url}/  process {node.process.pid}"
        _say(f"{node.name}  {place}  {node.controllers()} controllers")
    killed = nodes[0].process
    assert killed is not None
    _say(
        f"""
Try, from another terminal:
  curl 'http://gh-7.localhost:{port}/outs.cgi?out0=1'    any node answers for any controller
  kill -9 {killed.pid}    the other node takes over; requests wait until then
  leverframe fleet nodes --node {nodes[1].url}
and look at the pages above, under Nodes. Ctrl+C here ends and removes everything."""
    )


def _watch(nodes: list[DemoNode]) -> None:
    """Report the takeover after a node ends, until no node is left."""
    living = list(nodes)
    while living:
        time.sleep(LOOK_S)
        for node in [one for one in living if not one.is_alive]:
            living.remove(node)
            begun = time.monotonic()
            _say(f"{node.name} is gone.")
            if living and _wait_for_take_over(living[0]):
                took_s = time.monotonic() - begun
                _say(f"{living[0].name} has all {COUNT} controllers after {took_s:.1f} s.")
                _say(f"Start {node.name} again: {' '.join(map(_quote, node.command))}")


def _quote(word: str) -> str:
    return f"'{word}'" if " " in word else word


def _wait_for_take_over(node: DemoNode) -> bool:
    until = time.monotonic() + PATIENCE_S
    while node.is_alive and time.monotonic() < until:
        if node.controllers() == COUNT:
            return True
        time.sleep(LOOK_S)
    return False


def demonstrate(port: int) -> None:
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="fleet-demo-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        # The database server's user must be able to enter the folder.
        folder.chmod(0o711)
        _say("Starting PostgreSQL and two nodes")
        address = stack.enter_context(database(folder))
        _leverframe("migrate", "--database", address)
        nodes = [DemoNode(name, port + at, address, folder) for at, name in enumerate(NODES)]
        for node in nodes:
            stack.callback(node.stop)
            if node is not nodes[0]:
                # The key that encrypts secrets is never stored in the database.
                node.data.mkdir(mode=0o700)
                shutil.copy(nodes[0].data / "fleet.key", node.data)
            node.start()
        made = ("--count", str(COUNT), "--name", NAME, "--template", str(TEMPLATE))
        _leverframe("add", "--node", nodes[0].url, *made)
        until = time.monotonic() + PATIENCE_S
        while nodes[1].controllers() != COUNT // 2 and time.monotonic() < until:
            time.sleep(LOOK_S)
        _say_what_to_try(nodes)
        _watch(nodes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--port", type=int, default=8081, help="of the first node; the other one has the next"
    )
    given = parser.parse_args()
    # A shell makes background processes ignore Ctrl+C; restore the default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        demonstrate(given.port)
    except NoDemo as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        _say("Everything is stopped and removed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
