"""Messages of a whole controller: from the rule to the outbox, and what people see of it."""

import socket
from datetime import UTC
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.core.runtime.outgoing import Targets
from leverframe.host.assembly import build
from leverframe.host.services import Sending
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.full_disk import Disk

from .http_server import http_peer
from .post_office import Bell

#: DS1 of 30 or more does the action; codes of HW 3.9 SW 1.75.
RULE = "/inpa.cgi?event={index}*10*0*3000*0*0*{action}*0*0*0*0*0&eventon={index}*1"
OUT0, HTTP1, MAIL2, SMS1 = 0, 24, 29, 32


async def rules(twin: LoopTwin, *actions: int) -> None:
    for index, action in enumerate(actions):
        await twin.ok(RULE.format(index=index, action=action))


async def test_on_virtual_time_messages_are_captured_with_the_values_of_their_moment() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?http1=example.org/in?t=%250181")
    await twin.ok("/stm.cgi?em1=mail.example&em5=bert@example.org")
    await twin.ok(
        "/stm.cgi?em1=mail.example&em2=25&em3=&em4=&em5=bert@example.org&em6=a@b.c&em7=Hi"
        "&em8=1*Hot%20%250181*3*4*5*Fine%20%250181*7*8&em9=0"
    )
    await twin.ok("/stm.cgi?gsmnumber1=%2B48123&gsmsms1=Hot*")
    await rules(twin, HTTP1, MAIL2, SMS1)
    await twin.ok("/sim.cgi?DS1=31.26")
    await twin.ok("/sim.cgi?DS1=20")
    outbox = await twin.json("/api/outbox")
    assert outbox["capture"] is True
    said = [
        (one["channel"], one["target"], one["content"].get("url") or one["content"]["body"])
        for one in outbox["captured"]
    ]
    assert said == [
        ("http1", "http://example.org", "http://example.org/in?t=31.3"),
        ("email", "bert@example.org", "Hot 31.3"),
        ("sms", "+48123", "Hot"),
        ("http1", "http://example.org", "http://example.org/in?t=20.0"),
        ("email", "bert@example.org", "Fine 20.0"),
    ]
    assert [one["reason"] for one in outbox["captured"][:3]] == ["rule 1", "rule 2", "rule 3"]
    await twin.controller.stop()


async def test_test_messages_need_no_text() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?em1=mail.example&em5=bert@example.org")
    await twin.ok("/stm.cgi?gsmnumber1=123")
    await twin.ok("/stm.cgi?testemail=1")
    await twin.ok("/stm.cgi?gsmsendsms")
    captured = (await twin.json("/api/outbox"))["captured"]
    assert [(one["target"], one["content"]["text"], one["reason"]) for one in captured] == [
        ("bert@example.org", "Test message", "test"),
        ("123", "Test message", "test"),
    ]
    await twin.controller.stop()


async def test_period_of_http1_is_virtual_too() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?http1=example.org/alive&httpperiod=3600")
    await twin.ok("/sim.cgi?advance=86400")
    captured = (await twin.json("/api/outbox"))["captured"]
    assert [one["created"] - VirtualClock.START for one in captured] == [
        3600.0 * hour for hour in range(1, 25)
    ]
    await twin.controller.stop()


async def test_message_without_a_configured_channel_is_reported_in_outbox_and_log() -> None:
    twin = await LoopTwin.start()
    await rules(twin, HTTP1)
    await twin.ok("/sim.cgi?DS1=31")
    (failed,) = (await twin.json("/api/outbox"))["failed"]
    assert failed["problem"] == "HTTP1 has no address; set one with http1=..."
    entry = (await twin.json("/api/log"))[-1]
    assert (entry["cause"], entry["detail"], entry["text"]) == (
        "outbox",
        "http1",
        "HTTP1 has no address; set one with http1=...",
    )
    await twin.controller.stop()


