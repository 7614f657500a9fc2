"""Pages in a real browser: one Chromium for all tests here, a controller of its own for each test.

`open_page("things", language="pl")` opens a page of the test's controller and waits until it is
there. Whatever the browser complains of, and every request that leaves the controller, fails the
test; `allow` names by regular expression what a test provokes itself.

Tabs are used again by later tests, without cookies and storage, and controllers of later tests
listen at the ports of earlier ones: to open a page in such a tab takes half the processor time.

Playwright keeps an event loop in the tests' thread, so no test of this folder may be a coroutine.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    Request,
    expect,
    sync_playwright,
)

from leverframe.core.profile import Profile
from leverframe.host.assembly import NORMALLY
from leverframe.host.services import Sending
from leverframe.server.routes.router import THIS_MACHINE, Reach
from leverframe.storage.store import Store
from tests.clients.served_twin import HOST, LoopThread, ServedTwin, eventually, serve_twin
from tests.conftest import CHROMIUM
from tests.effort import THOROUGH
from tests.patience import PATIENCE_S
from tests.stopwatch import within

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
PATIENCE_MS = 1000 * PATIENCE_S
#: What Chromium writes to its console about a command that the controller refuses.
REFUSALS = r"the server responded with a status of 4\d\d"
#: The same while no controller can be reached.
LOSSES = r"net::ERR_|ERR_INCOMPLETE_CHUNKED"

#: Waits until a page is there. To ask from outside takes a tenth of the time in which it opens.
#: Chromium drops keys until a document has shown its first frame: the second one is waited for.
OPENED = """async (patience) => {
  const parts = [".connection[data-kind=live]", "main[aria-busy=false]"];
  const isOpen = () => parts.every((part) => document.querySelector(part));
  for (const end = Date.now() + patience; !isOpen() && Date.now() < end; )
    await new Promise((next) => setTimeout(next, 10));
  for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
  return isOpen();
}"""

Theme = Literal["light", "dark"]
OpenPage = Callable[..., Page]
Serve = Callable[..., ServedTwin]


def within_a_second(read: Callable[[], object], wanted: object) -> None:
    """Wait for what a page shows. `expect` would look too seldom to measure the time."""
    with within(1.0):
        eventually(read, wanted)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@dataclass(frozen=True)
class Look:
    """How a page is shown; a browser context has one for good."""

    language: str
    viewport: tuple[int, int]
    theme: Theme
    touch: bool
    zone: str = "UTC"


class Tabs:
    """Tabs of the browser, each in a context of its own, that are used again by later tests."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._idle: defaultdict[Look, list[Page]] = defaultdict(list)

    def open(self, look: Look) -> Page:
        width, height = look.viewport
        context = self._browser.new_context(
            locale=look.language,
            viewport={"width": width, "height": height},
            color_scheme=look.theme,
            has_touch=look.touch,
            timezone_id=look.zone,
            # To draw fades is a twentieth of the browser's work; a thorough run has them.
            reduced_motion="no-preference" if THOROUGH else "reduce",
        )
        return context.new_page()

    @contextmanager
    def lend(self, look: Look, origin: str) -> Iterator[Page]:
        """A tab that nothing else in the test has; it knows nothing but what it has cached."""
        idle = self._idle[look]
        page = idle.pop() if idle else self.open(look)
        yield page
        page.unroute_all(behavior="ignoreErrors")
        page.context.set_offline(False)
        page.context.clear_cookies()
        # Another origin, such as about:blank, would cost a new process of the browser.
        page.goto(f"{origin}/health")
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        console = page.context.new_cdp_session(page)
        console.send("Page.resetNavigationHistory")
        console.detach()
        idle.append(page)

    @contextmanager
    def fresh(self, look: Look) -> Iterator[Page]:
        page = self.open(look)
        yield page
        page.context.close()


@pytest.fixture(scope="package")
def tabs(browser: Browser) -> Tabs:
    return Tabs(browser)


@pytest.fixture(scope="package")
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture(scope="package")
def ports() -> list[int]:
    """Where the first, second, ... controller of a test listens."""
    return []


@pytest.fixture
def serve(loop_thread: LoopThread, ports: list[int]) -> Iterator[Serve]:
    """Starts controllers: `serve()` of the newest version, `serve("3.0", "1.58a")` of an older."""
    with ExitStack() as running:
        free = iter(ports.copy())

        def serve(
            *versions: str,
            reach: Reach = THIS_MACHINE,
            sending: Sending = NORMALLY,
            store: Store | None = None,
        ) -> ServedTwin:
            port = next(free, 0)
            starting = serve_twin(loop_thread, Profile(*versions), port, reach, sending, store)
            twin = running.enter_context(starting)
            if not port:
                ports.append(twin.port)
            return twin

        yield serve


@pytest.fixture
def twin(serve: Serve) -> ServedTwin:
    return serve()


@dataclass
class Watch:
    """What a page may not do, as far as it was seen to do it."""

    origin: str
    allow: str
    complaints: list[str] = field(default_factory=list)

    def on_error(self, error: Error) -> None:
        self.complain(f"error: {error}")

    def on_console(self, message: ConsoleMessage) -> None:
        # Chromium's advice to authors of forms is no complaint.
        if message.type != "verbose":
            self.complain(f"console: {message.text}")

    def on_request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "data:", "blob:")):
            self.complaints.append(f"request elsewhere: {request.url}")

    def complain(self, text: str) -> None:
        if not (self.allow and re.search(self.allow, text)):
            self.complaints.append(text)


@contextmanager
def watch_page(page: Page, origin: str, allow: str) -> Iterator[Watch]:
    watch = Watch(origin, allow)
    listeners = {
        "pageerror": watch.on_error,
        "console": watch.on_console,
        "request": watch.on_request,
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    yield watch
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


class HasPort(Protocol):
    """A controller that a page can be opened of."""

    @property
    def port(self) -> int: ...


@pytest.fixture
def open_page(request: pytest.FixtureRequest, tabs: Tabs, serve: Serve) -> Iterator[OpenPage]:
    # Asking for `serve` lets the pages end before the controllers do.
    watches: list[Watch] = []
    with ExitStack() as opened:

        def open_page(
            route: str = "",
            *,
            language: str = "en",
            viewport: tuple[int, int] = DESKTOP,
            theme: Theme = "light",
            touch: bool = False,
            zone: str = "UTC",
            of: HasPort | None = None,
            allow: str = "",
            fresh: bool = False,
        ) -> Page:
            """`fresh` opens the page in a tab that no test has before or after."""
            twin = of or request.getfixturevalue("twin")
            look = Look(language, viewport, theme, touch, zone)
            origin = f"http://{HOST}:{twin.port}"
            page = opened.enter_context(tabs.fresh(look) if fresh else tabs.lend(look, origin))
            page.set_default_timeout(PATIENCE_MS)
            watches.append(opened.enter_context(watch_page(page, origin, allow)))
            page.goto(f"{origin}/#/{route}", wait_until="commit")
            assert page.evaluate(OPENED, PATIENCE_MS), f"the page {route} did not open"
            return page

        yield open_page
    assert [complaint for watch in watches for complaint in watch.complaints] == []
