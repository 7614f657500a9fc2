"""The GSM page in a real browser: the modem's state, commands by hand, SMS with reading codes."""

import pytest
from playwright.sync_api import expect

from leverframe.devices.modem_line import ModemStatus
from leverframe.devices.wire.gsm import AtAnswer
from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def with_modem(twin: ServedTwin) -> ModemStatus:
    """What a modem would report, without one."""
    status = ModemStatus()
    twin.twin.controller.reports["modem"] = status.report
    twin.twin.controller.modem_report = status.full_report
    return status


@pytest.mark.thorough
def test_modem_is_shown_and_answers_commands_when_it_does(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    status = with_modem(twin)
    twin.twin.controller.on_modem = lambda effect: status.note_command(effect.command)
    status.state = "ready"
    status.took_sim(AtAnswer(("+CPIN: READY",), "OK"))
    status.took_registration(AtAnswer(("+CREG: 0,5",), "OK"))
    status.took_operator(AtAnswer(('+COPS: 0,0,"Polkomtel"',), "OK"))
    status.took_signal(AtAnswer(("+CSQ: 20,0",), "OK"))
    page = open_page("gsm")
    modem = page.locator(".modem")
    expect(modem.locator(".value")).to_have_text(["ready", "-73dBm", "Polkomtel", "READY"])
    expect(modem).to_contain_text("roaming")
    expect(modem).to_contain_text("good")
    status.took_signal(AtAnswer(("+CSQ: 2,0",), "OK"))
    twin.set_readings(DS1=20.0)
    expect(modem).to_contain_text("weak: move the antenna")

    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("At least 1 character")
    page.get_by_label("Command", exact=True).fill("AT+CSQ")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_contain_text("> AT+CSQ")
    expect(page.locator(".answer")).to_contain_text("waiting")
    status.note_answer(("+CSQ: 20,0", "OK"))
    expect(page.locator(".answer")).to_have_text("> AT+CSQ\n+CSQ: 20,0\nOK")


def test_recipients_and_texts_with_reading_codes_are_saved_and_secrets_never_shown(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("gsm")
    card = page.locator("form.card", has=page.get_by_role("heading", name="SMS2"))
    card.get_by_role("button", name="Add").click()
    card.get_by_label("Recipient 1").fill("12x")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_contain_text("3 to 20 digits, optionally after a plus")
    card.get_by_label("Recipient 1").fill("+48123456789")
    text = card.get_by_label("SMS2: the rule starts to act")
    text.fill("Outside ")
    page.get_by_label("Stands for").select_option(label="Temperature")
    page.get_by_role("button", name="Insert").click()
    expect(text).to_have_value("Outside %0141")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_text("Saved")).to_be_visible()
    slot = twin.settings()["gsm"]["sms"][1]
    assert slot == {"numbers": ["+48123456789"], "on_text": "Outside %0141", "off_text": ""}

    code = page.get_by_label("Authorization code")
    code.fill("open sesame")
    code.press("Enter")
    expect(code).to_have_value("")
    expect(code).to_have_attribute("placeholder", "set")
    assert twin.twin.controller.engine.settings.gsm.code == "open sesame"


@pytest.mark.thorough
def test_versions_without_an_apn_offer_none(serve: Serve, open_page: OpenPage) -> None:
    page = open_page("gsm", of=serve("3.0", "1.58a"))
    expect(page.get_by_label("Authorization code")).to_be_visible()
    expect(page.get_by_label("APN, user name, password")).to_have_count(0)
