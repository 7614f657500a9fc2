"""What a twin shows of the requests of clients, and what it answers instead of its own."""

import json
from collections.abc import Iterator

import httpx
import pytest

from leverframe.server.http.messages import Request
from leverframe.server.http.request_journal import (
    KEPT_BODY,
    KEPT_CHARACTERS,
    OpenRequest,
    RequestJournal,
)
from leverframe.testing import AnyTwin, BadCall, BadFault, NotRequested, Twin, TwinRefused, faults
from tests.patience import PATIENCE_S

SECRET = "not-for-others"


@pytest.fixture
def client(twin: Twin) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=twin.url, timeout=PATIENCE_S) as one:
        yield one


# --- requests -------------------------------------------------------------------------------------


def test_request_shows_headers_body_duration_and_fault(twin: Twin, client: httpx.Client) -> None:
    with twin.reply("/own", status=201), twin.fault(faults.slow("20ms"), path="/own"):
        client.post("/own?a=1", json={"level": 3}, headers={"X-Trace": "abc"})
    (request,) = twin.requests("/own")
    assert (request.status, request.json()) == (201, {"level": 3})
    assert request.headers["x-trace"] == "abc"
    assert request.headers["content-type"] == "application/json"
    assert request.duration is not None
    assert 0.02 <= request.duration < PATIENCE_S
    assert request.fault is not None
    assert request.fault.startswith("reply*path:/own*status:201")
    assert "slow*delay:20ms*" in request.fault
    client.get("/json/all.json")
    plain = twin.requests("/json/all.json")[0]
    assert (plain.body, plain.body_left_out, plain.fault) == (None, "", None)
    with pytest.raises(BadCall, match="GET /json/all.json has no body"):
        plain.json()


def test_frozen_answer_has_no_duration_and_a_dripping_one_its_whole(
    twin: Twin, client: httpx.Client
) -> None:
    with twin.fault(faults.frozen()), pytest.raises(httpx.ReadTimeout):
        client.get("/outs.cgi", timeout=0.05)
    with twin.fault(faults.drip(2000)):
        client.get("/outs.cgi")
    frozen, dripping = twin.requests("/outs.cgi")
    assert (frozen.status, frozen.duration) == (None, None)
    assert dripping.duration is not None
    assert dripping.duration > 0.03


def test_secrets_appear_in_nothing_that_is_kept(twin: Twin, client: httpx.Client) -> None:
    headers = {"X-Api-Key": SECRET, "X-Auth-Token": SECRET, "Referer": f"http://u/?token={SECRET}"}
    client.get("/outs.cgi", auth=("keeper", SECRET), headers=headers)
    client.get("/outs.cgi", headers={"Cookie": f"session={SECRET}", "X-Session-Id": SECRET})
    client.post("/own", json={"user": {"password": SECRET}, "level": 3})
    client.post("/own", content=json.dumps({"level": 4, "token": SECRET}))
    client.post("/own", data={"password": SECRET, "level": "3"})
    client.post(f"/stm.cgi?mqtt=1*h*1*u*{SECRET}", content=b"")
    client.post("/post.cgi?settingsupload", content=SECRET.encode())
    client.post("/own", content=b"\x00\xff" + SECRET.encode())
    kept = twin.requests()
    text = json.dumps([[str(one), dict(one.headers), one.body] for one in kept])
    assert SECRET not in text
    assert SECRET not in json.dumps(json.loads(twin.get("/api/sim/requests")))
    assert kept[0].headers["authorization"] == "***"
    assert kept[2].json() == {"user": {"password": "***"}, "level": 3}
    assert kept[3].json() == {"level": 4, "token": "***"}
    assert [one.body_left_out for one in kept[6:]] == ["secret", "file"]
    with pytest.raises(BadCall, match="because it was not kept: file"):
        kept[7].json()


