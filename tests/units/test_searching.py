"""Finding units: who answers the question, who announces itself, and who is at an address."""

import asyncio
import socket
from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.server.discovery import DiscoveryServer
from leverframe.testing import LoopTwin, Twin, faults
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.units import find
from leverframe.units.addresses import (
    MAX_ADDRESSES,
    BadAddressList,
    addresses_from_names,
    normal_mac,
)
from leverframe.units.find import find_units
from leverframe.units.search import (
    FoundUnit,
    HeardUnit,
    broadcast_request,
    doubles,
    hear_announced,
    look_at,
)
from leverframe.units.targets import GuardedLogins
from tests.cases import for_each
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.server.discovery.test_mdns import announcer_of

MAC = "02:11:22:0A:0B:0C"
#: All addresses on loopback.
ALL = "127.255.255.255"
HERE = "127.0.0.1"


# --- addresses ------------------------------------------------------------------------------------


@for_each(
    ("name", "addresses"),
    [
        ("192.0.2.7", ["http://192.0.2.7"]),
        ("cellar.example:8080", ["http://cellar.example:8080"]),
        ("https://192.0.2.7/", ["https://192.0.2.7"]),
        ("192.0.2.7-9", [f"http://192.0.2.{n}" for n in (7, 8, 9)]),
        ("192.0.2.255-192.0.3.0:81", ["http://192.0.2.255:81", "http://192.0.3.0:81"]),
        ("192.0.2.0/30", ["http://192.0.2.1", "http://192.0.2.2"]),
    ],
)
def test_addresses_are_those_that_are_named(name: str, addresses: list[str]) -> None:
    assert addresses_from_names([name, name]) == addresses


@for_each(
    "name",
    [
        *("192.0.2.9-7", "192.0.2.1-400", "192.0.2.0/33", "192.0.2.7/24", "1.2.3-9", "", "ftp://x"),
        *("http://192.0.2.7/path", "http://name:secret@192.0.2.7", "192.0.2.7:99999"),
    ],
)
def test_name_that_is_none_refuses_the_whole_list(name: str) -> None:
    with pytest.raises(BadAddressList) as refusal:
        addresses_from_names(["192.0.2.1", name])
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("name", ["10.0.0.0/8", "10.0.0.0-10.255.255.255"])
def test_excessive_number_of_addresses_is_refused(name: str) -> None:
    with pytest.raises(BadAddressList, match=f"{MAX_ADDRESSES:,}"):
        addresses_from_names([name])


# --- who makes itself known -----------------------------------------------------------------------


async def test_question_is_answered_with_name_mac_and_versions() -> None:
    port = free_port()
    async with await LoopTwin.start(Profile("3.5", "1.49")) as twin:
        server = DiscoveryServer(twin.controller, name="Cellar", mac=MAC, http_port=8081)
        server.start(port=port)
        try:
            (heard,) = await broadcast_request([ALL], port, listen_s=0.3)
        finally:
            await server.close()
    assert heard == HeardUnit(heard.address, "Cellar", MAC, "3.5", "1.49")
    assert heard.address.startswith("http://127.")
    assert heard.address.endswith(":8081")


@for_each(
    "answer",
    [
        b"",
        b"\xff\xfe\x00",
        b"name\r\nno mac\r\n1.49\r\n3.5",
        b"name\r\n02-11-22-0A-0B-0C\r\n1.49",
        b"a\x1b[31m\r\n02-11-22-0A-0B-0C\r\n1.49\r\n3.5",
    ],
)
async def test_answer_that_is_none_is_left_out(answer: bytes) -> None:
    port = free_port()
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
        liar.setblocking(False)
        liar.bind((HERE, port))

        async def lie() -> None:
            _, asking = await loop.sock_recvfrom(liar, 100)
            await loop.sock_sendto(liar, answer, asking)

        lying = asyncio.create_task(lie())
        assert await broadcast_request([HERE], port, listen_s=0.2) == []
        await lying


async def test_machine_without_a_network_hears_no_unit() -> None:
    assert await broadcast_request(["not an address"], free_port(), listen_s=0.05) == []


@pytest.mark.thorough
@pytest.mark.usefixtures("mdns_turn")
async def test_controllers_that_announce_themselves_are_heard() -> None:
    announcer = announcer_of(Profile("3.9", "1.75"), name="Attic", mac=MAC, port=8082)
    announcer.start([HERE], {})
    try:
        async with asyncio.timeout(PATIENCE_S):
            heard: list[HeardUnit] = []
            while not heard:
                announcements = await hear_announced([HERE], listen_s=0.5)
                heard = [unit for unit in announcements if unit.mac == MAC]
    finally:
        await announcer.close()
    assert heard == [HeardUnit(f"http://{HERE}:8082", "Attic", MAC, "3.9", "1.75")]


# --- who is at an address -------------------------------------------------------------------------


async def look_up(*named: str, **parameters: Any) -> list[FoundUnit]:
    settings = {"ca_file": None, "wants_digest": False, **parameters}
    heard, login = settings.pop("heard", []), settings.pop("login", None)
    return await look_at(heard, named, GuardedLogins(lambda _: login, named), **settings)


