"""Commands by SMS: who may, how they are written, what is answered, and what is kept quiet."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import example_request
from leverframe.interface.table.lookup import TABLE
from leverframe.server.sms_commands import (
    FORGOTTEN_S,
    FREE_IN_ALL,
    FREE_OF_NUMBER,
    LONGEST_WAIT_S,
    MAX_LETTERS,
    MAX_NUMBERS,
    CodeThrottle,
    SmsCommands,
)
from leverframe.testing import LoopTwin

SENDER = "+48501234567"


class Phone:
    def __init__(self, twin: LoopTwin) -> None:
        self.twin = twin
        self._commands = SmsCommands(twin.controller)

    async def send(self, text: str, sender: str = SENDER) -> str | None:
        return await self._commands.take(sender, text)

    async def wait(self, seconds: float) -> None:
        await self.twin.controller.advance(seconds)


@pytest.fixture
async def phone() -> AsyncIterator[Phone]:
    twin = await LoopTwin.start()
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
async def test_command_behind_the_code_is_carried_out_and_answered(phone: Phone, text: str) -> None:
    assert await phone.send(text) == "OK OUT 010000 PWM 0000 EVENT 00000000"
    assert await phone.twin.outputs() == "010000"


async def test_commands_are_joined_as_over_http(phone: Phone) -> None:
    assert await phone.send("1234:out0=1&out5=1&vout2=1") == (
        "OK OUT 100001 PWM 0000 EVENT 00100000"
    )


async def test_output_is_pulsed(phone: Phone) -> None:
    assert await phone.send("1234:pulse0=10") == "OK OUT 100000 PWM 0000 EVENT 00000000"
    await phone.twin.controller.advance(10)
    assert await phone.twin.outputs() == "000000"


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
        ("1234:", "Refused: The text has no command."),
        ("1234:out0=1&oname=9Pump", "Refused: "),
        ("1234:eventon=3*1", "Refused: "),
    ],
)
async def test_refused_sms_is_answered_with_the_reason(
    phone: Phone, text: str, answer: str
) -> None:
    said = await phone.send(text)
    assert said is not None
    assert said.startswith(answer)
    assert len(said) <= MAX_LETTERS
    assert await phone.twin.outputs() == "000000"


async def test_lock_holds_for_sms_too(phone: Phone) -> None:
    await phone.twin.ok("/stm.cgi?outblock=1")
    assert str(await phone.send("1234:out0=1")).startswith("Refused: ")
    assert await phone.twin.outputs() == "000000"


@pytest.mark.parametrize(
    "text", ["out0=1", "1235:out0=1", "12345:out0=1", "123:out0=1", ":out0=1", "1234 out0=1", ""]
)
async def test_without_the_right_code_nothing_happens_and_no_reply_is_sent(
    phone: Phone, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert await phone.send(text) is None
    assert await phone.twin.outputs() == "000000"
    assert SENDER in caplog.text
    assert "123" not in caplog.text.replace(SENDER, "")


@pytest.mark.parametrize("text", [":out0=1", "out0=1"])
async def test_without_a_configured_code_all_sms_are_refused(phone: Phone, text: str) -> None:
    await phone.twin.ok("/stm.cgi?gsmcode=")
    assert await phone.send(text) is None
    assert await phone.twin.outputs() == "000000"


async def test_code_may_hold_a_colon(phone: Phone) -> None:
    await phone.twin.ok("/stm.cgi?gsmcode=a%3Ab")
    assert await phone.send("a:b:out0=1") == "OK OUT 100000 PWM 0000 EVENT 00000000"


async def test_accounts_and_passwords_are_not_set_by_sms(phone: Phone) -> None:
    before = (await phone.twin.settings())["access"]
    answer = await phone.send("1234:auth=00YWRtaW4=*c2VjcmV0*dXNlcg==*c2VjcmV0")
    assert answer == "Refused: Accounts and passwords cannot be set by SMS."
    assert (await phone.twin.settings())["access"] == before


def secret_or_server_rows() -> list[str]:
    lines = [row for row in TABLE if row.form.method == "GET" and row.form.items]
    return [
        example_request(row, Profile()).partition("?")[2]
        for row in lines
        if row.secret or row.names_server
    ]


@pytest.mark.parametrize("command", secret_or_server_rows())
async def test_nothing_that_could_send_a_secret_elsewhere_is_set_by_sms(
    phone: Phone, command: str
) -> None:
    before = phone.twin.controller.pending
    for text in (command, f"out0=1&{command}", f"/stm.cgi?{command}"):
        answer = str(await phone.send(f"1234:{text}"))
        assert answer.startswith("Refused: ")
        # Forms of several items cannot be joined with commands of another path.
        assert answer.endswith(("cannot be set by SMS.", "no such command."))
    assert phone.twin.controller.pending is before
    assert await phone.twin.outputs() == "000000"


def test_commands_that_name_servers_are_all_known() -> None:
    named = {row.form.items[0].text for row in TABLE if row.names_server}
    assert named == {
        "em1=<A>",
        "em2=<A>",
        "http<A>=<B>",
        "mqtt=<A>*<B>*<C>*<D>*<E>*<F>*<G>",
        "snmptrap=<A>*<B>*<C>*<D>",
        "snmptrap<A>=<B>*<C>*<D>*<E>",
    }


# --- guessing ------------------------------------------------------------------------------------


async def test_three_hundred_wrong_codes_make_the_right_one_wait(
    phone: Phone, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(300):
        assert await phone.send(f"{number:04d}:out0=1") is None
    assert await phone.send("1234:out0=1") is None
    assert await phone.twin.outputs() == "000000"
    assert len(caplog.records) <= 2
    entries = await phone.twin.json("/api/log")
    wrong = [entry for entry in entries if entry["text"].startswith("wrong code")]
    assert [entry["text"] for entry in wrong] == [
        "wrong code",
        "wrong code",
        "wrong code",
        "wrong code; the next code from this sender is checked in 60 s",
    ]
    assert wrong[0]["detail"] == f"SMS from {SENDER}"
    await phone.wait(60)
    assert str(await phone.send("1234:out0=1")).startswith("OK ")


async def test_each_wrong_code_doubles_the_wait_up_to_an_hour(phone: Phone) -> None:
    for _ in range(FREE_OF_NUMBER):
        await phone.send("9999:out0=1")
    waits = []
    for _ in range(9):
        await phone.send("9999:out0=1")
        waited = 0.0
        log_length = phone.twin.controller.engine.machine.journal.count
        while phone.twin.controller.engine.machine.journal.count == log_length:
            await phone.wait(60)
            waited += 60
            assert waited <= LONGEST_WAIT_S
            await phone.send("9998:out0=1")
        waits.append(waited)
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (60, LONGEST_WAIT_S)


async def test_numbers_that_are_made_up_wait_together_and_a_proven_one_does_not(
    phone: Phone,
) -> None:
    assert str(await phone.send("1234:out1=1")).startswith("OK ")
    for number in range(300):
        await phone.send("9999:out0=1", f"+485{number:08d}")
    journal = await phone.twin.json("/api/log")
    wrong = [entry for entry in journal if entry["text"].startswith("wrong code")]
    assert len(wrong) == FREE_IN_ALL + 1
    assert await phone.send("1234:out0=1", "+48999999999") is None
    assert str(await phone.send("1234:out2=1")).startswith("OK ")
    assert await phone.twin.outputs() == "011000"


def test_guessing_from_everywhere_gets_no_more_than_one_try_an_hour() -> None:
    now, tried, days = 0.0, 0, 7
    throttle = CodeThrottle(lambda: now)
    for minute in range(days * 24 * 60):
        now = minute * 60.0
        if not throttle.wait_s(f"+48{minute}"):
            throttle.was_wrong(f"+48{minute}")
            tried += 1
    # A code of four digits takes half a year on average.
    assert tried <= days * 24 + FREE_IN_ALL + 7


async def test_wait_does_not_grow_by_what_comes_during_it(phone: Phone) -> None:
    for _ in range(FREE_OF_NUMBER + 1):
        await phone.send("9999:out0=1")
    for _ in range(59):
        await phone.wait(1)
        await phone.send("9999:out0=1")
    await phone.wait(1)
    assert str(await phone.send("1234:out0=1")).startswith("OK ")


async def test_right_code_resets_the_counter_of_its_number(phone: Phone) -> None:
    for _ in range(4):
        for _ in range(FREE_OF_NUMBER):
            await phone.send("9999:out0=1")
        assert str(await phone.send("1234:out0=1")).startswith("OK ")


async def test_advertising_causes_no_wait(phone: Phone) -> None:
    for _ in range(50):
        await phone.send("You have won! Look at https://example.org/", "Prizes")
        await phone.send("no colon at all")
    assert str(await phone.send("1234:out0=1", "+48999999999")).startswith("OK ")


def test_numbers_that_are_remembered_are_bounded() -> None:
    now = 0.0
    throttle = CodeThrottle(lambda: now)
    for number in range(3 * MAX_NUMBERS):
        throttle.was_wrong(f"a{number}")
        throttle.was_right(f"b{number}")
        now += 1
    kept = [value for value in vars(throttle).values() if isinstance(value, dict)]
    assert [len(numbers) for numbers in kept] == [MAX_NUMBERS, MAX_NUMBERS]


def test_quiet_day_makes_all_forgotten() -> None:
    now = 0.0
    throttle = CodeThrottle(lambda: now)
    for _ in range(30):
        throttle.was_wrong("+48")
    assert throttle.wait_s("+48") == LONGEST_WAIT_S
    now += FORGOTTEN_S + 1
    for _ in range(FREE_OF_NUMBER):
        throttle.was_wrong("+48")
    assert throttle.wait_s("+48") == 0


async def test_log_says_who_switched(phone: Phone) -> None:
    await phone.send("1234:out0=1")
    entries: list[dict[str, Any]] = await phone.twin.json("/api/log")
    assert any(f"SMS from {SENDER}" in entry["detail"] for entry in entries)
    assert not any("1234:" in str(entry) for entry in entries)


async def test_bootloader_takes_no_commands(phone: Phone) -> None:
    await phone.twin.ok("/stm.cgi?upgrade=devstart3")
    assert await phone.send("1234:out0=1") == "The controller is in its bootloader."
