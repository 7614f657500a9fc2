"""Every fault of an answer, as clients that people use see it: httpx, requests, tinytoolslib.

The server is on a loop in a thread, as in a test of another client.
"""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import requests
from tinytoolslib.models import get_version

from leverframe.core.profile import Profile
from leverframe.devices.simulated.fault_catalogue import FAULTS, HTTP, Fault
from leverframe.host.controller.faults import ActiveFault
from leverframe.testing import faults
from tests.clients.served_twin import HOST, LoopThread, ServedTwin, serve_twin
from tests.patience import PATIENCE_S
from tests.stopwatch import within

STATUS = "/json/status.json"


@pytest.fixture(scope="module")
def thread() -> Iterator[LoopThread]:
    loop_thread = LoopThread()
    yield loop_thread
    loop_thread.close()


class Unit:
    def __init__(self, thread: LoopThread, twin: ServedTwin) -> None:
        self.thread = thread
        self.twin = twin
        self.url = f"http://{HOST}:{twin.port}"

    @contextmanager
    def fault(self, fault: Fault, **scope: Any) -> Iterator[ActiveFault]:
        registry = self.twin.twin.controller.faults
        assert registry is not None
        active = self.run(lambda: registry.add(fault.within(**scope)))
        try:
            yield active
        finally:
            self.run(lambda: registry.remove(active))

    def run(self, work: Callable[[], Any]) -> Any:
        async def on_loop() -> Any:
            return work()

        return self.thread.wait_for(on_loop())

    def get(self, path: str = STATUS, timeout: float = PATIENCE_S) -> httpx.Response:
        return httpx.get(self.url + path, timeout=timeout)

    def journal(self) -> list[str]:
        def read() -> list[str]:
            entries = self.twin.twin.controller.engine.machine.journal.entries()
            return [f"{x.cause}: {x.text}" for x in entries if x.cause.kind == "fault"]

        found: list[str] = self.run(read)
        return found


@pytest.fixture
def unit(thread: LoopThread) -> Iterator[Unit]:
    with serve_twin(thread, Profile()) as twin:
        yield Unit(thread, twin)


def test_slow_is_late_and_ends_after_its_times(unit: Unit) -> None:
    with unit.fault(faults.slow("1h"), path=STATUS, times=2):
        with pytest.raises(httpx.ReadTimeout):
            unit.get(timeout=0.05)
        with pytest.raises(requests.ReadTimeout):
            requests.get(unit.url + STATUS, timeout=0.05)
        assert unit.get("/api/state").status_code == 200
        assert unit.get().status_code == 200
    assert unit.journal() == [
        f"fault 1 slow: begins: slow*delay:1h*jitter:0*path:{STATUS}*times:2",
        f"fault 1 slow: acts on {STATUS}",
        f"fault 1 slow: acts on {STATUS}",
        "fault 1 slow: ended; it acted 2 times",
    ]


def test_answer_of_a_slow_unit_is_whole(unit: Unit) -> None:
    began = time.monotonic()
    with unit.fault(faults.slow("0.1s", jitter="0.05s")), within(2.0):
        assert unit.get().json()["hw"]
    assert time.monotonic() - began >= 0.1


def test_drip_is_an_answer_in_drops(unit: Unit) -> None:
    with (
        unit.fault(faults.drip(4000)),
        httpx.stream("GET", unit.url + STATUS, timeout=PATIENCE_S) as answer,
    ):
        drops = list(answer.iter_raw())
    assert len(drops) > 3
    assert json.loads(b"".join(drops))["hw"]


def test_connection_is_kept_after_a_dripping_answer(unit: Unit) -> None:
    with (
        httpx.Client(base_url=unit.url, timeout=PATIENCE_S) as client,
        unit.fault(faults.drip(100_000), times=1),
    ):
        assert [client.get(STATUS).status_code for _ in range(2)] == [200, 200]


def test_refuse_is_a_closed_port(unit: Unit) -> None:
    kept = httpx.Client(base_url=unit.url, timeout=PATIENCE_S)
    assert kept.get(STATUS).status_code == 200
    with unit.fault(faults.refuse()):
        with pytest.raises(httpx.ConnectError):
            unit.get()
        with pytest.raises(requests.ConnectionError):
            requests.get(unit.url + STATUS, timeout=PATIENCE_S)
        with pytest.raises(httpx.HTTPError):
            kept.get(STATUS)
    assert kept.get(STATUS).status_code == 200
    assert unit.twin.port == int(unit.url.rpartition(":")[2])
    kept.close()


def test_reset_is_a_reset_and_no_end(unit: Unit) -> None:
    with unit.fault(faults.reset()):
        with pytest.raises(httpx.ReadError, match="reset"):
            unit.get()
        with pytest.raises(requests.ConnectionError, match="reset"):
            requests.get(unit.url + STATUS, timeout=PATIENCE_S)


def receive_until_reset(client: socket.socket) -> bytes:
    seen = b""
    while True:
        try:
            data = client.recv(4096)
        except ConnectionResetError:
            return seen
        assert data, "the connection was closed in order"
        seen += data


