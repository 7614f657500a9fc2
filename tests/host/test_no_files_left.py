"""A process that can open no further file refuses what it cannot keep, and forgets nothing."""

import http.client
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
import pytest

from leverframe.interface.table.lookup import TABLE
from leverframe.server.routes.endpoints import ENDPOINTS
from leverframe.server.routes.pages import pages
from tests.boundary_profiles import NEWEST
from tests.conformance.requests import make_good_samples
from tests.fleet.test_tenant_walk import METHODS, RULES, TEMPLATE
from tests.host.controller_process import PATIENCE_S, PROGRAM, controller_process

NO_LIMIT = 1024
#: Streams have no end, and need no file.
STREAMS = {"/api/stream", "/api/fleet/stream"}
#: What a browser sends to see a page.
BROWSER = {"Accept": "text/html", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}
#: Nothing can be opened: what needs a file is refused, and may be sent again.
REFUSED_FOR_NOW = {503, 507}


class Sent(NamedTuple):
    method: str
    target: str
    body: bytes = b""
    headers: dict[str, str] = {}


@contextmanager
def no_files_left(pid: int) -> Iterator[None]:
    """Nothing more can be opened, not even where a number below has become free."""
    numbers = [int(name) for name in os.listdir(f"/proc/{pid}/fd")]
    lowest_free = next(n for n in range(len(numbers) + 1) if n not in numbers)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free, NO_LIMIT))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (NO_LIMIT, NO_LIMIT))


class OpenLines:
    """Connections that were opened while that could be done; a refusal may end one of them."""

    def __init__(self, port: int, count: int = 60) -> None:
        self._lines = [
            http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S) for _ in range(count)
        ]
        for line in self._lines:
            line.connect()

    def ask(self, sent: Sent) -> tuple[int, str, str | None]:
        line = self._lines[-1]
        line.request(sent.method, sent.target, sent.body or None, sent.headers)
        answer = line.getresponse()
        text = answer.read().decode("utf-8", "replace")
        if answer.will_close or line.sock is None:
            self._lines.pop().close()
        return answer.status, text, answer.getheader("Retry-After")

    def check(self, sent: Sent) -> None:
        """Demand an answer that is no fault of the program, and says when to try again."""
        status, text, retry_after = self.ask(sent)
        assert status < 500 or status in REFUSED_FOR_NOW, (sent, status, text)
        assert status != 503 or retry_after is not None, (sent, text)

    def close(self) -> None:
        for line in self._lines:
            line.close()


def requests_to_controller() -> list[Sent]:
    asked = [
        Sent(method, endpoint.path)
        for endpoint in ENDPOINTS
        if endpoint.path not in STREAMS
        for method in endpoint.methods
    ]
    asked += [Sent("GET", path) for path in list(pages())[::40]]
    asked += [Sent("GET", path, headers=BROWSER) for path in ("/", "/none", "/web/none")]
    asked += [
        Sent("GET", endpoint.path, headers={"Backup-Passphrase": "a long passphrase"})
        for endpoint in ENDPOINTS
        if endpoint.path.endswith(".bin")
    ]
    asked.append(Sent("GET", "/api/history.csv?for=people&zone=Europe/Oslo"))
    return asked


def commands_to_controller() -> list[Sent]:
    """One request for every row; accounts last, since each request must sign in from then on."""
    rows = [row for row in TABLE if row.form.items and row.is_offered(NEWEST)]
    samples = [next(iter(make_good_samples(row, NEWEST))) for row in rows]
    asked = [
        Sent(
            one.method,
            one.target,
            one.body,
            {"Content-Type": one.content_type} if one.content_type else {},
        )
        for one in samples
    ]
    return sorted(asked, key=lambda one: "auth=" in one.target or "users_save" in one.target)


