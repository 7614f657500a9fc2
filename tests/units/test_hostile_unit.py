"""A hostile unit gets no password, does nothing to a terminal, and costs little memory and time."""

import asyncio
import logging
import re
import socket
import sys
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic

import msgspec
import pytest
from zeroconf import ServiceInfo

from leverframe.core.profile import Profile
from leverframe.host.command_line.entry import carry_out
from leverframe.interface.status_files.settings_reader import files_of
from leverframe.testing import Twin
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.testing.recordings.unit_client import UnitSilent, unit_client
from leverframe.units import find
from leverframe.units.client import UnusableAnswer, open_paced_client
from leverframe.units.find import find_units
from leverframe.units.inventory import Inventory, load_inventory
from leverframe.units.search import HeardUnit, _from_service, broadcast_request, look_at
from leverframe.units.targets import GuardedLogins
from leverframe.units.unit_reader import pull_unit
from tests.cases import for_each
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.units.hostile_unit import (
    ATTACK,
    HOST,
    SIGN_IN,
    HostileUnit,
    hostile_unit,
    path_of,
    plain_answer,
)

pytestmark = pytest.mark.usefixtures("lift_pacing")

MAC, OTHER_MAC = "02:11:22:0A:0B:0C", "02:11:22:0A:0B:0D"
LOGIN = UnitLogin("admin", "a long password")
#: More than a unit that is read to its end would need, less than one that is believed.
MAX_MEMORY_BYTES = 24 * 1024 * 1024


# --- passwords ------------------------------------------------------------------------------------


def announcement_of(unit: HostileUnit, mac: str = MAC) -> HeardUnit:
    return HeardUnit(unit.url, "Cellar", mac, "3.9", "1.75")


def inventory_of(folder: Path, address: str, mac: str | None = MAC) -> Inventory:
    path = folder / "units.toml"
    path.write_text(
        f'[units.north]\naddress = "{address}"\n' + (f'mac = "{mac}"\n' if mac else ""),
        encoding="utf-8",
    )
    return load_inventory(path)


@pytest.fixture
def stranger() -> Iterator[HostileUnit]:
    with hostile_unit(lambda head: [SIGN_IN]) as unit:
        yield unit


async def test_stranger_that_answers_discovery_gets_no_password(stranger: HostileUnit) -> None:
    port = free_port()
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as answering:
        answering.setblocking(False)
        answering.bind((HOST, port))

        async def answer() -> None:
            _, source = await loop.sock_recvfrom(answering, 100)
            name = f"Cellar:{stranger.url.rpartition(':')[2]}"
            said = f"{name}\r\n{MAC.replace(':', '-')}\r\n1.49\r\n3.5\r\n"
            await loop.sock_sendto(answering, said.encode(), source)

        asking = asyncio.create_task(answer())
        heard = await broadcast_request([HOST], port, listen_s=0.3)
        await asking
    assert [unit.address for unit in heard] == [stranger.url]
    logins = GuardedLogins(lambda _: LOGIN, withholds=True)
    (found,) = await look_at(heard, [], logins, None, wants_digest=True)
    assert (found.sign_in, found.is_login_withheld) == (True, True)
    assert stranger.heads
    assert not stranger.has_seen_login


@for_each(
    ("mac", "inventory_mac", "other_port", "gets_it"),
    [
        (MAC, MAC, False, True),
        (OTHER_MAC, MAC, False, False),
        (MAC, MAC, True, False),
        (MAC, None, False, False),
    ],
)
async def test_only_a_unit_with_address_and_mac_of_the_inventory_gets_the_password(
    stranger: HostileUnit,
    tmp_path: Path,
    mac: str,
    inventory_mac: str | None,
    other_port: bool,
    gets_it: bool,
) -> None:
    stranger.heads.clear()
    address = f"http://{HOST}:{free_port()}" if other_port else f"{stranger.url}/"
    inventory = inventory_of(tmp_path, address, inventory_mac)
    logins = GuardedLogins(lambda _: LOGIN, (), inventory, withholds=True)
    (found,) = await look_at([announcement_of(stranger, mac)], [], logins, None, wants_digest=False)
    assert stranger.has_seen_login is gets_it
    assert found.is_login_withheld is not gets_it


async def test_named_address_gets_the_password(stranger: HostileUnit) -> None:
    logins = GuardedLogins(lambda _: LOGIN, [stranger.url])
    await look_at([], [stranger.url], logins, None, wants_digest=False)
    assert stranger.has_seen_login


