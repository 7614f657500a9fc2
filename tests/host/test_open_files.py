"""One address cannot take the descriptors of the process, whatever kind of connection it opens."""

import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from leverframe.host import ports
from leverframe.server.fair_shares import MAX_CLIENTS
from tests.host.controller_process import ControllerProcess, controller_process
from tests.patience import PATIENCE_S
from tests.stopwatch import Stopwatch

STRANGER = "127.0.0.2"
#: A second, and one more for a machine that is busy with other tests.
ANSWERED_WITHIN_S = 2.0
LOW_LIMIT = 1024


@pytest.fixture(autouse=True)
def _own_limit() -> Iterator[None]:
    """This process holds the other ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect_many(clients: ExitStack, port: int, count: int, data: bytes = b"") -> None:
    for _ in range(count):
        client = clients.enter_context(socket.socket())
        client.bind((STRANGER, 0))
        client.settimeout(PATIENCE_S)
        client.connect(("127.0.0.1", port))
        try:
            client.sendall(data)
        except OSError:
            continue  # refused


def check_answered(process: ControllerProcess, context: ssl.SSLContext | None = None) -> None:
    waits = []
    for number in range(3):
        watch = Stopwatch()
        with socket.create_connection(("127.0.0.1", process.port), timeout=PATIENCE_S) as plain:
            client = context.wrap_socket(plain) if context else plain
            client.sendall(
                b"GET /outs.cgi?out0=%d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                % (number % 2)
            )
            assert b" 200 OK" in client.recv(4096)
            client.close()
        waits.append(watch.seconds())
    # The median: a busy machine may hold up any one of them.
    assert sorted(waits)[1] < ANSWERED_WITHIN_S


def limit_files(count: int, *, soft: bool = False) -> list[str]:
    """A program that becomes another, which may raise a soft limit by itself."""
    return ["sh", "-c", f'ulimit -{"S" if soft else ""}n {count}; exec "$@"', "sh"]


def test_plain_connections_beyond_the_file_limit_block_no_other_client(tmp_path: Path) -> None:
    with (
        controller_process(tmp_path, within=limit_files(LOW_LIMIT)) as process,
        ExitStack() as clients,
    ):
        connect_many(clients, process.port, LOW_LIMIT + 100)
        check_answered(process)
        # Nor does it keep the store from being written, or the pages from being read.
        assert process.ask("/eeprom.cgi?dword0=7")[0] == 200
        metrics = process.ask("/metrics")[1].decode()
        assert 'leverframe_connections_refused_total{server="http",reason="share"} 0' not in metrics
        assert "leverframe_client_connections_max 768" in metrics
    log = process.log.read_text()
    assert log.count("refused a connection from 127.0.0.2") == 1
    assert log.count("The limit of open files is 1024") == 1
    assert "Traceback" not in log


@pytest.mark.thorough
def test_silent_unfinished_and_plain_connections_to_a_tls_port_count_as_one_kind(
    tmp_path: Path,
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    as_usual = limit_files(LOW_LIMIT, soft=True)
    with controller_process(tmp_path, "--tls", within=as_usual) as process, ExitStack() as clients:
        kept_plain = b"GET /outs.cgi HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connect_many(clients, process.port, 1530, kept_plain)
        connect_many(clients, process.port, 600)
        connect_many(clients, process.port, 600, b"\x16\x03")
        check_answered(process, context)


def test_limit_that_is_high_enough_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    assert ports.descriptor_budget().clients.limit == MAX_CLIENTS
    assert not caplog.messages