def test_kept_requests_are_bounded_in_size(twin: Twin, client: httpx.Client) -> None:
    client.post("/api/what-if", content=b"x" * (KEPT_BODY + 1))
    client.post("/api/what-if", content=b"x" * KEPT_BODY)
    assert [one.body_left_out for one in twin.requests("/api/what-if")] == ["large", ""]
    large = "x" * KEPT_BODY
    journal = RequestJournal(lambda: 0.0, lambda one: OpenRequest(one.path, None, {}, large))
    for _ in range(2 * KEPT_CHARACTERS // KEPT_BODY):
        journal.note(Request("POST", "/own"))
    kept = journal.entries()
    assert KEPT_CHARACTERS / 2 < sum(one.size for one in kept) <= KEPT_CHARACTERS
    assert kept[-1].number == journal.count
    journal.clear()
    journal.note(Request("POST", "/own"))
    assert len(journal.entries()) == 1


def test_requests_are_asserted_by_path_method_and_query(twin: Twin, client: httpx.Client) -> None:
    client.get("/outs.cgi?out0=1&out1=0")
    client.post("/outs.cgi?out0=0")
    client.get("/json/all.json")
    client.get("/json/status.json")
    assert len(twin.assert_requested("/outs.cgi", times=2)) == 2
    (switched,) = twin.assert_requested("/outs.cgi", query={"out0": 1})
    assert switched.target == "GET /outs.cgi?out0=1&out1=0"
    twin.assert_requested("/outs.cgi", query="out0=1&out1=0", times=1)
    twin.assert_requested("/outs.cgi", query="out0=1", times=0)
    twin.assert_requested("/outs.cgi", method="post", query={"out0": "0"})
    twin.assert_requested("/json/", times=2)
    twin.assert_requested("/stm.cgi", times=0)


def test_failed_assertion_lists_what_was_requested_nearest_first(
    twin: Twin, client: httpx.Client
) -> None:
    with pytest.raises(NotRequested, match="expected at least once, was never. No client has"):
        twin.assert_requested("/outs.cgi")
    client.get("/json/all.json")
    client.get("/outs.cgi?out1=1")
    with pytest.raises(AssertionError) as failed:
        twin.assert_requested("/outs.cgi", times=2, query={"out0": 1})
    assert str(failed.value) == (
        "Any method /outs.cgi with the query {'out0': 1}: expected twice, was never.\n"
        "What clients requested, the nearest first:\n"
        "  2026-01-05 00:00:00 GET /outs.cgi?out1=1 200\n"
        "  2026-01-05 00:00:00 GET /json/all.json 200"
    )
    client.get("/stm.cgi?em4=secret")
    for _ in range(30):
        client.get("/json/all.json")
    with pytest.raises(NotRequested) as failed:
        twin.assert_requested("/stm.cgi", query={"em4": "secret"})
    lines = str(failed.value).splitlines()
    assert lines[2].endswith("GET /stm.cgi?em4=*** 200")
    assert lines[-2:] == [
        *(
            "  and 13 more; twin.requests() lists all.",
            "Values that may be secrets are shown as ***.",
        ),
    ]


# --- own answers ----------------------------------------------------------------------------------


def test_own_path_has_an_own_answer_until_it_is_withdrawn(twin: Twin, client: httpx.Client) -> None:
    with twin.reply("/own.json", json={"a": [1, None]}, status=202, headers={"X-A": "b, c"}):
        answer = client.get("/own.json")
        assert (answer.status_code, answer.json()) == (202, {"a": [1, None]})
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-a"] == "b, c"
        assert len(twin.requests("/own.json")) == 1
        with twin.reply("/own.json", "new*er 100%\nżółw\n"):
            answer = client.get("/own.json")
            assert (answer.text, answer.headers["content-type"]) == (
                *("new*er 100%\nżółw\n", "text/plain"),
            )
        assert client.get("/own.json").status_code == 202
    assert client.get("/own.json").status_code == 404
    twin.reply("/logo.png", b"\x89PNG\x00", content_type="image/png", times=1)
    assert client.get("/logo.png").content == b"\x89PNG\x00"
    assert client.get("/logo.png").status_code == 404
    twin.reply("/gone/", status=204)
    assert client.get("/gone/too").status_code == 204
    twin.reply("/later", "now", after="1min", for_="1min")
    assert client.get("/later").status_code == 404
    twin.advance("1min")
    assert client.get("/later").text == "now"
    twin.advance("1min")
    assert client.get("/later").status_code == 404


def test_own_answer_to_a_path_that_exists_stands_for_all_of_it(
    twin: Twin, client: httpx.Client
) -> None:
    with twin.reply("/outs.cgi", "<response>no</response>", content_type="text/xml"):
        assert client.get("/outs.cgi?out0=1").text == "<response>no</response>"
        assert twin.state["OUT0"] == 0
    assert client.get("/outs.cgi?out0=1").status_code == 200
    assert twin.state["OUT0"] == 1
    with Twin(accounts={"keeper": "secretly"}) as closed:
        closed.reply("/own", "open")
        assert httpx.get(f"{closed.url}/own", timeout=PATIENCE_S).text == "open"
        assert httpx.get(f"{closed.url}/other", timeout=PATIENCE_S).status_code == 401


def test_faults_act_on_own_answers_and_snapshots_hold_them(
    twin: Twin, client: httpx.Client
) -> None:
    twin.reply("/own.json", json={"ds1": "20"})
    start = twin.snapshot()
    with twin.fault(faults.cut(3), path="/own.json"), pytest.raises(httpx.RemoteProtocolError):
        client.get("/own.json")
    with twin.fault(faults.raw("ds1", "-1270")):
        assert client.get("/own.json").json() == {"ds1": "-1270"}
    twin.reset()
    assert client.get("/own.json").status_code == 404
    twin.restore(start)
    assert client.get("/own.json").json() == {"ds1": "20"}


def test_own_answer_that_cannot_be_is_refused(twin: Twin) -> None:
    for path in ("own", "/own?a=1", ""):
        with pytest.raises(BadFault, match="is not a path. Allowed: a path such as"):
            twin.reply(path)
    with pytest.raises(BadFault, match="/sim.cgi and /api/sim cannot have a custom answer"):
        twin.reply("/api/sim")
    with pytest.raises(BadFault, match="a body and json"):
        twin.reply("/x", "a", json=1)
    with pytest.raises(BadFault, match="5 is neither text nor bytes; json= sends it as JSON"):
        twin.reply("/x", 5)  # type: ignore[arg-type]
    with pytest.raises(BadFault, match="headers: .* Allowed: texts by name"):
        twin.reply("/x", headers=["a"])  # type: ignore[arg-type]
    with pytest.raises(BadFault, match="a value that JSON can represent"):
        twin.reply("/x", json={1, 2})
    with pytest.raises(BadFault, match="status 204 has no body"):
        twin.reply("/x", "a", status=204)
    with pytest.raises(BadFault, match="200 to 599"):
        twin.reply("/x", status=99)
    for headers in ({"Content-Length": "5"}, {"A b": "c"}, {"A": "b\r\nC: d"}, {"A": "ż"}):
        with pytest.raises(BadFault, match="Allowed: lines such as Retry-After: 5"):
            twin.reply("/x", headers=headers)


@pytest.mark.parametrize("kind", ["process"])
def test_twin_of_another_process_can_do_the_same(kind: str) -> None:
    twin: AnyTwin
    with Twin.process(seed=5) as twin, httpx.Client(timeout=PATIENCE_S) as client:
        page = "é*%\n" * 5000
        with twin.reply("/own", page), twin.fault(faults.slow("1ms"), path="/own"):
            assert client.post(f"{twin.url}/own", json={"a": 1}).text == page
        (request,) = twin.assert_requested("/own", times=1, method="POST")
        assert request.json() == {"a": 1}
        assert request.fault is not None
        assert len(request.fault) < 1000
        with pytest.raises(TwinRefused, match="/own was refused with 404"):
            twin.get("/own")
        twin.raw(ds1="1*2", ds2="")
        assert '"ds1":"1*2"' in twin.get("/json/all.json")
        twin.command("outs.cgi?out0=1")
        assert twin.pins["OUT0"] == 1
        with pytest.raises(BadCall, match="accepts a TwinSnapshot as returned by snapshot"):
            twin.restore({})
        with Twin() as other, pytest.raises(BadCall, match="is stored by this process"):
            twin.restore(other.snapshot())
        assert twin.recipe == "Twin.process(seed=5)"
        with Twin(seed=5) as same:
            assert (twin.mac, twin.name) == (same.mac, same.name)


# --- pins -----------------------------------------------------------------------------------------


def test_pins_show_what_is_driven_not_what_is_wanted(twin: Twin) -> None:
    twin.command("outs.cgi?out0=1", "outs.cgi?pwm0=1", "stm.cgi?pwmd=025")
    assert (twin.pins["OUT0"], twin.pins["OUT1"]) == (1, 0)
    shown = twin.pins["PWM0"]
    with twin.fault(faults.stuck_output("OUT0", "off")):
        assert (twin.state["OUT0"], twin.pins["OUT0"]) == (1, 0)
    twin.command("stm.cgi?pwmp=1")
    assert (twin.state["PWM0"], twin.pins["PWM0"]) == (1, 100 - shown)
