"""What the first view costs: the bytes that are fetched, and how soon an output can be switched.

A real Chromium with an empty cache opens Status of a running controller, with the processor
throttled four times, and looks when the first lever is there. Also: how long a day of one-second
values of one reading takes to draw, unthrottled.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bench.figure import Figure, better, need, progress
from bench.serving import controller

GOAL_BYTES = 300_000
GOAL_LEVER_MS = 1000
GOAL_DRAWN_MS = 200
THROTTLE = 4
#: Notes when the first lever is in the page; by then it takes presses.
WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("[role=switch]")) return;
  globalThis.leverAt = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
DAY = (Path(__file__).parent / "day_of_seconds.js").read_text(encoding="utf-8")


def first_view(browser: Browser, url: str) -> tuple[int, float]:
    """Bytes that came over the wire, and milliseconds until the first lever."""
    page = browser.new_page()
    console = page.context.new_cdp_session(page)
    fetched: list[int] = []
    console.on("Network.loadingFinished", lambda done: fetched.append(done["encodedDataLength"]))
    console.send("Network.enable")
    console.send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    page.add_init_script(WATCH)
    page.goto(f"{url}/#/status")
    page.wait_for_selector("[role=switch]")
    lever_ms: float = page.evaluate("globalThis.leverAt")
    page.wait_for_timeout(500)
    page.close()
    return sum(fetched), lever_ms


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
    views, drawn = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        controller(Path(folder, "data")) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(rounds):
            views.append(first_view(browser, url))
            drawn.append(day_drawn(browser, url))
            progress()
        browser.close()
    size = max(size for size, _ in views)
    lever_ms = better([lever_ms for _, lever_ms in views])
    drawn_ms = better(drawn)
    return [
        Figure("bytes of the first view", f"{size:,}", "", f"< {GOAL_BYTES:,}", size < GOAL_BYTES),
        Figure(
            f"first lever in the page, processor throttled {THROTTLE} times",
            f"{lever_ms:.0f} ms",
            "",
            f"< {GOAL_LEVER_MS} ms",
            lever_ms < GOAL_LEVER_MS,
        ),
        Figure(
            "a day of values every second drawn",
            f"{drawn_ms:.0f} ms",
            "",
            f"< {GOAL_DRAWN_MS} ms",
            drawn_ms < GOAL_DRAWN_MS,
        ),
    ]
