"""Requests that are nearly right, from every kind of account and without one, by the thousand.

Each is a good request of some row with a few bytes changed, sent in the name of the administrator,
the user, a control user or no account. Whatever it is: no fault of ours (5xx), no change by a
refused request, and without an account nothing but the few public answers.

    python -m tests.server.fuzzed_requests 1000000 --seed 7

runs as many as wanted and prints what was answered; a failure is repeated by its seed.
"""

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from urllib.parse import quote

from leverframe.interface.table.lookup import TABLE
from leverframe.server.http.messages import Reply, Request, StreamReply
from leverframe.server.routes.sign_in import OPEN_FILES
from leverframe.testing import LoopTwin
from tests.boundary_profiles import NEWEST
from tests.conformance.requests import make_good_samples
from tests.server.signing_up import (
    ADMINISTRATOR,
    CONTROL_USER,
    OWN_PAGE,
    USER,
    start_with_accounts,
)

STRANGER = "stranger"
ACCOUNTS = {
    "administrator": ADMINISTRATOR[0],
    "user": USER[0],
    "control user": CONTROL_USER[0],
}
PUBLIC = {"/post.cgi", "/signin", *OPEN_FILES, "/health", "/"}
PIECES = (
    "%00",
    "%",
    "*",
    "&",
    "=",
    "&&",
    "-1",
    "99999999999999999999",
    "%F0%9F%9A%B0",
    "?",
    "ą",
    " ",
)
#: They end what is tested: accounts, settings, or the controller for a while.
LEFT_ALONE = (
    "auth",
    "users_save",
    "upgrade",
    "eeprom_reset",
    "devrestart",
    "lk3restart",
    "passwd",
    "signout",
)


@dataclass
class Outcome:
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)


def good_requests() -> list[tuple[str, str, str, bytes]]:
    found = []
    for row in TABLE:
        is_file = not row.form.items
        if is_file or not row.is_offered(NEWEST) or any(name in row.line for name in LEFT_ALONE):
            continue
        for number, sample in enumerate(make_good_samples(row, NEWEST)):
            path, _, query = sample.target.partition("?")
            found.append((sample.method, path, query, sample.body))
            if number == 3:
                break
    return found


def fuzz(random: Random, text: str) -> str:
    for _ in range(random.randrange(4)):
        at = random.randrange(len(text) + 1)
        kind = random.randrange(4)
        if kind == 0:
            text = text[:at] + random.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + random.randrange(1, 4) :]
        elif kind == 2:
            text = text[:at] + quote(chr(random.randrange(1, 0x300))) + text[at:]
        else:
            text = text[:at] + text[at // 2 : at] + text[at:]
    return text[:8000]


def cookies(twin: LoopTwin) -> dict[str, str]:
    access = twin.web.access
    found = {STRANGER: ""}
    for role, name in ACCOUNTS.items():
        token = access.sessions.open(access.proof_without_password(name))
        found[role] = access.sessions.set_cookie(token, secure=False).partition(";")[0]
    return found


async def run(count: int, seed: int) -> Outcome:
    random, outcome = Random(seed), Outcome()
    twin = await start_with_accounts()
    requests, signed_in = good_requests(), cookies(twin)
    for number in range(count):
        method, path, query, body = random.choice(requests)
        role = random.choice(list(signed_in))
        request = Request(
            random.choice((method, "GET", "POST")),
            fuzz(random, path) if random.random() < 0.1 else path,
            fuzz(random, query),
            {"cookie": signed_in[role], "origin": OWN_PAGE},
            fuzz(random, body.decode("latin-1")).encode("utf-8", "replace"),
            "127.0.0.1",
        )
        settings, version = twin.controller.pending, twin.controller.engine.machine.version
        answer = twin.web.handle(request)
        reply = answer if isinstance(answer, Reply | StreamReply) else await answer
        what = f"request {number} of seed {seed} by {role}: {request} -> {reply.status}"
        outcome.statuses[role, reply.status] += 1
        assert reply.status < 500, what
        if reply.status >= 400:
            assert twin.controller.pending is settings, what
            assert twin.controller.engine.machine.version == version, what
        if role == STRANGER and reply.status not in (401, 403, 429):
            assert request.path in PUBLIC, what
    return outcome


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("count", type=int, nargs="?", default=200_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    outcome = asyncio.run(run(chosen.count, chosen.seed))
    for (role, status), times in sorted(outcome.statuses.items()):
        print(f"{role:14} {status} {times:9,}")


if __name__ == "__main__":
    main()
