"""The uploaded web site and picture of a whole controller."""

import re
from urllib.parse import quote

import msgspec
import pytest

from leverframe.devices.linux.oled_panel import png_of
from leverframe.interface.status_files.markers import MARKER_FILES
from leverframe.interface.uploads.site import pack_site
from leverframe.storage.store import MemoryStore, StoreUnavailable
from leverframe.testing import LoopTwin
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

PNG = png_of(("one", "two", "three", "four"))


async def upload(twin: LoopTwin, **pages: str) -> None:
    """Pages by name; `__` stands for a dot."""
    named = {name.replace("__", "."): text.encode() for name, text in pages.items()}
    await twin.ok("/post.cgi?wwwfileupload", "POST", pack_site(named))


async def text(twin: LoopTwin, path: str) -> str:
    return (await twin.ok(path)).body.decode()


async def test_uploaded_site_replaces_the_pages_until_the_next_one() -> None:
    twin = await LoopTwin.start()
    built_in = await text(twin, "/")
    await upload(twin, index__html="Cellar", style__css="p{}")
    assert await text(twin, "/") == await text(twin, "/index.html") == "Cellar"
    assert (await twin.ok("/style.css")).content_type == "text/css"
    assert await text(twin, "/?safe") == built_in
    await upload(twin, index__html="Attic")
    assert await text(twin, "/") == "Attic"
    await twin.refused("/style.css", 404)


async def test_site_survives_a_restart_of_the_process() -> None:
    store = MemoryStore()
    await upload(await LoopTwin.start(store=store), index__html="Cellar")
    assert await text(await LoopTwin.start(store=store), "/") == "Cellar"


class StoreThatGoes(MemoryStore):
    is_away = False

    async def blob(self, name: str) -> bytes | None:
        if self.is_away:
            raise StoreUnavailable("The database cannot be reached.")
        return await super().blob(name)


async def test_uploads_that_cannot_be_read_for_a_moment_are_there_afterwards() -> None:
    store = StoreThatGoes()
    first = await LoopTwin.start(store=store)
    await upload(first, index__html="Cellar")
    await first.ok("/post.cgi?pictureupload", "POST", PNG)
    twin = await LoopTwin.start(store=store)
    store.is_away = True
    assert await text(twin, "/") != "Cellar"
    await twin.refused("/picture", 404)
    store.is_away = False
    assert await text(twin, "/") == "Cellar"
    await twin.ok("/picture")


async def test_site_cannot_hide_what_the_controller_answers_itself() -> None:
    twin = await LoopTwin.start()
    pages = {"json/status.json": b"{}", "health": b"fine", "index.html": b"x", "signin": b"evil"}
    await twin.ok("/post.cgi?wwwfileupload", "POST", pack_site(pages))
    assert (await twin.json("/json/status.json"))["sw"] == "1.75"
    assert (await twin.json("/health"))["status"] == "ok"
    assert "evil" not in await text(twin, "/signin")


async def test_pages_of_a_site_may_not_run_scripts_from_their_text_or_from_elsewhere() -> None:
    twin = await LoopTwin.start()
    await upload(twin, index__html="x")
    headers = dict((await twin.ok("/")).headers)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"


async def test_pages_of_a_site_have_no_origin_and_no_service_worker() -> None:
    twin = await LoopTwin.start()
    await upload(twin, index__html="x", worker__js="y", drawing__svg="<svg/>")
    for path in ("/", "/worker.js", "/drawing.svg"):
        policy = dict((await twin.ok(path)).headers)["Content-Security-Policy"]
        assert "sandbox allow-scripts" in policy
        assert "allow-same-origin" not in policy
    assert (await twin.ask("/worker.js", service_worker="script")).status == 404
    # The built-in pages need theirs.
    assert "sandbox" not in dict((await twin.ok("/?safe")).headers)["Content-Security-Policy"]


async def session_of(twin: LoopTwin, target: str = "/", **headers: str) -> str:
    """The address below which a page of the site acts for its visitor."""
    reply = await twin.ask(target, accept=BROWSER, **headers)
    assert reply.status == 303, reply.body
    location = dict(reply.headers)["Location"]
    found = re.fullmatch(r"(/site-session/[0-9a-f]{64})(/.*)", location)
    assert found is not None, location
    assert found[2] == target
    return found[1]