def ask(line: http.client.HTTPConnection, target: str, body: bytes | None = None) -> int:
    line.request("POST" if body else "GET", target, body)
    answer = line.getresponse()
    answer.read()
    return answer.status


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("target", "body", "shown"),
    [
        ("/stm.cgi?em4=secret", None, ("email", "password")),
        ("/stm.cgi?auth=01YWRtaW4=*c2VjcmV0*dXNlcg==*c2VjcmV0", None, ("access", "admin")),
    ],
    ids=["a secret", "accounts"],
)
def test_request_failed_for_lack_of_files_succeeds_when_sent_again(
    tmp_path: Path, target: str, body: bytes | None, shown: tuple[str, str]
) -> None:
    with controller_process(tmp_path) as process:
        line = http.client.HTTPConnection("127.0.0.1", process.port, timeout=PATIENCE_S)
        assert ask(line, "/stm.cgi?oname=0Pump") == 200
        with no_files_left(process.pid):
            first = ask(line, target, body)
            assert first in (200, 503, 507)
        assert ask(line, target, body) == 200
        line.close()
    with controller_process(tmp_path) as process:
        _, settings = process.ask("/api/settings")
        assert b'"***"' in settings


@pytest.mark.thorough
def test_feature_that_is_on_needs_no_further_file(tmp_path: Path) -> None:
    with controller_process(tmp_path) as process:
        assert process.ask("/stm.cgi?em4=secret")[0] == 200
    with controller_process(tmp_path) as process:
        line = http.client.HTTPConnection("127.0.0.1", process.port, timeout=PATIENCE_S)
        assert ask(line, "/health") == 200
        with no_files_left(process.pid):
            assert ask(line, "/stm.cgi?em4=other&oname=0Pump") == 200
            assert ask(line, "/stm.cgi?oname=1Lamp") == 200
        line.close()
    with controller_process(tmp_path) as process:
        _, settings = process.ask("/api/settings")
        assert b'"***"' in settings
        assert b"Pump" in settings
        assert b"Lamp" in settings


def wait_for_line(log: Path, line: str) -> None:
    """Wait until the log has a line, which it surely gets."""
    end = time.monotonic() + PATIENCE_S
    while line not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.01)


class Running(NamedTuple):
    pid: int
    lines: OpenLines
    log: Path


@contextmanager
def running(folder: Path, *command: str) -> Iterator[Running]:
    """Run a process with open connections; it is killed, so nothing that was set up is done."""
    log = folder / "log"
    arguments = [*command, "--json", "--port", "0", "--data", str(folder / "data")]
    with log.open("wb") as errors:
        process = subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=errors)
    assert process.stdout is not None
    lines = None
    try:
        ready = msgspec.json.decode(process.stdout.readline())
        lines = OpenLines(urlsplit(ready["url"]).port or 80)
        yield Running(process.pid, lines, log)
    finally:
        process.kill()
        process.communicate()
        if lines is not None:
            lines.close()
    assert "Traceback" not in log.read_text()


def test_controller_answers_every_request_without_a_fault_when_no_file_can_be_opened(
    tmp_path: Path,
) -> None:
    with running(tmp_path, "run", "--verbose") as process:
        wait_for_line(process.log, "features for requests are loaded")
        with no_files_left(process.pid):
            for sent in (*requests_to_controller(), *commands_to_controller()):
                process.lines.check(sent)


def test_node_answers_every_request_without_a_fault_when_no_file_can_be_opened(
    tmp_path: Path,
) -> None:
    with running(tmp_path, "fleet", "run", "--virtual-time") as node:
        assert node.lines.ask(Sent("POST", "/api/fleet/add?name=acme-{n}&count=2"))[0] == 200
        with no_files_left(node.pid):
            for sent in requests_to_node():
                node.lines.check(sent)
            for sent in requests_to_controller():
                headers = sent.headers | {"Host": "acme-2.localhost"}
                node.lines.check(sent._replace(headers=headers))
            stranger = {"Host": "stranger.localhost", **BROWSER}
            node.lines.check(Sent("GET", "/", headers=stranger))


def requests_to_node() -> Iterator[Sent]:
    """Request all endpoints; accounts last, since each request must sign in from then on."""
    for path in sorted(RULES.keys() - STREAMS, key=lambda path: "account" in path):
        for one in RULES[path][1]:
            query, _, body = one.partition(" ")
            yield Sent(METHODS[path], path + query, TEMPLATE if body else b"")
