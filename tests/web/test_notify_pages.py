"""E-mail, HTTP, MQTT and the outbox in a real browser: what is set up, and what came of it."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import titled
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.needs_program("chromium")


def set_up_mail(twin: ServedTwin) -> None:
    twin.get("/stm.cgi?em1=mail.example&em5=one@example.org&em6=box@example.org&em7=Hello")


def test_a_test_mail_shows_what_became_of_it(twin: ServedTwin, open_page: OpenPage) -> None:
    set_up_mail(twin)
    page = open_page("email")
    # What stands in the form is tried, not what was saved before.
    page.get_by_label("Sender").fill("new@example.org")
    page.get_by_role("button", name="Save and send a test mail").click()
    mails = titled(page, "Test and last mails").get_by_role("listitem")
    expect(mails).to_have_count(1)
    expect(mails).to_contain_text("one@example.org")
    expect(mails).to_contain_text("kept, not sent")
    captured = twin.get("/api/outbox").json()["captured"]
    assert [(mail["channel"], mail["target"]) for mail in captured] == [
        ("email", "one@example.org")
    ]
    assert twin.settings()["email"]["sender"] == "new@example.org"


def test_a_mail_that_cannot_be_sent_says_why(open_page: OpenPage) -> None:
    page = open_page("email")
    page.get_by_role("button", name="Send a test mail").click()
    mail = titled(page, "Test and last mails").get_by_role("listitem")
    expect(mail).to_contain_text("failed")
    expect(mail).to_contain_text("E-mail has no server")


def test_texts_belong_to_an_edge_and_take_reading_codes(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("email")
    texts = titled(page, "Texts and TLS")
    texts.get_by_label("eMail 2: the rule begins to act").fill("Hot: ")
    page.get_by_label("Stands for").select_option("DS1")
    page.get_by_role("button", name="Insert").click()
    texts.get_by_label("eMail 2: the rule no longer acts").fill("Cool again")
    texts.get_by_role("button", name="Save").click()
    expect(texts.get_by_role("status")).to_have_text("Saved")
    email = twin.settings()["email"]
    assert (email["on_texts"][1], email["off_texts"][1]) == ("Hot: %0181", "Cool again")
    assert email["off_texts"][0] == ""


def test_texts_are_saved_together_with_the_password_that_is_set(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?em4=a+secret")
    page = open_page("email")
    texts = titled(page, "Texts and TLS")
    texts.get_by_label("Encrypt the connection").check()
    texts.get_by_role("button", name="Save").click()
    expect(texts.get_by_role("alert")).to_contain_text("Type this again")
    assert twin.settings()["email"]["tls"] is False
    texts.get_by_label("Password of the mail server").fill("a secret")
    texts.get_by_role("button", name="Save").click()
    expect(texts.get_by_role("status")).to_have_text("Saved")
    email = twin.settings()["email"]
    assert (email["tls"], email["password"]) == (True, "***")


def test_a_password_is_forgotten_only_by_a_second_press(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?em4=a+secret")
    page = open_page("email")
    page.get_by_role("button", name="Forget the password").click()
    expect(page.get_by_text("The password will be deleted")).to_be_visible()
    assert twin.settings()["email"]["password"] == "***"
    page.get_by_role("button", name="Forget the password").click()
    expect(page.get_by_role("button", name="Forget the password")).to_have_count(0)
    assert twin.settings()["email"]["password"] is None


def test_another_mail_server_asks_for_the_password_again(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?em1=mail.example&em4=a+secret")
    page = open_page("email")
    server = titled(page, "Mail server")
    server.get_by_label("Server", exact=True).fill("other.example")
    server.get_by_role("button", name="Save").click()
    expect(server.get_by_role("alert")).to_contain_text("Type this again")
    assert twin.settings()["email"]["host"] == "mail.example"
    server.get_by_label("Password").fill("a secret")
    server.get_by_role("button", name="Save").click()
    expect(server.locator("footer").get_by_role("status")).to_have_text("Saved")
    email = twin.settings()["email"]
    assert (email["host"], email["password"]) == ("other.example", "***")


def test_another_path_keeps_the_login_and_another_server_asks_for_it(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?http1=hook.example/a&httpauth1=me*secret")
    page = open_page("http")
    first = page.locator("form.card").first
    first.get_by_label("Address").fill("http://hook.example:80/b")
    first.get_by_role("button", name="Save").click()
    expect(first.locator("footer").get_by_role("status")).to_have_text("Saved")
    assert twin.settings()["http"][0]["password"] == "***"
    first.get_by_label("Address").fill("https://hook.example/b")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("alert")).to_contain_text("Type this again")
    first.get_by_label("Password").fill("secret")
    first.get_by_role("button", name="Save").click()
    expect(first.locator("footer").get_by_role("status")).to_have_text("Saved")
    http = twin.settings()["http"][0]
    assert (http["url"], http["username"], http["password"]) == (
        "https://hook.example/b",
        "me",
        "***",
    )


def test_an_address_that_is_removed_takes_the_password_along(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?http1=hook.example/a&httpauth1=me*secret")
    page = open_page("http")
    first = page.locator("form.card").first
    first.get_by_label("Address").fill("")
    first.get_by_role("button", name="Save").click()
    expect(first.locator("footer").get_by_role("status")).to_have_text("Saved")
    assert twin.settings()["http"][0]["password"] is None


def test_a_request_shows_its_last_outcome(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("http")
    second = page.locator("form.card").nth(1)
    expect(second).to_contain_text("No request yet.")
    twin.get("/inpa.cgi?event=0*104*0*1*0*0*25*0*0*0*0*0*1*0*0*0")
    twin.get("/inpa.cgi?eventon=0*1")
    twin.get("/outs.cgi?vout0=1")
    expect(second.get_by_role("listitem")).to_contain_text("HTTP2")
    second.get_by_role("link").click()
    expect(page.locator("main[data-page=outbox]")).to_be_visible()
    expect(page.get_by_label("Channel", exact=True)).to_have_value("http2")
    expect(page.locator(".messages li")).to_have_count(1)


def test_the_connection_to_the_broker_is_told(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("mqtt")
    state = page.locator(".guard")
    expect(state).to_have_text("off")
    page.get_by_label("Connect to the broker").check()
    page.get_by_label("Host").fill("127.0.0.1")
    page.get_by_label("Port").fill("1")
    page.get_by_role("button", name="Save and try the connection").click()
    expect(state).to_contain_text("not connected: nothing leaves this controller")
    assert twin.settings()["mqtt"]["port"] == 1


def test_the_outbox_follows_what_is_sent_and_can_be_filtered(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("outbox")
    expect(page.get_by_text("No such messages.")).to_be_visible()
    twin.get("/stm.cgi?testemail=1")
    messages = page.locator(".messages li")
    expect(messages).to_have_count(1)
    page.get_by_label("Channel", exact=True).select_option("HTTP1")
    expect(page.get_by_text("No such messages.")).to_be_visible()
    assert page.url.endswith("#/outbox?channel=http1")
    page.get_by_label("Channel", exact=True).select_option("E-mail")
    page.get_by_label("What became of it").select_option("failed")
    expect(messages).to_have_count(1)
    page.reload()
    expect(messages).to_contain_text("E-mail has no server")


def test_the_privacy_of_snmp_is_chosen_by_name(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("snmp")
    privacy = page.get_by_label("Privacy", exact=True)
    assert privacy.locator("option").all_inner_texts() == ["none", "AES-128", "AES-256"]
    expect(privacy.locator("option:checked")).to_have_text("AES-128")
    privacy.select_option(label="AES-256")
    card = titled(page, "SNMPv3 user")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved")
    assert twin.settings()["snmp"]["privacy"] == "AES-256"
