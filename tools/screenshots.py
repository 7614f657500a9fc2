"""Take pictures of the pages of controllers after a simulated example.

    python -m tools.screenshots docs/images               the pictures of the documents
    python -m tools.screenshots --all FOLDER              every page, desk and phone, light and dark
    python -m tools.screenshots --all FOLDER --language fr

The controller runs in virtual time with the greenhouse of `examples/`, so that the pages have
content and every run shows the same; the same is true of a node with many controllers. Without
Chromium the pictures stay unchanged. tools/looks.py defines the pictures of `--all`.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, expect, sync_playwright

from tools.lived_controller import OF_EVERY_KIND, ask, furnish, simulate_day
from tools.lived_fleet import simulate_morning
from tools.looks import DESK, PHONE, Sites, guard, live_new, take_all

#: Name of the picture -> route of the page.
PICTURES = {
    "status": "status",
    "timeline": "timeline",
    "things": "things",
    "drawer": "things?thing=OUT0",
    "rules": "rules",
    "schedule": "schedule",
    "charts": "charts",
    "panel": "panel",
    "modbus": "things?thing=SLOT1",
    "simulated-board": "simulation",
    "journal": "log",
}
#: Pictures of guides, which are not on the first page of the site.
LIGHT_ONLY = {"modbus", "simulated-board"}
DRAWN_AFTER_MS = 2000
QUIET = ("--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")
VIRTUAL = "--virtual-time"
#: A unit that differs from its file, and a unit that does not answer.
INVENTORY = """
[units.cellar]
address = "{address}"
file = "cellar.toml"

[units.attic]
address = "http://127.0.0.1:9"
"""
WANTED = """
[outputs.OUT1]
name = "Pump"
return_time = "10m"

[schedule.8]
action = "OUT1"
value = "on"
time = "14:00"
days = "Mon-Fri"
"""


@contextmanager
def running(*command: str) -> Iterator[str]:
    """Run a program that serves pages on a free port; yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "leverframe", *command, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process, process.stdout:
        found = re.search(r"http://[^\s/]+", process.stdout.readline())
        assert found, "it failed to start"
        try:
            yield found[0]
        finally:
            process.terminate()


@contextmanager
def simulate(*command: str) -> Iterator[str]:
    """Run a controller or a node in virtual time; yield its address."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(*command, "--data", folder, VIRTUAL) as address,
    ):
        yield address


@contextmanager
def watching(unit: str) -> Iterator[str]:
    """Run a watch over the controller with this address; yield the address of its page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "units.toml").write_text(INVENTORY.format(address=unit))
        (folder / "cellar.toml").write_text(WANTED)
        with running("unit", "watch", str(folder / "units.toml")) as address:
            yield address


def take(
    browser: Browser,
    address: str,
    route: str,
    size: tuple[int, int],
    file: Path,
    theme: Literal["light", "dark"] = "light",
) -> None:
    width, height = size
    page = browser.new_page(
        color_scheme=theme,
        locale="en",
        timezone_id="UTC",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
    )
    page.goto(f"{address}/#/{route}")
    expect(page.locator("main[aria-busy=false]")).to_be_visible()
    expect(page.locator(".connection[data-kind=live]")).to_be_visible()
    # Charts and the sparklines below readings are drawn when the history has arrived.
    page.wait_for_timeout(DRAWN_AFTER_MS)
    page.screenshot(path=file)
    page.close()


def take_for_documents(browser: Browser, folder: Path) -> None:
    with simulate("run") as address, simulate("fleet", "run") as node:
        simulate_day(address)
        simulate_morning(node)
        for name, route in PICTURES.items():
            take(browser, address, route, DESK, folder / f"{name}.png")
            if name not in LIGHT_ONLY:
                take(browser, address, route, DESK, folder / f"{name}-dark.png", "dark")
        take(browser, address, "status", PHONE, folder / "phone.png")
        take(browser, node, "", DESK, folder / "fleet.png")


def take_everything(browser: Browser, folder: Path, language: str) -> None:
    with (
        simulate("run") as lived,
        simulate("run") as new,
        simulate("run") as guarded,
        simulate("fleet", "run") as node,
        watching(lived) as units,
    ):
        simulate_day(lived)
        for target in OF_EVERY_KIND:
            ask(lived, target)
        live_new(new)
        furnish(guarded)
        guard(guarded)
        simulate_morning(node)
        take_all(browser, Sites(lived, new, guarded, node, units), folder, language)


def main() -> int:
    parser = argparse.ArgumentParser(description="Pictures of the pages.")
    parser.add_argument("folder", type=Path, help="where the pictures are put")
    parser.add_argument("--all", action="store_true", help="every page in four looks")
    parser.add_argument("--language", default="en", help="with --all (default en)")
    order = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is not installed: the pictures of the pages stay as they are.")
        return 0
    order.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        if order.all:
            take_everything(browser, order.folder, order.language)
        else:
            take_for_documents(browser, order.folder)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
