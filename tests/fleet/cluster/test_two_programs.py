"""Nodes of two releases of the program on one database, as while they are updated one by one.

The next release is this program with another version number, one more migration, and, if a test
says so, a protocol between nodes that this release does not know.
"""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

import leverframe
from leverframe.fleet.cluster.node_calls import PROTOCOL
from leverframe.fleet.owners import DEADLINES
from tests.fleet.cluster.node_processes import (
    SOURCE,
    add_controllers,
    ask_controller,
    counts,
    environment,
    name_of,
    running,
    set_name,
    share_key,
)
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.stopwatch import within

pytestmark = pytest.mark.thorough

COUNT = 6
NAMES = [f"c-{number}" for number in range(1, COUNT + 1)]
NEXT_VERSION = "99.0.0"


def next_release(folder: Path, protocol: int = PROTOCOL) -> Path:
    """Write the source of the next release."""
    package = folder / "leverframe"
    # With what is compiled, which holds for all files but those that are edited here; not with what
    # tools/measure.py has rewritten.
    shutil.copytree(SOURCE / "leverframe", package, ignore=shutil.ignore_patterns("*.opt-*.pyc"))
    _edit(package / "__init__.py", f'"{leverframe.__version__}"', f'"{NEXT_VERSION}"')
    calls = package / "fleet" / "cluster" / "node_calls.py"
    _edit(calls, f"\nPROTOCOL = {PROTOCOL}\n", f"\nPROTOCOL = {protocol}\n")
    migrations = package / "storage" / "fleet" / "postgres_migrations"
    (migrations / "999_next.sql").write_text(
        "ALTER TABLE controller ADD COLUMN of_next text NOT NULL DEFAULT 'nothing';\n"
    )
    return folder


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1, f"{path.name} does not say {old!r} once"
    path.write_text(text.replace(old, new), "utf-8")


class UpdatedNodes:
    """Two nodes, each of which is stopped and started again as one release or the other."""

    def __init__(self, database: str, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._lives: dict[str, ExitStack] = {}
        self.ports: dict[str, int] = {}

    def start(self, name: str, source: Path) -> None:
        """Start a node in place of the process with its name."""
        self.stop(name)
        self._lives[name] = ExitStack()
        node = running(name, self._database, self._folder, source)
        _, self.ports[name] = self._lives[name].enter_context(node)

    def stop(self, name: str) -> None:
        self.ports.pop(name, None)
        if name in self._lives:
            self._lives.pop(name).close()

    def wait_until_shared_out(self) -> None:
        """Wait until each of the two has its part."""
        until = time.monotonic() + PATIENCE_S
        while counts(self.ports["b"]) != [COUNT // 2, COUNT // 2]:
            assert time.monotonic() < until, counts(self.ports["b"])
            time.sleep(0.05)

    def versions(self) -> list[str]:
        answer = httpx.get(
            f"http://127.0.0.1:{self.ports['a']}/api/fleet/nodes", timeout=PATIENCE_S
        ).json()
        return [one["version"] for one in answer["nodes"]]

    def send(self, node: str, value: int) -> dict[str, tuple[int, str]]:
        """Change all controllers together through a node; return status and detail of each."""
        address = f"http://127.0.0.1:{self.ports[node]}/api/fleet/send"
        query = {"command": f"eeprom.cgi?dword3={value}"}
        answer = httpx.post(address, params=query, timeout=PATIENCE_S).json()
        return {one["name"]: (one["status"], str(one)) for one in answer["results"]}


class Counting:
    """Clients that change every controller again and again, by whichever node runs."""

    def __init__(self, nodes: UpdatedNodes) -> None:
        self._nodes = nodes
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._count, args=(name,)) for name in NAMES]
        #: The last change of each that was acknowledged, and the last one that was asked for.
        self.last: dict[str, int] = dict.fromkeys(NAMES, 0)
        self.asked: dict[str, int] = dict.fromkeys(NAMES, 0)

    def __enter__(self) -> "Counting":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _count(self, name: str) -> None:
        # A connection per request needs more of the processor than the request.
        while not self._over.wait(0.2):
            for port in tuple(self._nodes.ports.values()):
                self.asked[name] += 1
                if set_name(port, name, self.asked[name]):
                    self.last[name] = self.asked[name]

    def require_service(self) -> None:
        """Wait until every controller has acknowledged three more changes."""
        goal = {name: last + 3 for name, last in self.last.items()}
        until = time.monotonic() + PATIENCE_S
        while any(self.last[name] < at_least for name, at_least in goal.items()):
            assert time.monotonic() < until, (self.last, goal)
            time.sleep(0.05)