def test_reset_after_some_bytes_is_in_the_middle(unit: Unit) -> None:
    with (
        unit.fault(faults.reset_after(300)),
        socket.create_connection((HOST, unit.twin.port), PATIENCE_S) as client,
    ):
        client.sendall(b"GET /json/status.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert len(receive_until_reset(client)) == 300


def test_cut_body_is_shorter_than_promised(unit: Unit) -> None:
    with unit.fault(faults.cut(10)):
        with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
            unit.get()
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            requests.get(unit.url + STATUS, timeout=PATIENCE_S)
    with unit.fault(faults.cut()), pytest.raises(httpx.RemoteProtocolError):
        unit.get()


def test_wrong_length_promises_more_or_fewer(unit: Unit) -> None:
    whole = unit.get().text
    with unit.fault(faults.wrong_length(10)), pytest.raises(httpx.RemoteProtocolError):
        unit.get()
    with unit.fault(faults.wrong_length(-10)):
        assert unit.get().text == whole[:-10]


@pytest.mark.parametrize("code", [500, 503, 401, 599])
def test_status_is_a_bare_error(unit: Unit, code: int) -> None:
    with unit.fault(faults.status(code)):
        assert unit.get().status_code == code
        with pytest.raises(requests.HTTPError):
            requests.get(unit.url + STATUS, timeout=PATIENCE_S).raise_for_status()


def test_garbage_is_no_json_and_the_same_for_the_same_seed(unit: Unit) -> None:
    bodies = []
    for seed in (1, 1, 2):
        with unit.fault(faults.garbage(), seed=seed):
            answer = unit.get()
            with pytest.raises((json.JSONDecodeError, UnicodeDecodeError)):
                answer.json()
            bodies.append(answer.content)
    assert bodies[0] == bodies[1] != bodies[2]


def test_garbage_can_be_the_whole_answer(unit: Unit) -> None:
    with unit.fault(faults.garbage("answer")), pytest.raises(httpx.RemoteProtocolError):
        unit.get()


def test_another_content_type_is_said(unit: Unit) -> None:
    with unit.fault(faults.content_type("text/plain; charset=latin-1")):
        assert unit.get().headers["content-type"] == "text/plain; charset=latin-1"


def test_stale_answer_is_the_first_one(unit: Unit) -> None:
    with unit.fault(faults.stale(), path="/json/"):
        before = unit.get().text
        unit.get("/outs.cgi?out0=1")
        assert unit.get().text == before
        assert unit.get("/api/state").json()["OUT0"] == 1
    assert unit.get().text != before


def test_half_open_answers_once_and_stays_open(unit: Unit) -> None:
    with httpx.Client(base_url=unit.url, timeout=PATIENCE_S) as client:
        with unit.fault(faults.half_open(), times=1):
            assert client.get(STATUS).status_code == 200
        with pytest.raises(httpx.ReadTimeout):
            client.get(STATUS, timeout=0.1)
        # A new connection works.
        assert client.get(STATUS).status_code == 200


def test_frozen_accepts_and_never_answers(unit: Unit) -> None:
    with unit.fault(faults.frozen()):
        with pytest.raises(httpx.ReadTimeout):
            unit.get(timeout=0.1)
        with pytest.raises(requests.ReadTimeout):
            requests.get(unit.url + STATUS, timeout=0.1)


def test_raw_is_what_the_status_files_say(unit: Unit) -> None:
    unit.get("/sim.cgi?DS1=21.5")
    with unit.fault(faults.raw("ds1", "-1270")), unit.fault(faults.slow(0)):
        said = unit.get("/json/all.json").json()["ds1"]
        assert str(said) == "-1270"
        assert "<ds1>-1270</ds1>" in unit.get("/xml/ix.xml").text
    assert unit.get("/api/state").json()["DS1"] == 21.5


def test_makers_library_finds_no_unit_that_answers_500(unit: Unit) -> None:
    assert get_version(HOST, port=unit.twin.port) is not None
    with unit.fault(faults.status(500)):
        assert get_version(HOST, port=unit.twin.port) is None


def test_test_bench_answers_whatever_is_set(unit: Unit) -> None:
    with unit.fault(faults.frozen()):
        shown = unit.get("/api/sim").json()["faults"]["set"]
        assert [one["text"] for one in shown] == ["frozen"]
        assert unit.get("/sim.cgi?fault=none").status_code == 200
        assert unit.get().status_code == 200


def test_chance_is_a_share_of_the_requests_by_the_seed(unit: Unit) -> None:
    seen = []
    for _ in range(2):
        with (
            unit.fault(faults.status(500), chance=0.5, seed=7),
            httpx.Client(base_url=unit.url, timeout=PATIENCE_S) as client,
        ):
            seen.append([client.get(STATUS).status_code for _ in range(20)])
    assert seen[0] == seen[1]
    assert 3 < seen[0].count(500) < 17


def test_newest_fault_acts_and_slow_ones_besides(unit: Unit) -> None:
    began = time.monotonic()
    with (
        unit.fault(faults.status(500)),
        unit.fault(faults.slow(0.1)),
        unit.fault(faults.status(503)),
    ):
        assert unit.get().status_code == 503
    assert time.monotonic() - began >= 0.1


def test_without_faults_the_server_has_its_own_handler(unit: Unit) -> None:
    state = unit.twin.server.state
    own = state.handler
    with unit.fault(faults.status(500), path="/nowhere"):
        assert state.handler != own
    assert state.handler == own


def test_every_kind_of_answer_is_tested_here() -> None:
    """The kinds that act on answers are those whose effect is tested above."""
    tested = {"slow", "drip", "reset", "cut", "wrong_length", "status", "garbage"}
    tested |= {"content_type", "stale", "half_open", "frozen", "raw"}
    # What a path answers instead of its own is tested with the kit.
    tested |= {"reply"}
    assert {name for name, kind in FAULTS.items() if kind.where == HTTP} == tested
