"""What every user chooses in this browser, by the menu of the frame."""

from playwright.sync_api import Page, expect


def choose_language(page: Page, language: str) -> None:
    """Choose by its code; the words of the menu are those of the language before."""
    page.locator("details.own summary").click()
    page.locator("details.own select").first.select_option(language)
    expect(page.locator("html")).to_have_attribute("lang", language)
    page.keyboard.press("Escape")
    expect(page.locator("details.own select")).to_have_count(0)
