"""The certificate on the System page: where HTTPS is used, with what it takes to replace it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from leverframe.server.http.certificate import own_certificate
from leverframe.testing import Twin
from tests.web.conftest import OPENED, PATIENCE_MS, OpenPage
from tests.web.test_search import look_for


def test_search_finds_the_certificate_with_all_that_it_takes_to_replace_it(
    browser: Browser,
) -> None:
    with Twin(tls=True) as twin:
        page = browser.new_page(ignore_https_errors=True, locale="en")
        page.goto(twin.url)
        assert page.evaluate(OPENED, PATIENCE_MS)
        look_for(page, "certificate")
        page.keyboard.press("Enter")
        page.wait_for_url("**#/system?open=certificate")
        card = page.locator("[data-part=certificate]")
        report = json.loads(twin.get("/api/certificate"))
        for text in (*report["names"], report["fingerprint"], *report["files"]):
            expect(card).to_contain_text(text)
        expect(card).to_contain_text(str(datetime.fromtimestamp(report["ends"], UTC).year))
        expect(card).to_contain_text("delete both files")
        page.context.close()


@pytest.mark.thorough
def test_certificate_is_hidden_without_https(open_page: OpenPage) -> None:
    page: Page = open_page("system?open=certificate")
    expect(page.locator("[data-part=accounts]")).to_be_visible()
    expect(page.locator("[data-part=certificate]")).to_have_count(0)


def test_certificate_that_ends_leads_to_its_page(tmp_path: Path) -> None:
    certificate = own_certificate(tmp_path, "leverframe-1", [])
    for left_s in (86_400, -86_400):
        (finding,) = certificate.findings(certificate.ends - left_s)
        assert finding.page == "system?open=certificate"
