"""Accounts in a real browser: who may do what, and how sessions end."""

from base64 import b64encode
from ipaddress import ip_network
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from leverframe.interface.table.lookup import TRUSTED_ADMINISTRATOR
from leverframe.server.cross_site import OwnNames
from leverframe.server.routes.admission import TrustedNetworks
from leverframe.server.routes.router import Reach
from tests.clients.served_twin import HOST, ServedTwin
from tests.web.cards import find_card
from tests.web.conftest import PHONE, REFUSALS, OpenPage, Serve
from tests.web.signing_in import ready_to_sign_in
from tests.web.test_pages import AXE, grave_violations

pytestmark = pytest.mark.needs_program("chromium")

ADMIN = ("admin", "the admin secret")
USER = ("user", "the user's secret")
GUEST = ("guest", "a guest's secret")


def protect(twin: ServedTwin, *open_pages: Page) -> None:
    """Require a password from now on; open pages are left first, or they would leave later."""
    for page in open_pages:
        page.goto("about:blank")
    texts = [quote(b64encode(text.encode()).decode()) for text in (*ADMIN, *USER)]
    twin.get("/stm.cgi?auth=11" + "*".join(texts))


def sign_in(page: Page, twin: ServedTwin, account: tuple[str, str]) -> None:
    page.goto(f"http://{HOST}:{twin.port}/signin")
    ready_to_sign_in(page)
    form = page.locator("form[action$=signin]")
    form.get_by_label("User name").fill(account[0])
    form.get_by_label("Password").fill(account[1])
    form.get_by_role("button", name="Sign in").click()


def is_accessible(page: Page) -> bool:
    page.evaluate(AXE)
    assert grave_violations(page, []) == []
    return not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_switching_sign_in_on_leads_to_the_sign_in_page_and_back(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("accounts", allow=REFUSALS)
    form = find_card(page, "Sign-in")
    form.get_by_label("Ask for user name and password").check()
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("The administrator has no password yet")
    form.get_by_label("Administrator’s password").fill(ADMIN[1])
    form.get_by_role("button", name="Save").click()
    page.wait_for_url("**/signin#/system**")
    sign_in(page, twin, ("admin", "wrong"))
    expect(page.get_by_role("alert")).to_be_visible()
    assert is_accessible(page)
    # Signing in at a fresh controller without a page opens the first run.
    sign_in(page, twin, ADMIN)
    expect(page.locator("main[data-page=firstrun]")).to_be_visible()


def test_wrong_password_is_reported_in_the_browsers_language(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("status", language="pl", allow=REFUSALS)
    protect(twin, page)
    page.goto(f"http://{HOST}:{twin.port}/signin")
    ready_to_sign_in(page)
    page.get_by_label("Nazwa użytkownika").fill("admin")
    page.get_by_label("Hasło").fill("not this one")
    page.get_by_role("button", name="Zaloguj").click()
    expect(page.get_by_role("alert")).to_have_text("Nazwa użytkownika lub hasło są błędne.")
    expect(page.get_by_label("Nazwa użytkownika")).to_have_value("admin")
    ready_to_sign_in(page)
    page.get_by_label("Hasło").fill(ADMIN[1])
    page.get_by_role("button", name="Zaloguj").click()
    expect(page.locator("main[data-page=firstrun]")).to_be_visible()


@pytest.mark.thorough
def test_sign_in_page_is_accessible_in_dark_theme(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status", theme="dark", viewport=PHONE, allow=REFUSALS)
    protect(twin, page)
    sign_in(page, twin, ("admin", "wrong"))
    expect(page.get_by_role("alert")).to_be_visible()
    assert is_accessible(page)


@pytest.mark.thorough
def test_control_user_is_made_signs_in_and_switches_but_sees_no_settings(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/eeprom.cgi?bit3=1")
    page = open_page("accounts", allow=REFUSALS)
    users = find_card(page, "Control users")
    for name in ("one", GUEST[0]):
        users.get_by_role("button", name="Add a user").click()
        users.get_by_label("Name").last.fill(name)
        users.get_by_label("Password").last.fill(GUEST[1])
    users.get_by_role("button", name="Save").click()
    expect(users.get_by_role("status")).to_have_text("Saved")
    # One is taken off the list, and the other keeps the password.
    users.get_by_role("button", name="Remove").first.click()
    users.get_by_role("button", name="Save").click()
    expect(users.get_by_text("1 of 50")).to_be_visible()
    expect(users.get_by_role("status")).to_have_text("Saved")
    stored = [user for user in twin.settings()["access"]["users"] if user]
    assert stored == [{"name": "guest", "password": "***", "active": True}]

    protect(twin, page)
    sign_in(page, twin, GUEST)
    page.get_by_role("switch", name="Output 1", exact=True).click()
    expect(page.get_by_role("switch", checked=True)).to_have_count(1)
    for group in ("Messages", "Rules"):
        expect(page.get_by_role("link", name=group, exact=True)).to_have_count(0)
    page.goto(f"http://{HOST}:{twin.port}/#/messages")
    expect(page.get_by_text("for the administrator")).to_be_visible()
    page.goto(f"http://{HOST}:{twin.port}/#/accounts")
    expect(page.get_by_text("Signed in as guest.")).to_be_visible()
    expect(page.get_by_role("heading", name="Control users")).to_have_count(0)

    # The user account can be limited to looking.
    sign_in(page, twin, USER)
    lever = page.get_by_role("switch", name="Output 0", exact=True)
    expect(page.locator(".only-look")).to_have_text("this account is read-only")
    lever.click(force=True)
    expect(page.get_by_role("switch", checked=True)).to_have_count(1)
    assert twin.twin.controller.engine.machine.values["OUT0"] == 0


@pytest.mark.thorough
def test_changed_password_ends_every_session_of_the_account(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    first, second = open_page("status", allow=REFUSALS), open_page("status", allow=REFUSALS)
    protect(twin, first, second)
    for page in (first, second):
        sign_in(page, twin, USER)
        expect(page.locator("main[data-page=status]")).to_be_visible()
    first.goto(f"http://{HOST}:{twin.port}/#/accounts")
    own = find_card(first, "Your account")
    own.get_by_label("Current password").fill("wrong")
    own.get_by_label("New password", exact=True).fill("another long secret")
    own.get_by_label("Repeat the new password").fill("another long secret!")
    own.get_by_role("button", name="Change the password").click()
    expect(own.get_by_role("alert")).to_have_text("The new passwords do not match.")
    own.get_by_label("Repeat the new password").fill("another long secret")
    own.get_by_role("button", name="Change the password").click()
    expect(own.get_by_role("alert")).to_have_text("The current password is wrong.")
    own.get_by_label("Current password").fill(USER[1])
    own.get_by_role("button", name="Change the password").click()
    for page in (first, second):
        page.wait_for_url("**/signin**")
    sign_in(second, twin, (USER[0], "another long secret"))
    expect(second.locator("main[data-page=status]")).to_be_visible()


@pytest.mark.thorough
def test_administrator_sees_which_networks_are_trusted(serve: Serve, open_page: OpenPage) -> None:
    trusted = TrustedNetworks((ip_network("192.168.7.0/24"),), TRUSTED_ADMINISTRATOR)
    page = open_page("accounts", of=serve(reach=Reach(OwnNames(), trusted=trusted)))
    expect(page.locator(".trusted")).to_contain_text(
        "Programs in 192.168.7.0/24 act as the administrator without signing in."
    )
    expect(open_page("accounts", of=serve()).locator(".trusted")).to_have_count(0)
