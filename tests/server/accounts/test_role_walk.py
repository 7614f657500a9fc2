"""Every command, file and API path, requested with every role: taken from the table, so none is
forgotten.

What each of them may do is written down here a second time, by hand.
"""

from collections.abc import AsyncIterator
from functools import lru_cache

import pytest

from leverframe.core.engine.journal import Cause
from leverframe.core.profile import Profile
from leverframe.host.controller import Controller
from leverframe.interface import status_files
from leverframe.interface.table.lookup import TABLE, UNRESTRICTED, Call, find
from leverframe.interface.table.row import ACCOUNT, ADMIN, ANYONE, CONTROL, Row
from leverframe.server.http.messages import Request, StreamReply
from leverframe.server.routes.endpoints import ENDPOINTS, SIM_PATH
from leverframe.server.routes.files import PICTURE_PATH
from leverframe.server.routes.pages import PREFIX, pages
from leverframe.server.routes.router import Web
from leverframe.server.sessions import IDLE_S
from leverframe.storage.store import Changes, MemoryStore, Store
from leverframe.testing import LoopTwin
from tests.boundary_profiles import NEWEST
from tests.cases import for_each
from tests.conformance.requests import Sample, make_good_samples
from tests.conformance.test_rows import newest_that_offers
from tests.server.signing_up import (
    ADMINISTRATOR,
    BROWSER,
    CONTROL_USER,
    OWN_PAGE,
    USER,
    HandMoved,
    base64,
    basic,
    start_with_accounts,
)

#: Path and query of all that is answered without signing in.
PUBLIC = {
    *("/post.cgi?signin", "/post.cgi?signout", "/signin", "/health"),
    *("/web/style.css", "/web/styles/signin.css", "/web/signin.js", "/web/words/frame.json"),
    "/web/vendor/inter.woff2",
}
UNKNOWN = "leverframe_020000000000=gone"
SWITCHING = {"out", "pulse", "pwm", "pwmd", "vout"}
FILES_OF_THE_ADMINISTRATOR = {"/xml/st.xml"}
READ_BY_ACCOUNTS = {
    *("/api/state", "/api/stream", "/api/history", "/api/history.csv"),
    "/api/timeline",
    *("/api/account", "/api/labels", "/api/panel", "/api/start"),
    *(PICTURE_PATH, "/api/oled.png"),
}

ROLES = {
    "administrator": ADMINISTRATOR[0],
    "user": USER[0],
    "control user": CONTROL_USER[0],
}


def paths() -> list[str]:
    """List all that can be asked for: endpoints, pages, and the paths of the commands.

    Of the hundreds of files of the program that pages are made of, the public ones and one other.
    """
    listed = {endpoint.path for endpoint in ENDPOINTS}
    made = {path for path in pages() if not path.startswith(PREFIX)}
    shown = {path for path in PUBLIC if path.startswith(PREFIX)}
    one = f"{PREFIX}app.js"
    return sorted({*listed, *made, *shown, one, *(row.form.path for row in TABLE)})


def switches(row: Row) -> bool:
    """Whether the row switches an output, a PWM output or an event variable, by its name alone."""
    name = row.form.items[0].text.partition("=")[0] if row.form.items else ""
    return row.form.path in ("/outs.cgi", "/stm.cgi") and name.partition("<")[0] in SWITCHING


@lru_cache(maxsize=32)
def sample_of(number: int) -> Sample:
    row = TABLE[number]
    return next(iter(make_good_samples(row, newest_that_offers(row))))


ROWS = [pytest.param(number, id=row.line[:70]) for number, row in enumerate(TABLE)]
#: Rows without a query are files, and walked as such.
COMMANDS = [param for param, row in zip(ROWS, TABLE, strict=True) if row.form.items]


@pytest.fixture(scope="module")
def stores() -> dict[str, Store]:
    return {}


class Walked(LoopTwin):
    """A controller whose sessions use a clock that is moved by hand."""

    def __init__(self, controller: Controller) -> None:
        self.clock = HandMoved()
        mac = "02:00:00:00:00:00"
        super().__init__(controller, Web(controller, name="walk", mac=mac, monotonic=self.clock))


