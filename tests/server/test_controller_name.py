"""The name of the controller: given by command or configuration, shown wherever it is asked for."""

from datetime import UTC
from pathlib import Path

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import ConfiguredIdentity, ControllerHost, build
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.cases import for_each
from tests.host.controller_process import controller_process
from tests.server.signing_up import USER, basic, start_with_accounts

UNIT = "D8:80:39:12:34:56"


async def build_host(configured: ConfiguredIdentity) -> tuple[ControllerHost, LoopTwin]:
    made = await build(Profile(), MemoryStore(), VirtualClock(), UTC, configured=configured)
    return made, LoopTwin(made.controller, made.web)


async def page(twin: LoopTwin) -> str:
    return (await twin.ok("/signin")).body.decode()


async def test_name_is_shown_in_the_files_and_taken_back_by_an_empty_one() -> None:
    twin = await LoopTwin.start()
    made = (await twin.json("/json/network.json"))["sname"]
    assert made.startswith("leverframe-")
    await twin.ok("/stm.cgi?sname=Boiler%20room")
    for path in ("/json/network.json", "/json/status.json", "/json/all.json"):
        assert (await twin.json(path))["sname"] == "Boiler room", path
    assert b"<sname>Boiler room</sname>" in (await twin.ok("/xml/stat.xml")).body
    assert (await twin.json("/api/start"))["status"]["sname"] == "Boiler room"
    await twin.ok("/stm.cgi?sname=")
    assert (await twin.json("/json/network.json"))["sname"] == made
    await twin.controller.stop()


@for_each("name", ["%20x", "x%20", "a%0Ab", "a%7Fb", "x" * 32])
async def test_name_is_one_line(name: str) -> None:
    twin = await LoopTwin.start()
    await twin.refused(f"/stm.cgi?sname={name}", 400)
    assert (await twin.settings())["name"] == ""
    await twin.controller.stop()


async def test_sign_in_page_shows_the_name_that_people_gave_and_no_other() -> None:
    made, twin = await build_host(ConfiguredIdentity())
    assert made.name not in await page(twin)
    await twin.ok("/stm.cgi?sname=%3Cb%3ECellar")
    assert "<title>Sign in · &lt;b>Cellar" in (await page(twin)).replace("&gt;", ">")
    await made.stop()
    made, twin = await build_host(ConfiguredIdentity(name="Attic"))
    assert "<h1>Attic</h1>" in await page(twin)
    await made.stop()


async def test_every_account_may_read_the_name() -> None:
    twin = await start_with_accounts()
    reply = await twin.ask("/json/network.json", authorization=basic(*USER))
    assert reply.status == 200
    assert msgspec.json.decode(reply.body)["sname"]
    assert (await twin.ask("/json/network.json")).status == 401
    await twin.controller.stop()


async def test_configuration_names_it_until_the_user_does() -> None:
    made, twin = await build_host(ConfiguredIdentity(name="Attic", mac=UNIT))
    about = await twin.json("/json/network.json")
    assert (about["sname"], about["mac"], made.present_name) == ("Attic", UNIT, "Attic")
    assert made.host_label.startswith("leverframe-")
    await twin.ok("/stm.cgi?sname=Cellar")
    assert (await twin.json("/json/network.json"))["sname"] == made.present_name == "Cellar"
    await made.stop()


@pytest.mark.thorough
def test_process_takes_name_and_address_of_a_unit(tmp_path: Path) -> None:
    with controller_process(tmp_path, "--name", "Boiler room", "--mac", UNIT.lower()) as running:
        assert running.printed.startswith("Boiler room (")
        about = msgspec.json.decode(running.ask("/json/network.json")[1])
        assert (about["sname"], about["mac"]) == ("Boiler room", UNIT)
    # Without them it is itself again.
    with controller_process(tmp_path) as running:
        about = msgspec.json.decode(running.ask("/json/network.json")[1])
        assert about["sname"].startswith("leverframe-")
        assert about["mac"].startswith("02:")
