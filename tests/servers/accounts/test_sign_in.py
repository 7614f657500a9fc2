"""Signing in: sessions, their ends, and how often a password may be wrong."""

import re
from collections.abc import Awaitable

import pytest

from leverframe.commands.rights import Account
from leverframe.commands.row import ADMIN
from leverframe.engine.settings import Settings
from leverframe.engine.tree import with_value
from leverframe.profile import Profile
from leverframe.servers.accounts.sessions import Sessions
from leverframe.servers.accounts.throttle import MOST_COUNTERS, Throttle, source_of
from leverframe.servers.http.messages import Reply, Request
from leverframe.servers.http.problems import TooManyTries
from tests.servers.signing_up import ADMINISTRATOR, CONTROL_USER, USER, HandMoved, basic, signed_up
from tests.twin import Twin

HASHED = with_value(Settings(), "access.admin.password", "$argon2id$one")
CHIEF = Account("admin", ADMIN, "access.admin.password", joins_commands=True)


def cookie_of(reply: Reply) -> str:
    """What a browser would send back."""
    return dict(reply.headers)["Set-Cookie"].partition(";")[0]


async def sign_in(twin: Twin, account: tuple[str, str], **headers: str) -> Reply:
    body = f"username={account[0]}&password={account[1].replace(' ', '+')}".encode()
    return await twin.ask("/post.cgi?signin", "POST", body, **headers)


# Sessions over HTTP


async def test_the_cookie_of_a_sign_in_opens_what_the_account_may() -> None:
    twin = await signed_up()
    admin, user = [cookie_of(await sign_in(twin, who)) for who in (ADMINISTRATOR, USER)]
    assert (await twin.ask("/api/settings", cookie=f"other=1; {admin}")).status == 200
    assert (await twin.ask("/outs.cgi?out0=1", cookie=user)).status == 200
    assert (await twin.ask("/api/settings", cookie=user)).status == 403
    assert (await twin.ask("/outs.cgi", cookie=admin + "x")).status == 401


async def test_the_cookie_is_random_and_kept_from_scripts_and_other_sites() -> None:
    twin = await signed_up()
    replies = [await sign_in(twin, ADMINISTRATOR) for _ in range(3)]
    cookies = [dict(reply.headers)["Set-Cookie"] for reply in replies]
    assert len({cookie_of(reply) for reply in replies}) == 3
    for cookie in cookies:
        # 22 letters of 6 bits hold 128 bits.
        assert re.fullmatch(
            r"leverframe_[0-9A-F]{12}=[\w-]{22}; Path=/; HttpOnly; SameSite=Strict", cookie
        )


async def test_the_cookie_goes_only_over_tls_where_there_is_tls() -> None:
    twin = await signed_up(secure=True)
    cookie = dict((await sign_in(twin, ADMINISTRATOR)).headers)["Set-Cookie"]
    assert cookie.endswith("; Secure")


async def test_signing_in_ends_the_session_that_the_browser_had() -> None:
    twin = await signed_up()
    first = cookie_of(await sign_in(twin, USER))
    second = cookie_of(await sign_in(twin, ADMINISTRATOR, cookie=first))
    assert second != first
    assert (await twin.ask("/outs.cgi", cookie=first)).status == 401
    assert (await twin.ask("/outs.cgi", cookie=second)).status == 200


async def test_a_cookie_that_somebody_made_up_is_not_taken_over() -> None:
    twin = await signed_up()
    name = cookie_of(await sign_in(twin, USER)).partition("=")[0]
    planted = f"{name}=AAAAAAAAAAAAAAAAAAAAAA"
    assert cookie_of(await sign_in(twin, ADMINISTRATOR, cookie=planted)) != planted
    assert (await twin.ask("/outs.cgi", cookie=planted)).status == 401


async def test_signing_out_ends_the_session_and_takes_the_cookie_away() -> None:
    twin = await signed_up()
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))
    reply = await twin.ask("/post.cgi?signout", "POST", cookie=cookie)
    assert reply.status == 204
    assert "Max-Age=0" in dict(reply.headers)["Set-Cookie"]
    assert (await twin.ask("/outs.cgi", cookie=cookie)).status == 401


async def test_a_browser_is_led_to_the_sign_in_page_and_back() -> None:
    twin = await signed_up()
    page = "text/html,application/xhtml+xml"
    reply = await twin.ask("/", accept=page)
    assert (reply.status, dict(reply.headers)["Location"]) == (303, "/signin")
    assert b"/post.cgi?signin" in (await twin.ask("/signin", accept=page)).body
    reply = await sign_in(twin, ADMINISTRATOR, accept=page)
    assert (reply.status, dict(reply.headers)["Location"]) == (303, "/")
    assert (await twin.ask("/", accept=page, cookie=cookie_of(reply))).status == 200


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
JAVA = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"


