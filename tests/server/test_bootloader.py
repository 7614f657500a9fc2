"""Firmware over TFTP, from `upgrade=devstart3` to the version the controller then is."""

import asyncio
import random
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.host.ports import connect_bootloader
from leverframe.interface.uploads.firmware import build_image, new_key_pair, sign_image
from leverframe.interface.uploads.site import pack_site
from leverframe.server.bootloader import TransferPlaces
from leverframe.server.shared_ports import bind_udp
from leverframe.storage.store import MemoryStore, Rows, StoreUnavailable
from leverframe.testing import LoopTwin
from tests.devices.waiting import until
from tests.patience import PATIENCE_S
from tests.server.tftp_sender import TftpRefused, packets, send

PRIVATE, PUBLIC = new_key_pair()
SITE = pack_site({"index.html": b"Cellar"})
LARGE_SITE = pack_site({"index.html": b"x", "noise.png": random.Random(7).randbytes(100_000)})


def image(sw: str = "1.48", hw: str = "3.9", site: bytes | None = None) -> bytes:
    return sign_image(build_image([hw], sw, site), PRIVATE)


class Bench:
    def __init__(self, twin: LoopTwin) -> None:
        self.twin = twin
        self.server = connect_bootloader(twin.controller, "127.0.0.1", 0, PUBLIC)

    async def wait_for_firmware(self) -> int:
        await self.twin.ok("/stm.cgi?upgrade=devstart3")
        await until(lambda: self.server.port is not None)
        assert self.server.port is not None
        return self.server.port

    async def flash(self, content: bytes) -> None:
        port = await self.wait_for_firmware()
        await asyncio.to_thread(send, port, content)

    async def refusal(self, content: bytes) -> str:
        """What the client receives; the old version must run again immediately."""
        before = self.twin.controller.profile
        with pytest.raises(TftpRefused) as refused:
            await self.flash(content)
        await until(lambda: self.twin.controller.bootloader_until is None)
        assert self.twin.controller.profile == before
        assert (await self.twin.state())["profile"]["sw"] == before.sw
        return str(refused.value)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench(await LoopTwin.start())
    yield bench
    await bench.server.close()


async def test_signed_image_makes_the_controller_that_version(bench: Bench) -> None:
    twin = bench.twin
    await twin.ok("/stm.cgi?diffname=0Delta&oname=2Pump")
    assert (await twin.json("/api/commands"))[0]
    await bench.flash(image("1.48"))
    assert (await twin.state())["profile"] == {"hw": "3.9", "sw": "1.48"}
    assert (await twin.json("/json/status.json"))["sw"] == "1.48"
    settings = await twin.settings()
    assert settings["outputs"][2]["name"] == "Pump"
    assert len(settings["differentials"]) == 3
    # A command of later versions is gone, one that later versions withdrew is back.
    await twin.refused("/stm.cgi?diffname=0Delta", 404)
    await twin.ok("/inpa.cgi?diffzsel=02")
    assert "diffname" not in (await twin.ok("/api/commands")).body.decode()
    log = [entry["text"] for entry in await twin.json("/api/log")]
    assert any(text.startswith('profile.sw changed from "1.75" to "1.48"') for text in log)


async def test_version_and_its_settings_survive_the_process() -> None:
    store = MemoryStore()
    bench = Bench(await LoopTwin.start(store=store))
    await bench.twin.ok("/stm.cgi?oname=2Pump")
    await bench.flash(image("1.48"))
    await bench.server.close()
    assert store.load().kept["profile.sw"] == "1.48"
    again = await LoopTwin.start(Profile("3.9", "1.48"), store=store)
    assert await again.settings() == await bench.twin.settings()


async def test_settings_that_a_version_lacks_come_back_with_the_next_one(bench: Bench) -> None:
    twin = bench.twin
    await twin.ok("/inpa.cgi?diffsel=5*0*1*1")
    before = await twin.settings()
    await bench.flash(image("1.48"))
    assert len((await twin.settings())["differentials"]) == 3
    await bench.flash(image("1.75"))
    assert await twin.settings() == before


