"""A secret does not go along to another server: by no command, and by no backup."""

import re

from leverframe.core.engine.secret_servers import SERVER_SETTINGS, server_of, servers
from leverframe.core.profile import Profile
from leverframe.core.settings import SECRETS, Settings
from leverframe.core.tree import defaults, leaves, value_at, with_value
from leverframe.storage.backup import BackupFile, encode_backup, pack
from leverframe.testing import LoopTwin
from tests.cases import for_each

UPLOAD = "/post.cgi?settingsupload"
MAIL = "em1=mail.example&em2=587&em3=me&em4=secret"
HTTP = "http2=https://hook.example/a&httpauth2=me*secret&httppost2=1*token"
MQTT = "mqtt=1*broker.example*1883*me*secret*top*0"
TRAP = "snmptrap=1*trap.example*162*secret&snmptrap3=1*trap.example*162*secret"
PATHS = (
    "email.password",
    "http.1.password",
    "mqtt.password",
    "snmp.trap.community",
    "snmp.more_traps.1.community",
)
#: Secrets that stay here: they are compared with what others send, or given to the modem.
NOT_SENT = {
    "gsm.apn",
    "gsm.code",
    "snmp.read_community",
    "snmp.write_community",
    # Signed with, and never sent.
    "snmp.authentication_key",
    "snmp.privacy_key",
    "access.admin.password",
    "access.user.password",
    "access.users.*.password",
}


async def set_up() -> LoopTwin:
    twin = await LoopTwin.start()
    await twin.ok(f"/stm.cgi?{MAIL}&{HTTP}&{MQTT}&{TRAP}")
    assert secrets(twin) == dict.fromkeys(PATHS, "secret")
    return twin


def secrets(twin: LoopTwin) -> dict[str, str]:
    settings = twin.controller.engine.settings
    return {path: value_at(settings, path) for path in PATHS}


def test_every_secret_that_is_sent_has_its_server() -> None:
    sent = {path.replace(".1.", ".*.") for path in PATHS}
    assert sent | NOT_SENT == SECRETS
    assert sent == {
        ".".join("*" if step.isdigit() else step for step in path.split("."))
        for path in servers(defaults(Profile()))
    }


def test_settings_that_name_a_server_are_all_known() -> None:
    settings = defaults(Profile())
    for path in (
        "email.host",
        "mqtt.host",
        "snmp.trap.host",
        "snmp.more_traps.0.host",
        "http.0.url",
    ):
        settings = with_value(settings, path, "one.example")
    found = set()
    for path, value in leaves(settings):
        other: object = not value if isinstance(value, bool) else None
        if isinstance(value, int) and other is None:
            other = value + 1
        elif isinstance(value, str):
            other = f"{value}x"
        if other is not None and servers(with_value(settings, path, other)) != servers(settings):
            found.add(re.sub(r"more_traps\.\d", "more_traps.*", path.replace("http.0", "http.*")))
    assert found >= SERVER_SETTINGS
    assert {path for path in found if not path.startswith("http.")} | {"http.*.url"} == (
        SERVER_SETTINGS
    )


@for_each(
    ("query", "path"),
    [
        ("em1=evil.example", "email.password"),
        ("em1=", "email.password"),
        ("em2=25", "email.password"),
        ("em1=evil.example&em3=other", "email.password"),
        ("http2=https://evil.example/a", "http.1.password"),
        ("http2=https://hook.example:8443/a", "http.1.password"),
        ("http2=http://hook.example/a", "http.1.password"),
        ("http2=hook.example/a", "http.1.password"),
        ("http2=https://hook.example.evil.example/a", "http.1.password"),
        ("http2=", "http.1.password"),
        ("mqtt=1*evil.example*1883*me**top*0", "mqtt.password"),
        ("mqtt=1*broker.example*1883*me**top*1", "mqtt.password"),
        ("snmptrap=1*evil.example*162*", "snmp.trap.community"),
        ("snmptrap3=1*evil.example*162*", "snmp.more_traps.1.community"),
    ],
)
async def test_another_host_port_or_scheme_forgets_the_secret(query: str, path: str) -> None:
    twin = await set_up()
    await twin.ok(f"/stm.cgi?{query}")
    assert secrets(twin) == {**dict.fromkeys(PATHS, "secret"), path: ""}
    last = (await twin.json("/api/audit"))[-1]
    assert {"path": path, "old": "***", "new": None} in last["changes"]


