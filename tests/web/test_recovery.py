"""A page recovers what is missing while it loads or is open; old values never pass for new."""

import json
import os
import re
import signal
from base64 import b64encode
from functools import partial
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Locator, Page, Request, Route, expect

from tests.clients.served_twin import HOST, ServedTwin, eventually
from tests.host.controller_process import controller_process
from tests.patience import PATIENCE_S
from tests.stopwatch import within
from tests.web.conftest import LOSSES, REFUSALS, OpenPage
from tests.web.signing_in import ADMIN, USER, ask_for_passwords, sign_in_as, sign_in_as_user

pytestmark = [pytest.mark.needs_program("chromium"), pytest.mark.thorough]

#: Longer than pages wait before they ask again, or give up an answer.
AGAIN_S = 8.0
FAILURES = rf"{LOSSES}|Failed to fetch"
#: What a browser does when another tab is looked at, or this one again.
LOOK = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def is_for(ending: str, request: Request) -> bool:
    return request.url.endswith(ending)


def lever(page: Page, text: str) -> Locator:
    return page.get_by_role("switch", name=text, exact=True)


def comes_in_time(part: Locator) -> None:
    with within(AGAIN_S):
        expect(part).to_be_visible()


def comes_as_time_passes(twin: ServedTwin, part: Locator) -> None:
    """Time is virtual: as long as nothing happens, the controller sends nothing, and
    a page may hear of it before it misses anything."""
    with within(AGAIN_S):
        eventually(lambda: twin.get("/sim.cgi?advance=1").ok and part.is_visible(), True)


