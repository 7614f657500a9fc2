"""Signing in and out over HTTP: cookies, who is asked for what, passwords, and auto sign-in."""

import re

import pytest

from leverframe.core.profile import Profile
from leverframe.host.configuration import read_config
from leverframe.host.reach import reach_of
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import Reply, Request
from leverframe.testing import LoopTwin
from tests.cases import for_each
from tests.server.signing_up import (
    ADMINISTRATOR,
    BROWSER,
    CONTROL_USER,
    OWN_PAGE,
    USER,
    basic,
    cookie_of,
    sign_in,
    start_with_accounts,
)

JAVA = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"


async def test_cookie_of_a_sign_in_opens_what_the_account_may() -> None:
    twin = await start_with_accounts()
    admin, user = [cookie_of(await sign_in(twin, who)) for who in (ADMINISTRATOR, USER)]
    assert (await twin.ask("/api/settings", cookie=f"other=1; {admin}")).status == 200
    assert (await twin.ask("/outs.cgi?out0=1", cookie=user, origin=OWN_PAGE)).status == 200
    assert (await twin.ask("/api/settings", cookie=user)).status == 403
    assert (await twin.ask("/outs.cgi", cookie=admin + "x")).status == 401


async def test_cookie_is_random_and_kept_from_scripts_and_other_sites() -> None:
    twin = await start_with_accounts()
    replies = [await sign_in(twin, ADMINISTRATOR) for _ in range(3)]
    cookies = [dict(reply.headers)["Set-Cookie"] for reply in replies]
    assert len({cookie_of(reply) for reply in replies}) == 3
    for cookie in cookies:
        # 22 letters of 6 bits hold 128 bits.
        assert re.fullmatch(
            r"leverframe_[0-9A-F]{12}=[\w-]{22}; Path=/; HttpOnly; SameSite=Strict", cookie
        )


async def test_cookie_goes_only_over_tls_where_there_is_tls() -> None:
    twin = await start_with_accounts(secure=True)
    cookie = dict((await sign_in(twin, ADMINISTRATOR)).headers)["Set-Cookie"]
    assert cookie.endswith("; Secure")


async def test_signing_in_ends_the_session_that_the_browser_had() -> None:
    twin = await start_with_accounts()
    first = cookie_of(await sign_in(twin, USER))
    second = cookie_of(await sign_in(twin, ADMINISTRATOR, cookie=first, origin=OWN_PAGE))
    assert second != first
    assert (await twin.ask("/outs.cgi", cookie=first)).status == 401
    assert (await twin.ask("/outs.cgi", cookie=second)).status == 200


async def test_made_up_cookie_is_not_accepted() -> None:
    twin = await start_with_accounts()
    name = cookie_of(await sign_in(twin, USER)).partition("=")[0]
    planted = f"{name}=AAAAAAAAAAAAAAAAAAAAAA"
    assert cookie_of(await sign_in(twin, ADMINISTRATOR, cookie=planted)) != planted
    assert (await twin.ask("/outs.cgi", cookie=planted)).status == 401


async def test_signing_out_ends_the_session_and_takes_the_cookie_away() -> None:
    twin = await start_with_accounts()
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))
    reply = await twin.ask("/post.cgi?signout", "POST", cookie=cookie, origin=OWN_PAGE)
    assert reply.status == 204
    assert "Max-Age=0" in dict(reply.headers)["Set-Cookie"]
    assert (await twin.ask("/outs.cgi", cookie=cookie)).status == 401


async def test_browser_is_redirected_to_the_sign_in_page_and_back() -> None:
    twin = await start_with_accounts()
    page = "text/html,application/xhtml+xml"
    reply = await twin.ask("/", accept=page)
    assert (reply.status, dict(reply.headers)["Location"]) == (303, "/signin")
    assert b"/post.cgi?signin" in (await twin.ask("/signin", accept=page)).body
    reply = await sign_in(twin, ADMINISTRATOR, accept=page)
    assert (reply.status, dict(reply.headers)["Location"]) == (303, "/")
    assert (await twin.ask("/", accept=page, cookie=cookie_of(reply))).status == 200


@pytest.mark.parametrize("target", ["/json/status.json", "/outs.cgi?out0=1", "/api/settings"])
async def test_browser_is_redirected_and_never_challenged_for_basic(target: str) -> None:
    twin = await start_with_accounts()
    reply = await twin.ask(target, accept=BROWSER)
    assert (reply.status, dict(reply.headers)["Location"]) == (303, "/signin")
    wrong = await twin.ask(target, accept=BROWSER, authorization=basic("chief", "wrong"))
    assert wrong.status == 401
    for answer in (reply, wrong):
        assert "WWW-Authenticate" not in dict(answer.headers)


