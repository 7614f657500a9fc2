"""Durable changes of a hundred controllers of one node by HTTP: their cost, and the longest waits.

Each of 64 clients changes the next controller in turn. Occasional work of a node, such as moving
batches into the tables or recording journals, delays the slowest hundredth of the changes. The node
has its store in a file or, if PostgreSQL is installed, in a database that writes to the disk before
it answers; the reference is the bare SQLite of `http_load`.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.figure import Figure, need
from bench.http_load import BARE_DURABLE
from bench.serving import Served, fetch, printing_its_address
from bench.wrk import Case, Goal, Rounds, compare, load
from tests.postgres_server import is_installed, postgres_server

CONTROLLERS, CLIENTS = 100, 64
GOAL = Goal(max_p99_ms=40)
#: Journals are recorded every five seconds, so a round lasts longer.
ROUND_S, QUICK_ROUND_S = 6, 1


def measure(quick: bool) -> list[Figure]:
    need("wrk", "taskset")
    seconds = QUICK_ROUND_S if quick else ROUND_S
    rounds = Rounds(seconds, 1 if quick else 5)
    with tempfile.TemporaryDirectory() as name:
        stored = [sys.executable, "-m", BARE_DURABLE, str(Path(name, "bare.db"))]
        with printing_its_address(stored) as bare:
            with _node(Path(name, "file")) as node:
                figures = [_compare("on a file", node, bare, rounds)]
            if not is_installed():
                return figures
            with postgres_server(is_durable=True) as server:
                way = ("--database", server.new_fleet(), "--node", "one")
                with _node(Path(name, "database"), way) as node:
                    return [*figures, _compare("on PostgreSQL", node, bare, rounds)]


@contextmanager
def _node(data: Path, options: Sequence[str] = ()) -> Iterator[Served]:
    command = [sys.executable, "-m", "leverframe", "fleet", "run", "--port", "0"]
    with printing_its_address([*command, "--data", str(data), "--no-discovery", *options]) as node:
        fetch(node.address, f"/api/fleet/add?count={CONTROLLERS}&name=c-%7Bn%7D", b"")
        yield node


def _compare(where: str, node: Served, bare: Served, rounds: Rounds) -> Figure:
    what = f"changes of {CONTROLLERS} controllers {where}, {CLIENTS} connections"
    case = Case(what, CLIENTS, GOAL, "change_on_fleet.lua")
    ours, other = (partial(load, one, case, rounds.seconds) for one in (node, bare))
    return compare(case, rounds, ours, other, "bare SQLite")
