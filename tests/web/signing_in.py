"""Signing in: by the page for it, and past it as an account that may look and switch."""

from base64 import b64encode

from playwright.sync_api import Page, expect

from tests.clients.served_twin import HOST, ServedTwin

ADMIN = ("admin", "long admin secret")
USER = ("user", "long user secret")


def ask_for_passwords(twin: ServedTwin) -> None:
    names = [b64encode(text.encode()).decode() for text in (*ADMIN, *USER)]
    twin.get(f"/stm.cgi?auth=11{'*'.join(names)}")


def ready_to_sign_in(page: Page) -> None:
    """Wait for the cursor: Chromium complains about typing before it has set it."""
    expect(page.locator("[autofocus]")).to_be_focused()


def sign_in_as(page: Page, twin: ServedTwin, account: tuple[str, str]) -> None:
    signed_in = page.request.post(
        f"http://{HOST}:{twin.port}/post.cgi?signin",
        headers={"Origin": f"http://{HOST}:{twin.port}"},
        form={"username": account[0], "password": account[1]},
    )
    assert signed_in.ok


def sign_in_as_user(page: Page, twin: ServedTwin) -> None:
    """Let the controller ask for passwords, and open the page again signed in."""
    route = page.url
    page.goto("about:blank")
    ask_for_passwords(twin)
    sign_in_as(page, twin, USER)
    page.goto(route)
