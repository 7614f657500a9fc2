"""Pages in a real browser: one Chromium for all tests here, a controller of its own for each test.

`open_page("outputs", language="pl")` opens a page of the test's controller and waits until it is
there. Whatever the browser complains of, and every request that leaves the controller, fails the
test; `allow` names by regular expression what a test provokes itself.

Playwright keeps an event loop in the tests' thread, so no test of this folder may be a coroutine.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from leverframe.profile import Profile
from tests.clients.served_twin import HOST, LoopThread, ServedTwin, served

DESKTOP = (1440, 900)
PHONE = (390, 844)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
#: What Chromium writes to its console about a command that the controller refuses.
REFUSALS = r"the server responded with a status of 4\d\d"
#: The same while no controller can be reached.
LOSSES = r"net::ERR_|ERR_INCOMPLETE_CHUNKED"

Theme = Literal["light", "dark"]
OpenPage = Callable[..., Page]
Serve = Callable[..., ServedTwin]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(QUIET)
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture
def serve(loop_thread: LoopThread) -> Iterator[Serve]:
    """Starts controllers: `serve()` of the newest version, `serve("3.0", "1.58a")` of an older."""
    with ExitStack() as running:
        yield lambda *versions: running.enter_context(served(loop_thread, Profile(*versions)))


@pytest.fixture
def twin(serve: Serve) -> ServedTwin:
    return serve()


@dataclass
class Watch:
    """What a page may not do, as far as it was seen to do it."""

    origin: str
    allow: str
    complaints: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.complain(f"error: {error}"))
        page.on("console", self.told)
        page.on("request", self.requested)

    def told(self, message: ConsoleMessage) -> None:
        # Chromium's advice to authors of forms is no complaint.
        if message.type != "verbose":
            self.complain(f"console: {message.text}")

    def requested(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "data:", "blob:")):
            self.complaints.append(f"request elsewhere: {request.url}")

    def complain(self, text: str) -> None:
        if not (self.allow and re.search(self.allow, text)):
            self.complaints.append(text)


@pytest.fixture
def open_page(request: pytest.FixtureRequest, browser: Browser, serve: Serve) -> Iterator[OpenPage]:
    # Asking for `serve` lets the pages end before the controllers do.
    watches: list[Watch] = []
    with ExitStack() as contexts:

        def open_page(
            route: str = "",
            *,
            language: str = "en",
            viewport: tuple[int, int] = DESKTOP,
            theme: Theme = "light",
            touch: bool = False,
            of: ServedTwin | None = None,
            allow: str = "",
        ) -> Page:
            twin = of or request.getfixturevalue("twin")
            width, height = viewport
            context = browser.new_context(
                locale=language,
                viewport={"width": width, "height": height},
                color_scheme=theme,
                has_touch=touch,
            )
            contexts.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(5000)
            watches.append(Watch(f"http://{HOST}:{twin.port}", allow))
            watches[-1].follow(page)
            page.goto(f"http://{HOST}:{twin.port}/#/{route}")
            expect(page.locator(".connection[data-kind=live]")).to_be_visible()
            expect(page.locator("main[aria-busy=false]")).to_be_visible()
            return page

        yield open_page
    assert [complaint for watch in watches for complaint in watch.complaints] == []
