"""E-mail, HTTP, MQTT and the outbox in a real browser: what is set up, and what came of it."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import find_card, save
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.needs_program("chromium")


def test_mails_are_set_up_tried_and_their_secrets_asked_for_again(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("email")
    mails = find_card(page, "Test and recent mails").get_by_role("listitem")
    page.get_by_role("button", name="Send a test mail").click()
    expect(mails).to_contain_text("failed")
    expect(mails).to_contain_text("No mail server is set")

    # What stands in the form is tried, not what was saved before.
    twin.get("/stm.cgi?em1=mail.example&em5=one@example.org&em6=box@example.org&em7=Hello")
    server = find_card(page, "Mail server")
    expect(server.get_by_label("Server", exact=True)).to_have_value("mail.example")
    page.get_by_label("Sender").fill("new@example.org")
    page.get_by_role("button", name="Save and send a test mail").click()
    expect(mails).to_have_count(2)
    expect(mails.first).to_contain_text("one@example.org")
    expect(mails.first).to_contain_text("captured, not sent")
    # What it says, not how requests call its parts.
    expect(mails.first.locator("small").last).to_have_text("Hello · Test message")
    captured = twin.get("/api/outbox").json()["captured"]
    assert [(mail["channel"], mail["target"]) for mail in captured] == [
        ("email", "one@example.org")
    ]
    assert twin.settings()["email"]["sender"] == "new@example.org"

    # Texts belong to an edge and take reading codes.
    texts = find_card(page, "Texts and TLS")
    texts.get_by_label("E-mail 2: the rule starts to act").fill("Hot: ")
    page.get_by_label("Stands for").select_option("Thermometer 1")
    page.get_by_role("button", name="Insert").click()
    texts.get_by_label("E-mail 2: the rule stops acting").fill("Cool again")
    save(texts)
    email = twin.settings()["email"]
    assert (email["on_texts"][1], email["off_texts"][1]) == ("Hot: %0181", "Cool again")
    assert email["off_texts"][0] == ""

    # They are saved together with the password that is set, and another server asks for it, too.
    twin.get("/stm.cgi?em4=a+secret")
    expect(page.get_by_role("button", name="Forget the password")).to_be_visible()
    texts.get_by_label("Encrypt the connection").check()
    texts.get_by_role("button", name="Save").click()
    expect(texts.get_by_role("alert")).to_contain_text("Enter this value again")
    assert twin.settings()["email"]["tls"] is False
    texts.get_by_label("Password of the mail server").fill("a secret")
    save(texts)
    email = twin.settings()["email"]
    assert (email["tls"], email["password"]) == (True, "***")
    server.get_by_label("Server", exact=True).fill("other.example")
    server.get_by_role("button", name="Save").click()
    expect(server.get_by_role("alert")).to_contain_text("Enter this value again")
    assert twin.settings()["email"]["host"] == "mail.example"
    server.get_by_label("Password").fill("a secret")
    save(server)
    email = twin.settings()["email"]
    assert (email["host"], email["password"]) == ("other.example", "***")

    # A password is forgotten only by a second press.
    page.get_by_role("button", name="Forget the password").click()
    expect(page.get_by_text("The password is deleted")).to_be_visible()
    assert twin.settings()["email"]["password"] == "***"
    page.get_by_role("button", name="Forget the password").click()
    expect(page.get_by_role("button", name="Forget the password")).to_have_count(0)
    assert twin.settings()["email"]["password"] is None


@pytest.mark.thorough
def test_requests_keep_their_login_for_their_server_only_and_show_their_last_outcome(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?http1=hook.example/a&httpauth1=me*secret")
    page = open_page("http")
    first, second = (page.locator("form.card").nth(place) for place in range(2))
    first.get_by_label("Address").fill("http://hook.example:80/b")
    save(first)
    assert twin.settings()["http"][0]["password"] == "***"
    first.get_by_label("Address").fill("https://hook.example/b")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("alert")).to_contain_text("Enter this value again")
    first.get_by_label("Password").fill("secret")
    save(first)
    http = twin.settings()["http"][0]
    assert (http["url"], http["username"], http["password"]) == (
        "https://hook.example/b",
        "me",
        "***",
    )
    # An address that is removed takes the password along.
    first.get_by_label("Address").fill("")
    save(first)
    assert twin.settings()["http"][0]["password"] is None

    expect(second).to_contain_text("No requests yet.")
    twin.get("/inpa.cgi?event=0*104*0*1*0*0*25*0*0*0*0*0*1*0*0*0")
    twin.get("/inpa.cgi?eventon=0*1")
    twin.get("/outs.cgi?vout0=1")
    expect(second.get_by_role("listitem")).to_contain_text("HTTP2")
    second.get_by_role("link").click()
    expect(page.locator("main [data-part=outbox][data-open]")).to_be_visible()
    expect(page.get_by_label("Channel", exact=True)).to_have_value("http2")
    expect(page.locator(".messages li")).to_have_count(1)


@pytest.mark.thorough
def test_connection_to_the_broker_is_shown(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("mqtt")
    state = page.locator(".guard")
    expect(state).to_have_text("off")
    page.get_by_label("Connect to the broker").check()
    page.get_by_label("Host").fill("127.0.0.1")
    page.get_by_label("Port").fill("1")
    page.get_by_role("button", name="Save and test the connection").click()
    expect(state).to_contain_text("not connected: this controller was started for testing")
    assert twin.settings()["mqtt"]["port"] == 1


def test_outbox_follows_what_is_sent_and_can_be_filtered(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("outbox")
    expect(page.get_by_text("No messages.")).to_be_visible()
    twin.get("/stm.cgi?testemail=1")
    messages = page.locator(".messages li")
    expect(messages).to_have_count(1)
    page.get_by_label("Channel", exact=True).select_option("HTTP1")
    expect(page.get_by_text("No messages.")).to_be_visible()
    assert page.url.endswith("#/messages?open=outbox&channel=http1")
    page.get_by_label("Channel", exact=True).select_option("E-mail")
    page.get_by_label("Result").select_option("failed")
    expect(messages).to_have_count(1)
    page.reload()
    expect(messages).to_contain_text("No mail server is set")


@pytest.mark.thorough
def test_outbox_lists_the_channels_that_are_set_up(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("outbox")
    expect(page.get_by_text("No channel is set up yet.")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(0)
    twin.get("/stm.cgi?em1=mail.example.org&em5=keeper@example.org")
    expect(page.get_by_role("row", name="E-mail").get_by_role("cell").nth(1)).to_have_text("OK")
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.thorough
def test_privacy_of_snmp_is_chosen_by_name(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("snmp")
    privacy = page.get_by_label("Privacy", exact=True)
    expect(privacy.locator("option")).to_have_text(["none", "AES-128", "AES-256"])
    expect(privacy.locator("option:checked")).to_have_text("AES-128")
    privacy.select_option(label="AES-256")
    card = find_card(page, "SNMPv3 user")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved")
    assert twin.settings()["snmp"]["privacy"] == "AES-256"
