"""The automatic firmware check: what it asks, how often, and what it makes of the answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.runtime.outgoing import Targets
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.firmware_check import DAY_S, FIRST_JITTER_S, JITTER_S, FirmwareCheck, Release
from leverframe.host.services import Sending
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.devices.waiting import until

ANSWER = {"version": "1.76", "hardware": ["3.5", "3.9"], "notes": "https://example.org/1.76"}
SWITCH_ON, SWITCH_OFF = "/eeprom.cgi?bit1=1", "/eeprom.cgi?bit1=0"


class Place:
    """The owner's web server: one answer to everything."""

    def __init__(self) -> None:
        self.status, self.body = 200, msgspec.json.encode(ANSWER)
        self.heads: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        head = f"HTTP/1.1 {self.status} x\r\nContent-Length: {len(self.body)}\r\n\r\n"
        writer.write(head.encode() + self.body)
        writer.close()


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    place = Place()
    server = await asyncio.start_server(place.serve, "127.0.0.1", 0)
    place.port = server.sockets[0].getsockname()[1]
    yield place
    server.close()


@asynccontextmanager
async def checking(
    place: Place,
    *,
    store: MemoryStore | None = None,
    profile: Profile | None = None,
    path: str = "/newest.json?channel=stable",
    allow_local: bool = True,
    capture: bool = False,
    ca_file: str | None = None,
) -> AsyncIterator[LoopTwin]:
    url = f"http://127.0.0.1:{place.port}{path}"
    sending = Sending(capture, Targets(allow_local), ca_file, url)
    built: ControllerHost = await build(
        profile or Profile(), store or MemoryStore(), VirtualClock(), UTC, sending=sending
    )
    yield LoopTwin(built.controller, built.web)
    await built.stop()


async def wait_for_report(twin: LoopTwin) -> dict[str, Any]:
    """The report after the question that is due has been answered."""
    await twin.controller.advance(FIRST_JITTER_S)
    await until(lambda: has_result(twin))
    report: dict[str, Any] = await twin.json("/api/firmware")
    return report


def has_result(twin: LoopTwin) -> bool:
    report = twin.controller.firmware_report()
    return report.newest is not None or report.trouble is not None


async def test_firmware_check_is_off_by_default(place: Place) -> None:
    async with checking(place) as twin:
        await twin.controller.advance(10 * DAY_S)
        assert (await twin.json("/api/firmware"))["on"] is False
        assert (await twin.json("/api/firmware"))["checked"] is None
    assert place.heads == []


async def test_nothing_is_asked_without_power(place: Place) -> None:
    async with checking(place) as twin:
        await twin.ok(SWITCH_ON)
        await wait_for_report(twin)
        twin.controller.lose_power()
        await twin.controller.advance(3 * DAY_S)
        assert len(place.heads) == 1
        twin.controller.restart()
        await twin.controller.advance(FIRST_JITTER_S)
        await until(lambda: len(place.heads) == 2)


async def test_newer_version_is_shown_with_its_notes(place: Place) -> None:
    async with checking(place) as twin:
        await twin.ok(SWITCH_ON)
        report = await wait_for_report(twin)
    assert VirtualClock.START <= report.pop("checked") <= VirtualClock.START + FIRST_JITTER_S
    assert report == {
        "on": True,
        "installed": "1.75",
        "newest": "1.76",
        "is_newer": True,
        "notes": "https://example.org/1.76",
        "trouble": None,
    }


