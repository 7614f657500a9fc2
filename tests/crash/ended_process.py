"""A controller in a process of its own that ends by a signal, and questions to it."""

import http.client
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE_S


@contextmanager
def end_by_signal(number: int, data: Path, *options: str) -> Iterator[int]:
    """The port of a controller that ends by a signal."""
    program = [sys.executable, "-m", "leverframe", "run", "--port", "0", "--data", str(data)]
    process = subprocess.Popen([*program, *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        try:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            assert found is not None
            yield int(found[1])
        finally:
            process.send_signal(number)
            process.wait(PATIENCE_S)


def ask(port: int, target: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", target)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200, body
    return body
