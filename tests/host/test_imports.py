"""What a controller loads: little at its start, and nothing on the way of a request."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import command_table
from leverframe.interface.uploads.site import pack_site
from leverframe.server.routes.endpoints import ENDPOINTS
from tests.host.controller_process import ControllerProcess, controller_process
from tests.host.frozen_imports import FROZEN
from tests.patience import PATIENCE_S

#: Large libraries of features that most controllers do not use; each is loaded beside the loop
#: when its feature is switched on.
LARGE = {
    "PIL",
    "anyio",
    "argon2",
    "certifi",
    "cryptography",
    "httpx",
    "icmplib",
    "luma",
    "pyasn1",
    "pysnmp",
    "serialx",
    "smtplib",
    "zeroconf",
}
#: What only some controllers need, and loads much itself or was loaded at every start before.
NOT_FOR_ALL = {
    "dataclasses",
    "gzip",
    "http",
    "leverframe.host.controller.hand_over",
    "leverframe.fleet",
    "leverframe.devices.linux.board",
    "leverframe.devices.modem",
    "docs._ext",
    "leverframe.server.discovery",
    "leverframe.testing",
    "leverframe.units",
    "tempfile",
    "zipfile",
}


#: Packs archives; argparse loads it for the width of the terminal, with all that it packs by.
ARCHIVES = {"bz2", "lzma", "shutil"}


def test_reading_the_command_line_loads_nothing_that_packs_archives() -> None:
    program = (
        "import sys\n"
        "from leverframe.host.command_line.parser import command_line_parser\n"
        "words = ['run', '--port', '0']\n"
        "command_line_parser(words).parse_args(words)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ARCHIVES.intersection(done.stdout.split()) == set()


def test_start_loads_nothing_of_a_feature_that_is_off() -> None:
    program = "import leverframe.host.serve, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = done.stdout.split()
    assert {name.partition(".")[0] for name in loaded} & LARGE == set()
    assert NOT_FOR_ALL.intersection(loaded) == set()


# --- requests ------------------------------------------------------------------------------------

ACCOUNT = ("admin", "secret")
PASSPHRASE = {"Backup_Passphrase": "correct%20horse"}
STREAM = "/api/stream"
#: They change who is asking, or come last; or they switch a feature on, and load it in a thread.
NOT_IN_BETWEEN = (
    *("auth=", "passwd", "eeprom_reset", "restart=1", "upgrade="),
    *("snmp=", "pictureupload", "wwwfileupload", "wdog1="),
)
SITE = pack_site({"index.html": b"<title><--#dsid--></title>"})
SCREEN = b"enabled=1&screen1=1&line11=Cellar"
SWITCH_ON = (
    ("/stm.cgi?em4=secret", None),
    ("/post.cgi?wwwfileupload", SITE),
    ("/post.cgi?oled_save", SCREEN),
    ("/stm.cgi?auth=11YWRtaW4=*c2VjcmV0*dXNlcg==*c2VjcmV0", None),
)


def one_of_every_kind(process: ControllerProcess) -> dict[str, int]:
    """The status of each answer."""
    answers: dict[str, int] = {}
    for endpoint in ENDPOINTS:
        if endpoint.path == STREAM:
            process.begin(STREAM, ACCOUNT)
        else:
            answers[endpoint.path] = process.ask(endpoint.path, account=ACCOUNT)[0]
    for command in command_table(Profile()):
        method, _, target = command["example"].partition(" ")
        if any(name in target for name in NOT_IN_BETWEEN):
            continue
        body = command["example_body"]
        content = body.encode() if body else None
        answers[command["example"]] = process.ask(target, method, content, ACCOUNT)[0]
    _, backup = process.ask("/dev_settings.bin", account=ACCOUNT, **PASSPHRASE)
    answers["restore"] = process.ask(
        "/post.cgi?settingsupload", "POST", backup, ACCOUNT, **PASSPHRASE
    )[0]
    answers["a wrong password"] = process.ask("/", account=("admin", "wrong"))[0]
    answers["bench"] = process.ask("/sim.cgi?DS1=21.5&plant=none", account=ACCOUNT)[0]
    for last in ("devrestart=1", "eeprom_reset=1"):
        answers[last] = process.ask(f"/stm.cgi?{last}", account=ACCOUNT)[0]
    return answers


@pytest.mark.thorough
def test_no_request_loads_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with controller_process(tmp_path, "--capture") as process:
        for target, body in SWITCH_ON:
            status, answer = process.ask(target, "POST" if body else "GET", body)
            assert status == 200, answer
    report = tmp_path / "report"
    freezing = [sys.executable, "-m", "tests.host.frozen_imports", str(report)]
    monkeypatch.setattr("tests.host.controller_process.PROGRAM", freezing)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    with controller_process(tmp_path, "--capture") as process:
        deadline = time.monotonic() + PATIENCE_S
        while not report.exists() or not report.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        answers = one_of_every_kind(process)
    assert report.read_text().split("\n") == [FROZEN, ""]
    assert {kind: status for kind, status in answers.items() if status >= 500} == {}
    assert list(answers.values()).count(200) > 150
