"""Secrets planted everywhere, then everything read that can be read: none of them comes out.

Addresses and bodies of HTTP1-HTTP4 come out where the administrator reads the settings, and nowhere
else but in the store itself.
"""

from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

from leverframe.core.settings import CONFIDENTIAL, SECRETS
from leverframe.server.routes.endpoints import VALUES
from leverframe.testing import LoopTwin
from tests.host.controller_process import ControllerProcess, contents_of, controller_process
from tests.server.accounts.test_role_walk import paths


def canary(path: str) -> str:
    """Short enough for every field, and found nowhere by chance."""
    return "Kn" + "".join(part[:2] for part in path.replace("*", "0").split(".")) + "7Zq"


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


ADMIN = ("admin", canary("access.admin.password"))
USER = ("user", canary("access.user.password"))
_ACCOUNTS = "*".join(base64(text) for text in (*ADMIN, *USER))
_TRAP = f"1*127.0.0.1*162*{canary('snmp.trap.community')}"
#: Secret settings -> the request that sets them.
PLANTED: dict[tuple[str, ...], tuple[str, bytes | None]] = {
    ("gsm.apn",): (f"/stm.cgi?gsmapn=%22{canary('gsm.apn')}%22", None),
    ("gsm.code",): (f"/stm.cgi?gsmcode={canary('gsm.code')}", None),
    ("email.password",): (f"/stm.cgi?em4={canary('email.password')}", None),
    ("mqtt.password",): (
        f"/stm.cgi?mqtt=0*127.0.0.1*1883*me*{canary('mqtt.password')}*top*0",
        None,
    ),
    ("snmp.read_community", "snmp.write_community"): (
        f"/stm.cgi?snmp=0*{canary('snmp.read_community')}*{canary('snmp.write_community')}",
        None,
    ),
    ("snmp.authentication_key", "snmp.privacy_key"): (
        f"/stm.cgi?snmpv3=me*{canary('snmp.authentication_key')}*{canary('snmp.privacy_key')}",
        None,
    ),
    ("snmp.trap.community",): (f"/stm.cgi?snmptrap={quote(_TRAP, safe='*')}", None),
    ("snmp.more_traps.*.community",): (
        f"/stm.cgi?snmptrap2=1*127.0.0.1*162*{canary('snmp.more_traps.*.community')}",
        None,
    ),
    ("http.*.url",): (f"/stm.cgi?http1=https://a.example/go?t={canary('http.*.url')}", None),
    ("http.*.body",): (f"/stm.cgi?httppost1=1*{canary('http.*.body')}", None),
    ("http.*.password",): (f"/stm.cgi?httpauth1=me*{canary('http.*.password')}", None),
    ("access.users.*.password",): (
        "/post.cgi?users_save",
        f"&u0=panel*{canary('access.users.*.password')}*1&&".encode(),
    ),
    # Last: from here on the others need it.
    ("access.admin.password", "access.user.password"): (f"/stm.cgi?auth=11{_ACCOUNTS}", None),
}
STREAM = "/api/stream"
#: Where the administrator sees the settings, and changes them.
SETTINGS = ("/api/settings", "/api/start")
#: What must not be left out of the search because it answered with an error.
ALWAYS_THERE = {endpoint.path for endpoint in VALUES}
#: Requests that are refused, with a secret in them.
MISTAKES = (
    f"/stm.cgi?em4={canary('email.password')}{'x' * 100}",
    f"/stm.cgi?em4={canary('email.password')}&nonsense=1",
    f"/stm.cgi?gsmcode={canary('gsm.code')}{'x' * 100}",
    f"/stm.cgi?snmpv3=me*{canary('snmp.privacy_key')[:5]}*1",
    f"/stm.cgi?auth=31{_ACCOUNTS}",
    f"/stm.cgi?httpauth9=me*{canary('http.*.password')}",
    f"/eeprom.cgi?em4={canary('email.password')}",
    f"/stm.cgi?http1=https://a.example/two words?t={canary('http.*.url')}".replace(" ", "%20"),
    f"/stm.cgi?httppost1=2*{canary('http.*.body')}",
    f"/stm.cgi?mqtt=5*127.0.0.1*1883*me*{canary('mqtt.password')}*top*0",
)


def plant(process: ControllerProcess) -> None:
    for target, body in PLANTED.values():
        status, answer = process.ask(target, "POST" if body else "GET", body)
        assert status == 200, (target, answer)


def read_everything(process: ControllerProcess) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in paths():
        if path == STREAM:
            found[path] = process.begin(path, account=ADMIN)
            found[f"{path} for the user"] = process.begin(path, account=USER)
        else:
            status, found[path] = process.ask(path, account=ADMIN)
            assert status == 200 or path not in ALWAYS_THERE, (path, status)
            found[f"{path} for the user"] = process.ask(path, account=USER)[1]
    for target in MISTAKES:
        status, found[target] = process.ask(target, account=ADMIN)
        assert status in (400, 404), target
    found["a wrong password"] = process.ask("/", account=("admin", ADMIN[1] + "x"))[1]
    found["the process list"] = process.visible_to_others()
    return found


def files_in(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def test_every_secret_is_planted() -> None:
    assert {path for group in PLANTED for path in group} == CONFIDENTIAL


def test_no_secret_comes_out(tmp_path: Path) -> None:
    # On virtual time there is more to read: the requests of clients.
    with controller_process(tmp_path, "--virtual-time") as process:
        plant(process)
        settings = process.ask("/api/settings", account=ADMIN)[1]
        assert settings.count(b'"***"') >= len(SECRETS)
        found = read_everything(process)
        found["what was printed"] = process.printed.encode()
        for name, content in contents_of(process.folder).items():
            found[f"{name} in use"] = content
    found["the log"] = process.log.read_bytes()
    files = {where for where in found if where.endswith(" in use")}
    for file in files_in(process.folder):
        files.add(file.name)
        found[file.name] = file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0, file
    for path in CONFIDENTIAL:
        for secret in (canary(path), base64(canary(path))):
            holding = {where for where, text in found.items() if secret.encode() in text}
            if path not in SECRETS:
                holding -= {*SETTINGS, *files}
            assert holding == set(), path


async def test_lenient_controller_logs_no_secret_that_it_skips() -> None:
    twin = await LoopTwin.start(lenient=True)
    for target in (*MISTAKES, f"/stm.cgi?emm4={canary('email.password')}"):
        await twin.ok(target)
    log = (await twin.ok("/api/log")).body
    assert log.count(b'"skipped ') == len(MISTAKES) + 1
    assert not [path for path in CONFIDENTIAL if canary(path).encode() in log]


def test_lenient_controller_prints_no_secret_that_it_skips(tmp_path: Path) -> None:
    secret = canary("access.users.*.password")
    bodies = (f"&u0=a*{secret}&&", f"&u0a*{secret}*1&&", f"&u0=a*b&{secret}*1&&", f"&{secret}&&")
    with controller_process(tmp_path, "--lenient") as process:
        for body in bodies:
            assert process.ask("/post.cgi?users_save", "POST", body.encode())[0] == 200
        assert process.ask(f"/stm.cgi?em4=a&{secret}=1")[0] == 200
        log = process.ask("/api/log")[1]
    assert log.count(b'"skipped ') == len(bodies) + 1
    printed = process.log.read_bytes()
    assert printed.count(b"skipped") == len(bodies) + 1
    assert secret.encode() not in log + printed


def test_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    with controller_process(tmp_path) as process:
        assert process.folder.stat().st_mode & 0o077 == 0