async def test_image_can_bring_a_site(bench: Bench) -> None:
    await bench.flash(image("1.75", site=SITE))
    assert (await bench.twin.ok("/")).body == b"Cellar"
    await bench.flash(image("1.74"))
    assert (await bench.twin.ok("/")).body == b"Cellar"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a firmware image"),
        (b"\x7fELF" * 300, "not a firmware image"),
        (image()[:-1], "damaged or cut off"),
        (build_image(["3.9"], "1.48"), "not signed"),
        (sign_image(image(), new_key_pair()[0]), "not signed by the owner"),
        (image(hw="3.5"), "this controller is HW 3.9"),
    ],
    ids=["empty", "other", "cut", "unsigned", "stranger", "hardware"],
)
async def test_bad_image_is_refused_with_the_reason_and_the_old_version_starts(
    bench: Bench, content: bytes, reason: str
) -> None:
    await bench.twin.ok("/stm.cgi?oname=2Pump")
    assert reason in await bench.refusal(content)
    assert (await bench.twin.settings())["outputs"][2]["name"] == "Pump"
    assert any(reason in entry["text"] for entry in await bench.twin.json("/api/log"))


@pytest.mark.parametrize("name", ["devstart3", "lkstart3"])
@pytest.mark.parametrize("content", [build_image(["3.9"], "1.48"), image()])
async def test_without_a_key_the_bootloader_waits_and_refuses_every_image(
    name: str, content: bytes
) -> None:
    twin = await LoopTwin.start()
    server = connect_bootloader(twin.controller, "127.0.0.1", 0, None)
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok(f"/stm.cgi?upgrade={name}")
    assert not any(twin.controller.board.outputs)  # type: ignore[attr-defined]
    await twin.refused("/outs.cgi", 503)
    await until(lambda: server.port is not None)
    assert server.port is not None
    with pytest.raises(TftpRefused, match="no key to verify.* firmware_key"):
        await asyncio.to_thread(send, server.port, content)
    # The old version starts immediately, as after any image that is refused.
    await until(lambda: twin.controller.bootloader_until is None)
    assert (await twin.state())["profile"]["sw"] == Profile().sw
    assert any("no key" in entry["text"] for entry in await twin.json("/api/log"))
    await server.close()


async def test_without_a_key_the_bootloader_waits_60_seconds_for_an_image() -> None:
    twin = await LoopTwin.start()
    server = connect_bootloader(twin.controller, "127.0.0.1", 0, None)
    await twin.ok("/stm.cgi?upgrade=devstart3")
    await twin.controller.advance(59)
    await twin.refused("/outs.cgi", 503)
    await twin.controller.advance(1)
    await twin.ok("/outs.cgi")
    await server.close()


async def test_controller_waits_for_its_place_where_others_receive_images() -> None:
    places, twins = TransferPlaces(most=1), [await LoopTwin.start() for _ in range(2)]
    first, second = (
        connect_bootloader(twin.controller, "127.0.0.1", 0, PUBLIC, places) for twin in twins
    )
    for twin in twins:
        await twin.ok("/stm.cgi?upgrade=devstart3")
    await until(lambda: first.port is not None and second.port is not None)
    assert first.port is not None
    assert second.port is not None
    await asyncio.to_thread(send, first.port, image(), stop_before=1)
    with pytest.raises(TftpRefused, match="other controllers of this node are receiving firmware"):
        await asyncio.to_thread(send, second.port, image())
    # The place is free when the other bootloader is over.
    await twins[0].controller.advance(60)
    await asyncio.to_thread(send, second.port, image())
    assert [twin.controller.profile.sw for twin in twins] == ["1.75", "1.48"]
    for server in (first, second):
        await server.close()


class FullStore(MemoryStore):
    """Takes no other version: the disk is full by then."""

    async def write(self, rows: Rows) -> None:
        if "profile.sw" in rows.kept:
            raise StoreUnavailable("The disk is full.")
        await super().write(rows)


