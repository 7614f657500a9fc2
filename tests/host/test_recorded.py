"""A twin with a recording answers what its version does not know as the recorded unit did."""

import json
import subprocess
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leverframe.core.profile import Profile
from leverframe.host.recordings import RecordedUnit, read_answers
from leverframe.interface.exchange import (
    FORMAT,
    Exchange,
    RecordedAnswer,
    RecordedBody,
    RecordingHead,
    line_of,
)
from leverframe.server.http.messages import Reply, Request
from leverframe.testing import LoopTwin, Twin
from tests.host.controller_process import PROGRAM, controller_process
from tests.patience import PATIENCE_S

AT = datetime(2026, 1, 5, tzinfo=UTC)


def exchange(target: str, text: str, status: int = 200, **headers: str) -> Exchange:
    path, mark, query = target.partition("?")
    kind = {"content-type": "text/xml", **headers}
    answer = RecordedAnswer(status, kind, RecordedBody(text))
    return Exchange(AT, 0.1, "GET", path, query if mark else None, answer)


def recording(folder: Path, *exchanges: Exchange) -> Path:
    path = folder / "session.jsonl"
    head = RecordingHead(FORMAT, "http://unit", AT)
    path.write_bytes(b"".join(map(line_of, (head, *exchanges))))
    return path


async def ask(unit: RecordedUnit, target: str, **headers: str) -> Reply:
    path, mark, query = target.partition("?")
    request = Request("GET", path, query if mark else None, headers, b"", "127.0.0.1")
    answer: Any = unit.handle(request)
    reply = await answer if isinstance(answer, Coroutine) else answer
    assert isinstance(reply, Reply)
    return reply


RECORDED = ("Leverframe-Recorded", "yes")


@pytest.mark.parametrize(
    "target", ["/extra.cgi", "/inside.json?x=1", "/stm.cgi?shiny=1", "/stm.cgi?modbuson=1"]
)
async def test_unknown_request_is_answered_as_recorded(target: str, tmp_path: Path) -> None:
    twin = await LoopTwin.start(Profile("3.0", "1.58a"))
    answers = read_answers(recording(tmp_path, exchange(target, "<recorded/>")))
    unit = RecordedUnit(twin.web.handle, answers)
    reply = await ask(unit, target)
    assert (reply.status, reply.content_type, reply.body) == (200, "text/xml", b"<recorded/>")
    assert RECORDED in reply.headers
    assert (await ask(unit, "/other.cgi")).status == 404
    await twin.controller.stop()


async def test_requests_known_to_the_version_are_not_answered_from_the_recording(
    tmp_path: Path,
) -> None:
    twin = await LoopTwin.start()
    answers = read_answers(
        recording(tmp_path, exchange("/outs.cgi?out0=1", "x"), exchange("/outs.cgi?out0=9", "x"))
    )
    unit = RecordedUnit(twin.web.handle, answers)
    assert b"<out>100000</out>" in (await ask(unit, "/outs.cgi?out0=1")).body
    assert (await ask(unit, "/outs.cgi?out0=9")).status == 400
    await twin.controller.stop()


async def test_recorded_refusal_and_its_headers_are_given_again(tmp_path: Path) -> None:
    twin = await LoopTwin.start()
    moved = exchange("/a", "", 302, location="/b")
    answers = read_answers(recording(tmp_path, moved, exchange("/c", "", 204)))
    unit = RecordedUnit(twin.web.handle, answers)
    assert ("Location", "/b") in (await ask(unit, "/a")).headers
    assert (await ask(unit, "/c")).status == 204
    await twin.controller.stop()


def test_twin_takes_a_recording_and_a_reset_begins_it_again(tmp_path: Path) -> None:
    path = recording(tmp_path, exchange("/extra.cgi", "<a/>"), exchange("/extra.cgi", "<b/>"))
    with Twin(recorded=path) as twin:
        assert [twin.get("/extra.cgi") for _ in range(3)] == ["<a/>", "<b/>", "<b/>"]
        twin.reset()
        assert twin.get("/extra.cgi") == "<a/>"
    with pytest.raises(OSError, match="No such file"):
        Twin(recorded=tmp_path / "missing.jsonl")


@pytest.mark.thorough
def test_twin_as_a_process_takes_a_recording(tmp_path: Path) -> None:
    path = recording(tmp_path, exchange("/extra.cgi", "<a/>"))
    with Twin.process(recorded=path) as twin:
        assert twin.get("/extra.cgi") == "<a/>"


def test_run_takes_a_recording(tmp_path: Path) -> None:
    path = recording(tmp_path, exchange("/extra.cgi", "<recorded/>"))
    with controller_process(tmp_path, "--recorded", str(path)) as process:
        assert process.ask("/extra.cgi") == (200, b"<recorded/>")
        assert process.ask("/outs.cgi?out0=1")[0] == 200
        accounts = "11YWRtaW4=*cGFzc3dvcmQ=*dXNlcg==*dXNlcjEyMzQ="
        assert process.ask(f"/stm.cgi?auth={accounts}")[0] == 200
        assert process.ask("/extra.cgi")[0] == 401


@pytest.mark.thorough
def test_recording_that_is_none_ends_the_start_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps({"no": "recording"}))
    command = [*PROGRAM, "run", "--port", "0", "--data", str(tmp_path / "d")]
    done = subprocess.run(
        [*command, "--recorded", str(path)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 2
    assert "is not a recording; create one with `leverframe record`" in done.stderr
    assert done.stderr.count("\n") == 1
