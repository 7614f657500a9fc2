"""HTTP with sign-in required, as a ratio to the same requests on an open controller.

Both controllers run on one core, the load on the other; rounds alternate between them. One set of
requests carries HTTP Basic, as programs send it with every request, the other a session's cookie,
as a page does. Needs `wrk` and `taskset`.

    python bench/http_accounts.py [--seconds 3] [--rounds 5]
"""

import statistics
import sys
import tempfile
import urllib.request
from base64 import b64encode

from http_load import STATUS, SWITCH, Case, fetch, load, print_measured, started

GOAL = ">= 0.5 of open"
CASES = (
    Case("switch an output, 16 connections", SWITCH, 16, GOAL),
    Case("switch an output, 64 connections", SWITCH, 64, GOAL),
    Case("read status.json, 16 connections", STATUS, 16, GOAL),
)
NAME, PASSWORD = "admin", "a long secret"


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def require_sign_in(address: str) -> dict[str, str]:
    """Set accounts up; the header of each way to be known."""
    fields = "*".join(base64(text) for text in (NAME, PASSWORD, "user", ""))
    fetch(address, f"/stm.cgi?auth=11{fields}")
    body = f"username={NAME}&password={PASSWORD.replace(' ', '+')}".encode()
    with urllib.request.urlopen(f"{address.rstrip('/')}/post.cgi?signin", body) as answer:
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
    return {
        "Basic": f"Authorization: Basic {base64(f'{NAME}:{PASSWORD}')}",
        "cookie": f"Cookie: {cookie}",
    }


def measure(seconds: float, rounds: int) -> list[dict[str, str]]:
    ready = r"http://[\d.]+:\d+/"
    with tempfile.TemporaryDirectory() as folder:
        command = ["-m", "leverframe", "run", "--port", "0", "--data"]
        with (
            started([*command, f"{folder}/open"], ready=ready) as free,
            started([*command, f"{folder}/accounts"], ready=ready) as guarded,
        ):
            ways = require_sign_in(guarded)
            return [
                _measure_case(case, way, header, free, guarded, seconds, rounds)
                for case in CASES
                for way, header in ways.items()
            ]


def _measure_case(
    case: Case, way: str, header: str, free: str, guarded: str, seconds: float, rounds: int
) -> dict[str, str]:
    own, ratios = [], []
    for _ in range(rounds):
        mine = load(guarded, case, seconds, header)
        own.append(mine)
        ratios.append(mine.per_second / load(free, case, seconds).per_second)
    print(".", end="", file=sys.stderr, flush=True)
    return {
        "case": case.name,
        "signed in by": way,
        "per second": f"{statistics.median(load.per_second for load in own):,.0f}",
        "p99 ms": f"{statistics.median(load.p99_ms for load in own):.2f}",
        "of open": f"{statistics.median(ratios):.2f}",
        "goal": case.goal,
        "failed": str(sum(load.failed for load in own)),
    }


if __name__ == "__main__":
    print_measured(measure, __doc__)