async def test_image_that_cannot_be_stored_leaves_the_old_version() -> None:
    bench = Bench(await LoopTwin.start(store=FullStore()))
    assert await bench.refusal(image()) == "The disk is full."
    await bench.server.close()


class SlowStore(MemoryStore):
    """Keeps the installer of another version waiting until `proceed`."""

    held: asyncio.Future[None] | None = None

    async def write(self, rows: Rows) -> None:
        if "profile.sw" in rows.kept:
            self.held = asyncio.get_running_loop().create_future()
            await self.held
        await super().write(rows)

    def proceed(self, error: StoreUnavailable | None) -> None:
        assert self.held is not None
        if error is None:
            self.held.set_result(None)
        else:
            self.held.set_exception(error)


async def send_without_waiting_for_the_end(port: int, content: bytes) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as line:
        line.settimeout(PATIENCE_S)
        line.connect(("127.0.0.1", port))
        *first, last = packets(content)
        for packet in first:
            line.send(packet)
            await asyncio.to_thread(line.recv, 600)
        line.send(last)


@pytest.mark.parametrize(
    ("error", "sw"), [(None, "1.48"), (StoreUnavailable("The disk is full."), "1.75")]
)
async def test_pending_write_is_finished_when_the_server_ends(
    error: StoreUnavailable | None, sw: str
) -> None:
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    store = SlowStore()
    bench = Bench(await LoopTwin.start(store=store))
    await send_without_waiting_for_the_end(await bench.wait_for_firmware(), image())
    await until(lambda: store.held is not None)
    report = asyncio.Event()
    bench.twin.controller.settings_watchers.append(lambda old, new: report.set())
    waiting = tuple(bench.server._tasks)
    await bench.server.close()
    # The waiting client is gone when the disk has it, or refuses it.
    await asyncio.gather(*waiting, return_exceptions=True)
    store.proceed(error)
    if error is None:
        await report.wait()
    await until(lambda: bench.twin.controller.writer.is_idle)
    assert bench.twin.controller.profile.sw == sw
    assert faults == []


async def test_firmware_is_taken_only_while_the_bootloader_waits(bench: Bench) -> None:
    assert bench.server.port is None
    port = await bench.wait_for_firmware()
    await bench.twin.controller.advance(60)
    assert bench.server.port is None
    with pytest.raises(TftpRefused, match="has ended"):
        await asyncio.to_thread(send, port, image())
    assert bench.twin.controller.profile == Profile()


async def test_transfer_under_way_does_not_hold_the_bootloader_open(bench: Bench) -> None:
    controller = bench.twin.controller
    port = await bench.wait_for_firmware()
    *first, last = packets(image(site=SITE))
    with socket.socket(type=socket.SOCK_DGRAM) as line:
        line.settimeout(PATIENCE_S)
        line.connect(("127.0.0.1", port))
        for packet in first:
            line.send(packet)
            await asyncio.to_thread(line.recv, 600)
        await controller.advance(59.9)
        assert controller.bootloader_until is not None
        await controller.advance(0.1)
        assert controller.bootloader_until is None
        line.send(last)
        assert b"The bootloader has ended." in await asyncio.to_thread(line.recv, 600)
    assert controller.profile == Profile()
    assert (await bench.twin.ok("/outs.cgi")).status == 200


async def test_repeated_starts_of_transfers_do_not_hold_the_bootloader_open(bench: Bench) -> None:
    controller = bench.twin.controller
    port = await bench.wait_for_firmware()
    began = controller.clock.read().now
    with socket.socket(type=socket.SOCK_DGRAM) as line:
        line.settimeout(PATIENCE_S)
        line.connect(("127.0.0.1", port))
        while controller.bootloader_until is not None:
            line.send(next(packets(b"")))
            await asyncio.to_thread(line.recv, 600)
            await controller.advance(1)
    assert controller.clock.read().now - began == 60