@pytest.mark.parametrize("target", ["/json/status.json", "/outs.cgi?out0=1", "/api/settings"])
async def test_a_browser_is_led_to_the_page_and_never_asked_for_basic(target: str) -> None:
    twin = await signed_up()
    reply = await twin.ask(target, accept=BROWSER)
    assert (reply.status, dict(reply.headers)["Location"]) == (303, "/signin")
    wrong = await twin.ask(target, accept=BROWSER, authorization=basic("chief", "wrong"))
    assert wrong.status == 401
    for answer in (reply, wrong):
        assert "WWW-Authenticate" not in dict(answer.headers)


@pytest.mark.parametrize("accept", ["*/*", JAVA])
async def test_a_program_is_asked_for_basic(accept: str) -> None:
    twin = await signed_up()
    reply = await twin.ask("/json/status.json", accept=accept)
    assert reply.status == 401
    assert dict(reply.headers)["WWW-Authenticate"].startswith("Basic ")


async def test_a_scripts_request_makes_the_browser_ask_for_no_password() -> None:
    twin = await signed_up()
    for headers in ({"sec_fetch_mode": "cors"}, {"referer": "http://10.0.0.5/", "accept": "*/*"}):
        reply = await twin.ask("/api/state", **headers)
        assert reply.status == 401
        assert "WWW-Authenticate" not in dict(reply.headers)
    assert "WWW-Authenticate" in dict((await twin.ask("/api/state")).headers)


@pytest.mark.parametrize("query", ["signin", "signin=", "signin&", "&signin", "signin&signin"])
async def test_no_way_of_writing_sign_in_goes_without_a_password(query: str) -> None:
    twin = await signed_up()
    reply = await twin.ask(f"/post.cgi?{query}", "POST", b"username=chief&password=wrong")
    assert reply.status in (400, 401, 403)


async def test_a_changed_password_ends_the_sessions_of_its_account_only() -> None:
    twin = await signed_up()
    first, second, user = [
        cookie_of(await sign_in(twin, who)) for who in (ADMINISTRATOR, ADMINISTRATOR, USER)
    ]
    body = b"username=chief&password=long+admin+secret&new=another+long+secret"
    assert (await twin.ask("/post.cgi?passwd", "POST", body, cookie=first)).status == 200
    assert (await twin.ask("/outs.cgi", cookie=first)).status == 401
    assert (await twin.ask("/outs.cgi", cookie=second)).status == 401
    assert (await twin.ask("/outs.cgi", cookie=user)).status == 200
    old = basic(*ADMINISTRATOR)
    assert (await twin.ask("/outs.cgi", authorization=old)).status == 401
    new = basic("chief", "another long secret")
    assert (await twin.ask("/outs.cgi", authorization=new)).status == 200


async def test_everybody_changes_their_own_password_and_nobody_elses() -> None:
    twin = await signed_up()
    mine = b"username=panel&password=long+panel+secret&new=another+long+secret"
    others = b"username=guest&password=long+guest+secret&new=another+long+secret"
    credentials = basic(*CONTROL_USER)
    for body, status in ((others, 403), (mine, 200)):
        reply = await twin.ask("/post.cgi?passwd", "POST", body, authorization=credentials)
        assert reply.status == status, reply.body
    assert (await twin.ask("/post.cgi?passwd", "POST", others)).status == 401


async def test_the_new_password_has_at_least_twelve_letters() -> None:
    twin = await signed_up()
    body = b"username=chief&password=long+admin+secret&new=eleven+lett"
    reply = await twin.ask("/post.cgi?passwd", "POST", body, authorization=basic(*ADMINISTRATOR))
    assert reply.status == 400
    assert b"eleven" not in reply.body


# Sessions and time


def test_a_session_ends_when_it_was_idle_for_half_an_hour() -> None:
    clock = HandMoved()
    sessions = Sessions("s", clock)
    cookie = f"s={sessions.open(CHIEF, HASHED)}"
    for _ in range(3):
        clock.now += 1799
        assert sessions.account(cookie, HASHED) == CHIEF
    clock.now += 1800
    assert sessions.account(cookie, HASHED) is None


def test_a_session_ends_after_twelve_hours_however_busy_it_is() -> None:
    clock = HandMoved()
    sessions = Sessions("s", clock)
    cookie = f"s={sessions.open(CHIEF, HASHED)}"
    for _ in range(12 * 4 - 1):
        clock.now += 900
        assert sessions.account(cookie, HASHED) == CHIEF
    clock.now += 900
    assert sessions.account(cookie, HASHED) is None