@pytest.mark.parametrize("accept", ["*/*", JAVA])
async def test_program_is_asked_for_basic(accept: str) -> None:
    twin = await start_with_accounts()
    reply = await twin.ask("/json/status.json", accept=accept)
    assert reply.status == 401
    assert dict(reply.headers)["WWW-Authenticate"].startswith("Basic ")


@pytest.mark.parametrize(
    "headers",
    [
        {"referer": "http://10.0.0.5/"},
        {"referer": "http://chief:wrong@10.0.0.5/", "user_agent": "Mozilla/5.0"},
        {"sec_fetch_mode": "cors", "accept_language": "*", "user_agent": "node"},
    ],
)
async def test_program_is_asked_for_basic_also_with_a_referer(headers: dict[str, str]) -> None:
    twin = await start_with_accounts()
    reply = await twin.ask("/json/status.json", accept="*/*", **headers)
    assert reply.status == 401
    assert dict(reply.headers)["WWW-Authenticate"].startswith("Basic ")


async def test_scripts_request_makes_the_browser_ask_for_no_password() -> None:
    twin = await start_with_accounts()
    browser = {
        "user_agent": "Mozilla/5.0 (X11) Chrome/140",
        "accept_language": "en",
        "accept": "*/*",
    }
    for headers in ({"sec_fetch_mode": "cors"}, {"referer": "http://10.0.0.5/"}):
        reply = await twin.ask("/api/state", **browser, **headers)
        assert reply.status == 401
        assert "WWW-Authenticate" not in dict(reply.headers)
    assert "WWW-Authenticate" in dict((await twin.ask("/api/state")).headers)


@for_each("query", ["signin", "signin=", "signin&", "&signin", "signin&signin"])
async def test_no_way_of_writing_sign_in_goes_without_a_password(query: str) -> None:
    twin = await start_with_accounts()
    reply = await twin.ask(f"/post.cgi?{query}", "POST", b"username=chief&password=wrong")
    assert reply.status in (400, 401, 403)


async def test_changed_password_ends_the_other_sessions_of_its_account_only() -> None:
    twin = await start_with_accounts()
    first, second, user = [
        cookie_of(await sign_in(twin, who)) for who in (ADMINISTRATOR, ADMINISTRATOR, USER)
    ]
    body = b"username=chief&password=long+admin+secret&new=another+long+secret"
    own = {"cookie": first, "origin": OWN_PAGE}
    reply = await twin.ask("/post.cgi?passwd", "POST", body, **own)
    assert (reply.status, "Set-Cookie" in dict(reply.headers)) == (200, False)
    assert (await twin.ask("/outs.cgi", cookie=first)).status == 200
    assert (await twin.ask("/outs.cgi", cookie=second)).status == 401
    assert (await twin.ask("/outs.cgi", cookie=user)).status == 200
    old = basic(*ADMINISTRATOR)
    assert (await twin.ask("/outs.cgi", authorization=old)).status == 401
    new = basic("chief", "another long secret")
    assert (await twin.ask("/outs.cgi", authorization=new)).status == 200


async def test_session_that_changed_its_password_continues_until_the_new_one_is_used() -> None:
    twin = await start_with_accounts()
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))
    own = {"cookie": cookie, "origin": OWN_PAGE}

    async def change(old: str, new: str) -> int:
        body = f"username=chief&password={old}&new={new}".replace(" ", "+").encode()
        return (await twin.ask("/post.cgi?passwd", "POST", body, **own)).status

    # A refused change promises nothing.
    assert await change("wrong", "another long secret") == 401
    # One that was mistyped is changed again in the same session.
    assert await change(ADMINISTRATOR[1], "another long secrte") == 200
    assert await change("another long secrte", "another long secret") == 200
    assert (await twin.ask("/outs.cgi", cookie=cookie)).status == 200
    new = cookie_of(await sign_in(twin, ("chief", "another long secret")))
    assert (await twin.ask("/outs.cgi", cookie=cookie)).status == 401
    assert (await twin.ask("/outs.cgi", cookie=new)).status == 200
    # What another request changes ends it as before.
    body = b"username=chief&password=another+long+secret&new=a+third+long+secret"
    basics = basic("chief", "another long secret")
    assert (await twin.ask("/post.cgi?passwd", "POST", body, authorization=basics)).status == 200
    assert (await twin.ask("/outs.cgi", cookie=new)).status == 401


async def test_each_account_changes_only_its_own_password() -> None:
    twin = await start_with_accounts()
    mine = b"username=panel&password=long+panel+secret&new=another+long+secret"
    others = b"username=guest&password=long+guest+secret&new=another+long+secret"
    credentials = basic(*CONTROL_USER)
    for body, status in ((others, 403), (mine, 200)):
        reply = await twin.ask("/post.cgi?passwd", "POST", body, authorization=credentials)
        assert reply.status == status, reply.body
    assert (await twin.ask("/post.cgi?passwd", "POST", others)).status == 401