async def test_unit_at_a_named_address_is_listed_and_an_empty_address_is_not() -> None:
    async with Twin(hw="3.0", sw="1.58a", name="Attic & cellar", mac=MAC) as twin:
        unused_address = f"http://{HERE}:{free_port()}"
        (unit,) = await look_up(unused_address, twin.url, wants_digest=True)
    assert (unit.name, unit.mac) == ("Attic & cellar", MAC)
    assert (unit.hardware, unit.software) == ("3.0", "1.58a")
    assert len(unit.digest) == 64
    assert not unit.sign_in
    assert not unit.trouble


async def test_digest_changes_with_the_settings_alone() -> None:
    async with Twin() as twin:
        (first,) = await look_up(twin.url, wants_digest=True)
        await twin.acommand("/outs.cgi?out0=1")
        assert await look_up(twin.url, wants_digest=True) == [first]
        await twin.acommand("/stm.cgi?oname=0Pump")
        (other,) = await look_up(twin.url, wants_digest=True)
        assert other.digest != first.digest


async def test_unit_that_requires_a_login_is_listed_without_one_and_read_with_one() -> None:
    async with Twin(accounts={"admin": "a long password"}) as twin:
        (stranger,) = await look_up(twin.url)
        assert stranger == FoundUnit(twin.url, sign_in=True)
        (unit,) = await look_up(twin.url, login=UnitLogin("admin", "a long password"))
        assert unit.sign_in
        assert unit.software == "1.75"
        (wrong,) = await look_up(twin.url, login=UnitLogin("admin", "another password"))
        assert "rejects the login" in wrong.trouble
        assert not wrong.software


async def test_other_device_at_an_address_is_reported_as_no_unit() -> None:
    async with Twin() as twin:
        with twin.fault(faults.garbage()):
            (other,) = await look_up(twin.url)
    assert "not as a unit does" in other.trouble
    assert not other.mac


async def test_unit_that_was_heard_and_is_silent_stays_in_the_list() -> None:
    heard = HeardUnit(f"http://{HERE}:{free_port()}", "Cellar", MAC, "3.5", "1.49")
    (unit,) = await look_up(heard=[heard])
    assert unit.name == "Cellar"
    assert unit.trouble


async def test_unit_that_shows_two_mac_addresses_is_reported() -> None:
    async with Twin(mac="02:00:00:00:00:01") as twin:
        (unit,) = await look_up(heard=[HeardUnit(twin.url, "Cellar", MAC, "3.5", "1.49")])
    assert "two MAC addresses" in unit.trouble


def test_mac_address_at_two_places_is_reported() -> None:
    (sentence,) = doubles(
        [FoundUnit("http://192.0.2.1", mac=MAC), FoundUnit("http://192.0.2.2", mac=MAC)]
    )
    assert MAC in sentence
    assert "192.0.2.2" in sentence
    assert doubles([FoundUnit("http://192.0.2.1", mac=MAC), FoundUnit("http://192.0.2.2")]) == []


@for_each("text", ["", "02:11:22:0a:0b", "02:11:22:0a:0b:0g", "021122334455"])
def test_invalid_mac_address_is_none(text: str) -> None:
    assert normal_mac(text) is None


# --- the command ----------------------------------------------------------------------------------


async def test_command_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    async with Twin(mac=MAC, name="Cellar") as twin:
        twice = [twin.url, twin.url.replace(HERE, "localhost")]
        assert await find_units(twice, None, None, 1.0, None, True, False, None) == 0
        output = capsys.readouterr()
        assert "address" in output.out
        assert MAC in output.out
        assert "Several addresses show" in output.err
        assert await find_units([twin.url], None, None, 1.0, None, True, True, None) == 0
        (line,) = capsys.readouterr().out.splitlines()
        unit = msgspec.json.decode(line)
        assert (unit["mac"], unit["name"], unit["sign_in"]) == (MAC, "Cellar", False)
        with twin.fault(faults.garbage()):
            await find_units([twin.url], None, None, 1.0, None, True, False, None)
        assert "not as a unit does" in capsys.readouterr().out
    assert (
        await find_units([f"{HERE}:{free_port()}"], None, None, 1.0, None, True, False, None) == 1
    )
    assert "No units were found." in capsys.readouterr().out


async def test_unit_heard_both_ways_is_listed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Twin(mac=MAC, name="Cellar") as twin:
        versions = ("3.9", "1.75")

        async def hear_twin(listen_s: float) -> list[HeardUnit]:
            return [HeardUnit(twin.url, "Cellar", MAC, *versions)]

        async def hear_elsewhere(listen_s: float) -> list[HeardUnit]:
            return [HeardUnit("http://192.0.2.1", "Cellar", MAC, *versions)]

        monkeypatch.setattr(find, "broadcast_request", hear_twin)
        monkeypatch.setattr(find, "hear_announced", hear_elsewhere)
        assert await find_units([], None, None, 1.0, None, True, True, None) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert msgspec.json.decode(line)["address"] == twin.url


async def test_listening_for_an_hour_is_refused() -> None:
    with pytest.raises(find.CannotFind, match="at most 60"):
        await find_units([], None, None, 3600.0, None, True, True, None)