def test_status_recovers_whatever_is_lost_while_it_loads(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("status", allow=FAILURES)
    for missing in ("words/frame.json", "api/start", "status/beside.js"):
        page.route(f"**/{missing}", lambda route: route.abort("connectionfailed"), times=1)
        with page.expect_event("requestfailed", partial(is_for, missing)):
            page.reload(wait_until="commit")
        comes_in_time(page.locator(".connection[data-kind=live]"))
        comes_as_time_passes(twin, lever(page, "Output 0"))
        comes_as_time_passes(twin, page.get_by_role("heading", name="Readings"))


def test_page_whose_script_is_lost_says_so_and_comes_with_a_reload(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    # What was fetched ahead for the lost script is not used, of which a browser may complain.
    page = open_page("rules", allow=rf"{FAILURES}|was preloaded using link preload", language="fr")
    notice = page.locator(".unstarted")
    # As long as there is a page, nothing of it is seen or awaited.
    expect(notice).to_be_hidden()
    page.route("**/app.js", lambda route: route.abort("connectionfailed"), times=1)
    with page.expect_event("requestfailed", partial(is_for, "/app.js")):
        page.reload(wait_until="commit")
    page.evaluate("document.getAnimations().forEach((one) => one.finish())")
    expect(notice.get_by_text("This page did not load completely.")).to_be_visible()
    notice.get_by_role("link", name="Rechargez-la").click()
    comes_in_time(page.locator(".connection[data-kind=live]"))
    expect(notice).to_be_hidden()


def test_incomplete_page_waits_for_the_controller_before_it_reloads(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("system", allow=FAILURES)
    page.route("**/pages/console.js", lambda route: route.abort("connectionfailed"))
    page.route("**/health", lambda route: route.abort("connectionfailed"))
    page.get_by_role("link", name="API console").click()
    expect(page.get_by_text("The page did not load")).to_be_visible()
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/health")):
        twin.get("/sim.cgi?advance=1")
    expect(page.get_by_text("The page did not load")).to_be_visible()
    page.unroute_all()
    comes_as_time_passes(twin, page.locator("main[data-page=console] input").first)


def test_question_in_a_drawer_outlasts_that_its_page_is_asked_for_again(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?dswrite=3:28:11:22:33:44:55:66:77")
    page = open_page("status", allow=FAILURES)
    page.route("**/api/panel", lambda route: route.abort("connectionfailed"), times=1)
    with page.expect_event("requestfailed", partial(is_for, "/api/panel")):
        page.evaluate("location.hash = '#/panel?thing=DS3'")
    expect(page.locator("main[aria-busy=false]")).to_be_attached()
    drawer = page.locator("dialog.drawer")
    drawer.get_by_role("button", name="Free this position").click()
    question = drawer.locator(".question")
    expect(question).to_be_visible()
    page.evaluate("window.isSamePage = true")
    twin.set_readings(DS3=20.0)
    expect(drawer.locator(".present")).to_have_text("20.0 °C")
    twin.set_readings(DS3=21.0)
    expect(drawer.locator(".present")).to_have_text("21.0 °C")
    expect(question).to_be_visible()
    assert page.evaluate("window.isSamePage")
    # What is missing comes when it is answered.
    question.get_by_role("button", name="Cancel").click()
    expect(question).to_have_count(0)
    with page.expect_response("**/api/panel"):
        twin.set_readings(DS3=22.0)


def test_answer_that_never_comes_is_a_lost_connection(open_page: OpenPage) -> None:
    page = open_page("status", allow=FAILURES)
    page.route("**/api/stream", lambda route: route.abort())
    page.route("**/api/state", lambda route: None)
    page.reload()
    comes_in_time(page.locator(".connection[data-kind=lost]"))
    page.unroute_all()
    comes_in_time(page.locator(".connection[data-kind=live]"))


def test_frozen_controller_is_not_fine_and_carries_out_nothing_when_it_wakes(
    tmp_path: Path, open_page: OpenPage
) -> None:
    with controller_process(tmp_path) as process:
        page = open_page("status", of=process, allow=FAILURES, fresh=True)
        fine = page.locator(".glance .fine")
        expect(fine).to_be_visible()
        os.kill(process.pid, signal.SIGSTOP)
        try:
            with within(5.0):
                lever(page, "Output 0").click()
                expect(fine).to_have_count(0)
            expect(page.get_by_text("the command has expired").first).to_be_visible()
            expect(page.locator(".connection[data-kind=lost]")).to_be_visible()
        finally:
            os.kill(process.pid, signal.SIGCONT)
        comes_in_time(page.locator(".connection[data-kind=live]"))
        assert json.loads(process.ask("/api/state")[1])["OUT0"] == 0
        lever(page, "Output 0").click()
        expect(page.locator("[aria-checked=true]").first).to_be_visible()


def interrupt(page: Page, twin: ServedTwin, minutes: int = 10) -> None:
    """Without a stream, DS1 is 50 for some minutes."""
    page.context.set_offline(True)
    expect(page.locator(".connection[data-kind=lost]")).to_be_visible()
    for value in (50.0, 20.0):
        twin.set_readings(DS1=value)
        twin.get(f"/sim.cgi?advance={60 * minutes}")
    page.context.set_offline(False)
    comes_in_time(page.locator(".connection[data-kind=live]"))


def test_gap_in_the_stream_is_filled_in_charts_trends_and_sparklines(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(DS1=20.0)
    page = open_page("charts?labels=DS1&range=1h", allow=FAILURES)
    expect(page.locator(".courses")).to_contain_text("20.0")
    interrupt(page, twin)
    expect(page.locator(".courses")).to_contain_text("50.0")

    twin.get("/sim.cgi?advance=7200")
    page.evaluate("location.hash = '#/status'")
    expect(page.locator("[data-label=DS1] path")).to_be_attached()
    interrupt(page, twin)
    page.wait_for_function("""() => {
      const line = document.querySelector("[data-label=DS1] path").getAttribute("d");
      const heights = line.match(/ [\\d.]+/g);
      return new Set(heights).size > 1;
    }""")

    twin.get("/stm.cgi?pidvalue=1*10*300*200*0*0*1")
    page.evaluate("location.hash = '#/pid'")
    expect(page.locator(".trend canvas")).to_be_visible()
    of_trend = re.compile(r"/api/history\?.*DS1")
    with page.expect_response(of_trend) as answered:
        interrupt(page, twin, minutes=1)
    assert 50.0 in answered.value.json()["series"]["DS1"]["values"]


def test_sparkline_shows_what_happened_while_virtual_time_was_moved(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?dswrite=1:28:11:22:33:44:55:66:77")
    twin.set_readings(DS1=20.0)
    page = open_page("status")
    expect(page.locator("[data-label=DS1] path").first).to_be_attached()
    twin.get("/sim.cgi?advance=600&DS1=50&advance=600&DS1=20&advance=600")
    page.wait_for_function("""() => {
      const line = document.querySelector("[data-label=DS1] path").getAttribute("d");
      return new Set(line.match(/ [\\d.]+/g)).size > 1;
    }""")


def test_hidden_tab_frees_its_connection(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status")
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/stream")):
        page.evaluate(LOOK, True)
    twin.get("/outs.cgi?out1=1")
    twin.get("/stm.cgi?oname=1Lamp")
    page.evaluate(LOOK, False)
    expect(lever(page, "Lamp")).to_have_attribute("aria-checked", "true")
    expect(page.locator(".connection[data-kind=live]")).to_be_visible()


def test_old_answer_does_not_replace_a_newer_one(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status")
    overtaken: list[Route] = []
    page.route("**/api/start", lambda route: overtaken.append(route), times=1)
    with page.expect_request("**/api/start"):
        twin.get("/stm.cgi?oname=0Old")
    old = twin.get("/api/start").json()
    with page.expect_response("**/api/start"):
        twin.get("/stm.cgi?oname=0New")
    expect(lever(page, "New")).to_be_visible()
    with page.expect_response("**/api/start"):
        overtaken[0].fulfill(json=old)
    twin.get("/outs.cgi?out0=1")
    expect(lever(page, "New")).to_have_attribute("aria-checked", "true")


def test_settings_change_while_status_loads_causes_no_reload(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("status")
    held: list[Route] = []
    page.route("**/api/start", lambda route: held.append(route), times=1)
    with page.expect_request("**/api/stream"):
        page.reload(wait_until="commit")
    expect(page.locator(".connection[data-kind=live]")).to_be_visible()
    starts: list[str] = []
    page.on("request", lambda one: starts.append(one.url) if one.is_navigation_request() else None)
    with page.expect_response("**/api/start"):
        twin.get("/stm.cgi?oname=0Lamp")
    for route in held:
        route.continue_()
    expect(lever(page, "Lamp")).to_be_visible()
    assert starts == []


def test_another_version_reloads_the_pages(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status")

    def answer_as_another(route: Route) -> None:
        answer = route.fetch().json()
        answer["state"]["profile"] = {"hw": "3.0", "sw": "1.58a"}
        route.fulfill(json=answer)

    # Also to a question that was on its way already: the pages ask again when something changes.
    page.route("**/api/start", answer_as_another)
    with page.expect_event("domcontentloaded"):
        twin.get("/stm.cgi?oname=0Lamp")
    expect(lever(page, "Lamp")).to_be_visible()
    page.unroute_all(behavior="ignoreErrors")


def test_page_opened_while_status_loads_is_not_pushed_aside(open_page: OpenPage) -> None:
    page = open_page("status")
    held: list[Route] = []
    page.route("**/status/beside.js", lambda route: held.append(route))
    page.reload()
    expect(lever(page, "Output 0")).to_be_visible()
    page.evaluate("location.hash = '#/interface'")
    expect(page.get_by_label("Name").first).to_be_visible()
    for route in held:
        route.continue_()
    page.locator("nav.groups").get_by_role("link", name="Status").click()
    expect(page.get_by_role("heading", name="Readings")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_count(0)


def as_admin(twin: ServedTwin, target: str) -> None:
    requests.get(
        f"http://{HOST}:{twin.port}{target}", auth=ADMIN, timeout=PATIENCE_S
    ).raise_for_status()


def test_new_administrator_gets_the_settings(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status")
    sign_in_as_user(page, twin)
    expect(page.get_by_role("link", name="Rules")).to_have_count(0)
    names = [b64encode(text.encode()).decode() for text in (*ADMIN, *USER)]
    as_admin(twin, f"/stm.cgi?auth=01{'*'.join(names)}")
    page.evaluate("location.hash = '#/interface'")
    page.get_by_label("Name").first.fill("Lamp")
    page.get_by_label("Name").first.press("Enter")
    expect(page.locator("form.card").first.get_by_role("status")).to_have_text("Saved")
    assert twin.settings()["name"] == "Lamp"


def test_former_administrator_keeps_no_settings_and_signed_out_user_nothing(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("messages?open=http", allow=REFUSALS)
    route = page.url
    sign_in_as_user(page, twin)
    page.goto("about:blank")
    sign_in_as(page, twin, ADMIN)
    page.goto(route)
    expect(page.get_by_label("Name").first).to_be_visible()
    # In another tab of the same browser.
    sign_in_as(page, twin, USER)
    as_admin(twin, "/stm.cgi?oname=0Lamp")
    expect(page.get_by_text("for the administrator")).to_be_visible()
    page.evaluate("location.hash = '#/status'")
    expect(lever(page, "Lamp")).to_be_visible()
    origin = f"http://{HOST}:{twin.port}"
    page.request.post(f"{origin}/post.cgi?signout", headers={"Origin": origin})
    page.wait_for_url("**/signin**")


def test_lost_session_keeps_what_is_typed_until_it_is_saved(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/inpa.cgi?event=0*10*0*2150*50*0*2*0*0*0*0*5*1*3*0*0")
    page = open_page("status", allow=f"{FAILURES}|{REFUSALS}")
    page.goto("about:blank")
    ask_for_passwords(twin)
    sign_in_as(page, twin, ADMIN)
    page.goto(f"http://{HOST}:{twin.port}/#/rules?edit=1")
    reference = page.get_by_label("Reference value")
    reference.fill("23")
    page.context.clear_cookies()
    page.context.set_offline(True)
    expect(page.locator(".lost")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator(".lost")).to_contain_text("The session has ended.")
    expect(page.locator(".lost").get_by_role("link", name="Sign in")).to_be_visible()
    expect(reference).to_have_value("23")
    sign_in_as(page, twin, ADMIN)
    expect(page.locator(".lost")).to_have_count(0)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".r").first).to_contain_text("at least 23 °C")
