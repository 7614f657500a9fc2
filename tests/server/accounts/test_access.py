"""Accounts: who may do what once sign-in is required."""

from base64 import b64encode

import msgspec
import pytest

from leverframe.core.engine.journal import Cause
from leverframe.interface.table.lookup import Call, find
from leverframe.interface.table.refusals import NotAllowed
from leverframe.server import passwords
from leverframe.server.http.messages import Reply
from leverframe.testing.in_process import NEWEST, LoopTwin

#: Read before the tests of this process hash cheaply; see conftest.py.
REAL_ROUNDS, REAL_MEMORY_KIB = passwords.HASH_ROUNDS, passwords.HASH_MEMORY_KIB

ADMIN = ("chief", "long admin secret")
USER = ("guest", "long guest secret")
CONTROL = ("panel", "long panel secret")


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def basic(name: str, password: str) -> str:
    return "Basic " + base64(f"{name}:{password}")


async def ask(
    twin: LoopTwin, account: tuple[str, str], target: str, method: str = "GET", body: bytes = b""
) -> Reply:
    return await twin.ask(target, method, body, authorization=basic(*account))


@pytest.fixture
async def twin() -> LoopTwin:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?users_save", "POST", f"&u0={CONTROL[0]}*{CONTROL[1]}*1&&".encode())
    fields = "*".join(base64(text) for text in (*ADMIN, *USER))
    await twin.ok(f"/stm.cgi?auth=11{fields}")
    return twin


async def test_nothing_but_health_and_sign_in_answers_without_credentials(twin: LoopTwin) -> None:
    for target in (
        "/outs.cgi?out0=1",
        "/outs.cgi",
        "/stm.cgi?auth=01YQ==*YQ==*Yg==*Yg==",
        "/dev_settings.bin",
        "/json/status.json",
        "/xml/st.xml",
        "/api/settings",
        "/api/state",
        "/sim.cgi?DS1=1",
    ):
        reply = await twin.ask(target)
        assert reply.status == 401, target
        assert dict(reply.headers)["WWW-Authenticate"].startswith("Basic ")
    assert (await twin.ask("/health")).status == 200


@pytest.mark.parametrize(
    "authorization",
    [
        basic(ADMIN[0], "wrong"),
        basic(ADMIN[0], ""),
        basic("stranger", ADMIN[1]),
        basic("", ""),
        "Basic ???",
        "Basic " + base64("no colon"),
        "Bearer x",
        "",
    ],
)
async def test_wrong_credentials_are_401(twin: LoopTwin, authorization: str) -> None:
    assert (await twin.ask("/outs.cgi?out0=1", authorization=authorization)).status == 401


async def test_administrator_may_do_everything(twin: LoopTwin) -> None:
    for target in ("/outs.cgi?out0=1&out1=1", "/stm.cgi?oname=0x", "/api/settings", "/xml/st.xml"):
        assert (await ask(twin, ADMIN, target)).status == 200


@pytest.mark.parametrize("account", [USER, CONTROL])
async def test_other_accounts_switch_one_thing_at_a_time_and_read_values(
    twin: LoopTwin, account: tuple[str, str]
) -> None:
    for target in ("/outs.cgi?out0=1", "/outs.cgi?vout0=1", "/stm.cgi?pwmd=050", "/api/state"):
        assert (await ask(twin, account, target)).status == 200, target
    assert (await ask(twin, account, "/json/status.json")).status == 200
    for target in (
        "/outs.cgi?out0=1&out1=1",
        "/stm.cgi?oname=0x",
        "/stm.cgi?devrestart=1",
        "/dev_settings.bin",
        "/api/settings",
        "/xml/st.xml",
        "/sim.cgi?DS1=1",
    ):
        assert (await ask(twin, account, target)).status == 403, target


async def test_read_only_user_switches_nothing_but_control_users_do(twin: LoopTwin) -> None:
    assert (await ask(twin, ADMIN, "/eeprom.cgi?bit3=1")).status == 200
    assert (await ask(twin, USER, "/outs.cgi?out0=1")).status == 403
    assert (await ask(twin, USER, "/json/status.json")).status == 200
    assert (await ask(twin, CONTROL, "/outs.cgi?out0=1")).status == 200


async def test_read_only_user_sets_no_event_variable(twin: LoopTwin) -> None:
    assert (await ask(twin, USER, "/outs.cgi?vout0=1")).status == 200
    assert (await ask(twin, ADMIN, "/eeprom.cgi?bit3=1")).status == 200
    assert (await ask(twin, USER, "/outs.cgi?vout0=0")).status == 403


