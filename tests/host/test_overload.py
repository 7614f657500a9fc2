"""A server that cannot be pushed over: whatever others do, a valid request is answered in a second.

The clients that misbehave are all at the same address as the one that does not.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.host.controller_process import ControllerProcess, controller_process
from tests.patience import PATIENCE_S
from tests.stopwatch import Stopwatch, within

MIB = 1024 * 1024
ANSWERED_WITHIN_S = 1.0
REQUEST = b"GET /outs.cgi?out0=1 HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerProcess]:
    with controller_process(tmp_path_factory.mktemp("overload")) as running:
        running.ask("/outs.cgi")
        yield running


@pytest.fixture(scope="module")
def idle_bytes(process: ControllerProcess) -> int:
    return process.memory_bytes()


@contextmanager
def open_connection(
    process: ControllerProcess, *, buffer: int | None = None
) -> Iterator[socket.socket]:
    with socket.socket() as client:
        if buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.settimeout(PATIENCE_S)
        client.connect(("127.0.0.1", process.port))
        yield client


def check_unharmed(process: ControllerProcess, idle_bytes: int) -> None:
    """A valid request is answered in time, and memory has stayed within its bounds."""
    waits_s = []
    for _ in range(3):
        watch = Stopwatch()
        status, _ = process.ask("/outs.cgi?out0=1")
        waits_s.append(watch.seconds())
        assert status == 200
    # The middle one: the machine that runs the tests is busy with other things, too.
    assert sorted(waits_s)[1] < ANSWERED_WITHIN_S
    assert process.memory_bytes() <= 2 * idle_bytes + 64 * MIB


def send_as_far_as_taken(client: socket.socket, data: bytes, times: int) -> None:
    try:
        for _ in range(times):
            client.sendall(data)
    except OSError:
        return


@pytest.mark.thorough
def test_thousand_idle_and_two_hundred_half_open_connections(
    process: ControllerProcess, idle_bytes: int
) -> None:
    with ExitStack() as clients:
        for number in range(1200):
            client = clients.enter_context(open_connection(process))
            if number < 200:
                client.sendall(REQUEST)
            elif number < 700:
                client.sendall(REQUEST + b"\r\n")
        check_unharmed(process, idle_bytes)
    check_unharmed(process, idle_bytes)


def drip(client: socket.socket) -> None:
    for byte in REQUEST:
        client.sendall(bytes([byte]))


def huge_body(client: socket.socket) -> None:
    client.sendall(b"POST /post.cgi?pictureupload HTTP/1.1\r\nContent-Length: 104857600\r\n\r\n")
    send_as_far_as_taken(client, b"x" * MIB, 100)


def huge_chunked_body(client: socket.socket) -> None:
    head = b"POST /post.cgi?pictureupload HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    client.sendall(head)
    send_as_far_as_taken(client, b"100000\r\n" + b"x" * MIB + b"\r\n", 100)


def ten_thousand_headers(client: socket.socket) -> None:
    client.sendall(REQUEST)
    send_as_far_as_taken(client, b"X-Header: something to read\r\n", 10_000)


def endless_header(client: socket.socket) -> None:
    client.sendall(REQUEST + b"X-Header: ")
    send_as_far_as_taken(client, b"x" * 65536, 200)


def slow_reader(client: socket.socket) -> None:
    client.settimeout(0.2)
    send_as_far_as_taken(
        client, b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100, 10
    )


def send_pipelined_burst(client: socket.socket) -> None:
    client.settimeout(0.2)
    send_as_far_as_taken(client, (REQUEST + b"\r\n") * 1000, 20)


#: Ways that only thorough runs try.
RARER = (drip, huge_chunked_body, ten_thousand_headers, send_pipelined_burst)


@pytest.mark.parametrize(
    "misbehave",
    [
        *(huge_body, endless_header, slow_reader),
        *(pytest.param(rarer, marks=pytest.mark.thorough) for rarer in RARER),
    ],
)
def test_clients_are_answered_while_ten_others_misbehave(
    process: ControllerProcess, idle_bytes: int, misbehave: Callable[[socket.socket], None]
) -> None:
    with ExitStack() as clients:
        for _ in range(10):
            client = clients.enter_context(open_connection(process, buffer=4096))
            misbehave(client)
        check_unharmed(process, idle_bytes)
    check_unharmed(process, idle_bytes)


def test_owner_gets_in_while_passwords_are_guessed(tmp_path: Path) -> None:
    with controller_process(tmp_path) as process:
        fields = "YWRtaW4=*bG9uZyBzZWNyZXQ=*dXNlcg==*"
        assert process.ask(f"/stm.cgi?auth=11{fields}")[0] == 200
        statuses = [
            process.ask("/outs.cgi", account=("admin", f"guess {number}"))[0]
            for number in range(100)
        ]
        assert set(statuses) == {401, 429}
        assert statuses.count(401) <= 10
        assert process.ask("/health")[0] == 200
        with within(2.0), socket.socket() as client:
            # Another address of the same machine.
            client.bind(("127.0.0.2", 0))
            client.settimeout(PATIENCE_S)
            client.connect(("127.0.0.1", process.port))
            client.sendall(
                b"GET /outs.cgi HTTP/1.1\r\nAuthorization: Basic YWRtaW46bG9uZyBzZWNyZXQ=\r\n\r\n"
            )
            assert b" 200 OK" in client.recv(4096)


UPLOAD_HEAD = (
    b"POST /post.cgi?wwwfileupload HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
)
SIGN_IN = b"username=admin&password=long+secret"


@pytest.mark.thorough
def test_endless_uploads_of_strangers_do_not_block_signing_in(
    tmp_path: Path,
) -> None:
    with controller_process(tmp_path) as process, ExitStack() as clients:
        fields = "YWRtaW4=*bG9uZyBzZWNyZXQ=*dXNlcg==*"
        assert process.ask(f"/stm.cgi?auth=11{fields}")[0] == 200
        for _ in range(6):
            stranger = clients.enter_context(open_connection(process))
            stranger.sendall(UPLOAD_HEAD % (16 * MIB))
            assert b" 401 " in stranger.recv(4096)
            send_as_far_as_taken(stranger, bytes(MIB), 15)
        with within(2.0):
            assert process.ask("/post.cgi?signin", "POST", SIGN_IN)[0] == 200
        # Nor does the administrator, whose uploads are taken.
        for _ in range(6):
            uploading = clients.enter_context(open_connection(process))
            head = UPLOAD_HEAD % (16 * MIB)
            account = b"\r\nAuthorization: Basic YWRtaW46bG9uZyBzZWNyZXQ=\r\n\r\n"
            uploading.sendall(head.replace(b"\r\n\r\n", account))
            send_as_far_as_taken(uploading, bytes(MIB), 15)
        assert process.ask("/post.cgi?signin", "POST", SIGN_IN)[0] == 200
        assert process.ask("/outs.cgi?out0=1", account=("admin", "long secret"))[0] == 200
