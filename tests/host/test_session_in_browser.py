"""A visitor with a session, in a real browser, at a plain HTTP address in the network.

There the browser says nothing by itself about where a request comes from, and pages of others keep
the Referer back. Sites at another port of the same host get the cookie sent along.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page, StorageState

from tests.host.browsers import chromium_with
from tests.host.controller_process import ControllerProcess, controller_process
from tests.host.foreign_pages import (
    EACH_ATTACK,
    FOREIGN,
    HIDDEN_ATTACKS,
    ask_again,
    attack_from,
    foreign_site,
)
from tests.ports import free_ports

pytestmark = pytest.mark.needs_program("chromium")

#: The controller's name, which is no loopback name to the browser.
BOX = "box.example"
ADMIN = ("admin", "long admin secret")
FIELDS = "YWRtaW4=*bG9uZyBhZG1pbiBzZWNyZXQ=*dXNlcg==*"


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    """Where sites of others are: at an origin that was named to the controller, and elsewhere."""
    return dict(zip(("configured", "other"), free_ports(2), strict=True))


@pytest.fixture(scope="module")
def process(
    ports: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerProcess]:
    names = ("--hosts", BOX, "--cors-origins", f"http://{BOX}:{ports['configured']}")
    with controller_process(tmp_path_factory.mktemp("session"), *names) as running:
        assert running.ask(f"/stm.cgi?auth=11{FIELDS}")[0] == 200
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium_with(FOREIGN, BOX) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def session(process: ControllerProcess, browser: Browser) -> StorageState:
    """What a browser keeps in which the administrator has signed in."""
    page = browser.new_page()
    page.goto(f"http://{BOX}:{process.port}/signin")
    page.fill("[name=username]", ADMIN[0])
    page.fill("[name=password]", ADMIN[1])
    page.click("form[action$=signin] button.primary")
    page.wait_for_url(f"http://{BOX}:{process.port}/")
    state = page.context.storage_state()
    page.close()
    return state


@pytest.fixture(scope="module")
def page(browser: Browser, session: StorageState) -> Iterator[Page]:
    """A tab of the administrator's browser: each test opens what it needs there.

    A tab for each test would take half of their processor time.
    """
    with closing(browser.new_context(storage_state=session)) as context:
        page = context.new_page()
        ask_again(page)
        yield page


def outputs(process: ControllerProcess) -> bytes:
    return process.ask("/outs.cgi", account=ADMIN)[1].partition(b"<out>")[2][:6]


def fetch(page: Page, target: str, method: str) -> int:
    script = "async ([target, method]) => (await fetch(target, {method})).status"
    status: int = page.evaluate(script, [target, method])
    return status


def test_own_page_switches_with_its_session(process: ControllerProcess, page: Page) -> None:
    page.goto(f"http://{BOX}:{process.port}/?safe")
    for method in ("GET", "POST"):
        assert fetch(page, "/outs.cgi?out0=1", method) == 200
        assert outputs(process) == b"100000"
        assert fetch(page, "/outs.cgi?out0=0", method) == 200


@pytest.mark.parametrize(
    "referrer_policy",
    ["no-referrer", pytest.param("unsafe-url", marks=pytest.mark.thorough)],
)
@pytest.mark.parametrize(
    ("name", "port"),
    [(BOX, "other"), (BOX, "configured"), (FOREIGN, "other")],
    ids=["other port", "configured origin", "other site"],
)
@pytest.mark.parametrize("attack", EACH_ATTACK)
def test_page_of_others_switches_nothing_with_the_session(
    attack: str,
    name: str,
    port: str,
    referrer_policy: str,
    ports: dict[str, int],
    process: ControllerProcess,
    page: Page,
) -> None:
    target = f"http://{BOX}:{process.port}/outs.cgi?out0=1"
    with foreign_site(name, ports[port], referrer_policy) as site:
        page.goto(site)
        assert attack_from(page, attack, target) in (None, 303, 401, 403)
        assert outputs(process) == b"000000"


@pytest.mark.thorough
def test_name_that_was_bound_to_our_address_switches_nothing(
    process: ControllerProcess, page: Page
) -> None:
    page.goto(f"http://{FOREIGN}:{process.port}/")
    for target in ("/outs.cgi?out0=1", f"http://{BOX}:{process.port}/outs.cgi?out0=1"):
        for attack in HIDDEN_ATTACKS:
            attack_from(page, attack, target)
    assert outputs(process) == b"000000"


def test_address_that_is_typed_switches_nothing_and_says_what_to_do(
    process: ControllerProcess, page: Page
) -> None:
    answer = page.goto(f"http://{BOX}:{process.port}/outs.cgi?out0=1")
    assert answer is not None
    assert (answer.status, "own page" in answer.text()) == (403, True)
    # What only reads needs no source.
    assert page.goto(f"http://{BOX}:{process.port}/?safe").status == 200  # type: ignore[union-attr]
    assert outputs(process) == b"000000"
