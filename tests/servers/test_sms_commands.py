"""Commands by SMS: who may, how they are written, what is answered, and what is kept quiet."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from leverframe.servers.sms_commands import MAX_LETTERS, SmsCommands
from tests.twin import Twin

SENDER = "+48501234567"


class Phone:
    def __init__(self, twin: Twin) -> None:
        self.twin = twin
        self._commands = SmsCommands(twin.controller)

    async def send(self, text: str) -> str | None:
        return await self._commands.take(SENDER, text)


@pytest.fixture
async def phone() -> AsyncIterator[Phone]:
    twin = await Twin.start()
    await twin.ok("/stm.cgi?gsmcode=1234")
    yield Phone(twin)
    await twin.controller.stop()


@pytest.mark.parametrize(
    "text",
    [
        "1234:out1=1",
        "1234:/outs.cgi?out1=1",
        "1234:outs.cgi?out1=1",
        " 1234 : out1=1\n",
        "1234:out=out1",
    ],
)
async def test_a_command_behind_the_code_is_carried_out_and_answered(
    phone: Phone, text: str
) -> None:
    assert await phone.send(text) == "OK OUT 010000 PWM 0000 EVENT 00000000"
    assert await phone.twin.outputs() == "010000"


async def test_commands_are_joined_as_over_http(phone: Phone) -> None:
    assert await phone.send("1234:out0=1&out5=1&vout2=1") == (
        "OK OUT 100001 PWM 0000 EVENT 00100000"
    )


async def test_settings_are_set_on_whatever_path_they_are(phone: Phone) -> None:
    await phone.send("1234:oname=0Pump room&diffsel=0*6*1*7")
    settings = await phone.twin.settings()
    assert settings["outputs"][0]["name"] == "Pump room"
    assert settings["differentials"][0]["second"] == "DS2"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("1234:out9=1", "Refused: "),
        ("1234:nonsense=1", "Refused: "),
        ("1234:", "Refused: The text has 0 commands."),
        ("1234:out0=1&oname=9Pump", "Refused: "),
        ("1234:eventon=3*1", "Refused: "),
    ],
)
async def test_what_is_refused_is_answered_with_the_reason(
    phone: Phone, text: str, answer: str
) -> None:
    said = await phone.send(text)
    assert said is not None
    assert said.startswith(answer)
    assert len(said) <= MAX_LETTERS
    assert await phone.twin.outputs() == "000000"


async def test_the_lock_holds_for_sms_too(phone: Phone) -> None:
    await phone.twin.ok("/stm.cgi?outblock=1")
    assert str(await phone.send("1234:out0=1")).startswith("Refused: ")
    assert await phone.twin.outputs() == "000000"


@pytest.mark.parametrize(
    "text", ["out0=1", "1235:out0=1", "12345:out0=1", "123:out0=1", ":out0=1", "1234 out0=1", ""]
)
async def test_without_the_right_code_nothing_happens_and_nobody_answers(
    phone: Phone, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert await phone.send(text) is None
    assert await phone.twin.outputs() == "000000"
    assert SENDER in caplog.text
    assert "123" not in caplog.text.replace(SENDER, "")


@pytest.mark.parametrize("text", [":out0=1", "out0=1"])
async def test_without_a_code_in_the_settings_nobody_may(phone: Phone, text: str) -> None:
    await phone.twin.ok("/stm.cgi?gsmcode=")
    assert await phone.send(text) is None
    assert await phone.twin.outputs() == "000000"


async def test_a_code_may_hold_a_colon(phone: Phone) -> None:
    await phone.twin.ok("/stm.cgi?gsmcode=a%3Ab")
    assert await phone.send("a:b:out0=1") == "OK OUT 100000 PWM 0000 EVENT 00000000"


async def test_accounts_and_passwords_are_not_set_by_sms(phone: Phone) -> None:
    before = (await phone.twin.settings())["access"]
    answer = await phone.send("1234:auth=00YWRtaW4=*c2VjcmV0*dXNlcg==*c2VjcmV0")
    assert answer == "Refused: Accounts and passwords cannot be set by SMS."
    assert (await phone.twin.settings())["access"] == before


async def test_the_log_says_who_switched(phone: Phone) -> None:
    await phone.send("1234:out0=1")
    entries: list[dict[str, Any]] = await phone.twin.json("/api/log")
    assert any(f"SMS from {SENDER}" in entry["detail"] for entry in entries)
    assert not any("1234:" in str(entry) for entry in entries)


async def test_the_bootloader_takes_no_commands(phone: Phone) -> None:
    await phone.twin.ok("/stm.cgi?upgrade=devstart3")
    assert await phone.send("1234:out0=1") == "The controller is in its bootloader."
