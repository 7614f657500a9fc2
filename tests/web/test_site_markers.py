"""Hostile names and codes in every place of an uploaded page where a marker can stand.

The pages are shown without the policy that they are served with, which would hide a mistake.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route

from leverframe.interface.status_files.markers import READERS, fill_markers
from tests.cases import for_each
from tests.web.conftest import DESKTOP, Look, Tabs

ORIGIN = "http://site.example"
HOSTILE = (
    "${hacked()}",
    "`;hacked();`",
    "';hacked();'",
    '";hacked();"',
    "\\';hacked();//",
    "</script><script>hacked()</script>",
    "<img src=x onerror=hacked()>",
    '" onmouseover="hacked()" x="',
    "' autofocus onfocus='hacked()' x='",
    "x onclick=hacked() y=",
    "javascript:hacked()",
    "//evil.example/x.js",
    "a&out0=1#b?c=%41+d",
    "*/hacked()/*",
    "--><script>hacked()</script><!--",
    "</style><script>hacked()</script>",
    "</textarea><script>hacked()</script>",
    "}; body { background: url(//evil.example/) } x {",
    "&#39;);hacked();(&#39;",
    "&lt;img src=x onerror=hacked()&gt;",
    "\u2028hacked()",
    "${`${hacked()}`}",
    "Żółć 🚀 = 21,5 °C",
)
PAGE = """<!doctype html><meta charset=utf-8><title><--#m--></title><!-- <--#m--> -->
<script>var seen = {}, wasHacked = false; function hacked() { wasHacked = true; }</script>
<p id=text><--#m--></p><p id=double title="<--#m-->"></p><p id=single title='<--#m-->'></p>
<p id=bare title=<--#m--> lang=en></p><textarea id=area><--#m--></textarea>
<a id=query href="/x?before=1&n=<--#m-->&after=2">x</a><a id=whole href="<--#m-->">x</a>
<a id=bare-link href=/x?n=<--#m-->>x</a><img src="/<--#m-->"><form action="<--#m-->"></form>
<button id=handler onclick="seen.handler = '<--#m-->'">x</button>
<button id=template onclick="seen.template = `<--#m-->`">x</button>
<a id=link href="javascript:void(seen.link = '<--#m-->')">x</a>
<p id=style style="--v: '<--#m-->'"></p><style>#sheet { --v: "<--#m-->" }</style><p id=sheet></p>
<iframe id=frame srcdoc="<p><--#m--></p>"></iframe>
<script>
seen.double = "<--#m-->"; seen.single = '<--#m-->'; seen.backtick = `<--#m-->`; // <--#m-->
seen.regex = /^<--#m-->$/u.source; /* <--#m--> */
seen.address = new URL(`/x?n=<--#m-->`, location).searchParams.get("n");
</script>
<script src=/a.js></script><svg><text id=drawn><--#m--></text></svg>
"""
SCRIPT = 'seen.file = `<--#m-->`; seen.quoted = "<--#m-->";'
IN_STRINGS = ("double", "single", "backtick", "address", "file", "quoted")


@pytest.fixture
def page(tabs: Tabs) -> Iterator[Page]:
    with tabs.fresh(Look("en", DESKTOP, "light", touch=False)) as page:
        yield page


@pytest.mark.thorough
@for_each("value", HOSTILE)
def test_hostile_value_stays_text_wherever_a_marker_stands(value: str, page: Page) -> None:
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        path = route.request.url.removeprefix(ORIGIN)
        text, kind = (SCRIPT, "js") if path == "/a.js" else (PAGE, "html")
        if path not in ("/", "/a.js"):
            route.fulfill(status=404, body="")
            return
        body = fill_markers(text.encode(), READERS[kind](), {"m": value})
        kinds = {"js": "text/javascript", "html": "text/html"}
        route.fulfill(body=body, content_type=f"{kinds[kind]}; charset=utf-8")

    page.unroute_all()
    page.route("**/*", answer)
    page.goto(f"{ORIGIN}/")
    for clicked in ("handler", "template", "link"):
        page.locator(f"#{clicked}").dispatch_event("click")
    assert not page.evaluate("wasHacked")
    assert read_places(page) == dict.fromkeys(read_places(page), value)
    whole = page.evaluate("[document.links.whole.origin, document.forms[0].action]")
    assert all(url.startswith(ORIGIN) for url in whole), whole
    query = "[...new URL(document.links.query.href).searchParams].join('|')"
    assert page.evaluate(query) == f"before,1|n,{value}|after,2"
    assert [url for url in asked if not url.startswith(f"{ORIGIN}/")] == []


def read_places(page: Page) -> dict[str, str]:
    """What the page shows in each place, or hands to its script there."""
    seen: dict[str, str] = page.evaluate(
        """async () => {
        const at = (id) => document.getElementById(id);
        const style = (id) => getComputedStyle(at(id)).getPropertyValue("--v");
        const { regex, ...strings } = seen;
        return {
            ...strings, title: document.title, text: at("text").textContent,
            "in double quotes": at("double").title, "in single quotes": at("single").title,
            "without quotes": at("bare").title, area: at("area").value,
            "in a query": new URL(at("query").href).searchParams.get("n"),
            "in a bare query": new URL(at("bare-link").href).searchParams.get("n"),
            "in a frame": at("frame").contentDocument.body.innerText,
            drawn: at("drawn").textContent,
        };
    }"""
    )
    assert set(IN_STRINGS) < set(seen)
    return seen