async def test_whole_image_is_installed_although_checking_it_takes_longer() -> None:
    store = SlowStore()
    bench = Bench(await LoopTwin.start(store=store))
    await send_without_waiting_for_the_end(await bench.wait_for_firmware(), image())
    await until(lambda: store.held is not None)
    await bench.twin.controller.advance(60)
    assert bench.twin.controller.bootloader_until is None
    store.proceed(None)
    await until(lambda: bench.twin.controller.profile.sw == "1.48")
    await bench.server.close()


async def test_outputs_are_off_until_the_new_version_starts(bench: Bench) -> None:
    await bench.twin.ok("/outs.cgi?out0=1")
    await bench.wait_for_firmware()
    assert not any(bench.twin.controller.board.outputs)  # type: ignore[attr-defined]


async def test_port_is_open_before_the_command_is_answered() -> None:
    twin = await LoopTwin.start()
    with bind_udp("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    server = connect_bootloader(twin.controller, "127.0.0.1", port, PUBLIC)
    await twin.ok("/stm.cgi?upgrade=devstart3")
    with pytest.raises(OSError, match="in use"):
        bind_udp("127.0.0.1", port)
    await until(lambda: server.port is not None)
    await server.close()


async def test_occupied_port_is_reported_and_the_old_version_starts_in_time() -> None:
    twin = await LoopTwin.start()
    with socket.socket(type=socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        server = connect_bootloader(twin.controller, "127.0.0.1", other.getsockname()[1], PUBLIC)
        await twin.ok("/stm.cgi?upgrade=devstart3")
        await until(lambda: "bootloader" in twin.controller.troubles)
    await twin.controller.advance(60)
    await twin.ok("/outs.cgi")
    await server.close()


async def test_updates_that_are_forbidden_are_refused() -> None:
    twin = await LoopTwin.start()
    accounts = (await twin.ok("/xml/st.xml")).body.decode()
    names = accounts.partition("<userpass>")[2].partition("<")[0]
    await twin.ok(f"/stm.cgi?auth=00{names}")
    problem = await twin.refused("/stm.cgi?upgrade=devstart3", 409)
    assert "forbidden" in problem["detail"]
    assert twin.controller.bootloader_until is None


async def test_browser_sees_the_count_down(bench: Bench) -> None:
    await bench.wait_for_firmware()
    await bench.twin.controller.advance(18)
    reply = await bench.twin.ask("/", accept="text/html,*/*")
    assert (reply.status, reply.content_type) == (503, "text/html")
    headers = dict(reply.headers)
    assert (headers["Retry-After"], headers["Refresh"]) == ("42", "2")
    assert b"42 s left" in reply.body
    assert b"<script" not in reply.body


async def program(folder: Path, content: bytes, *command: str) -> str:
    """What a program says that sends `new.img` from this folder."""
    (folder / "new.img").write_bytes(content)
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
    )
    return done.stdout.decode()


@pytest.mark.needs_program("tftp")
async def test_tftp_program_sends_an_image(bench: Bench, tmp_path: Path) -> None:
    port = await bench.wait_for_firmware()
    put = ("tftp", "-m", "binary", "127.0.0.1", str(port), "-c", "put", "new.img")
    said = await program(tmp_path, image("1.48", site=LARGE_SITE), *put)
    assert bench.twin.controller.profile.sw == "1.48", said


@pytest.mark.needs_program("tftp")
async def test_tftp_program_shows_why_an_image_is_refused(bench: Bench, tmp_path: Path) -> None:
    port = await bench.wait_for_firmware()
    put = ("tftp", "-m", "binary", "127.0.0.1", str(port), "-c", "put", "new.img")
    assert "not signed" in await program(tmp_path, build_image(["3.9"], "1.48"), *put)


@pytest.mark.needs_program("curl")
async def test_curl_sends_an_image_in_larger_blocks(bench: Bench, tmp_path: Path) -> None:
    port = await bench.wait_for_firmware()
    put = ("curl", "-sS", "--tftp-blksize", "1428", "-T", "new.img")
    said = await program(tmp_path, image(site=LARGE_SITE), *put, f"tftp://127.0.0.1:{port}/")
    assert bench.twin.controller.profile.sw == "1.48", said