def test_an_account_has_at_most_sixteen_sessions_and_the_idlest_goes() -> None:
    clock = HandMoved()
    sessions = Sessions("s", clock)
    cookies = []
    for _ in range(16):
        clock.now += 1
        cookies.append(f"s={sessions.open(CHIEF, HASHED)}")
    assert sessions.account(cookies[0], HASHED) == CHIEF
    cookies.append(f"s={sessions.open(CHIEF, HASHED)}")
    alive = [sessions.account(cookie, HASHED) is not None for cookie in cookies]
    assert alive == [True, False] + [True] * 15


@pytest.mark.parametrize(
    ("path", "value"),
    [("access.admin.password", "$argon2id$two"), ("access.admin.name", "other")],
)
def test_a_session_ends_with_the_password_and_the_name_it_was_opened_with(
    path: str, value: str
) -> None:
    sessions = Sessions("s", HandMoved())
    cookie = f"s={sessions.open(CHIEF, HASHED)}"
    assert sessions.account(cookie, with_value(HASHED, "access.required", True)) == CHIEF
    assert sessions.account(cookie, with_value(HASHED, path, value)) is None
    assert sessions.account(cookie, HASHED) is None


# Wrong passwords


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


def test_the_wait_doubles_from_the_third_failure_on_up_to_a_minute() -> None:
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


def test_a_source_cannot_go_round_the_limit_with_many_names() -> None:
    throttle = Throttle(HandMoved())
    assert sum(tries(throttle, 1, account=f"name{number}") for number in range(200)) == 30


def test_made_up_names_do_not_make_the_throttle_forget_or_grow() -> None:
    clock = HandMoved()
    throttle = Throttle(clock)
    assert tries(throttle, 5) == 3
    for number in range(3 * MOST_COUNTERS):
        tries(throttle, 1, account=f"{number}" * 1000)
    assert tries(throttle, 1) == 0
    assert tries(throttle, 1, account="x" * 10_000, source="10.0.0.2") == 1
    assert tries(throttle, 5, account="x" * 20_000, source="10.0.0.2") == 2


def test_a_right_password_starts_afresh() -> None:
    throttle = Throttle(HandMoved())
    for _ in range(50):
        assert tries(throttle, 2) == 2
        throttle.was_right("admin", "10.0.0.1")
    assert not throttle.has_failures_of("10.0.0.1")


def test_a_whole_ipv6_network_is_one_source() -> None:
    assert source_of("2001:db8:1:2::1") == source_of("2001:db8:1:2:ffff::9")
    assert source_of("2001:db8:1:2::1") != source_of("2001:db8:1:3::1")
    assert source_of("::ffff:10.0.0.1") == source_of("10.0.0.1")


async def test_too_many_wrong_passwords_are_429_and_say_when_to_come_back() -> None:
    twin = await signed_up()
    wrong = basic(ADMINISTRATOR[0], "wrong")
    replies = [await twin.ask("/outs.cgi", authorization=wrong) for _ in range(4)]
    assert [reply.status for reply in replies] == [401, 401, 401, 429]
    assert dict(replies[-1].headers)["Retry-After"] == "1"
    # The right one is not heard either, or it could be guessed.
    assert (await twin.ask("/outs.cgi", authorization=basic(*ADMINISTRATOR))).status == 429


async def test_an_attacker_cannot_lock_the_owner_out_from_elsewhere() -> None:
    twin = await signed_up()
    owner = Request("GET", "/outs.cgi", None, {"authorization": basic(*ADMINISTRATOR)}, b"", "::2")
    for number in range(20):
        await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], f"guess {number}"))
    assert (await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], "x"))).status == 429
    answer = twin.web.handle(owner)
    reply = answer if isinstance(answer, Reply) else await answer
    assert isinstance(reply, Reply)
    assert reply.status == 200


async def test_a_session_goes_on_while_its_own_address_is_throttled() -> None:
    twin = await signed_up()
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))
    for number in range(5):
        await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], f"guess {number}"))
    assert (await twin.ask("/outs.cgi", cookie=cookie)).status == 200


async def test_a_polling_client_pays_for_its_password_once() -> None:
    twin = await signed_up()
    request = Request("GET", "/outs.cgi", None, {"authorization": basic(*USER)}, b"", "10.0.0.9")
    first = twin.web.handle(request)
    assert isinstance(first, Awaitable)
    await first
    # Known by now: answered on the spot, with nothing to wait for.
    assert isinstance(twin.web.handle(request), Reply)


async def test_wrong_passwords_are_in_the_log_without_what_was_typed() -> None:
    twin = await signed_up()
    await twin.ask("/outs.cgi", authorization=basic("my-secret-as-name", "x"))
    await twin.ask("/outs.cgi", authorization=basic(ADMINISTRATOR[0], "almost right"))
    reply = await twin.ask("/api/log", authorization=basic(*ADMINISTRATOR))
    assert b"wrong password for 'chief'" in reply.body
    assert b"my-secret-as-name" not in reply.body
    assert b"almost right" not in reply.body


# Auto sign-in


