"""How often a password may be wrong."""

import asyncio
from collections.abc import Awaitable

import pytest

from leverframe.core.engine.journal import Cause
from leverframe.interface.table.lookup import UNRESTRICTED, Call, find
from leverframe.server.http.messages import Reply, Request
from leverframe.server.passwords import (
    LONGEST_PACE_WAIT_S,
    MAX_COUNTERS,
    GuessPace,
    Throttle,
    source_of,
)
from leverframe.server.problems import TooManyTries
from leverframe.server.sessions import MAX_PROVEN_PER_ACCOUNT
from leverframe.testing import LoopTwin
from tests.server.signing_up import (
    ADMINISTRATOR,
    USER,
    HandMoved,
    base64,
    basic,
    cookie_of,
    sign_in,
    start_with_accounts,
)


def tries(throttle: Throttle, count: int, account: str = "admin", source: str = "10.0.0.1") -> int:
    """How many of so many wrong passwords are heard."""
    heard = 0
    for _ in range(count):
        try:
            throttle.begin(account, source)
        except TooManyTries:
            continue
        heard += 1
    return heard


def test_wait_doubles_from_the_third_failure_on_up_to_a_minute() -> None:
    clock = HandMoved()
    throttle = Throttle(clock)
    assert tries(throttle, 4) == 3
    for wait_s in (1, 2, 4, 8, 16, 32, 60):
        with pytest.raises(TooManyTries) as refused:
            throttle.begin("admin", "10.0.0.1")
        assert refused.value.retry_after_s == wait_s
        clock.now += wait_s
        assert tries(throttle, 1) == 1


def test_ten_wrong_passwords_in_five_minutes_are_all_there_are() -> None:
    clock = HandMoved()
    throttle = Throttle(clock)
    heard = []
    for second in range(3 * 3600):
        clock.now = float(second)
        if tries(throttle, 2):
            heard.append(second)
    for start in heard:
        assert sum(start <= second < start + 300 for second in heard) <= 10


def test_all_sources_together_have_a_hundred_an_hour_and_then_one_each() -> None:
    clock = HandMoved()
    throttle = Throttle(clock)
    for source in range(50):
        tries(throttle, 3, source=f"10.0.1.{source}")
    assert tries(throttle, 1, source="10.0.1.1") == 0
    clock.now += 400
    assert tries(throttle, 3, source="10.0.1.1") == 0
    assert tries(throttle, 3, source="10.0.2.1") == 1


def test_source_cannot_go_round_the_limit_with_many_names() -> None:
    throttle = Throttle(HandMoved())
    assert sum(tries(throttle, 1, account=f"name{number}") for number in range(200)) == 30


def test_made_up_names_do_not_make_the_throttle_forget_or_grow() -> None:
    clock = HandMoved()
    throttle = Throttle(clock)
    assert tries(throttle, 5) == 3
    for number in range(3 * MAX_COUNTERS):
        tries(throttle, 1, account=f"{number}" * 1000)
    assert tries(throttle, 1) == 0
    assert tries(throttle, 1, account="x" * 10_000, source="10.0.0.2") == 1
    assert tries(throttle, 5, account="x" * 20_000, source="10.0.0.2") == 2


def test_right_password_starts_afresh() -> None:
    throttle = Throttle(HandMoved())
    for _ in range(50):
        assert tries(throttle, 2) == 2
        throttle.was_right("admin", "10.0.0.1")


def test_whole_ipv6_network_is_one_source() -> None:
    assert source_of("2001:db8:1:2::1") == source_of("2001:db8:1:2:ffff::9")
    assert source_of("2001:db8:1:2::1") != source_of("2001:db8:1:3::1")
    assert source_of("::ffff:10.0.0.1") == source_of("10.0.0.1")


async def test_too_many_wrong_passwords_are_429_and_say_when_to_come_back() -> None:
    twin = await start_with_accounts()
    wrong = basic(ADMINISTRATOR[0], "wrong")
    replies = [await twin.ask("/outs.cgi", authorization=wrong) for _ in range(4)]
    assert [reply.status for reply in replies] == [401, 401, 401, 429]
    assert dict(replies[-1].headers)["Retry-After"] == "1"
    # The right one is not heard either, or it could be guessed.
    assert (await twin.ask("/outs.cgi", authorization=basic(*ADMINISTRATOR))).status == 429


async def test_attacker_cannot_lock_the_owner_out_from_elsewhere() -> None:
    twin = await start_with_accounts()
    owner = Request("GET", "/outs.cgi", None, {"authorization": basic(*ADMINISTRATOR)}, b"", "::2")
    for number in range(20):
        await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], f"guess {number}"))
    assert (await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], "x"))).status == 429
    answer = twin.web.handle(owner)
    reply = answer if isinstance(answer, Reply) else await answer
    assert isinstance(reply, Reply)
    assert reply.status == 200