async def twin_of(profile: Profile, stores: dict[str, Store]) -> Walked:
    """A fresh controller with accounts; hashing is done once."""
    if "hashed" not in stores:
        stores["hashed"] = (await start_with_accounts()).controller.store
    store = MemoryStore()
    settings = stores["hashed"].load().settings
    kept = {path: value for path, value in settings.items() if path.startswith("access.")}
    await store.commit(Changes(settings=kept))
    return Walked((await LoopTwin.start(profile, store=store)).controller)


def let_all_sessions_expire(twin: Walked) -> None:
    twin.clock.now += IDLE_S


def all_passwords_change(twin: Walked) -> None:
    """The new hashes are made up and never used to sign in."""
    accounts = "*".join(base64(text) for text in (ADMINISTRATOR[0], "a", USER[0], "b"))
    profile = twin.controller.profile
    (auth,) = find("GET", "/stm.cgi", [f"auth=11{accounts}"], profile)
    (users,) = find("POST", "/post.cgi", ["users_save"], profile)
    assert isinstance(auth, Call)
    assert isinstance(users, Call)
    panel = {"A": 0, "B": CONTROL_USER[0], "C": "c", "D": True}
    twin.controller.submit(
        [(auth, None), (users, [panel])],
        Cause("command"),
        {letter: f"$argon2id${letter}" for letter in "abc"},
        account=UNRESTRICTED,
    )


ENDS_OF_SESSIONS = (let_all_sessions_expire, all_passwords_change)


def cookie(twin: LoopTwin, role: str) -> str:
    access = twin.web.access
    token = access.sessions.open(access.proof_without_password(ROLES[role]))
    return access.sessions.set_cookie(token, secure=False).partition(";")[0]


async def status(twin: LoopTwin, sample: Sample, **headers: str) -> int:
    reply = await twin.ask(
        sample.target,
        sample.method,
        sample.body,
        content_type=sample.content_type,
        **({"origin": OWN_PAGE} | headers),
    )
    return reply.status


