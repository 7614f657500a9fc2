"""Accounts in a real browser: who may do what, and how sessions end."""

import re
from base64 import b64encode
from ipaddress import ip_network
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

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
#: Refusals, and Chromium's advice where the first run stays open for long.
COMPLAINTS = rf"{REFUSALS}|was preloaded using link preload"


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


def person(page: Page, name: str) -> Locator:
    """The row of an account in the list of all accounts."""
    return page.locator(".people tbody tr").filter(has=page.get_by_role("link", name=name))


def open_account(page: Page, name: str) -> Locator:
    person(page, name).get_by_role("link").click()
    return page.locator("dialog.drawer form")


def type_twice(form: Locator, password: str, again: str | None = None) -> None:
    form.get_by_label("New password", exact=True).fill(password)
    form.get_by_label("Repeat the new password").fill(password if again is None else again)


def save(form: Locator) -> None:
    form.get_by_role("button", name="Save").click()


def expect_saved(form: Locator) -> None:
    expect(form.locator("footer .saved")).to_have_text("Saved")


def names_of_users(twin: ServedTwin) -> list[str]:
    return [user["name"] for user in twin.settings()["access"]["users"] if user]


def test_switching_sign_in_on_leads_to_the_sign_in_page_and_back(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("accounts", allow=REFUSALS)
    form = find_card(page, "Sign-in")
    expect(form.get_by_label("Ask for user name and password")).to_have_count(0)
    form.get_by_role("link", name="Set the password").click()
    admin = page.locator("dialog.drawer form")
    expect(admin.get_by_label("Current password")).to_have_count(0)
    type_twice(admin, ADMIN[1])
    save(admin)
    expect_saved(admin)
    page.keyboard.press("Escape")
    form.get_by_label("Ask for user name and password").check()
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


def test_accounts_are_one_list_with_role_rights_and_last_sign_in(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("accounts", allow=COMPLAINTS)
    expect(person(page, "admin")).to_contain_text("everything")
    expect(person(page, "user").locator("td").last).to_have_text("not recorded")
    protect(twin, page)
    sign_in(page, twin, ADMIN)
    expect(page.locator("main[data-page=firstrun]")).to_be_visible()
    page.goto(f"http://{HOST}:{twin.port}/#/accounts")
    expect(person(page, "admin").locator("td").last).to_have_text(re.compile(r"\d\d:\d\d"))
    expect(person(page, "admin")).to_contain_text("you")

    # What an account may do is changed in its drawer, and the list says it.
    assert is_accessible(page)
    form = open_account(page, "user")
    assert is_accessible(page)
    form.get_by_label("User account is read-only").check()
    save(form)
    expect_saved(form)
    expect(person(page, "user")).to_contain_text("view only")


def test_every_account_has_the_same_rule_for_new_passwords(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("accounts")
    names = ["admin", "user", "New account"]
    for name in names:
        if name == "New account":
            page.get_by_role("link", name="Add an account").click()
            page.locator("dialog.drawer").get_by_label("Name", exact=True).fill("guest")
        else:
            open_account(page, name)
        form = page.locator("dialog.drawer form")
        for weak, reason in (
            ("short", "At least 12"),
            ("abababababab", "too few different characters"),
            ("Administrator", "lists of common passwords"),
        ):
            type_twice(form, weak)
            save(form)
            expect(form.get_by_role("alert").first).to_contain_text(reason)
        type_twice(form, "one long secret", "another long secret")
        save(form)
        expect(form.get_by_role("alert")).to_have_text("The passwords do not match.")
        form.get_by_role("button", name="Discard").click()
        page.get_by_role("button", name="Close").click()
        expect(page.locator("dialog.drawer")).to_have_count(0)
    assert names_of_users(twin) == []


def test_administrator_corrects_a_mistyped_password_in_the_same_session(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("status", allow=COMPLAINTS)
    protect(twin, page)
    sign_in(page, twin, ADMIN)
    expect(page.locator("main[data-page=firstrun]")).to_be_visible()
    page.goto(f"http://{HOST}:{twin.port}/#/accounts")
    form = open_account(page, "admin")
    type_twice(form, "another long secrte")
    save(form)
    expect(form.get_by_role("alert")).to_have_text("Enter the current password.")
    form.get_by_label("Current password").fill("wrong")
    save(form)
    expect(form.get_by_role("alert")).to_have_text("The current password is wrong.")
    form.get_by_label("Current password").fill(ADMIN[1])
    save(form)
    expect_saved(form)
    expect(form).to_contain_text("This one continues until you sign in with the new password")
    expect(form.get_by_label("Current password")).to_have_count(0)
    type_twice(form, "another long secret")
    save(form)
    expect(form.locator("[data-changed]")).to_have_count(0)
    expect_saved(form)
    sign_in(page, twin, (ADMIN[0], "another long secret"))
    expect(page.locator("main[data-page=firstrun]")).to_be_visible()


@pytest.mark.thorough
def test_control_user_is_made_signs_in_and_switches_but_sees_no_settings(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/eeprom.cgi?bit3=1")
    page = open_page("accounts", allow=REFUSALS)
    form = page.locator("dialog.drawer form")
    for name in ("one", GUEST[0]):
        page.get_by_role("link", name="Add an account").click()
        form.get_by_label("Name", exact=True).fill(name)
        save(form)
        expect(form.get_by_role("alert")).to_contain_text("At least 12")
        type_twice(form, GUEST[1])
        save(form)
        expect_saved(form)
        page.get_by_role("button", name="Close").click()
        expect(person(page, name)).to_contain_text("view and switch")
    # One is taken off the list, and the other keeps the password.
    open_account(page, "one")
    form.get_by_role("button", name="Remove this account").click()
    form.get_by_role("button", name="Remove this account").click()
    expect(page.locator("dialog.drawer")).to_have_count(0)
    expect(person(page, "one")).to_have_count(0)
    assert names_of_users(twin) == [GUEST[0]]

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
    expect(page.locator(".people")).to_have_count(0)

    # The user account can be limited to looking.
    sign_in(page, twin, USER)
    lever = page.get_by_role("switch", name="Output 0", exact=True)
    expect(page.locator(".only-look")).to_have_text("this account is read-only")
    lever.click(force=True)
    expect(page.get_by_role("switch", checked=True)).to_have_count(1)
    assert twin.twin.controller.engine.machine.values["OUT0"] == 0


@pytest.mark.thorough
def test_changed_password_ends_the_other_sessions_of_the_account(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    first, second = open_page("status", allow=REFUSALS), open_page("status", allow=REFUSALS)
    protect(twin, first, second)
    for page in (first, second):
        sign_in(page, twin, USER)
        expect(page.locator("main[data-page=status]")).to_be_visible()
    first.goto(f"http://{HOST}:{twin.port}/#/accounts")
    own = find_card(first, "Your account")
    change = own.get_by_role("button", name="Change the password")
    own.get_by_label("Current password").fill("wrong")
    type_twice(own, "another long secret", "another long secret!")
    change.click()
    expect(own.get_by_role("alert")).to_have_text("The passwords do not match.")
    type_twice(own, "another long secret")
    change.click()
    expect(own.get_by_role("alert")).to_have_text("The current password is wrong.")
    own.get_by_label("Current password").fill(USER[1])
    change.click()
    expect_saved(own)
    # The session that changed it continues until the new password is used.
    second.wait_for_url("**/signin**")
    sign_in(second, twin, (USER[0], "another long secret"))
    expect(second.locator("main[data-page=status]")).to_be_visible()
    first.wait_for_url("**/signin**")


@pytest.mark.thorough
def test_administrator_sees_which_networks_are_trusted(serve: Serve, open_page: OpenPage) -> None:
    trusted = TrustedNetworks((ip_network("192.168.7.0/24"),), TRUSTED_ADMINISTRATOR)
    page = open_page("accounts", of=serve(reach=Reach(OwnNames(), trusted=trusted)))
    expect(page.locator(".trusted")).to_contain_text(
        "Programs in 192.168.7.0/24 act as the administrator without signing in."
    )
    expect(open_page("accounts", of=serve()).locator(".trusted")).to_have_count(0)