async def test_proven_credentials_keep_working_during_guessing_from_the_same_address() -> None:
    twin = await start_with_accounts()
    proven = basic(*USER)
    assert (await twin.ask("/outs.cgi", authorization=proven)).status == 200
    for number in range(60):
        for name in (ADMINISTRATOR[0], USER[0], f"name{number}"):
            wrong = basic(name, f"guess {number}")
            assert (await twin.ask("/outs.cgi", authorization=wrong)).status in (401, 429)
    assert (await twin.ask("/outs.cgi", authorization=basic(*ADMINISTRATOR))).status == 429
    assert (await twin.ask("/outs.cgi?out0=1", authorization=proven)).status == 200
    # Another account's change leaves them proven; a change of their own does not.
    others = "*".join(base64(text) for text in (ADMINISTRATOR[0], "another secret", USER[0], ""))
    await change_accounts(twin, others)
    assert (await twin.ask("/outs.cgi?out0=0", authorization=proven)).status == 200
    own = "*".join(base64(text) for text in (ADMINISTRATOR[0], "", USER[0], "another secret"))
    await change_accounts(twin, own)
    assert (await twin.ask("/outs.cgi?out0=1", authorization=proven)).status == 429
    assert twin.controller.engine.values["OUT0"] == 0


async def change_accounts(twin: LoopTwin, fields: str) -> None:
    """As the administrator would, who cannot sign in at that moment."""
    (call,) = find("GET", "/stm.cgi", [f"auth=11{fields}"], twin.controller.profile)
    assert isinstance(call, Call)
    hashes = {"another secret": "$argon2id$another"}
    outstanding = twin.controller.submit(
        [(call, None)], Cause("command"), hashes, account=UNRESTRICTED
    )
    assert outstanding is not None
    await outstanding.finish()


async def test_one_account_cannot_displace_proven_credentials_of_others() -> None:
    twin = await start_with_accounts()
    proven = basic(*ADMINISTRATOR)
    await twin.ask("/outs.cgi", authorization=proven)
    for spaces in range(2 * MAX_PROVEN_PER_ACCOUNT):
        padded = basic(*USER).replace(" ", " " * (spaces + 1))
        assert (await twin.ask("/outs.cgi", authorization=padded)).status == 200
    for number in range(20):
        await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], f"guess {number}"))
    assert (await twin.ask("/outs.cgi", authorization=proven)).status == 200


def test_guesses_beside_proven_credentials_are_limited_to_a_hundred_a_second() -> None:
    clock = HandMoved()
    pace = GuessPace(clock)
    looked_at = 0
    for _ in range(60_000):
        clock.now += 0.001
        if not pace.wait_s("10.0.0.1"):
            pace.count_miss("10.0.0.1")
            looked_at += 1
    assert 6_000 <= looked_at <= 6_200
    assert pace.wait_s("10.0.0.2") == 0.0
    for _ in range(10_000):
        pace.count_miss("10.0.0.1")
    assert pace.wait_s("10.0.0.1") == LONGEST_PACE_WAIT_S
    assert pace.wait_s("10.0.0.2") == 0.0
    for number in range(2 * MAX_COUNTERS):
        pace.count_miss(f"source {number}")
    assert pace.wait_s("10.0.0.1") == 0.0


async def test_proven_credentials_are_answered_while_their_address_is_flooded_with_guesses() -> (
    None
):
    twin = await start_with_accounts()
    proven = basic(*USER)
    assert (await twin.ask("/outs.cgi", authorization=proven)).status == 200
    guesses = (
        twin.ask("/outs.cgi", authorization=basic(USER[0], f"guess {n}")) for n in range(120)
    )
    await asyncio.gather(*guesses)
    request = Request("GET", "/outs.cgi", None, {"authorization": proven}, b"", "127.0.0.1")
    answer = twin.web.handle(request)
    # It waits for its turn like all that come from there.
    assert isinstance(answer, Awaitable)
    reply = await answer
    assert reply.status == 200


async def test_session_survives_throttling_of_its_own_address() -> None:
    twin = await start_with_accounts()
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))
    for number in range(5):
        await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], f"guess {number}"))
    assert (await twin.ask("/outs.cgi", cookie=cookie)).status == 200


async def test_polling_client_pays_for_its_password_once() -> None:
    twin = await start_with_accounts()
    request = Request("GET", "/outs.cgi", None, {"authorization": basic(*USER)}, b"", "10.0.0.9")
    first = twin.web.handle(request)
    assert isinstance(first, Awaitable)
    await first
    # Known by now: answered on the spot, with nothing to wait for.
    assert isinstance(twin.web.handle(request), Reply)


async def test_wrong_passwords_are_in_the_log_without_what_was_typed() -> None:
    twin = await start_with_accounts()
    await twin.ask("/outs.cgi", authorization=basic("my-secret-as-name", "x"))
    await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], "almost right"))
    reply = await twin.ask("/api/log", authorization=basic(*ADMINISTRATOR))
    assert b"wrong password for 'chief'" in reply.body
    assert b"my-secret-as-name" not in reply.body
    assert b"almost right" not in reply.body