async def test_site_reads_and_switches_for_its_visitor_and_does_nothing_else() -> None:
    twin = await start_with_accounts()
    chief = {"authorization": basic(*ADMINISTRATOR)}
    site = pack_site({"index.html": b"Cellar", "a/b.html": b"<--#out0-->"})
    assert (await twin.ask("/post.cgi?wwwfileupload", "POST", site, **chief)).status == 200
    for account in (ADMINISTRATOR, USER, CONTROL_USER):
        cookie = cookie_of(await sign_in(twin, account))
        base = await session_of(twin, cookie=cookie)
        assert base == await session_of(twin, "/a/b.html?x=1", cookie=cookie)
        for target, status in (
            ("/", 200),
            ("/index.html", 200),
            ("/a/b.html", 200),
            ("/nothing", 404),
            ("/json/status.json", 200),
            ("/api/state", 200),
            ("/outs.cgi", 200),
            ("/outs.cgi?out0=1", 200),
            ("/outs.cgi?nothing=1", 404),
            ("/stm.cgi?oname=0x", 403),
            ("/eeprom.cgi?bit3=1", 403),
            ("/api/settings", 404),
            ("/api/stream", 404),
            ("/xml/st.xml", 404),
            ("/dev_settings.bin", 404),
            ("/signin", 404),
            ("/web/app.js", 404),
            ("/sim.cgi?DS1=1", 404),
        ):
            reply = await twin.ask(base + target, origin="null", sec_fetch_site="cross-site")
            assert reply.status == status, (account, target)
            assert dict(reply.headers)["Access-Control-Allow-Origin"] == "null"
        for target, status in (
            ("/outs.cgi?out0=0", 200),
            ("/json/status.json", 404),
            ("/post.cgi?signout", 403),
            ("/post.cgi?passwd", 403),
            ("/post.cgi?users_save", 403),
        ):
            assert (await twin.ask(base + target, "POST", origin="null")).status == status, target
        assert (await twin.ask(f"{base}/outs.cgi", host="evil.example")).status == 403
    await twin.ask("/eeprom.cgi?bit3=1", **chief)
    guest = await session_of(twin, cookie=cookie_of(await sign_in(twin, USER)))
    assert (await twin.ask(f"{guest}/outs.cgi?out0=1")).status == 403


async def test_address_of_a_site_is_worth_nothing_without_its_session() -> None:
    twin = await start_with_accounts()
    chief = {"authorization": basic(*ADMINISTRATOR)}
    site = pack_site({"index.html": b"Cellar"})
    await twin.ask("/post.cgi?wwwfileupload", "POST", site, **chief)
    cookie = cookie_of(await sign_in(twin, USER))
    base = await session_of(twin, cookie=cookie)
    await twin.ask("/post.cgi?signout", "POST", cookie=cookie, origin=OWN_PAGE)
    for gone in (base, "/site-session/", "/site-session/no-key", f"/site-session/{'0' * 64}"):
        reply = await twin.ask(f"{gone}/outs.cgi?out0=1")
        assert reply.status == 401, gone
        assert "WWW-Authenticate" not in dict(reply.headers)
        reply = await twin.ask(f"{gone}/", accept=BROWSER)
        assert (reply.status, dict(reply.headers)["Location"]) == (303, "/")
    # A browser with HTTP Basic has no session; it sees the page, which acts for no account.
    assert (await twin.ask("/", accept=BROWSER, **chief)).body == b"Cellar"


async def test_site_on_an_open_controller_has_a_key_that_foreign_pages_do_not_know() -> None:
    twin = await LoopTwin.start()
    await upload(twin, index__html="Cellar")
    base = await session_of(twin)
    assert (await twin.ask(f"{base}/outs.cgi?out0=1", origin="null")).status == 200
    assert (await twin.ask(f"{base}/stm.cgi?oname=0x", origin="null")).status == 403
    assert (await twin.ask(f"/site-session/{'0' * 64}/outs.cgi?out0=0")).status == 401
    assert (await twin.ask("/outs.cgi?out0=0", origin="null")).status == 403
    assert await twin.outputs() == "100000"


async def test_markers_are_filled_in_from_the_state() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?onewire=28:FF:64:1E:8C:16:03:5A&DS1=21.5")
    await twin.ok("/stm.cgi?dswrite=0")
    await upload(twin, index__html="<b><--#dsid--></b> <--#ds1--> <--#out0--> <--#nothing-->")
    assert await text(twin, "/") == "<b>28:FF:64:1E:8C:16:03:5A</b> 215 0 <--#nothing-->"
    await twin.ok("/outs.cgi?out0=1")
    assert " 1 <--#nothing-->" in await text(twin, "/")


