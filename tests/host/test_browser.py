"""A real browser: a page of another site tries to switch an output, and our own page does."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page

from tests.host.browsers import chromium_with
from tests.host.controller_process import ControllerProcess, controller_process
from tests.host.foreign_pages import (
    EACH_ATTACK,
    FOREIGN,
    ask_again,
    attack_from,
    foreign_site,
)

pytestmark = pytest.mark.needs_program("chromium")


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerProcess]:
    with controller_process(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium_with(FOREIGN) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def visitor(browser: Browser) -> Iterator[Page]:
    """A tab that the attackers share: one for each takes half of their processor time."""
    with closing(browser.new_context()) as context:
        page = context.new_page()
        ask_again(page)
        yield page


def outputs(process: ControllerProcess) -> bytes:
    return process.ask("/outs.cgi")[1].partition(b"<out>")[2][:6]


@pytest.mark.parametrize("attack", EACH_ATTACK)
def test_foreign_page_switches_nothing(
    attack: str, process: ControllerProcess, visitor: Page
) -> None:
    target = f"http://127.0.0.1:{process.port}/outs.cgi?out0=1"
    with foreign_site() as site:
        visitor.goto(site)
        assert attack_from(visitor, attack, target) in (None, 403)
    assert outputs(process) == b"000000"


def test_name_that_was_bound_to_our_address_reaches_nothing(
    process: ControllerProcess, browser: Browser
) -> None:
    page = browser.new_page()
    bound = f"http://{FOREIGN}:{process.port}"
    for target in ("/", "/outs.cgi?out0=1", "/api/settings"):
        assert page.goto(bound + target).status == 403
    answer = page.evaluate("async () => (await fetch('/outs.cgi?out0=1')).status")
    assert answer == 403
    page.close()
    assert outputs(process) == b"000000"


def test_our_own_page_switches(process: ControllerProcess, browser: Browser) -> None:
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    assert page.goto(f"http://127.0.0.1:{process.port}/").status == 200
    for method in ("GET", "POST"):
        script = f"async () => (await fetch('/outs.cgi?out0=1', {{method: '{method}'}})).status"
        assert page.evaluate(script) == 200
        assert outputs(process) == b"100000"
        assert page.evaluate("async () => (await fetch('/outs.cgi?out0=0')).status") == 200
    assert not [text for text in problems if "Content Security Policy" in text]
    page.close()


@pytest.fixture
def process_with_passwords(process: ControllerProcess) -> Iterator[ControllerProcess]:
    """Ask for passwords until the end of the test; others of this file may follow it."""
    fields = "YWRtaW4=*bG9uZyBhZG1pbiBzZWNyZXQ=*dXNlcg==*"
    assert process.ask(f"/stm.cgi?auth=11{fields}")[0] == 200
    yield process
    account = ("admin", "long admin secret")
    assert process.ask(f"/stm.cgi?auth=00{fields}", account=account)[0] == 200


@pytest.mark.thorough
def test_person_signs_in_with_the_page_and_out_again(
    process_with_passwords: ControllerProcess, browser: Browser
) -> None:
    process = process_with_passwords
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{process.port}/")
    assert page.url.endswith("/signin")
    form = page.locator("form[action$=signin]")
    form.locator("[name=username]").fill("admin")
    form.locator("[name=password]").fill("long admin secret")
    form.locator("button.primary").click()
    page.wait_for_url(f"http://127.0.0.1:{process.port}/")
    settings = "async () => (await fetch('/api/settings')).status"
    assert page.evaluate(settings) == 200
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    page.goto(f"http://127.0.0.1:{process.port}/signin")
    page.locator("form[action$=signout] button").click()
    page.wait_for_url(f"http://127.0.0.1:{process.port}/signin")
    assert page.evaluate(settings) == 401
    context.close()
