"""The database of several machines by the guides: created, followed, saved, restored."""

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.docs.blocks import DOCS, Block, blocks
from tests.docs.postgres_machine import PATIENCE_S, PostgresMachine
from tests.ports import free_ports
from tests.stopwatch import within

FROM_NOTHING = DOCS / "how-to" / "several-machines.md"
OPERATING = DOCS / "how-to" / "operate-several-machines.md"
PASSWORD = "a-long-one-for-the-database"


def part(document: Path, first: str, last: str) -> list[Block]:
    """Return the blocks of a document between two of its headings, or bold words."""
    text = document.read_text(encoding="utf-8")
    begin, end = (text.count("\n", 0, text.index(mark)) + 1 for mark in (first, last))
    return [block for block in blocks(document) if begin < block.line < end]


@contextmanager
def two_machines(port: int) -> Iterator[list[PostgresMachine]]:
    folder = Path(tempfile.mkdtemp(prefix="pgm"))
    folder.chmod(0o755)
    made = [PostgresMachine(folder / f"db{n}", f"127.0.0.2{n}", port) for n in (1, 2)]
    try:
        yield made
    finally:
        for machine in made:
            machine.switch_off()
        shutil.rmtree(folder, ignore_errors=True)


def until(condition: Callable[[], object], why: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, why()
        time.sleep(0.05)


class GuideNode:
    """The node of the guide, and its controller gh-7."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, host: str = "127.0.0.1") -> str:
        try:
            with urlopen(
                Request(f"{self.url}{path}", headers={"Host": host}), timeout=PATIENCE_S
            ) as reply:
                answer: str = reply.read().decode()
        except OSError as error:
            return str(error)
        return answer

    def standbys(self) -> object:
        answer = self.ask("/api/fleet/nodes")
        return json.loads(answer)["database"]["standbys"] if answer.startswith("{") else None

    def rename(self, name: str) -> bool:
        return "<response>" in self.ask(f"/stm.cgi?sname={name}", "gh-7.localhost")

    def is_named(self, name: str) -> bool:
        return f'"sname":"{name}"' in self.ask("/json/all.json", "gh-7.localhost")


@pytest.mark.thorough
@pytest.mark.needs_program("pg_createcluster")
def test_standby_backup_and_restore_work_by_the_guides() -> None:
    node_port, inner_port, database_port = free_ports(3)
    with two_machines(database_port) as (first, second):
        exchanged = {
            # Clients of a loopback address have this address.
            "10.0.0.0/24": "127.0.0.1/32",
            "10.0.0.22/32": "127.0.0.1/32",
            "10.0.0.2": "127.0.0.2",
            "db.example": first.address,
            "password=...": f"password={PASSWORD}",
            ":5432:": f":{database_port}:",
            ":PASSWORD": f":{PASSWORD}",
            ":8080": f":{node_port}",
            "leverframe fleet run --config north.toml": "systemctl start leverframe@north",
        }
        twice = f"{PASSWORD}\n" * 2
        database, begin, north, _, add = part(
            FROM_NOTHING, "**1. The database.**", "**5. Run each node as a service"
        )
        first.type(database.text, exchanged, answers=twice)

        on_first, on_second, on_first_again, both, promote = part(
            OPERATING, "## A synchronous standby", "## Backup and restore"
        )
        first.type(on_first.text, exchanged, answers=twice)
        second.type(on_second.text, exchanged)
        look, use_it = on_first_again.text.splitlines()
        until(lambda: re.search(r"db2 .*streaming", first.type(look, exchanged)), first.server_log)
        first.type(use_it, exchanged)

        config = node_file(north.text, both.text, first, node_port, inner_port)
        (first.folder / "home" / "north.toml").write_text(config, encoding="utf-8")
        first.type(begin.text, exchanged)
        node = GuideNode(node_port)
        until(lambda: node.standbys() == 1, first.node_log)
        assert "north (this node)" in first.type(add.text, exchanged)
        assert node.rename("kept")

        backup, stop, make, fill = part(
            OPERATING, "## Backup and restore", "### A database that went back"
        )
        first.type(backup.text, exchanged)
        assert node.rename("later")

        # The first database is lost without notice.
        first.type("pg_ctlcluster --skip-systemctl-redirect 15 main stop -m immediate", {})
        second.type(promote.text, exchanged)
        with within(10.0):
            until(lambda: node.rename("promoted"), first.node_log)
        assert node.is_named("promoted")

        exchanged["db.example"] = second.address
        first.type(stop.text, exchanged)
        second.type(make.text, exchanged)
        (made,) = (first.folder / "home").glob("fleet-????-??-??.dump")
        first.type(re.sub(r"fleet-[\d-]+\.dump", made.name, fill.text), exchanged)
        until(lambda: node.is_named("kept"), first.node_log)


def node_file(north: str, both: str, machine: PostgresMachine, port: int, inner: int) -> str:
    """Build the file of a node from the two guides, for this machine."""
    line = next(line for line in both.splitlines() if line.startswith("database"))
    config = re.sub(r"^database.*$", line, north, flags=re.MULTILINE)
    for text, here in {
        "10.0.0.2": "127.0.0.2",
        "0.0.0.0": "127.0.0.1",
        "port = 8080": f"port = {port}\nmodbus_port = 0",
        "10.0.0.5:8070": f"127.0.0.1:{inner}",
        "/var/lib/leverframe": str(machine.folder / "home"),
    }.items():
        assert text in config
        config = config.replace(text, here)
    return config