async def test_log_says_what_was_forgotten_with_its_server() -> None:
    twin = await set_up()
    await twin.ok("/stm.cgi?em1=evil.example")
    assert (await twin.json("/api/log"))[-1]["text"].endswith(
        "; deleted because its server changed: email.password"
    )


@for_each(
    "query",
    [
        "em1=other.example&em4=new",
        "em4=new&em1=other.example",
        "em1=other.example&em4=secret",
        "http2=https://other.example/a&httpauth2=me*new",
        "httpauth2=me*new&http2=https://other.example/a",
        "mqtt=1*other.example*1883*me*new*top*1",
        "snmptrap=1*other.example*162*new",
    ],
)
async def test_secret_that_is_given_again_in_the_same_request_stays(query: str) -> None:
    twin = await set_up()
    await twin.ok(f"/stm.cgi?{query}")
    assert all(secrets(twin).values())


@for_each(
    "query",
    [
        "em1=mail.example",
        "em1=MAIL.example",
        "em3=other&em5=a@b.example&em8=text",
        "http2=https://hook.example/other",
        "http2=https://HOOK.example:443/other",
        "httppost2=0*x",
        "http2=https://evil.example/a&http2=https://hook.example/b",
        "oname=0Pump",
    ],
)
async def test_same_server_keeps_it(query: str) -> None:
    twin = await set_up()
    await twin.ok(f"/stm.cgi?{query}")
    assert secrets(twin) == dict.fromkeys(PATHS, "secret")


async def test_secret_that_was_given_before_its_server_stays() -> None:
    twin = await LoopTwin.start()
    for query in ("em4=secret", "em1=mail.example", "httpauth1=me*secret", "http1=hook.example/a"):
        await twin.ok(f"/stm.cgi?{query}")
    settings = twin.controller.engine.settings
    assert (settings.email.password, settings.http[0].password) == ("secret", "secret")


async def test_way_over_no_server_does_not_lead_to_another_one() -> None:
    twin = await set_up()
    await twin.ok("/stm.cgi?em1=&http2=")
    await twin.ok("/stm.cgi?em1=evil.example&http2=https://evil.example/a")
    assert secrets(twin) | {"email.password": "", "http.1.password": ""} == secrets(twin)


def test_addresses_without_scheme_and_port_are_the_same_server_as_with_them() -> None:
    assert server_of("Hook.example/a") == server_of("http://hook.example:80/b")
    assert server_of("https://hook.example") == server_of("https://hook.example:443/")
    assert server_of("") is None


# --- backups -------------------------------------------------------------------------------------


def foreign(**changes: object) -> bytes:
    """A backup without secrets; paths of changes with two underscores."""
    settings: Settings = defaults(Profile())
    for path, value in changes.items():
        settings = with_value(settings, path.replace("__", "."), value)
    return encode_backup(Profile(), settings)


async def test_foreign_backup_gets_no_secret_delivered_to_its_servers() -> None:
    twin = await set_up()
    await twin.ok(
        UPLOAD,
        "POST",
        foreign(
            email__host="evil.example",
            mqtt__host="evil.example",
            snmp__trap__host="evil.example",
        ),
    )
    assert secrets(twin) == {**dict.fromkeys(PATHS, ""), "http.1.password": "secret"}
    assert twin.controller.engine.settings.http[1].url == "https://hook.example/a"
    report = await twin.json("/api/restore-report")
    forgotten = {entry["path"] for entry in report if "is for another server" in entry["reason"]}
    assert forgotten == {*PATHS} - {"http.1.password"}


async def test_foreign_backup_with_an_address_gets_neither_login_nor_body() -> None:
    twin = await set_up()
    settings = {"http.1.url": "https://evil.example/", "http.1.post": True}
    await twin.ok(UPLOAD, "POST", pack(BackupFile("3.9", "1.75", settings)))
    found = twin.controller.engine.settings.http[1]
    assert (found.url, found.password, found.body) == ("https://evil.example/", "", "")


async def test_secret_without_a_server_does_not_go_to_that_of_a_backup() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?em4=secret")
    await twin.ok(UPLOAD, "POST", foreign(email__host="evil.example"))
    assert twin.controller.engine.settings.email.password == ""


async def test_backup_of_the_controller_itself_keeps_its_secrets() -> None:
    twin = await set_up()
    backup = (await twin.ok("/dev_settings.bin")).body
    await twin.ok("/stm.cgi?oname=0Pump")
    await twin.ok(UPLOAD, "POST", backup)
    assert secrets(twin) == dict.fromkeys(PATHS, "secret")