async def read_status(twin: LoopTwin, path: str, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = twin.web.handle(Request("GET", path, None, named, b"", "127.0.0.1"))
    reply = await answer if not hasattr(answer, "status") else answer
    if isinstance(reply, StreamReply):
        chunks = reply.chunks
        assert isinstance(chunks, AsyncIterator)
        await chunks.aclose()  # type: ignore[attr-defined]
    return reply.status


@for_each("number", COMMANDS)
async def test_command_is_for_those_it_is_meant_for(number: int, stores: dict[str, Store]) -> None:
    sample = sample_of(number)
    row = sample.row
    twin = await twin_of(sample.profile, stores)
    before = twin.controller.pending
    is_open = sample.target in PUBLIC
    own_password = sample.target == "/post.cgi?passwd"
    cookies = {role: cookie(twin, role) for role in ROLES}

    foreign = {"origin": "http://evil.example"}
    for signed_in_as in (*cookies.values(), ""):
        assert await status(twin, sample, **foreign, cookie=signed_in_as) in (401, 403)
    assert await status(twin, sample, **foreign, cookie=cookies["administrator"]) == 403
    for sent in cookies.values():
        # As a page at another port of the same host can make a browser send it.
        assert await status(twin, sample, origin="", cookie=sent) == 403
    assert twin.controller.pending is before
    for role in ("user", "control user"):
        found = await status(twin, sample, cookie=cookies[role])
        if switches(row) or is_open or own_password:
            assert found != 403 or own_password, (role, found)
        else:
            assert found == 403, (role, found)
    assert twin.controller.pending is before or own_password

    wrong = basic(ADMINISTRATOR[0], "wrong")
    assert await status(twin, sample, authorization=wrong) == 401
    strangers = (204, 401, 429) if is_open else (401,)
    for cookie_sent in ("", UNKNOWN):
        # Signing in answers strangers, though not with a wrong password.
        assert await status(twin, sample, cookie=cookie_sent) in strangers
    for end_sessions in ENDS_OF_SESSIONS:
        signed_in = [cookie(twin, role) for role in ROLES]
        end_sessions(twin)
        changed = twin.controller.pending
        for cookie_sent in signed_in:
            assert await status(twin, sample, cookie=cookie_sent) in strangers, end_sessions
        assert twin.controller.pending is changed
    found = await status(twin, sample, cookie=cookie(twin, "administrator"))
    assert found != 403
    # No one signs in with a sample's password, nor changes it.
    assert found != 401 or is_open or own_password


@for_each("number", ROWS)
def test_role_of_a_row_is_the_one_written_down_here(number: int) -> None:
    row = TABLE[number]
    target = row.form.path + ("?" + row.form.items[0].text if row.form.items else "")
    if target in PUBLIC:
        expected = ANYONE
    elif target == "/post.cgi?passwd":
        expected = ACCOUNT
    else:
        expected = CONTROL if switches(row) else ADMIN
    assert row.role == expected


@for_each("path", paths())
async def test_file_or_api_path_is_for_those_it_is_meant_for(
    path: str, stores: dict[str, Store]
) -> None:
    twin = await twin_of(NEWEST, stores)
    is_open = path in PUBLIC
    is_value = path in status_files.PATHS and path not in FILES_OF_THE_ADMINISTRATOR
    is_command_path = path.endswith(".cgi") and path != SIM_PATH
    for role in ROLES:
        found = await read_status(twin, path, cookie=cookie(twin, role))
        may = role == "administrator" or is_open or is_value or is_command_path
        may = may or path in READ_BY_ACCOUNTS or path in pages()
        assert (found != 403) is may, (role, found)
        assert found != 401
    ended = []
    for end_sessions in ENDS_OF_SESSIONS:
        ended += [cookie(twin, role) for role in ROLES]
        end_sessions(twin)
    for headers in ({}, *({"cookie": sent} for sent in (UNKNOWN, *ended))):
        found = await read_status(twin, path, **headers)
        assert (found == 200) is is_open, found
        assert found in (200, 401)
    assert await read_status(twin, path, host="evil.example") == 403
    wrong = await read_status(twin, path, authorization=basic(ADMINISTRATOR[0], "wrong"))
    assert wrong == 401


async def test_page_file_needs_an_account_unless_it_is_public(
    stores: dict[str, Store],
) -> None:
    twin = await twin_of(NEWEST, stores)
    user = cookie(twin, "user")
    files = [path for path in pages() if path.startswith(PREFIX)]
    assert len(files) > 500
    for path in files:
        is_open = path in PUBLIC
        assert await read_status(twin, path) == (200 if is_open else 401), path
        assert await read_status(twin, path, cookie=user) == 200, path


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "target",
    ["/nothing", "/outs.cgi?nothing=1", "/stm.cgi?oname=99", "/post.cgi?signin2", "/sim.cgi?DS1=1"],
)
async def test_stranger_learns_nothing_from_mistakes(
    method: str, target: str, stores: dict[str, Store]
) -> None:
    twin = await twin_of(NEWEST, stores)
    reply = await twin.ask(target, method)
    assert reply.status == 401
    assert b"1.75" not in reply.body
    assert b"oname" not in reply.body


async def test_no_answer_to_a_stranger_holds_the_mac_address(stores: dict[str, Store]) -> None:
    store = MemoryStore()
    settings = (await twin_of(NEWEST, stores)).controller.store.load().settings
    await store.commit(Changes(settings=settings))
    twin = await LoopTwin.start(NEWEST, store=store)
    mac = store.load().kept["identity.mac"]
    targets = [*paths(), *(f"/post.cgi?{command}" for command in ("signin", "signout", "passwd"))]
    for target in targets:
        for method in ("GET", "POST", "HEAD", "OPTIONS"):
            reply = await twin.ask(target, method, accept=BROWSER)
            report = repr((reply.headers, reply.body)).lower()
            for written in (mac, mac.replace(":", ""), mac.replace(":", "-")):
                assert written.lower() not in report, (method, target)
    # Who has no cookie gets none to take away.
    assert "Set-Cookie" not in dict((await twin.ask("/post.cgi?signout", "POST")).headers)


async def test_read_only_user_switches_nothing(stores: dict[str, Store]) -> None:
    twin = await twin_of(NEWEST, stores)
    chief = cookie(twin, "administrator")
    assert (await twin.ask("/eeprom.cgi?bit3=1", cookie=chief, origin=OWN_PAGE)).status == 200
    rows = [sample_of(n) for n, row in enumerate(TABLE) if switches(row) and row.is_offered(NEWEST)]
    assert len(rows) > 5
    for sample in rows:
        assert await status(twin, sample, cookie=cookie(twin, "user")) == 403
        assert await status(twin, sample, cookie=cookie(twin, "control user")) == 200
    assert await read_status(twin, "/json/status.json", cookie=cookie(twin, "user")) == 200
