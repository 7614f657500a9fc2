"""The first start on an address that others can reach, and `leverframe passwd`."""

import http.client
import os
import re
import signal
import ssl
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from leverframe.host.reach import random_password
from leverframe.server.http.certificate import own_certificate
from tests.host.controller_process import (
    PATIENCE_S,
    PROGRAM,
    contents_of,
    controller_process,
)
from tests.server.accounts.test_role_walk import PUBLIC, paths

QUIET = ("--no-discovery", "--no-mdns")
EVERYWHERE = ("--host", "0.0.0.0", *QUIET)


def password_in(printed: str) -> str:
    found = re.search(r"Sign in as admin with the password (\S+)\n", printed)
    assert found is not None, printed
    return found[1]


def passwd(folder: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [*PROGRAM, "passwd", "--data", str(folder), *arguments],
        input=typed,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def test_passwords_that_are_made_up_hold_a_hundred_bits_and_never_repeat() -> None:
    made = [random_password() for _ in range(1_000)]
    assert len(set(made)) == 1_000
    letters = {letter for password in made for letter in password if letter != "-"}
    assert len(letters) == 32
    assert all(len(password.replace("-", "")) * 5 >= 100 for password in made)


def test_loopback_address_is_open_without_accounts(tmp_path: Path) -> None:
    with controller_process(tmp_path) as process:
        assert "password" not in process.printed
        assert process.ask("/outs.cgi?out0=1")[0] == 200


def test_network_address_creates_an_administrator_whose_password_is_shown_once(
    tmp_path: Path,
) -> None:
    with controller_process(tmp_path, *EVERYWHERE) as process:
        account = ("admin", password_in(process.printed))
        for path in paths():
            assert process.ask(path)[0] == (200 if path in PUBLIC else 401), path
        assert process.ask("/api/settings", account=account)[0] == 200
        # Switching sign-in off has no effect while strangers can reach the controller.
        assert process.ask("/stm.cgi?auth=01YWRtaW4=**dXNlcg==*", account=account)[0] == 200
        assert process.ask("/outs.cgi?out0=1")[0] == 401
        assert process.ask("/outs.cgi?out0=1", account=account)[0] == 200
    with controller_process(tmp_path, *EVERYWHERE) as process:
        assert "password" not in process.printed
        assert process.ask("/outs.cgi?out0=1")[0] == 401
        assert process.ask("/api/settings", account=account)[0] == 200


def test_password_is_stored_nowhere(tmp_path: Path) -> None:
    with controller_process(tmp_path, *EVERYWHERE) as process:
        password = password_in(process.printed).encode()
        assert password not in process.log.read_bytes()
        for content in contents_of(process.folder).values():
            assert password not in content


def test_passwd_sets_a_password_that_works(tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = passwd(data, typed="a rather long one\n")
    assert done.returncode == 0, done.stderr
    with controller_process(tmp_path) as process:
        assert process.ask("/outs.cgi")[0] == 401
        account = ("admin", "a rather long one")
        assert process.ask("/outs.cgi", account=account)[0] == 200
        _, trail = process.ask("/api/audit", account=account)
        assert b'"cause":"command line"' in trail
        assert b'"path":"access.admin.password","old":null,"new":"***"' in trail
        assert "in use" in passwd(data, typed="another long one\n").stderr


def test_passwd_makes_up_a_password(tmp_path: Path) -> None:
    done = passwd(tmp_path / "data", "user", "--generate")
    assert re.fullmatch(r"The password of user is now [a-z2-9-]{27}\n", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "typed", "sentence"),
    [
        ((), "short\n", "The password has 5 characters; it must have 12 to 128."),
        (("stranger",), "long enough to do\n", "Unknown account 'stranger'"),
    ],
)
def test_passwd_says_what_will_not_do(
    tmp_path: Path, arguments: tuple[str, ...], typed: str, sentence: str
) -> None:
    done = passwd(tmp_path / "data", *arguments, typed=typed)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert typed.strip() not in done.stderr


def test_browsers_with_tls_receive_strict_transport_security(tmp_path: Path) -> None:
    with controller_process(tmp_path, "--tls") as process:
        trusting = ssl.create_default_context(cafile=str(process.folder / "tls-certificate.pem"))
        with closing(
            http.client.HTTPSConnection("127.0.0.1", process.port, context=trusting)
        ) as connection:
            headers = {}
            for target in ("/", "/health", "/outs.cgi", "/nothing", "/api/stream"):
                connection.request("GET", target)
                with connection.getresponse() as answer:
                    headers[target] = answer.getheader("Strict-Transport-Security")
                    if target != "/api/stream":
                        answer.read()
    assert headers == dict.fromkeys(headers, "max-age=31536000")


@pytest.mark.thorough
def test_browsers_without_tls_receive_no_strict_transport_security(tmp_path: Path) -> None:
    with (
        controller_process(tmp_path) as process,
        closing(http.client.HTTPConnection("127.0.0.1", process.port)) as connection,
    ):
        connection.request("GET", "/")
        assert connection.getresponse().getheader("Strict-Transport-Security") is None


def test_tls_answers_by_https_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    with controller_process(tmp_path, "--tls") as process:
        trusting = ssl.create_default_context(cafile=str(process.folder / "tls-certificate.pem"))
        address = f"https://localhost:{process.port}/health"
        with urllib.request.urlopen(address, context=trusting) as answer:
            assert answer.status == 200
        assert process.ask("/outs.cgi?out0=1")[0] == 308


@pytest.mark.thorough
def test_hangup_takes_up_a_new_certificate_without_a_restart(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    own_certificate(tmp_path / "new", "leverframe-new", [])
    with controller_process(tmp_path, "--tls") as process:
        address = ("127.0.0.1", process.port)
        before = ssl.get_server_certificate(address)
        for name in ("tls-key.pem", "tls-certificate.pem"):
            (process.folder / name).write_bytes((tmp_path / "new" / name).read_bytes())
        assert ssl.get_server_certificate(address) == before
        os.kill(process.pid, signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE_S
        while ssl.get_server_certificate(address) == before:
            assert time.monotonic() < deadline
