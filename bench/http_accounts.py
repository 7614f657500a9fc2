"""HTTP with sign-in required, as a ratio to the same requests on an open controller.

One set of requests carries HTTP Basic, as programs send it with every request; the other a
session's cookie, as a page does.
"""

import tempfile
import urllib.request
from base64 import b64encode
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.figure import Figure, need
from bench.serving import controller, fetch
from bench.wrk import Case, Goal, Rounds, compare, load

CASES = (
    Case("switch six outputs in turn, 16 connections", 16, Goal(0.5), "switch_in_turn.lua"),
    Case("switch six outputs in turn, 64 connections", 64, Goal(0.5), "switch_in_turn.lua"),
    Case("read six status files in turn, 16 connections", 16, Goal(0.5), "status_in_turn.lua"),
)
NAME, PASSWORD = "admin", "a long secret"


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def require_sign_in(address: str) -> dict[str, tuple[str, ...]]:
    """Set up accounts; return the headers for each method of signing in."""
    fields = "*".join(base64(text) for text in (NAME, PASSWORD, "user", ""))
    fetch(address, f"/stm.cgi?auth=11{fields}")
    body = f"username={NAME}&password={PASSWORD.replace(' ', '+')}".encode()
    with urllib.request.urlopen(f"{address}/post.cgi?signin", body) as answer:
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
    return {
        "Basic": (f"Authorization: Basic {base64(f'{NAME}:{PASSWORD}')}",),
        "cookie": (f"Cookie: {cookie}", f"Origin: {address}"),
    }


def measure(quick: bool) -> list[Figure]:
    need("wrk", "taskset")
    rounds = Rounds.of(quick)
    with (
        tempfile.TemporaryDirectory() as folder,
        controller(Path(folder, "open")) as free,
        controller(Path(folder, "accounts")) as guarded,
    ):
        return [
            compare(
                replace(case, what=f"{case.what}, signed in by {way}"),
                rounds,
                partial(load, guarded, case, rounds.seconds, headers),
                partial(load, free, case, rounds.seconds),
                "open",
            )
            for way, headers in require_sign_in(guarded.address).items()
            for case in CASES
        ]
