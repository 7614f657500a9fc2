"""Every page of the list: in every language, in both themes, on a desk and on a phone."""

from importlib import resources
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import DESKTOP, PHONE, OpenPage, Theme

pytestmark = pytest.mark.needs_program("chromium")

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
GRAVE = {"serious", "critical"}


def page_names(page: Page) -> list[str]:
    names: list[str] = page.evaluate(
        "import('/web/pages/index.js').then((m) => [...m.PAGES, m.MORE].map((page) => page.name))"
    )
    return names


#: Goes to a page and waits until it is open, looking again with every frame that is drawn.
GO = """
async (name) => {
  location.hash = `#/${name}`;
  const there = () => document.querySelector(`main[data-page=${name}][aria-busy=false]`);
  for (const end = Date.now() + 30_000; !there() && Date.now() < end; )
    await new Promise((next) => requestAnimationFrame(next));
  return Boolean(there());
}
"""


def go(page: Page, name: str) -> None:
    assert page.evaluate(GO, name), f"the page {name} did not open"


@pytest.mark.parametrize(
    "language",
    ["en", *(pytest.param(code, marks=pytest.mark.thorough) for code in ("hu", "pl", "fr", "cs"))],
)
def test_every_page_opens_in_the_language_and_is_no_wider_than_a_phone(
    open_page: OpenPage, language: str
) -> None:
    page = open_page(language=language, viewport=PHONE)
    expect(page.locator("html")).to_have_attribute("lang", language)
    too_wide = []
    for name in page_names(page):
        go(page, name)
        assert page.locator("main h1").text_content()
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            too_wide.append(name)
    assert too_wide == []


def grave_violations(page: Page, rules: list[str]) -> list[str]:
    only = {"runOnly": rules} if rules else {}
    found: list[dict[str, Any]] = page.evaluate(
        "(only) => axe.run({ resultTypes: ['violations'], ...only }).then((r) => r.violations)",
        only,
    )
    return [
        f"{violation['id']}: {node['target']} {node.get('failureSummary', '')}"
        for violation in found
        if violation["impact"] in GRAVE
        for node in violation["nodes"]
    ]


# Everything is looked at once; a theme and a width change no more than colours and places.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("theme", "viewport", "rules"),
    [
        pytest.param("light", DESKTOP, [], id="light desktop"),
        pytest.param(
            "dark",
            PHONE,
            ["color-contrast", "target-size", "scrollable-region-focusable"],
            id="dark phone",
        ),
    ],
)
def test_every_page_can_be_used_by_everybody(
    open_page: OpenPage, theme: Theme, viewport: tuple[int, int], rules: list[str]
) -> None:
    page = open_page(theme=theme, viewport=viewport)
    page.evaluate(AXE)
    grave = {}
    for name in page_names(page):
        go(page, name)
        grave[name] = grave_violations(page, rules)
    assert {name: found for name, found in grave.items() if found} == {}