async def test_new_password_has_at_least_twelve_letters() -> None:
    twin = await start_with_accounts()
    body = b"username=chief&password=long+admin+secret&new=eleven+lett"
    reply = await twin.ask("/post.cgi?passwd", "POST", body, authorization=basic(*ADMINISTRATOR))
    assert reply.status == 400
    assert b"eleven" not in reply.body


HERE = "127.0.0.1:8080"
HAS_AUTO_SIGN_IN = Profile("3.9", "1.60a")


async def with_auto_sign_in(names: OwnNames, profile: Profile = HAS_AUTO_SIGN_IN) -> LoopTwin:
    twin = await start_with_accounts(profile, names=names)
    await twin.ask("/eeprom.cgi?bit0=1", authorization=basic(*ADMINISTRATOR))
    return twin


@pytest.mark.parametrize(
    ("profile", "location"),
    [(HAS_AUTO_SIGN_IN, "/"), (Profile("3.5", "1.24"), "/"), (Profile(), None)],
)
async def test_auto_sign_in_works_on_the_versions_that_have_it(
    profile: Profile, location: str | None
) -> None:
    twin = await with_auto_sign_in(OwnNames(), profile)
    reply = await twin.ask("/signin", accept="text/html", host=HERE)
    assert dict(reply.headers).get("Location") == location
    if location:
        cookie = cookie_of(reply)
        assert (await twin.ask("/api/settings", cookie=cookie)).status == 200
    assert (await twin.ask("/api/settings")).status == 401


@for_each("host", ["localhost", "LocalHost.:8080", "127.0.0.9", "[::1]:8080"])
@for_each("names", [OwnNames("0.0.0.0", machine=["box"]), OwnNames(names=["localhost"])])
async def test_auto_sign_in_is_for_those_who_ask_at_this_machine(
    names: OwnNames, host: str
) -> None:
    twin = await with_auto_sign_in(names)
    assert "Set-Cookie" in dict((await twin.ask("/signin", host=host)).headers)


@for_each("host", ["box", "192.168.1.5:8080", "127.0.0.1.nip.example", "", None])
async def test_auto_sign_in_is_not_for_who_asks_by_another_name(host: str | None) -> None:
    twin = await with_auto_sign_in(OwnNames("0.0.0.0", machine=["box"]))
    reply = await twin.ask("/signin", **({} if host is None else {"host": host}))
    assert reply.status in (200, 403)
    assert "Set-Cookie" not in dict(reply.headers)


@pytest.mark.parametrize(("proxies", "is_signed_in"), [(["127.0.0.1"], False), ([], True)])
async def test_auto_sign_in_is_off_where_the_configuration_names_a_proxy(
    proxies: list[str], is_signed_in: bool
) -> None:
    """A proxy may pass on the `Host` that a stranger has chosen, and nothing else."""
    names = reach_of(read_config(None, {"proxies": proxies})).names
    twin = await with_auto_sign_in(names)
    headers = dict((await twin.ask("/signin", host="localhost")).headers)
    assert ("Set-Cookie" in headers) is is_signed_in


@pytest.mark.parametrize("host", [HERE, "cellar.example"])
async def test_auto_sign_in_is_off_where_the_configuration_has_a_name_for_others(
    host: str,
) -> None:
    twin = await with_auto_sign_in(OwnNames(names=["cellar.example"]))
    assert "Set-Cookie" not in dict((await twin.ask("/signin", host=host)).headers)


@pytest.mark.parametrize(
    "request_of_a_stranger",
    [
        Request("GET", "/signin", None, {"host": HERE}, b"", "10.0.0.5"),
        # What nginx sends when it knows only the controller's address.
        Request("GET", "/signin", None, {"host": HERE}, b"", "127.0.0.1", is_http10=True),
    ],
)
async def test_auto_sign_in_is_for_this_machine_only(request_of_a_stranger: Request) -> None:
    twin = await with_auto_sign_in(OwnNames())
    reply = twin.web.handle(request_of_a_stranger)
    assert isinstance(reply, Reply)
    assert reply.status == 200
    assert "Set-Cookie" not in dict(reply.headers)


@for_each("header", ["forwarded", "via", "x_forwarded_for", "x_real_ip"])
async def test_auto_sign_in_is_not_for_those_behind_a_proxy(header: str) -> None:
    twin = await with_auto_sign_in(OwnNames())
    reply = await twin.ask("/signin", host=HERE, **{header: "10.0.0.5"})
    assert "Set-Cookie" not in dict(reply.headers)
