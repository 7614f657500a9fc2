"""A process that can open no further file refuses what it cannot keep, and forgets nothing."""

import http.client
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.process.controller_process import PATIENCE_S, ControllerProcess, controller_process

NO_LIMIT = 1024


@contextmanager
def no_files_left(process: ControllerProcess) -> Iterator[None]:
    """Nothing more can be opened, not even where a number below has become free."""
    numbers = [int(name) for name in os.listdir(f"/proc/{process.pid}/fd")]
    lowest_free = next(n for n in range(len(numbers) + 1) if n not in numbers)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (lowest_free, NO_LIMIT))
    try:
        yield
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (NO_LIMIT, NO_LIMIT))


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
def test_what_failed_for_lack_of_files_is_kept_when_it_is_sent_again(
    tmp_path: Path, target: str, body: bytes | None, shown: tuple[str, str]
) -> None:
    with controller_process(tmp_path) as process:
        line = http.client.HTTPConnection("127.0.0.1", process.port, timeout=PATIENCE_S)
        assert ask(line, "/stm.cgi?oname=0Pump") == 200
        with no_files_left(process):
            first = ask(line, target, body)
            assert first in (200, 500, 507)
        assert ask(line, target, body) == 200
        line.close()
    with controller_process(tmp_path) as process:
        _, settings = process.ask("/api/settings")
        assert b'"***"' in settings


@pytest.mark.thorough
def test_a_feature_that_is_on_needs_no_further_file(tmp_path: Path) -> None:
    with controller_process(tmp_path) as process:
        assert process.ask("/stm.cgi?em4=secret")[0] == 200
    with controller_process(tmp_path) as process:
        line = http.client.HTTPConnection("127.0.0.1", process.port, timeout=PATIENCE_S)
        assert ask(line, "/health") == 200
        with no_files_left(process):
            assert ask(line, "/stm.cgi?em4=other&oname=0Pump") == 200
            assert ask(line, "/stm.cgi?oname=1Lamp") == 200
        line.close()
    with controller_process(tmp_path) as process:
        _, settings = process.ask("/api/settings")
        assert b'"***"' in settings
        assert b"Pump" in settings
        assert b"Lamp" in settings