async def test_find_names_units_without_login_and_asks_for_no_useless_password(
    stranger: HostileUnit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def hear_stranger(listen_s: float) -> list[HeardUnit]:
        return [announcement_of(stranger)]

    async def hear_nothing(listen_s: float) -> list[HeardUnit]:
        return []

    monkeypatch.setattr(find, "broadcast_request", hear_stranger)
    monkeypatch.setattr(find, "hear_announced", hear_nothing)
    # Reading from it would be an error: nothing could get the password.
    monkeypatch.setattr(sys, "stdin", None)
    await find_units([], None, "admin", 1.0, None, True, False, None)
    said = capsys.readouterr()
    assert "not sent" in said.out
    assert f"The login was not sent to {stranger.url}" in said.err
    assert "Name the addresses of your units, or use --inventory" in said.err
    await find_units([], None, "admin", 1.0, None, True, True, None)
    assert msgspec.json.decode(capsys.readouterr().out)["is_login_withheld"] is True
    assert not stranger.has_seen_login


async def test_redirect_to_another_host_never_gets_the_login() -> None:
    with hostile_unit(lambda head: [plain_answer(b"{}")]) as thief:
        target = f"{thief.url}/json/status.json"

        def redirect(head: bytes) -> list[bytes]:
            if b"authorization" not in head.lower():
                return [SIGN_IN]
            return [f"HTTP/1.1 302 Found\r\nLocation: {target}\r\n\r\n".encode()]

        with hostile_unit(redirect) as unit:
            async with open_paced_client(unit.url, LOGIN, paced=False, retry_waits_s=()) as client:
                with pytest.raises(UnusableAnswer, match="redirects its clients to"):
                    await client.read("/json/status.json")
            assert unit.has_seen_login
        assert thief.heads == []


# --- terminals ------------------------------------------------------------------------------------


def assert_harmless(output: str) -> None:
    acting = {letter for letter in output if not letter.isprintable()} - {"\n"}
    assert acting == set()
    # A line that the unit wrote would be believed.
    assert "\nleverframe: all is well" not in output
    assert not output.startswith("leverframe: all is well")


def inject_attack(document: object) -> object:
    """Put the attack into every text of a document."""
    if isinstance(document, dict):
        return {name: inject_attack(value) for name, value in document.items()} | {ATTACK: ATTACK}
    if isinstance(document, list):
        return [inject_attack(value) for value in document]
    return f"{document}{ATTACK}" if isinstance(document, str) else document


#: What a search or a pull has to believe, so that it reads on.
BELIEVED = ("mac", "hw", "sw")


def hostile_files() -> dict[str, bytes]:
    with Twin(mac=MAC) as twin:
        files = {path: twin.get(path).encode() for path in files_of(Profile())}
    for path, body in files.items():
        if path.endswith(".json"):
            document = msgspec.json.decode(body)
            believed = {name: document[name] for name in BELIEVED if name in document}
            spoilt = inject_attack(document)
            assert isinstance(spoilt, dict)
            files[path] = msgspec.json.encode(spoilt | believed)
        else:
            # One name only, so that the unit is believed to be one; of the rest XML holds little.
            named = re.sub(rb"<sname>[^<]*</sname>", b"", body)
            files[path] = re.sub(
                rb"<(na\w*|s\d+)>([^<]*)</",
                "<\\1>\\2\x84\x85\x9b\u202e\u2028</".encode(),
                named,
            )
    return files


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return hostile_files()


@pytest.fixture
def liar(files: Mapping[str, bytes]) -> Iterator[HostileUnit]:
    def answer(head: bytes) -> list[bytes]:
        path = path_of(head)
        body = files.get(path)
        kind = "application/json" if path.endswith(".json") else "text/xml"
        if body is None:
            return [plain_answer(ATTACK.encode(), "text/plain", "404 Not Found")]
        return [plain_answer(body, kind)]

    with hostile_unit(answer) as unit:
        yield unit


def unit_files_in(folder: Path, address: str) -> None:
    (folder / "units.toml").write_text(
        f'[units.north]\naddress = "{address}"\nfile = "north.toml"\n', encoding="utf-8"
    )
    (folder / "north.toml").write_text('[outputs.OUT0]\nname = "Pump"\n', encoding="utf-8")


@for_each(
    "words",
    [
        "find {url}",
        "find {url} --json",
        "pull {url}",
        "pull {url} --json",
        "diff {url} north.toml",
        "diff {url} north.toml --json",
        "plan north.toml {url}",
        "plan north.toml {url} --json",
        "plan north.toml {url} --curl",
        "apply north.toml {url} --yes",
        "watch units.toml --once",
        "watch units.toml --once --json",
        "take-over {url} --data data --config-out north.conf",
    ],
)
def test_texts_of_a_unit_do_nothing_to_a_terminal(
    words: str,
    liar: HostileUnit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    unit_files_in(tmp_path, liar.url)
    carry_out(["unit", *words.format(url=liar.url).split()])
    output, errors = capfd.readouterr()
    assert output + errors
    for text in (output, errors):
        assert_harmless(text)
    if "--json" in words:
        for line in output.splitlines():
            msgspec.json.decode(line)


@for_each(
    "words",
    [
        "pull {url}",
        "pull {url} --json",
        "diff {url} north.toml",
        "diff {url} north.toml --json",
        "plan north.toml {url}",
        "plan north.toml {url} --json",
        "apply north.toml {url} --yes",
    ],
)
def test_names_that_a_unit_may_have_do_nothing_to_a_terminal(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # No control characters: a version allows them in a name. They turn what stands behind them.
    settings = {"outputs.0.name": "Pump\u202e\u200b", "outputs.1.name": "\u2066Fan"}
    with Twin(settings=settings) as twin:
        unit_files_in(tmp_path, twin.url)
        carry_out(["unit", *words.format(url=twin.url).split()])
    output, errors = capfd.readouterr()
    assert r"\u202e" in output
    assert_harmless(output + errors)


def test_pulled_unit_file_holds_no_control_characters(
    liar: HostileUnit, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("north.toml", "north.json"):
        assert carry_out(["unit", "pull", liar.url, "--out", str(tmp_path / name)]) == 0
        assert_harmless((tmp_path / name).read_text(encoding="utf-8"))
    capfd.readouterr()
    assert carry_out(["unit", "check", str(tmp_path / "north.toml")]) == 0
    assert carry_out(["backup", "show", str(tmp_path / "north.json")]) == 0
    assert_harmless(capfd.readouterr().out)


@for_each("words", ["pull {url}", "find {url}", "watch units.toml --once"])
def test_hostile_location_does_nothing_to_a_terminal(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # What the HTTP library lets through: C1 and bidi marks, but neither ESC nor a line break.
    location = b"http://unit.example/\x9b31m\xe2\x80\xae\x85"
    moved = b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n\r\n"
    monkeypatch.chdir(tmp_path)
    with hostile_unit(lambda head: [moved]) as unit:
        unit_files_in(tmp_path, unit.url)
        carry_out(["unit", *words.format(url=unit.url).split()])
    output, errors = capfd.readouterr()
    assert_harmless(output + errors)


def test_names_of_mdns_announcements_are_printable() -> None:
    service = "_leverframe._tcp.local."
    info = ServiceInfo(
        service,
        f"Cellar.{service}",
        port=80,
        addresses=[socket.inet_aton(HOST)],
        properties={"mac": MAC, "hw": ATTACK, "sw": "1.75\x9b"},
    )
    (heard,) = _from_service(info, f"{ATTACK}.{service}")
    assert all(text.isprintable() for text in heard)


def test_log_lines_of_a_command_are_harmless(
    liar: HostileUnit, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handler = logging.lastResort
    assert handler is not None
    before = handler.formatter
    try:
        carry_out(["unit", "find", liar.url, "--quick"])
        capfd.readouterr()
        handler.handle(logging.LogRecord("x", logging.WARNING, "", 0, ATTACK, None, None))
        assert_harmless(capfd.readouterr().err)
    finally:
        handler.setFormatter(before)


# --- memory and time ------------------------------------------------------------------------------

THREE_MEGABYTES = 3 * 1024 * 1024


def nest(opening: bytes, closing: bytes, size: int) -> bytes:
    count = size // (len(opening) + len(closing))
    return opening * count + closing * count


@for_each(
    "body",
    [
        nest(b"<a>", b"</a>", THREE_MEGABYTES),
        nest(b"<a>", b"</a>", 250_000),
        b"<response>" + b"<a/>" * 60_000 + b"</response>",
        nest(b"[", b"]", 1_000_000),
    ],
)
async def test_document_of_a_unit_costs_little_memory(body: bytes) -> None:
    with hostile_unit(lambda head: [plain_answer(body, "application/json")]) as unit:
        tracemalloc.start()
        try:
            async with open_paced_client(unit.url, paced=False, retry_waits_s=()) as client:
                with pytest.raises(UnusableAnswer):
                    await pull_unit(client)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < MAX_MEMORY_BYTES


async def test_answer_that_trickles_for_ever_ends_in_time() -> None:
    def trickle(head: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        until = monotonic() + PATIENCE_S
        while monotonic() < until:
            yield b" "

    with hostile_unit(trickle) as unit:
        async with unit_client(unit.url, None, answer_s=0.3) as client:
            with pytest.raises(UnitSilent, match="did not answer in time"):
                await client.whole("GET", "/", {}, b"", 1 << 40)


async def test_unit_that_keeps_its_client_waiting_is_given_up() -> None:
    with hostile_unit(lambda head: [plain_answer(b"", status="503 Busy")]) as unit:
        async with open_paced_client(unit.url, paced=False) as client:
            with pytest.raises(UnitSilent, match="is too slow"):
                await pull_unit(client, within_s=0.2)
