"""HTTP: commands and status reads per second, as a ratio to a responder that only parses.

The bare responder has the same parser, the same loop, the same bytes, and nothing behind it.
Requests that came within the last second are not parsed again by our layer. Setting an output to
what it is changes nothing; "in turn" shows what it costs when every request switches a relay.
"""

import sys
import tempfile
from functools import partial
from pathlib import Path

from bench.figure import Figure, need
from bench.serving import controller, fetch, printing_its_address
from bench.wrk import STATUS, SWITCH, Case, Goal, Rounds, compare, load

BARE = Path(__file__).parent / "bare_responder.py"
BARE_DURABLE = "bench.bare_durable"
#: Every request switches, which the goal does not ask for: it is about setting an output.
NO_GOAL = Goal()
CASES = (
    Case("switch an output, 16 connections", SWITCH, 16, Goal(0.4, most_p99_ms=10)),
    Case("switch an output, 64 connections", SWITCH, 64, Goal(0.4)),
    Case("switch six outputs in turn, 64 connections", "/", 64, NO_GOAL, "switch_in_turn.lua"),
    Case("read status.json, 16 connections", STATUS, 16, Goal(0.7)),
    Case("read status.json, 64 connections", STATUS, 64, Goal(0.7)),
)
#: Durable changes wait for the disk; their measure is a responder that has a disk to wait for.
DURABLE_CASES = (
    Case("change on disk, 16 connections", "/", 16, Goal(most_p99_ms=10), "change_name.lua"),
    Case("change on disk, 64 connections", "/", 64, Goal(least_per_second=2000), "change_name.lua"),
)


def measure(quick: bool) -> list[Figure]:
    need("wrk", "taskset")
    rounds = Rounds.of(quick)
    with tempfile.TemporaryDirectory() as name, controller(Path(name, "data")) as ours:
        status, reply = Path(name, "status"), Path(name, "reply")
        status.write_bytes(fetch(ours, STATUS))
        reply.write_bytes(fetch(ours, SWITCH))
        command = [sys.executable, str(BARE), "--body-file", str(reply)]
        with printing_its_address([*command, "--reply", f"{STATUS}={status}"]) as bare:
            figures = [
                compare(
                    case,
                    rounds,
                    partial(load, ours, case, rounds.seconds),
                    partial(load, bare, case, rounds.seconds),
                    "bare",
                )
                for case in CASES
            ]
        stored = [sys.executable, "-m", BARE_DURABLE, str(Path(name, "bare.db"))]
        with printing_its_address(stored) as bare:
            return figures + [
                compare(
                    case,
                    rounds,
                    partial(load, ours, case, rounds.seconds),
                    partial(load, bare, case, rounds.seconds),
                    "bare SQLite",
                )
                for case in DURABLE_CASES
            ]