@pytest.fixture
def nodes(postgres: PostgresServer, tmp_path: Path) -> Iterator[UpdatedNodes]:
    """Two nodes of this program, with controllers."""
    both = UpdatedNodes(postgres.fleet_of(tmp_path), tmp_path)
    try:
        both.start("a", SOURCE)
        share_key(tmp_path, "a", "b")
        both.start("b", SOURCE)
        add_controllers(both.ports["a"], COUNT)
        both.wait_until_shared_out()
        yield both
    finally:
        both.stop("b")
        both.stop("a")


def migrate(database: str, source: Path) -> str:
    command = [sys.executable, "-m", "leverframe", "fleet", "migrate", "--database", database]
    done = subprocess.run(
        command, env=environment(source), capture_output=True, text=True, check=True
    )
    return done.stdout


def test_nodes_are_updated_and_rolled_back_one_by_one_under_load(
    nodes: UpdatedNodes, postgres: PostgresServer, tmp_path: Path
) -> None:
    following = next_release(tmp_path / "next")
    for name in NAMES:
        assert ask_controller(nodes.ports["a"], name, "/outs.cgi?pulse0=600").status_code == 200
    with Counting(nodes) as clients:
        clients.require_service()
        assert "999_next" in migrate(postgres.fleet_of(tmp_path), following)
        clients.require_service()
        for name, source, versions in (
            ("b", following, [leverframe.__version__, NEXT_VERSION]),
            ("a", following, [NEXT_VERSION, NEXT_VERSION]),
            ("b", SOURCE, [NEXT_VERSION, leverframe.__version__]),
        ):
            nodes.start(name, source)
            nodes.wait_until_shared_out()
            assert nodes.versions() == versions
            clients.require_service()
            for by in nodes.ports:
                results = nodes.send(by, sum(clients.last.values()))
                assert {status for status, _ in results.values()} == {200}, results
    for name in NAMES:
        stored = int(str(name_of(nodes.ports["a"], name)).rpartition("v")[2])
        # What was not acknowledged may be stored, too.
        assert clients.last[name] <= stored <= clients.asked[name]
        # They have moved between nodes five times, and were never restarted.
        assert "<out>100000</out>" in ask_controller(nodes.ports["b"], name, "/outs.cgi").text


def test_release_with_missing_tables_prints_how_to_create_them(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    following = next_release(tmp_path / "next")
    command = [sys.executable, "-m", "leverframe", "fleet", "run", "--node", "b"]
    command += ["--database", postgres.fleet_of(tmp_path), "--data", str(tmp_path / "b")]
    done = subprocess.run(
        command, env=environment(following), capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode != 0
    assert "this program needs 999: bring them up to date with `leverframe fleet migrate`" in (
        done.stderr
    )
    assert "Traceback" not in done.stderr


def test_node_without_the_new_protocol_is_named(
    nodes: UpdatedNodes, postgres: PostgresServer, tmp_path: Path
) -> None:
    following = next_release(tmp_path / "next", PROTOCOL + 1)
    migrate(postgres.fleet_of(tmp_path), following)
    nodes.start("b", following)
    nodes.wait_until_shared_out()
    # Requests of clients reach the owner as before.
    for value, port in enumerate(nodes.ports.values(), 1):
        assert all(set_name(port, name, value) for name in NAMES)
    # The newer node understands the older one.
    assert {status for status, _ in nodes.send("a", 1).values()} == {200}
    with within(DEADLINES["step"].hold_s):
        results = nodes.send("b", 2)
    done = {name for name, (status, _) in results.items() if status == 200}
    assert len(done) == COUNT // 2
    for name in results.keys() - done:
        assert "older" in results[name][1]
