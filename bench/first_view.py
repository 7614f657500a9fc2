"""The cost of the first view: the transferred bytes, and the time until an output can be switched.

A real Chromium with an empty cache opens the Status page of a running controller, with the
processor throttled to a quarter, and reports when the first lever is shown. For comparison, it also
opens a page that contains only one lever. A further figure is the time to draw a day of one-second
values of one reading, without throttling.
"""

import shutil
import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from bench.figure import Figure, Reference, need, progress
from bench.serving import controller

GOAL_BYTES = 160_000
GOAL_LEVER_MS = 1000
GOAL_DRAWN_MS = 200
THROTTLE = 4
#: Reports when the first lever is in the page; from then on it accepts presses. The page reports
#: this itself, because polling from outside would also run in the page, throttled like everything
#: else there.
WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("[role=switch]")) return;
  console.debug(`lever at ${performance.now()}`);
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
BARE_PATH = "/bare"
BARE_PAGE = "<!doctype html><title>Bare</title><body><button role=switch>OUT0</button></body>"
DAY = (Path(__file__).parent / "day_of_seconds.js").read_text(encoding="utf-8")


def throttle(browser: Browser) -> Page:
    page = browser.new_page()
    console = page.context.new_cdp_session(page)
    console.send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    page.add_init_script(WATCH)
    return page


def lever_ms(page: Page, url: str) -> float:
    """Return the milliseconds from the request for a page until its first lever is shown."""
    with page.expect_console_message(lambda line: line.text.startswith("lever at ")) as reported:
        page.goto(url)
    return float(reported.value.text.rpartition(" ")[2])


def bare_view(browser: Browser, url: str) -> float:
    page = throttle(browser)
    page.route(
        f"**{BARE_PATH}", lambda route: route.fulfill(body=BARE_PAGE, content_type="text/html")
    )
    took_ms = lever_ms(page, url + BARE_PATH)
    page.close()
    return took_ms


def first_view(browser: Browser, url: str) -> tuple[int, float]:
    """Return the transferred bytes, and the milliseconds until the first lever is shown."""
    page = throttle(browser)
    console = page.context.new_cdp_session(page)
    fetched: list[int] = []
    console.on("Network.loadingFinished", lambda done: fetched.append(done["encodedDataLength"]))
    console.send("Network.enable")
    took_ms = lever_ms(page, f"{url}/#/status")
    # The rest of the page appears after the levers, and counts, too.
    page.wait_for_selector("main[aria-busy=false]")
    page.wait_for_timeout(500)
    page.close()
    return sum(fetched), took_ms


def day_drawn(browser: Browser, url: str) -> float:
    page = browser.new_page()
    page.goto(f"{url}/#/charts")
    page.wait_for_selector("canvas")
    took_ms: float = page.evaluate(DAY)
    page.close()
    return took_ms


def measure(quick: bool) -> list[Figure]:
    need("chromium", "taskset")
    rounds = 1 if quick else 9
    bare, views, drawn = [], [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        controller(Path(folder, "data")) as served,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        url = served.address
        for _ in range(rounds):
            bare.append(bare_view(browser, url))
            views.append(first_view(browser, url))
            drawn.append(day_drawn(browser, url))
            progress()
        browser.close()
    size = max(size for size, _ in views)
    first_ms = median([took_ms for _, took_ms in views])
    drawn_ms = median(drawn)
    return [
        Figure("bytes of the first view", size, goal=f"< {GOAL_BYTES:,}", met=size < GOAL_BYTES),
        Figure(
            f"first lever in the page, processor throttled {THROTTLE} times",
            first_ms,
            "ms",
            reference=Reference("a page of one lever", median(bare), "ms"),
            goal=f"< {GOAL_LEVER_MS} ms",
            met=first_ms < GOAL_LEVER_MS,
            rounds={"ms": [took_ms for _, took_ms in views], "one lever ms": bare},
        ),
        Figure(
            "a day of values every second drawn",
            drawn_ms,
            "ms",
            goal=f"< {GOAL_DRAWN_MS} ms",
            met=drawn_ms < GOAL_DRAWN_MS,
            rounds={"ms": drawn},
        ),
    ]
