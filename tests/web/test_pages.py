"""Every page of the list: in every language, in both themes, on a desk and on a phone."""

from importlib import resources
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.clients.served_twin import HOST, ServedTwin
from tests.patience import PATIENCE_S
from tests.web.conftest import DESKTOP, PHONE, OpenPage, Theme
from tools.looks import routes

pytestmark = pytest.mark.needs_program("chromium")

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
GRAVE = {"moderate", "serious", "critical"}


#: Goes to a page and waits until it is open, looking again with every frame that is drawn.
GO = """
async (route) => {
  location.hash = `#/${route}`;
  const [name, query] = route.split("?");
  const { open, thing } = Object.fromEntries(new URLSearchParams(query));
  const part = open ? ` [data-part=${open}][data-open]` : "";
  const drawer = `dialog.drawer[data-thing="${thing}"][aria-busy=false]`;
  const there = () =>
    document.querySelector(`main[data-page=${name}][aria-busy=false]${part}`) &&
    (!thing || document.querySelector(drawer));
  for (const end = Date.now() + 30_000; !there() && Date.now() < end; )
    await new Promise((next) => requestAnimationFrame(next));
  return Boolean(there());
}
"""


#: Goes to every page and tells what is wrong there; from outside it takes half as long again.
LOOK = f"""
async (routes) => {{
  const go = {GO.strip()};
  const found = [];
  for (const route of routes) {{
    if (!(await go(route))) found.push(`${{route}} did not open`);
    if (!document.querySelector("main h1")?.textContent) found.push(`${{route}} has no title`);
    if (document.documentElement.scrollWidth > innerWidth) found.push(`${{route}} is too wide`);
  }}
  return found;
}}
"""


#: Goes to every page and tells what the style sheets of other pages change there: they stay in
#: force once their page was seen.
FOREIGN_STYLES = f"""
async () => {{
  const go = {GO.strip()};
  const {{ PAGES }} = await import("/web/pages/index.js");
  for (const {{ name }} of PAGES) await go(name);
  const named = (name) =>
    [...document.styleSheets].filter(({{ href }}) => href?.endsWith(`/styles/${{name}}.css`));
  const look = () =>
    [...document.querySelectorAll("main *")]
      .filter((one) => one.checkVisibility())
      .map((one) => {{
        const {{ color, fontSize, width, height, padding }} = getComputedStyle(one);
        const called = `${{one.tagName}}.${{one.getAttribute("class")}}`;
        return [called, color, fontSize, width, height, padding].join(" ");
      }});
  const found = [];
  for (const {{ name, styles = [] }} of PAGES) {{
    await go(name);
    const others = PAGES.flatMap((page) => page.styles ?? [])
      .filter((style) => !styles.includes(style))
      .flatMap(named);
    const seen = look();
    for (const sheet of others) sheet.disabled = true;
    const alone = look();
    for (const sheet of others) sheet.disabled = false;
    const changed = seen.findIndex((one, index) => one !== alone[index]);
    if (changed >= 0) found.push(`${{name}}: ${{alone[changed]}} became ${{seen[changed]}}`);
  }}
  return found;
}}
"""


def go(page: Page, route: str) -> None:
    assert page.evaluate(GO, route), f"the page {route} did not open"


@pytest.mark.parametrize(
    "language",
    ["en", *(pytest.param(code, marks=pytest.mark.thorough) for code in ("hu", "pl", "fr", "cs"))],
)
def test_every_page_opens_in_the_language_and_is_no_wider_than_a_phone(
    open_page: OpenPage, language: str
) -> None:
    page = open_page(language=language, viewport=PHONE)
    expect(page.locator("html")).to_have_attribute("lang", language)
    assert page.evaluate(LOOK, routes(page)) == []


@pytest.mark.thorough
def test_no_page_looks_otherwise_after_another(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/inpa.cgi?event=0*10*0*2600*200*0*2*0*0*0*0*0&schedset=0*Day*2*1*25200*0*31*1")
    twin.get("/sim.cgi?DS1=20&advance=60")
    page = open_page()
    assert page.evaluate(FOREIGN_STYLES) == []


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


PARTS = 3

# Everything is looked at once; a theme and a width change no more than colours and places.
LOOKS = pytest.mark.parametrize(
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


@pytest.mark.thorough
@LOOKS
# In parts: on a busy machine all of them together may take longer than one test may.
@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_can_be_used_by_everybody(
    open_page: OpenPage, theme: Theme, viewport: tuple[int, int], rules: list[str], part: int
) -> None:
    page = open_page(theme=theme, viewport=viewport)
    page.evaluate(AXE)
    grave = {}
    for name in routes(page)[part::PARTS]:
        go(page, name)
        grave[name] = grave_violations(page, rules)
    assert {name: found for name, found in grave.items() if found} == {}


#: Something to see: causes, readings, a finding, a rule that is met, an entry of the schedule.
LIVED_IN = (
    "/stm.cgi?oname=0Water%20pump&iname=1Soil%20moisture",
    "/outs.cgi?ortime=0900",
    "/inpa.cgi?event=0*102*0*0*0*0*3*0*0*0*0*120*1*0*0*0&eventon=0*1&rulename=0*Door%20light",
    "/sim.cgi?INPA2=1.4&INPD3=0&VCC=12.1&TEMP=31",
    "/outs.cgi?out0=1",
    "/sim.cgi?advance=60",
    "/outs.cgi?out3=0",
    "/sim.cgi?advance=60",
)


@pytest.mark.thorough
@LOOKS
def test_what_stands_over_and_beside_the_pages_can_be_used_by_everybody(
    twin: ServedTwin,
    open_page: OpenPage,
    theme: Theme,
    viewport: tuple[int, int],
    rules: list[str],
) -> None:
    for target in LIVED_IN:
        twin.get(target)
    requests.post(
        f"http://{HOST}:{twin.port}/post.cgi?sched_save",
        "&s0=Evening*1*1*64800*0*127*1&s1=Night*1*0*81000*0*127*1&&",
        timeout=PATIENCE_S,
    ).raise_for_status()
    page = open_page(theme=theme, viewport=viewport)
    page.evaluate(AXE)
    grave = {}
    for name in ("status", "timeline", "rules", "schedule", "panel", "pid", "firstrun"):
        go(page, name)
        grave[name] = grave_violations(page, rules)
    go(page, "rules")
    page.locator(".r .name").first.click()
    expect(page.locator(".editor")).to_be_visible()
    grave["rule"] = grave_violations(page, rules)
    go(page, "things")
    for thing in ("OUT0", "INPA2"):
        page.evaluate("(thing) => (location.hash = `#/things?thing=${thing}`)", thing)
        expect(page.locator("dialog.drawer")).to_be_visible()
        grave[thing] = grave_violations(page, rules)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.keyboard.type("pump")
    expect(page.locator("#search-found li").first).to_be_visible()
    grave["search"] = grave_violations(page, rules)
    assert {name: found for name, found in grave.items() if found} == {}