async def test_request_reveals_nothing_about_the_controller(place: Place) -> None:
    async with checking(place) as twin:
        await twin.ok(SWITCH_ON)
        await wait_for_report(twin)
        mac = (await twin.json("/json/network.json")).get("mac", "02:")
    line, *headers = place.heads[0].decode().strip().split("\r\n")
    assert line == "GET /newest.json?channel=stable HTTP/1.1"
    names = {header.partition(":")[0].lower() for header in headers}
    assert names <= {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert mac.encode() not in place.heads[0]


@pytest.mark.parametrize(
    ("answer", "newest", "is_newer"),
    [
        ({"version": "1.76"}, "1.76", True),
        ({"version": "1.75a", "hardware": ["3.9"], "extra": 1}, "1.75a", True),
        ({"version": "1.75"}, "1.75", False),
        ({"version": "1.49d"}, "1.49d", False),
    ],
)
async def test_versions_are_compared(
    place: Place, answer: dict[str, Any], newest: str, is_newer: bool
) -> None:
    place.body = msgspec.json.encode(answer)
    async with checking(place) as twin:
        await twin.ok(SWITCH_ON)
        report = await wait_for_report(twin)
    assert (report["newest"], report["is_newer"]) == (newest, is_newer)


async def test_version_for_other_hardware_is_not_for_us(place: Place) -> None:
    place.body = msgspec.json.encode({"version": "1.76", "hardware": ["3.0"]})
    async with checking(place) as twin:
        await twin.ok(SWITCH_ON)
        await twin.controller.advance(FIRST_JITTER_S)
        await until(lambda: len(place.heads) == 1)
        report = await twin.json("/api/firmware")
    assert (report["newest"], report["is_newer"], report["trouble"]) == (None, False, None)


@pytest.mark.parametrize(
    ("status", "body", "trouble"),
    [
        (404, b"", "answered with status 404"),
        (302, b"", "answered with status 302"),
        (200, b"", "did not answer with JSON"),
        (200, b"<html>", "did not answer with JSON"),
        (200, b"[]", "did not answer with JSON"),
        (200, b'{"version": 176}', "did not answer with JSON"),
        (200, b'{"hardware": ["3.9"]}', "did not answer with JSON"),
        (200, b'{"version": "newest"}', "not written like 1.36"),
        (200, b'{"version": "1.76", "hardware": "3.9"}', "did not answer with JSON"),
        (200, b'{"version": "1.76", "notes": "javascript:x"}', "not an http or https URL"),
        (200, b'{"version": "1.7\xff"}', "did not answer with JSON"),
        (200, b"[" * 5000, "did not answer with JSON"),
        (200, b" " * 20_000, "more than 16384 bytes"),
    ],
)
async def test_bad_answer_is_one_sentence(
    place: Place, status: int, body: bytes, trouble: str
) -> None:
    place.status, place.body = status, body
    async with checking(place) as twin:
        await twin.ok(SWITCH_ON)
        report = await wait_for_report(twin)
        assert (await twin.json("/health"))["status"] == "ok"
    assert trouble in report["trouble"]
    assert report["trouble"].endswith(".")
    assert "\n" not in report["trouble"]
    assert (report["newest"], report["is_newer"]) == (None, False)


async def test_addresses_that_messages_may_not_go_to_are_not_asked(place: Place) -> None:
    async with checking(place, allow_local=False) as twin:
        await twin.ok(SWITCH_ON)
        report = await wait_for_report(twin)
    assert "--allow-local-targets" in report["trouble"]
    assert place.heads == []


async def test_last_result_holds_when_the_server_is_gone(place: Place) -> None:
    async with checking(place) as twin:
        await twin.ok(SWITCH_ON)
        await wait_for_report(twin)
        place.status = 500
        await twin.controller.advance(DAY_S + JITTER_S)
        await until(lambda: len(place.heads) == 2)
        await until(lambda: twin.controller.firmware_report().trouble is not None)
        report = await twin.json("/api/firmware")
    assert (report["newest"], report["is_newer"]) == ("1.76", True)
    assert "answered with status 500" in report["trouble"]


async def test_missing_file_of_authorities_is_reported_and_read_again_the_next_day(
    place: Place, tmp_path: Path
) -> None:
    ca_file = tmp_path / "ca.pem"
    async with checking(place, ca_file=str(ca_file)) as twin:
        await twin.ok(SWITCH_ON)
        report = await wait_for_report(twin)
        assert f"{ca_file} cannot be used (No such file or directory)" in report["trouble"]
        trustme.CA().cert_pem.write_to_path(ca_file)
        await twin.controller.advance(DAY_S + JITTER_S)
        await until(lambda: twin.controller.firmware_report().trouble is None)
        await until(lambda: twin.controller.firmware_report().newest == "1.76")


async def test_fault_is_reported_and_the_check_retried_the_next_day() -> None:
    twin = await LoopTwin.start()
    days = iter([ZeroDivisionError(), None])

    async def ask() -> Release:
        if (fault := next(days)) is not None:
            raise fault
        return Release("1.76")

    check = FirmwareCheck(twin.controller, ask, chance=lambda: 0.5)
    await twin.ok(SWITCH_ON)
    report = await wait_for_report(twin)
    assert report["trouble"] == "The check ended unexpectedly (ZeroDivisionError); see the log."
    await twin.controller.advance(DAY_S + JITTER_S)
    await until(lambda: twin.controller.firmware_report().newest == "1.76")
    await check.close()


async def test_firmware_check_asks_about_once_a_day_whatever_happens(place: Place) -> None:
    store = MemoryStore()
    async with checking(place, store=store) as twin:
        await twin.ok(SWITCH_ON)
        await wait_for_report(twin)
        # Neither switching it off and on, nor a restart of the controller, asks again.
        await twin.ok(SWITCH_OFF)
        await twin.ok(SWITCH_ON)
        await twin.ok("/stm.cgi?devrestart=1")
        await twin.controller.advance(DAY_S - FIRST_JITTER_S - 1)
        assert len(place.heads) == 1
        await twin.controller.advance(FIRST_JITTER_S + JITTER_S)
        await until(lambda: len(place.heads) == 2)
        asked = (await twin.json("/api/firmware"))["checked"]
    assert asked >= VirtualClock.START + DAY_S
    # Nor does a new process; it shows what the old one heard.
    async with checking(place, store=store) as twin:
        twin.controller.clock.set_wall(asked + 3600)
        assert (await twin.json("/api/firmware"))["newest"] == "1.76"
        await twin.controller.advance(DAY_S - 3601)
        assert len(place.heads) == 2


async def test_nothing_is_asked_while_messages_are_captured(place: Place) -> None:
    async with checking(place, capture=True) as twin:
        await twin.ok(SWITCH_ON)
        await twin.controller.advance(3 * DAY_S)
        assert "captured" in (await twin.json("/api/firmware"))["trouble"]
    assert place.heads == []
