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


#: Goes to every page and returns its problems; from outside it takes half as long again.
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


#: Goes to every page and returns what the style sheets of other pages change there: they stay in
#: force once their page was seen.
FOREIGN_STYLES = f"""
async () => {{
  const go = {GO.strip()};
  const {{ PAGES }} = await import("/web/pages/index.js");
  // Of the pages themselves, which then fetch none again.
  const base = document.querySelector("script[type=module]").src.replace(/[^/]+$/, "");
  const {{ useStyle }} = await import(`${{base}}lib/frame/look.js`);
  await Promise.all(PAGES.flatMap(({{ styles = [] }}) => styles).map(useStyle));
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


#: Chooses languages one after the other where a page stands open, as its menu lets people do, and
#: returns the problems: to open the page in each of them takes ten times as long.
SPEAK = """
async (languages) => {
  const main = document.querySelector("main");
  const menu = document.querySelector("details.own");
  const choice = () => menu.querySelector("select:has(option[value=cs])");
  const frame = () => new Promise((next) => requestAnimationFrame(next));
  menu.open = true;
  while (!choice()) await frame();
  const found = [];
  for (const language of languages) {
    const before = main.textContent;
    choice().value = language;
    choice().dispatchEvent(new Event("change"));
    await frame();
    if (document.documentElement.lang !== language) found.push(`${language} is not announced`);
    if (main.textContent === before) found.push(`${language} is not spoken`);
    if (!main.querySelector("h1").textContent) found.push(`${language} has no title`);
    if (document.documentElement.scrollWidth > innerWidth) found.push(`${language} is too wide`);
  }
  menu.open = false;
  while (choice()) await frame();
  return found;
}
"""


def go(page: Page, route: str) -> None:
    assert page.evaluate(GO, route), f"the page {route} did not open"


def test_every_page_opens_and_is_no_wider_than_a_phone(open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE)
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


def live_in(twin: ServedTwin) -> None:
    for target in LIVED_IN:
        twin.get(target)
    requests.post(
        f"http://{HOST}:{twin.port}/post.cgi?sched_save",
        "&s0=Evening*1*1*64800*0*127*1&s1=Night*1*0*81000*0*127*1&&",
        timeout=PATIENCE_S,
    ).raise_for_status()


#: Pages that look otherwise in a controller that was lived in.
LIVELY = ("status", "timeline", "rules", "schedule", "panel", "pid", "firstrun")
#: Everything is checked one time; a theme and a width change no more than colours and places.
OF_THEME_AND_WIDTH = ["color-contrast", "target-size", "scrollable-region-focusable"]
# In parts: on a busy machine all of them together may take longer than one test may.
PARTS = 3
IN_PARTS = pytest.mark.parametrize("part", range(PARTS))


@pytest.mark.thorough
@IN_PARTS
def test_every_page_is_accessible(open_page: OpenPage, part: int) -> None:
    page = open_page()
    page.evaluate(AXE)
    grave = {}
    for name in routes(page)[part::PARTS]:
        go(page, name)
        grave[name] = grave_violations(page, [])
    assert {name: found for name, found in grave.items() if found} == {}


@pytest.mark.thorough
@IN_PARTS
def test_every_page_can_be_used_in_the_dark_and_in_every_language_on_a_phone(
    twin: ServedTwin, open_page: OpenPage, part: int
) -> None:
    live_in(twin)
    page = open_page(language="hu", theme="dark", viewport=PHONE)
    expect(page.locator("html")).to_have_attribute("lang", "hu")
    page.evaluate(AXE)
    wrong = {}
    for name in routes(page)[part::PARTS]:
        go(page, name)
        wrong[name] = grave_violations(page, OF_THEME_AND_WIDTH)
        wrong[name] += page.evaluate(SPEAK, ["pl", "fr", "cs", "hu"])
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("theme", "viewport", "rules", "pages"),
    [
        pytest.param("light", DESKTOP, [], LIVELY, id="light desktop"),
        # Its pages are looked at above.
        pytest.param("dark", PHONE, OF_THEME_AND_WIDTH, (), id="dark phone"),
    ],
)
def test_dialogs_and_menus_are_accessible(
    twin: ServedTwin,
    open_page: OpenPage,
    theme: Theme,
    viewport: tuple[int, int],
    rules: list[str],
    pages: tuple[str, ...],
) -> None:
    live_in(twin)
    page = open_page(theme=theme, viewport=viewport)
    page.evaluate(AXE)
    grave = {}
    for name in pages:
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