async def test_every_account_can_ask_what_it_may_do(twin: LoopTwin) -> None:
    assert (await ask(twin, ADMIN, "/eeprom.cgi?bit3=1")).status == 200
    report = [
        msgspec.json.decode((await ask(twin, who, "/api/account")).body)
        for who in (ADMIN, USER, CONTROL)
    ]
    shown = {"names_only": False, "language": "EN", "refresh": 30}
    assert report == [
        {"name": ADMIN[0], "role": "admin", "read_only": False, **shown},
        {"name": USER[0], "role": "control", "read_only": True, **shown},
        {"name": CONTROL[0], "role": "control", "read_only": False, **shown},
    ]


async def test_page_begins_with_one_answer_that_holds_what_the_account_may_read(
    twin: LoopTwin,
) -> None:
    for who in (ADMIN, USER, CONTROL):
        start = msgspec.json.decode((await ask(twin, who, "/api/start")).body)
        for key, path in (
            ("account", "/api/account"),
            ("status", "/json/status.json"),
            ("labels", "/api/labels"),
            ("state", "/api/state"),
        ):
            assert start[key] == msgspec.json.decode((await ask(twin, who, path)).body), path
        assert start["board"] == "simulated"
        settings = await ask(twin, who, "/api/settings")
        expected = msgspec.json.decode(settings.body) if who is ADMIN else None
        assert start["settings"] == expected


async def test_inactive_control_user_has_no_account(twin: LoopTwin) -> None:
    body = f"&u0={CONTROL[0]}**0&&".encode()
    assert (await ask(twin, ADMIN, "/post.cgi?users_save", "POST", body)).status == 200
    assert (await ask(twin, CONTROL, "/outs.cgi?out0=1")).status == 401


async def test_empty_password_keeps_the_old_one(twin: LoopTwin) -> None:
    names = f"{base64(ADMIN[0])}**{base64(USER[0])}*"
    assert (await ask(twin, ADMIN, f"/stm.cgi?auth=11{names}")).status == 200
    assert (await ask(twin, ADMIN, "/api/settings")).status == 200
    assert (await ask(twin, USER, "/outs.cgi?out0=1")).status == 200


async def test_passwords_are_stored_as_hashes(twin: LoopTwin) -> None:
    access = twin.controller.engine.settings.access
    assert access.users[0] is not None
    for stored in (access.admin.password, access.user.password, access.users[0].password):
        assert stored.startswith("$argon2id$v=19$")


async def test_hash_costs_an_attacker_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "HASH_ROUNDS", REAL_ROUNDS)
    monkeypatch.setattr(passwords, "HASH_MEMORY_KIB", REAL_MEMORY_KIB)
    stored = await passwords.Passwords().hash("long secret")
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")


async def test_sign_in_checks_credentials_without_a_header(twin: LoopTwin) -> None:
    good = f"username={ADMIN[0]}&password={ADMIN[1].replace(' ', '+')}".encode()
    assert (await twin.ask("/post.cgi?signin", "POST", good)).status == 200
    assert (await twin.ask("/post.cgi?signin", "POST", good + b"x")).status == 401
    assert (await twin.ask("/post.cgi?signin", "POST", b"")).status == 400


async def test_sign_in_cannot_be_required_without_a_password() -> None:
    twin = await LoopTwin.start()
    names = f"{base64('admin')}**{base64('user')}*"
    problem = await twin.refused(f"/stm.cgi?auth=11{names}", 400)
    assert problem["field"] == "D"
    assert (await twin.ask("/api/settings")).status == 200


@pytest.mark.parametrize("names", [("same", "same"), ("with:colon", "user")])
async def test_account_names_must_differ_and_have_no_colon(names: tuple[str, str]) -> None:
    twin = await LoopTwin.start()
    await twin.refused(f"/stm.cgi?auth=01{base64(names[0])}**{base64(names[1])}*", 400)


async def test_reset_keeps_the_accounts(twin: LoopTwin) -> None:
    assert (await ask(twin, ADMIN, "/stm.cgi?eeprom_reset=1")).status == 200
    assert (await twin.ask("/outs.cgi")).status == 401
    assert (await ask(twin, ADMIN, "/outs.cgi")).status == 200


async def test_way_in_without_an_account_has_the_rights_of_a_control_user() -> None:
    twin = await LoopTwin.start()
    calls = {
        name: next(iter(find("POST", path, [name], NEWEST)))
        for path, name in (
            ("/outs.cgi", "out0=1"),
            ("/outs.cgi", "out1=1"),
            ("/stm.cgi", "oname=0x"),
        )
    }
    assert all(isinstance(call, Call) for call in calls.values())
    commands = [(call, None) for call in calls.values() if isinstance(call, Call)]
    with pytest.raises(NotAllowed):
        await twin.controller.perform(commands, Cause("message"))
    assert await twin.outputs() == "000000"
    await twin.controller.perform(commands[:2], Cause("message"))
    assert await twin.outputs() == "110000"
