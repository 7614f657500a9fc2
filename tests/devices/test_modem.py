"""The GSM modem over a real terminal: set up, send, receive, and everything that goes wrong."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from leverframe.core.engine.calls import SendModem
from leverframe.core.profile import Profile
from leverframe.core.settings import Gsm
from leverframe.core.tree import defaults, with_value
from leverframe.devices.modem import MAX_ATTEMPTS, NAME, Modem
from leverframe.devices.modem_line import CommandPace, ModemState, ModemUnavailable
from leverframe.devices.serial_module import Pauses, SerialPortService
from tests.devices.scripted_modem import TEXT, ScriptedModem
from tests.devices.waiting import until

#: Answers are waited for as long as a busy machine may need, and nothing else is.
PATIENT = CommandPace(
    answer_s=8.0,
    network_s=8.0,
    attention_s=4.0,
    attempts=2,
    settle_s=0.01,
    look_s=60.0,
    retry_s=0.02,
)
#: Where the other side is to be silent.
IMPATIENT = replace(PATIENT, answer_s=0.3, network_s=0.3, attention_s=0.15)
NUMBER = "+48501234567"
SETTINGS = with_value(defaults(Profile()), "serial.module", NAME)
LONG_TEXT = "Temperature in the greenhouse is too high. " * 8


class Bench:
    """A scripted modem, and ours on the other end of the line."""

    def __init__(self, pace: CommandPace) -> None:
        self.other = ScriptedModem()
        self.troubles: dict[str, str] = {}
        self.received: list[tuple[str, str]] = []
        self.reply: str | None = None
        self.gsm = Gsm()
        self.modem = Modem(lambda: self.gsm, self._take, self.troubles, pace)
        self.port = SerialPortService(
            self.other.path,
            {NAME: lambda: self.modem},
            self.troubles,
            unreadable={},
            pauses=Pauses(0.02, 0.02),
        )

    async def _take(self, sender: str, text: str) -> str | None:
        self.received.append((sender, text))
        return self.reply

    def start(self) -> None:
        self.port.start(SETTINGS)

    async def close(self) -> None:
        await self.port.close()
        self.other.close()

    async def in_state(self, state: str) -> None:
        await until(lambda: self.modem.status.state == state)

    async def ready(self) -> None:
        self.start()
        await self.in_state("ready")

    async def type_command(self, command: str) -> list[str]:
        self.modem.command(SendModem(command))
        status = self.modem.status
        await until(lambda: status.full_report().answer is not None)
        return list(status.full_report().answer)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench(PATIENT)
    yield bench
    await bench.close()


@pytest.fixture
async def impatient() -> AsyncIterator[Bench]:
    bench = Bench(IMPATIENT)
    yield bench
    await bench.close()


async def test_modem_is_set_up_and_its_network_is_shown(bench: Bench) -> None:
    await bench.ready()
    assert bench.modem.status.report() == ModemState(
        state="ready",
        sim="READY",
        registration="home",
        operator="Orange PL",
        signal_dbm=-73,
        apn=None,
    )
    assert bench.troubles == {}
    assert bench.other.commands[:3] == ["AT", "ATE0", "AT+CMEE=2"]


async def test_network_is_looked_at_again_and_again() -> None:
    bench = Bench(replace(PATIENT, look_s=0.02))
    await bench.ready()
    await until(lambda: bench.other.commands.count("AT+CREG?") >= 4)
    await bench.close()


async def test_apn_is_given_as_it_was_set_and_again_when_it_changes(bench: Bench) -> None:
    bench.gsm = Gsm(apn='"internet","user","secret"')
    bench.start()
    await until(lambda: bench.modem.status.apn == "set")
    assert bench.other.apn == '"internet","user","secret"'
    bench.gsm = Gsm(apn='"other"')
    bench.modem.adopt(SETTINGS, with_value(SETTINGS, "gsm.apn", '"other"'))
    await until(lambda: bench.other.apn == '"other"')


async def test_apn_that_is_refused_does_not_stop_the_rest(bench: Bench) -> None:
    bench.gsm = Gsm(apn='"internet"')
    bench.other.surprise("AT+CSTT", lambda: bench.other.say("ERROR"))
    bench.start()
    await until(lambda: bench.modem.status.apn is not None)
    assert bench.modem.status.apn == "the modem refuses AT+CSTT: ERROR"
    await bench.modem.send_sms(NUMBER, "still works")


async def test_sms_goes_to_the_network(bench: Bench) -> None:
    await bench.ready()
    await bench.modem.send_sms(NUMBER, "Pump on, 21.5 °C: zażółć")
    await bench.modem.send_sms("501234567", "Pump off")
    assert bench.other.sent == [(NUMBER, "Pump on, 21.5 °C: zażółć"), ("501234567", "Pump off")]


async def test_long_text_goes_in_parts(bench: Bench) -> None:
    await bench.ready()
    await bench.modem.send_sms(NUMBER, LONG_TEXT)
    assert len(bench.other.sent) == 3
    assert "".join(text for _, text in bench.other.sent) == LONG_TEXT


async def test_messages_wait_for_each_other(bench: Bench) -> None:
    await bench.ready()
    texts = [f"message {n}" for n in range(5)]
    await asyncio.gather(*(bench.modem.send_sms(NUMBER, text) for text in texts))
    assert [text for _, text in bench.other.sent] == texts


async def test_message_that_the_network_refuses_is_reported(bench: Bench) -> None:
    await bench.ready()
    bench.other.surprise(TEXT, lambda: bench.other.say("+CMS ERROR: 331"))
    with pytest.raises(ModemUnavailable, match=r"does not send the SMS: \+CMS ERROR: 331"):
        await bench.modem.send_sms(NUMBER, "x")
    await bench.modem.send_sms(NUMBER, "the next one")
    assert bench.other.sent == [(NUMBER, "the next one")]


@pytest.mark.parametrize("moment", ["AT+CMGS", TEXT])
async def test_message_is_sent_after_the_modem_restarted_in_between(
    bench: Bench, moment: str
) -> None:
    await bench.ready()
    bench.other.surprise(moment, bench.other.reset)
    await bench.modem.send_sms(NUMBER, "once")
    assert bench.other.sent == [(NUMBER, "once")]
    assert bench.other.resets == 1
    assert bench.other.commands.count("ATE0") >= 2


async def test_unnoticed_modem_restart_is_detected_by_the_echo(bench: Bench) -> None:
    await bench.ready()
    bench.other.forget()
    await bench.modem.send_sms(NUMBER, "after all")
    assert bench.other.sent == [(NUMBER, "after all")]
    bench.other.receive(NUMBER, "heard of")
    await until(lambda: bench.received == [(NUMBER, "heard of")])


async def test_modem_that_says_it_has_booted_is_looked_at(bench: Bench) -> None:
    await bench.ready()
    bench.other.forget()
    bench.other.receive(NUMBER, "came during the restart")
    bench.other.say("SMS Ready")
    await until(lambda: bool(bench.received))


async def test_long_message_continues_with_the_first_unconfirmed_part(bench: Bench) -> None:
    await bench.ready()
    bench.other.surprise("AT+CMGS", bench.other.reset, after=1)
    await bench.modem.send_sms(NUMBER, LONG_TEXT)
    assert bench.other.resets == 1
    assert len(bench.other.sent) == 3
    assert "".join(text for _, text in bench.other.sent) == LONG_TEXT


async def test_modem_that_always_restarts_when_it_sends_is_given_up(bench: Bench) -> None:
    await bench.ready()
    for _ in range(MAX_ATTEMPTS):
        bench.other.surprise("AT+CMGS", bench.other.reset)
    with pytest.raises(ModemUnavailable, match="restarts at every attempt"):
        await bench.modem.send_sms(NUMBER, "x")
    await bench.modem.send_sms(NUMBER, "y")
    assert bench.other.sent == [(NUMBER, "y")]


async def test_silence_is_a_trouble_that_ends_when_the_modem_answers(impatient: Bench) -> None:
    for _ in range(IMPATIENT.attempts):
        impatient.other.surprise("AT", impatient.other.be_silent)
    impatient.start()
    await impatient.in_state("silent")
    assert "does not answer" in impatient.troubles["GSM modem"]
    await impatient.in_state("ready")
    assert impatient.troubles == {}


async def test_silence_in_the_middle_fails_the_message_and_the_modem_recovers(
    impatient: Bench,
) -> None:
    await impatient.ready()
    impatient.other.surprise("AT+CMGS", impatient.other.be_silent)
    with pytest.raises(ModemUnavailable, match="does not answer"):
        await impatient.modem.send_sms(NUMBER, "x")
    await impatient.in_state("ready")
    await impatient.modem.send_sms(NUMBER, "y")
    assert impatient.other.sent == [(NUMBER, "y")]


async def test_late_answer_is_not_taken_for_the_next_one(impatient: Bench) -> None:
    await impatient.ready()
    impatient.other.surprise("AT+CSQ", impatient.other.be_silent)
    assert await impatient.type_command("AT+CSQ") == ["no answer"]
    impatient.other.say("+CSQ: 31,0", "OK")
    await impatient.in_state("ready")
    assert impatient.modem.status.signal_dbm == -73


@pytest.mark.parametrize(
    ("command", "nonsense"),
    [
        ("AT+CSQ", "+CSQ: banana"),
        ("AT+CSQ", "+CSQ: 99,99"),
        ("AT+CREG?", "+CREG: "),
        ("AT+COPS?", "+COPS: 0"),
    ],
)
async def test_wrong_answer_leaves_a_value_unknown(
    bench: Bench, command: str, nonsense: str
) -> None:
    bench.other.surprise(command, lambda: bench.other.say(nonsense, "OK"))
    await bench.ready()
    shown = bench.modem.status.report()
    values = {"AT+CSQ": "signal_dbm", "AT+CREG?": "registration", "AT+COPS?": "operator"}
    assert getattr(shown, values[command]) in (None, "unknown")


async def test_set_up_that_is_refused_is_tried_again(bench: Bench) -> None:
    bench.other.surprise("AT+CNMI", lambda: bench.other.say("+CMS ERROR: SIM busy"))
    await bench.ready()
    assert bench.other.commands.count("AT+CNMI=2,1,0,0,0") == 2


async def test_sim_card_that_asks_for_its_pin_says_what_to_do(bench: Bench) -> None:
    bench.other.sim = "SIM PIN"
    bench.start()
    await bench.in_state("waiting for the SIM card")
    assert "gsmcmd=AT%2BCPIN=1234" in bench.troubles["GSM modem"]
    with pytest.raises(ModemUnavailable, match="SIM PIN"):
        await bench.modem.send_sms(NUMBER, "x")
    assert await bench.type_command("AT+CPIN=1234") == ["OK"]
    await bench.in_state("ready")
    assert bench.troubles == {}
    assert "1234" not in str(bench.modem.status.full_report().command)


async def test_missing_sim_card_is_reported(bench: Bench) -> None:
    bench.other.sim = "SIM not inserted"
    bench.start()
    await bench.in_state("waiting for the SIM card")
    assert bench.modem.status.sim == "SIM not inserted"


async def test_network_that_does_not_take_the_card_is_a_trouble(bench: Bench) -> None:
    bench.other.registration = 3
    await bench.ready()
    assert bench.troubles["GSM modem"] == "the SIM card is not in a network: denied."


async def test_answer_to_a_typed_command_can_be_read(bench: Bench) -> None:
    await bench.ready()
    assert await bench.type_command("AT+CSQ") == ["+CSQ: 20,0", "OK"]
    assert await bench.type_command("AT+NONSENSE") == ["ERROR"]
    assert bench.modem.status.full_report().command == "AT+NONSENSE"


async def test_typed_command_that_asks_for_a_text_is_called_off(bench: Bench) -> None:
    await bench.ready()
    (answer,) = await bench.type_command("AT+CMGS=20")
    assert "requests a text" in answer
    await bench.modem.send_sms(NUMBER, "x")
    assert bench.other.sent == [(NUMBER, "x")]


async def test_typed_command_during_a_restart_is_answered_with_that(bench: Bench) -> None:
    await bench.ready()
    bench.other.surprise("AT+CGMI", bench.other.reset)
    assert await bench.type_command("AT+CGMI") == ["the modem restarted"]


async def test_unsolicited_lines_of_the_modem_can_be_read(bench: Bench) -> None:
    await bench.ready()
    bench.other.say('+CUSD: 0,"Balance 12.30 PLN",15')
    status = bench.modem.status
    await until(lambda: any("Balance" in line for line in status.full_report().unasked))


async def test_received_sms_is_deleted_handed_on_and_answered(bench: Bench) -> None:
    bench.reply = "OK OUT 100000"
    await bench.ready()
    bench.other.receive(NUMBER, "1234:out0=1")
    await until(lambda: bool(bench.other.sent))
    assert bench.received == [(NUMBER, "1234:out0=1")]
    assert bench.other.sent == [(NUMBER, "OK OUT 100000")]
    assert bench.other.stored == {}


async def test_long_received_sms_is_one_text(bench: Bench) -> None:
    await bench.ready()
    bench.other.receive(NUMBER, LONG_TEXT)
    await until(lambda: bool(bench.received))
    assert bench.received == [(NUMBER, LONG_TEXT)]


async def test_messages_received_while_stopped_are_read_at_startup(
    bench: Bench,
) -> None:
    bench.other.receive(NUMBER, "first")
    bench.other.receive(NUMBER, "second")
    await bench.ready()
    await until(lambda: len(bench.received) == 2)
    assert bench.received == [(NUMBER, "first"), (NUMBER, "second")]


async def test_message_is_never_acted_upon_before_it_is_deleted(bench: Bench) -> None:
    await bench.ready()
    bench.other.surprise("AT+CMGD", bench.other.reset)
    bench.other.receive(NUMBER, "toggle")
    await until(lambda: bool(bench.received) and not bench.other.stored)
    await bench.type_command("AT")
    assert bench.received == [(NUMBER, "toggle")]


async def test_messages_that_cannot_be_deleted_are_left_alone(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    await bench.ready()
    # On a slow machine the modem looks for messages more than once in between.
    for _ in range(20):
        bench.other.surprise("AT+CMGD", lambda: bench.other.say("+CMS ERROR: 321"))
    bench.other.receive(NUMBER, "toggle")
    await until(lambda: "could not be removed from the SIM card" in caplog.text)
    await bench.modem.send_sms(NUMBER, "x")
    assert bench.received == []


async def test_message_that_cannot_be_read_is_dropped(bench: Bench) -> None:
    bench.other.stored[1] = "0011FF"
    bench.other.receive(NUMBER, "good")
    await bench.ready()
    await until(lambda: bool(bench.received))
    assert bench.received == [(NUMBER, "good")]
    assert bench.other.stored == {}


async def test_messages_fail_immediately_without_a_modem_and_commands_report_it() -> None:
    async def ignore_sms(sender: str, text: str) -> None:
        return None

    modem = Modem(Gsm, ignore_sms, {}, PATIENT)
    with pytest.raises(ModemUnavailable, match="No GSM modem"):
        await modem.send_sms(NUMBER, "x")
    modem.command(SendModem("AT"))
    assert modem.status.full_report().answer == ("No GSM modem is connected.",)


async def test_port_that_is_lost_fails_what_waits(bench: Bench) -> None:
    await bench.ready()
    bench.other.surprise("AT+CMGS", bench.other.be_silent)
    sending = asyncio.create_task(bench.modem.send_sms(NUMBER, "x"))
    await until(lambda: any(line.startswith("AT+CMGS") for line in bench.other.commands))
    await bench.port.close()
    with pytest.raises(ModemUnavailable, match="lost"):
        await sending
    assert bench.modem.status.state == "not connected"
