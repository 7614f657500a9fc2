"""What a controller answers while its node may not act for it: no store, or it has left."""

import pytest

from leverframe.devices.linux.oled_panel import png_of
from leverframe.host.controller.hooks import MOVING, Hindrance
from leverframe.server.sms_commands import SmsCommands
from leverframe.testing import LoopTwin

AWAY = Hindrance("The database is away. Nothing was changed.", store_is_away=True)
LEFT = Hindrance("Another node has it. Ask again.")

CHANGES = [
    ("GET", "/stm.cgi?oname=0Lamp", b""),
    # Also to what it is already: what is stored by now is not known.
    ("GET", "/stm.cgi?sname=same", b""),
    ("GET", "/stm.cgi?eeprom_reset=1", b""),
    ("GET", "/stm.cgi?auth=11YWRtaW4=*c2VjcmV0*dXNlcg==*c2VjcmV0", b""),
    ("GET", "/outs.cgi?out0=1&roafs=01", b""),
    ("POST", "/post.cgi?pictureupload", png_of(("1", "2", "3", "4"))),
]
SWITCHING = [
    "/outs.cgi?out0=1",
    "/outs.cgi?pulse0=5",
    "/outs.cgi?out0=1&out1=1",
    "/stm.cgi?devrestart=1",
]


async def make_hindered_twin(hindrance: Hindrance | None) -> LoopTwin:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?sname=same")
    twin.controller.why_refused = lambda: hindrance
    return twin


@pytest.mark.parametrize(("method", "target", "body"), CHANGES)
async def test_changes_are_not_stored_while_the_store_is_away(
    method: str, target: str, body: bytes
) -> None:
    async with await make_hindered_twin(AWAY) as twin:
        before = twin.controller.pending
        answer = await twin.ask(target, method, body)
        assert answer.status == 507, answer.body
        assert AWAY.reason.encode() in answer.body
        assert twin.controller.pending is before
        assert await twin.outputs() == "000000"


@pytest.mark.parametrize("target", SWITCHING)
async def test_nothing_is_switched_while_the_store_is_away(target: str) -> None:
    async with await make_hindered_twin(AWAY) as twin:
        engine = twin.controller.engine
        answer = await twin.ask(target)
        assert (answer.status, dict(answer.headers)["Retry-After"]) == (503, "2")
        assert AWAY.reason.encode() in answer.body
        assert await twin.outputs() == "000000"
        assert twin.controller.engine is engine


@pytest.mark.parametrize("hindrance", [AWAY, LEFT])
async def test_nothing_is_decided_by_settings_that_may_be_old(hindrance: Hindrance) -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok("/stm.cgi?outblock=1")
        twin.controller.why_refused = lambda: hindrance
        await twin.refused("/outs.cgi?out0=1", 503)


async def test_wrong_command_is_refused_as_such_while_the_store_is_away() -> None:
    async with await make_hindered_twin(AWAY) as twin:
        await twin.refused("/outs.cgi?pulse9=1", 400)


@pytest.mark.parametrize("hindrance", [LEFT, MOVING])
async def test_one_that_has_left_decides_nothing(hindrance: Hindrance) -> None:
    async with await make_hindered_twin(hindrance) as twin:
        for method, target, body in CHANGES:
            assert (await twin.ask(target, method, body)).status == 503, target
        for target in SWITCHING:
            problem = await twin.refused(target, 503)
            assert problem["detail"] == hindrance.reason


async def test_all_is_as_before_when_nothing_hinders() -> None:
    async with await make_hindered_twin(None) as twin:
        await twin.ok("/stm.cgi?oname=0Lamp")
        await twin.ok("/outs.cgi?out0=1")
        assert await twin.outputs() == "100000"


async def test_message_is_answered_with_the_same_sentence() -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok("/stm.cgi?gsmcode=1234")
        twin.controller.why_refused = lambda: AWAY
        for command in ("out1=1", "pwmd=130"):
            response = await SmsCommands(twin.controller).take("+48501234567", f"1234:{command}")
            assert response == f"Refused: {AWAY.reason}"