async def test_every_key_of_the_json_files_is_a_marker() -> None:
    twin = await LoopTwin.start()
    for path in MARKER_FILES:
        values = {k: v for k, v in (await twin.json(path)).items() if isinstance(v, str)}
        page = "\n".join(f"<--#{name}-->" for name in values)
        await upload(twin, index__html="x", page__txt=page)
        assert "<--#" not in await text(twin, "/page.txt")


async def test_markers_never_show_what_only_the_administrator_may_read() -> None:
    twin = await LoopTwin.start()
    await upload(twin, index__html="<--#userpass--> <--#auth-->")
    assert await text(twin, "/") == "<--#userpass--> <--#auth-->"


async def test_name_full_of_tags_stays_text_in_pages_scripts_and_json() -> None:
    twin = await LoopTwin.start()
    evil = "</a>'\"<b>`\\"
    quoted = "".join(f"%{ord(letter):02X}" for letter in evil)
    await twin.ok(f"/stm.cgi?oname=0{quoted}")
    names = [n for n, v in (await twin.json("/json/status.json")).items() if v == evil]
    assert names
    marked = f'"<--#{names[0]}-->"'
    await upload(twin, index__html=marked, a__js=marked, a__json=marked)
    page = await text(twin, "/")
    assert not {"<", "'"} & set(page)
    script = await text(twin, "/a.js")
    assert not {"<", "'", "`"} & set(script)
    assert msgspec.json.decode(script) == evil
    assert msgspec.json.decode((await twin.ok("/a.json")).body) == evil


async def test_scanned_code_stays_text_in_a_template_of_a_script() -> None:
    twin = await LoopTwin.start()
    await twin.ok(f"/sim.cgi?barcode={quote('${alert(1)}')}")
    await upload(twin, index__html="x", a__js="f(`<--#barcode-->`)")
    assert await text(twin, "/a.js") == "f(`\\u0024\\u007balert\\u00281\\u0029\\u007d`)"


async def test_bad_site_is_refused_and_the_old_one_stays() -> None:
    twin = await LoopTwin.start()
    await upload(twin, index__html="Cellar")
    reply = await twin.ask("/post.cgi?wwwfileupload", "POST", b"PK\x03\x04")
    assert reply.status == 400
    assert b"leverframe site build" in reply.body
    assert await text(twin, "/") == "Cellar"


async def test_picture_is_served_until_it_is_deleted() -> None:
    twin = await LoopTwin.start()
    await twin.refused("/picture", 404)
    await twin.ok("/post.cgi?pictureupload", "POST", PNG)
    reply = await twin.ok("/picture")
    assert reply.content_type == "image/png"
    assert "default-src 'none'" in dict(reply.headers)["Content-Security-Policy"]
    await twin.ok("/stm.cgi?delpicture=0")
    await twin.refused("/picture", 404)


async def test_reset_keeps_what_was_uploaded() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?pictureupload", "POST", PNG)
    await twin.ok("/post.cgi?wwwfileupload", "POST", pack_site({"index.html": b"<p>Cellar"}))
    await twin.ok("/stm.cgi?eeprom_reset=1")
    await twin.ok("/picture")
    assert (await twin.ok("/")).body == b"<p>Cellar"


async def test_pages_can_ask_where_the_picture_is() -> None:
    twin = await LoopTwin.start()
    assert await twin.json("/api/panel") == {"picture": None}
    await twin.ok("/post.cgi?pictureupload", "POST", PNG)
    await twin.ok((await twin.json("/api/panel"))["picture"])


async def test_bad_picture_is_refused_and_the_old_one_stays() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?pictureupload", "POST", PNG)
    before = (await twin.ok("/picture")).body
    reply = await twin.ask("/post.cgi?pictureupload", "POST", b"<svg onload=alert(1)>")
    assert reply.status == 400
    assert (await twin.ok("/picture")).body == before


@pytest.mark.parametrize("path", ["/picture", "/api/oled.png"])
async def test_strangers_see_no_picture(path: str) -> None:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?pictureupload", "POST", PNG)
    await twin.ok("/post.cgi?users_save", "POST", b"&u0=keeper*secret-enough*1&&")
    await twin.ok("/stm.cgi?auth=11YWRtaW4=*c2VjcmV0IHBhc3N3b3Jk*dXNlcg==*b3RoZXIgcGFzc3dvcmQ=")
    assert (await twin.ask(path)).status == 401
