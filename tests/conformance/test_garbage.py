"""Random requests: each is answered, none with a server error, and a refused one changes nothing.

Most begin as good requests and are then damaged, because those get furthest. The generator is
seeded: a failure comes again in the next run.
"""

import random
from collections.abc import Iterator

import msgspec

from leverframe.core.profile import Profile
from leverframe.interface.table.lookup import COMMAND_PATHS, TABLE
from leverframe.testing import LoopTwin
from tests.boundary_profiles import NEWEST
from tests.conformance.requests import ACCOUNTS, FORM, Sample, make_good_samples
from tests.conformance.test_rows import everything
from tests.effort import EFFORT, SHARES

REQUESTS = 20_000 // SHARES[EFFORT]
PROFILES = (NEWEST, Profile("3.0", "1.40"), Profile("3.5", "1.44"))
#: After this no client is answered for a minute, which would make the test easy.
CLOSING = "upgrade="
PIECES = (
    *"0123456789*&=+%:-<>?#/\\\"'.,;x ",
    "%00",
    "%FF",
    "%C5%BC",
    "&&",
    "ż",
    "-1",
    "99999999999",
)
PATHS = (*sorted(COMMAND_PATHS), "/", "/json/status.json", "/api/settings", "/nothing", "/../x")


def good_samples(profile: Profile) -> list[Sample]:
    rows = [
        row
        for row in TABLE
        if row.form.items
        and row.is_offered(profile)
        and row.line != ACCOUNTS
        and CLOSING not in row.line
    ]
    return [sample for row in rows for sample in list(make_good_samples(row, profile))[:6]]


def damage(text: str, dice: random.Random) -> str:
    for _ in range(dice.randint(0, 4)):
        place = dice.randint(0, len(text))
        cut = place + dice.choice((0, 0, 1, 1, 5))
        text = text[:place] + dice.choice(("", *PIECES)) + text[cut:]
    return text


def noise(dice: random.Random) -> str:
    return "".join(dice.choice(PIECES) for _ in range(dice.randint(0, 12)))


def random_requests(profile: Profile, count: int, seed: int) -> Iterator[tuple[str, str, bytes]]:
    """Method, target and body."""
    dice = random.Random(seed)
    samples = good_samples(profile)
    for _ in range(count):
        sample = dice.choice(samples)
        path, _, query = sample.target.partition("?")
        if dice.random() < 0.1:
            path = dice.choice(PATHS)
        if dice.random() < 0.1:
            query = noise(dice)
        if dice.random() < 0.2:
            query = f"{query}&{dice.choice(samples).target.partition('?')[2]}"
        method = sample.method if dice.random() < 0.9 else dice.choice(("GET", "POST"))
        body = sample.body
        if body or dice.random() < 0.1:
            body = damage(body.decode("latin-1"), dice).encode("utf-8")
        yield method, f"{path}?{damage(query, dice)}", body


async def test_random_requests_are_answered_and_refused_ones_change_nothing() -> None:
    answered = {2: 0, 4: 0}
    for seed, profile in enumerate(PROFILES):
        twin = await LoopTwin.start(profile)
        for method, target, body in random_requests(profile, REQUESTS // len(PROFILES) + 1, seed):
            if CLOSING in target:
                continue
            before = everything(twin)
            reply = await twin.ask(target, method, body, content_type=FORM)
            kind = reply.status // 100
            assert kind in answered, f"{profile} {method} {target!r} {body!r}: {reply}"
            answered[kind] += 1
            if kind == 4:
                assert msgspec.json.decode(reply.body)["status"] == reply.status
                assert everything(twin) == before, f"{profile} {method} {target!r} {body!r}"
    # Neither is rare, or the test would not test it.
    assert min(answered.values()) > REQUESTS // 10
    assert sum(answered.values()) > REQUESTS * 0.95
