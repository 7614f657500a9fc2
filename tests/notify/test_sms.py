"""SMS1-SMS4 through whatever can send one."""

from leverframe.notify.channel import ChannelLimits
from leverframe.notify.email import Sms

from .post_office import Bell, PostOffice


class StandInModem:
    """Takes messages, or refuses the next ones with these sentences."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.refusals: list[str] = []

    async def send_sms(self, number: str, text: str) -> None:
        if self.refusals:
            raise RuntimeError(self.refusals.pop(0))
        self.sent.append((number, text))


def office_with(modem: StandInModem) -> PostOffice:
    bell = Bell()
    return PostOffice(bell=bell, sms=Sms(modem))


async def test_every_number_of_the_slot_gets_the_text() -> None:
    modem = StandInModem()
    office = office_with(modem)
    office.set(gsm__sms__2__numbers=("+48123", "456"))
    office.notify("Hot: 31.3 C", "sms", 3)
    sent = await office.until_ended(2)
    assert modem.sent == [("+48123", "Hot: 31.3 C"), ("456", "Hot: 31.3 C")]
    assert [one["target"] for one in sent] == ["+48123", "456"]


async def test_modem_without_network_is_reported_and_retried() -> None:
    modem = StandInModem()
    modem.refusals = ["There is no network."]
    office = office_with(modem)
    office.set(gsm__sms__0__numbers=("1",))
    office.notify("a", "sms", 1)
    (sent,) = await office.until_ended()
    assert sent["attempts"] == 2
    assert office.reports[0] == "sms: cannot deliver to 1: There is no network."


async def test_slot_without_numbers_says_so_and_one_without_a_text_sends_nothing() -> None:
    office = office_with(StandInModem())
    office.notify("a", "sms", 4)
    office.notify("", "sms", 4)
    (failed,) = office.report("failed")
    assert failed["problem"] == "SMS4 has no recipient; set one with gsmnumber4=..."


def test_messages_that_cost_money_are_few() -> None:
    assert Sms.limits.per_s * 3600 + Sms.limits.burst < 1000
    assert Sms.limits.max_waiting < ChannelLimits().max_waiting
