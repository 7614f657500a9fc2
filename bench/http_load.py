"""HTTP: processor time of commands and reads, compared with a responder that only parses.

The bare responder has the same parser, the same loop and the same bytes, but no controller; for
durable changes it has SQLite. No request equals the previous one on its connection: outputs are
switched in turn, names are new, files are read in turn, and the mix is that of clients that poll
and occasionally switch.
"""

import sys
import tempfile
from functools import partial
from pathlib import Path

from bench.figure import Figure, need
from bench.serving import Served, controller, fetch, printing_its_address
from bench.wrk import SWITCH, Case, Goal, Rounds, compare, load

BARE = Path(__file__).parent / "bare_responder.py"
BARE_DURABLE = "bench.bare_durable"
#: The same files as in `status_in_turn.lua`.
FILES = (
    "/json/status.json",
    "/json/all.json",
    "/json/outputs.json",
    "/json/inputs.json",
    "/json/pwmpid.json",
    "/xml/ix.xml",
)
SWITCHING = Goal(0.22, min_ratio_optimised=0.25)
CASES = (
    Case("switch six outputs in turn, 16 connections", 16, SWITCHING, "switch_in_turn.lua"),
    Case("switch six outputs in turn, 64 connections", 64, SWITCHING, "switch_in_turn.lua"),
    Case("read six status files in turn, 16 connections", 16, Goal(0.6), "status_in_turn.lua"),
    Case("read six status files in turn, 64 connections", 64, Goal(0.6), "status_in_turn.lua"),
    Case("polls and commands of real clients, 16 connections", 16, Goal(), "mixed_clients.lua"),
)
DURABLE = Goal(0.16, max_p99_ms=10)
DURABLE_CASES = (
    Case("change on disk, 16 connections", 16, DURABLE, "change_name.lua"),
    Case("change on disk, 64 connections", 64, Goal(0.16), "change_name.lua"),
)


def figures(
    cases: tuple[Case, ...], rounds: Rounds, ours: Served, bare: Served, name: str
) -> list[Figure]:
    return [
        compare(
            case,
            rounds,
            partial(load, ours, case, rounds.seconds),
            partial(load, bare, case, rounds.seconds),
            name,
        )
        for case in cases
    ]


def measure(quick: bool) -> list[Figure]:
    need("wrk", "taskset")
    rounds = Rounds.of(quick)
    with tempfile.TemporaryDirectory() as name, controller(Path(name, "data")) as ours:
        reply = Path(name, "reply")
        reply.write_bytes(fetch(ours.address, SWITCH))
        command = [sys.executable, str(BARE), "--body-file", str(reply)]
        for path in FILES:
            file = Path(name, path.rpartition("/")[2])
            file.write_bytes(fetch(ours.address, path))
            command += ["--reply", f"{path}={file}"]
        with printing_its_address(command) as bare:
            plain = figures(CASES, rounds, ours, bare, "bare")
        stored = [sys.executable, "-m", BARE_DURABLE, str(Path(name, "bare.db"))]
        with printing_its_address(stored) as bare:
            return plain + figures(DURABLE_CASES, rounds, ours, bare, "bare SQLite")
