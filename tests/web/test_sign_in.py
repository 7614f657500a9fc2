"""The sign-in page in a browser: whose controller it is, where the way leads, and why it failed."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import HOST, ServedTwin
from tests.web.conftest import REFUSALS, OpenPage
from tests.web.signing_in import ADMIN, ask_for_passwords, ready_to_sign_in


@pytest.mark.thorough
def test_requested_address_survives_a_wrong_password_and_sign_in(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("", allow=REFUSALS)
    page.goto("about:blank")
    twin.get("/stm.cgi?sname=Greenhouse")
    ask_for_passwords(twin)
    wanted = f"http://{HOST}:{twin.port}/#/console?q=pulse"
    page.goto(wanted)
    expect(page.locator("h1")).to_have_text("Greenhouse")
    expect(page.locator(".on-to b")).to_have_text("API console")
    ready_to_sign_in(page)
    page.fill("[name=username]", ADMIN[0])
    page.fill("[name=password]", "mistyped")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("[name=password]")).to_have_attribute("type", "text")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("The user name or password is wrong.")
    expect(page.locator(".on-to b")).to_have_text("API console")
    expect(page.locator("[name=username]")).to_have_value(ADMIN[0])
    # The name is there: what is typed next is the password.
    expect(page.locator("[name=password]")).to_be_focused()
    page.fill("[name=password]", ADMIN[1])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#console-search")).to_have_value("pulse")
    assert page.url == wanted
    page.locator("details.own summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator(".on-to b")).to_have_text("API console")
