"""The pictures for a review by eye leave no page out."""

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage
from tools.looks import HREFS, pages_of

pytestmark = pytest.mark.needs_program("chromium")


def test_every_page_and_list_of_things_has_a_picture(
    open_page: OpenPage,
) -> None:
    page = open_page("more")
    offered = page.locator("nav a, main a").evaluate_all(HREFS)
    assert len(offered) > 10
    origin = page.url.partition("/#")[0]
    taken = [view.address.removeprefix(f"{origin}/") for view in pages_of(page, origin)]

    def page_of(href: str) -> str:
        return re.split(r"[?&]", href)[0]

    assert {page_of(href) for href in offered} <= {page_of(route) for route in taken}
    # Things is open: each of its lists has a drawer among them.
    lists = page.locator(".things section:has(a)")
    expect(lists.first).to_be_visible()
    for links in (one.locator("a").evaluate_all(HREFS) for one in lists.all()):
        assert set(links) & set(taken)