@pytest.mark.parametrize(
    ("profile", "location"),
    [(Profile("3.9", "1.60a"), "/"), (Profile("3.5", "1.24"), "/"), (Profile(), None)],
)
async def test_auto_sign_in_works_on_the_versions_that_have_it(
    profile: Profile, location: str | None
) -> None:
    twin = await signed_up(profile)
    await twin.ask("/eeprom.cgi?bit0=1", authorization=basic(*ADMINISTRATOR))
    reply = await twin.ask("/signin", accept="text/html")
    assert dict(reply.headers).get("Location") == location
    if location:
        cookie = cookie_of(reply)
        assert (await twin.ask("/api/settings", cookie=cookie)).status == 200
    assert (await twin.ask("/api/settings")).status == 401


async def test_auto_sign_in_is_for_this_machine_only() -> None:
    twin = await signed_up(Profile("3.9", "1.60a"))
    await twin.ask("/eeprom.cgi?bit0=1", authorization=basic(*ADMINISTRATOR))
    reply = twin.web.handle(Request("GET", "/signin", None, {}, b"", "10.0.0.5"))
    assert isinstance(reply, Reply)
    assert reply.status == 200
    assert "Set-Cookie" not in dict(reply.headers)


@pytest.mark.parametrize("header", ["forwarded", "via", "x_forwarded_for", "x_real_ip"])
async def test_auto_sign_in_is_not_for_those_behind_a_proxy(header: str) -> None:
    twin = await signed_up(Profile("3.9", "1.60a"))
    await twin.ask("/eeprom.cgi?bit0=1", authorization=basic(*ADMINISTRATOR))
    reply = await twin.ask("/signin", **{header: "10.0.0.5"})
    assert "Set-Cookie" not in dict(reply.headers)


# The page of people


@pytest.mark.parametrize(
    ("spoken", "sentence"),
    [
        ("de-DE, en;q=0.7", "The user name or password is wrong."),
        ("pl-PL,pl;q=0.9,en;q=0.8", "Nazwa użytkownika lub hasło są błędne."),
        ("fr", "Le nom d’utilisateur ou le mot de passe est faux."),
        ("hu", "A felhasználónév vagy a jelszó hibás."),
        ("cs-CZ", "Uživatelské jméno nebo heslo je chybné."),
        ("", "The user name or password is wrong."),
    ],
)
async def test_a_person_reads_on_the_page_in_their_language_why_signing_in_failed(
    spoken: str, sentence: str
) -> None:
    twin = await signed_up()
    reply = await sign_in(twin, ("chief", "wrong"), accept_language=spoken, accept=BROWSER)
    assert (reply.status, reply.content_type) == (401, "text/html")
    assert sentence in reply.body.decode()
    assert 'value="chief"' in reply.body.decode()
    assert "Set-Cookie" not in dict(reply.headers)


async def test_a_program_gets_the_refusal_as_a_problem() -> None:
    twin = await signed_up()
    reply = await sign_in(twin, ("chief", "wrong"), accept="*/*", accept_language="pl")
    assert (reply.status, reply.content_type) == (401, "application/problem+json")
    assert b"The user name or password is wrong." in reply.body


async def test_what_was_typed_makes_no_markup_on_the_page() -> None:
    twin = await signed_up()
    reply = await sign_in(twin, ("%22%3E%3Cb%3Ex", "wrong"), accept=BROWSER)
    assert b"<b>" not in reply.body
    assert b'value="&quot;&gt;&lt;b&gt;x"' in reply.body


async def test_the_page_says_how_long_to_wait_after_too_many_tries() -> None:
    twin = await signed_up()
    for _ in range(20):
        reply = await sign_in(twin, ("chief", "wrong"), accept_language="hu", accept=BROWSER)
    assert (reply.status, reply.content_type) == (429, "text/html")
    seconds = dict(reply.headers)["Retry-After"]
    assert f"próbálja újra {seconds} s múlva" in reply.body.decode()


async def test_a_password_that_is_not_taken_is_told_above_its_form() -> None:
    twin = await signed_up()
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))
    body = b"username=chief&password=long+admin+secret&new=short"
    reply = await twin.ask("/post.cgi?passwd", "POST", body, cookie=cookie, accept=BROWSER)
    page = reply.body.decode()
    assert (reply.status, reply.content_type) == (400, "text/html")
    assert page.index("/post.cgi?passwd") < page.index("12 to 128") < page.index('id="own-new"')


async def test_only_who_is_signed_in_is_offered_to_sign_out_or_change_a_password() -> None:
    twin = await signed_up()
    cookie = cookie_of(await sign_in(twin, USER))
    for session, offered in (("", False), (cookie, True)):
        page = (await twin.ask("/signin", accept=BROWSER, cookie=session)).body
        assert (b"?signout" in page, b"?passwd" in page) == (offered, offered)
