"""A real browser that finds names of other hosts on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.conftest import CHROMIUM


@contextmanager
def chromium_with(*names: str) -> Iterator[Browser]:
    """Start a browser to which these names are this machine, but no loopback names."""
    rules = ", ".join(f"MAP {name} 127.0.0.1" for name in names)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", f"--host-resolver-rules={rules}"]
        )
        yield chromium
        chromium.close()
