"""Cards of settings as tests use them."""

import re

from playwright.sync_api import Locator, Page, expect


def card(page: Page, heading: str) -> Locator:
    """The card whose heading begins so."""
    begins = re.compile(rf"^{re.escape(heading)}\b")
    return page.locator("form.card").filter(has=page.get_by_role("heading", name=begins))


def find_card(page: Page, heading: str) -> Locator:
    """The card with just this heading, be it a form or not."""
    return page.locator(".card").filter(has=page.get_by_role("heading", name=heading, exact=True))


def save(card: Locator) -> None:
    footer = card.locator("> footer")
    footer.get_by_role("button", name="Save").click()
    expect(footer.get_by_role("status")).to_have_text("Saved")
