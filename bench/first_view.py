"""What the first view costs: the bytes that are fetched, and how soon an output can be switched.

A real Chromium with an empty cache opens Status of a running controller, with the processor
throttled four times, and looks when the first lever is there. Also: how long a day of one-second
values of one reading takes to draw, unthrottled.

    leverframe run --port 8080 &
    python bench/first_view.py [--url http://127.0.0.1:8080] [--rounds 5]
"""

import argparse
import shutil
import statistics
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        views = [first_view(browser, options.url) for _ in range(options.rounds)]
        drawn = [day_drawn(browser, options.url) for _ in range(options.rounds)]
        browser.close()
    lever = statistics.median(lever_ms for _, lever_ms in views)
    print(f"first view   {max(size for size, _ in views):8} bytes   goal {GOAL_BYTES}")
    print(f"first lever  {lever:8.0f} ms      goal {GOAL_LEVER_MS}, processor / {THROTTLE}")
    print(f"day drawn    {statistics.median(drawn):8.0f} ms      goal {GOAL_DRAWN_MS}")


if __name__ == "__main__":
    main()