async def test_dead_mail_server_delays_no_relay_and_is_reported_everywhere() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        port = silent.getsockname()[1]
        built = await build(Profile(), MemoryStore(), SystemClock(), UTC)
        twin = LoopTwin(built.controller, built.web)
        await twin.ok(f"/stm.cgi?em1=127.0.0.1&em2={port}&em5=b@c.d&em6=a@b.c&em3=anna&em4=s3cret")
        for index in range(20):
            await twin.ok("/stm.cgi?testemail=1")
            await twin.ok(f"/outs.cgi?out0={index % 2}")
            assert await twin.outputs() == f"{index % 2}00000"
        outbox = await twin.json("/api/outbox")
        assert outbox["channels"]["email"]["waiting"] == 20
        assert "s3cret" not in str(outbox)
        await built.stop()


async def test_problem_is_a_trouble_of_the_controller_until_it_is_over() -> None:
    bell = Bell()
    async with http_peer(bell) as peer:
        peer.answer = lambda taken: (503, {})
        built = await build(
            Profile(),
            MemoryStore(),
            SystemClock(),
            UTC,
            sending=Sending(targets=Targets(allow_local=True)),
        )
        twin = LoopTwin(built.controller, built.web)
        await twin.ok(f"/stm.cgi?http1=127.0.0.1:{peer.port}/a&httpauth1=anna*s3cret")
        await rules(twin, HTTP1)
        await twin.ok("/sim.cgi?DS1=31")
        await bell.until(lambda: len(peer.taken) == 2)
        assert (await twin.json("/health"))["troubles"] == ["http1"]
        problem = f"127.0.0.1:{peer.port} answered 503 Service Unavailable."
        assert (await twin.state())["troubles"]["http1"] == problem
        peer.answer = lambda taken: (200, {})
        before = len(peer.taken)
        await twin.ok(f"/stm.cgi?http1=127.0.0.1:{peer.port}/b")
        await bell.until(lambda: len(peer.taken) > before)
        await built.stop()


async def test_log_says_that_an_address_changed_and_does_not_show_it() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?http2=hooks.example/T1/s3cret&httppost2=1*key%3Ds3cret")
    texts = [entry["text"] for entry in await twin.json("/api/log")]
    assert any("http.1.url changed; " in text for text in texts)
    assert "s3cret" not in str(texts)
    await twin.controller.stop()


EVENT1_CALLS = "/inpa.cgi?event=0*104*0*1*0*0*24*0*0*0*0*0&eventon=0*1"


async def test_command_is_answered_when_its_messages_are_on_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    built = await build(Profile(), store, SystemClock(), UTC)
    twin = LoopTwin(built.controller, built.web)
    await twin.ok("/stm.cgi?http1=127.0.0.1:9/a")
    await twin.ok(EVENT1_CALLS)
    for count, state in enumerate((1, 0, 1), start=1):
        await twin.ok(f"/outs.cgi?vout0={state}")
        assert len(store.messages()) == count
    await built.stop()


async def test_full_disk_is_no_reason_to_refuse_what_was_switched() -> None:
    store = Disk()
    built = await build(Profile(), store, SystemClock(), UTC)
    twin = LoopTwin(built.controller, built.web)
    await twin.ok("/stm.cgi?http1=127.0.0.1:9/a")
    await twin.ok(EVENT1_CALLS)
    store.is_full = True
    await twin.ok("/outs.cgi?vout0=1")
    assert (await twin.state())["EVENT1"] == 1
    await built.stop()


@pytest.mark.parametrize("capture", [False, True])
async def test_capturing_can_be_chosen(capture: bool) -> None:
    sending = Sending(capture=capture)
    built = await build(Profile(), MemoryStore(), VirtualClock(), UTC, sending=sending)
    assert (await LoopTwin(built.controller, built.web).json("/api/outbox"))["capture"] is capture
    await built.stop()


async def test_outbox_is_for_the_administrator() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?auth=11YWRtaW4%3D*YWRtaW5wYXNz*dXNlcg%3D%3D*dXNlcnBhc3M%3D")
    assert (await twin.ask("/api/outbox")).status == 401
    as_user = "Basic dXNlcjp1c2VycGFzcw=="
    assert (await twin.ask("/api/outbox", authorization=as_user)).status == 403
    await twin.controller.stop()
