"""The console in a real browser: every command as a form, its request, and what is answered."""

import re
from typing import Any
from urllib.parse import unquote, unquote_plus

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import REFUSALS, OpenPage

pytestmark = pytest.mark.needs_program("chromium")

#: Opens everything that is listed, one after the other, and returns the line and the shown request.
OPEN_ALL = """
async () => {
  const shown = [];
  const frame = () => new Promise((next) => requestAnimationFrame(next));
  for (const details of document.querySelectorAll("main details")) {
    if (details.closest(".request")) continue;
    details.open = true;
    for (let tries = 0; tries < 100 && !details.querySelector(".command"); tries++) await frame();
    shown.push({
      line: details.querySelector("summary code").textContent,
      fields: details.querySelectorAll(".command [id]:is(input, select)").length,
      request: details.querySelector(".request pre")?.textContent ?? null,
    });
    details.open = false;
  }
  return shown;
}
"""


def open_command(page: Page, line: str) -> Locator:
    """The command whose printed form is this."""
    listed = page.locator("details").filter(has=page.get_by_text(line, exact=True))
    listed.locator("summary").first.click()
    expect(listed.locator(".command")).to_be_visible()
    return listed


def curl_command_of(row: dict[str, Any], origin: str) -> str | None:
    """What curl has to show for the example of a row; nothing before a file is chosen."""
    if row["body"] and row["body"]["kind"] == "upload":
        return None
    method, target = row["example"].split(" ")
    verb = "" if method == "GET" else f" -X {method}"
    data = f" --data-raw '{unquote_plus(row['example_body'])}'" if row["example_body"] else ""
    return f"curl{verb}{data} '{origin}{unquote(target)}'"


@pytest.mark.thorough
def test_every_command_is_drawn_with_its_example_and_files_and_the_api_are_read(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    rows = twin.get("/api/commands").json()
    twin.set_readings(DS1=21.5)
    page = open_page("console")
    shown = page.evaluate(OPEN_ALL)
    origin = f"http://127.0.0.1:{twin.port}"
    by_section: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_section.setdefault(row["section"], []).append(row)
    in_order = [row for section in by_section.values() for row in section]
    assert [one["line"] for one in shown[: len(rows)]] == [row["line"] for row in in_order]
    for one, row in zip(shown, in_order, strict=False):
        fields = (row["body"] or {}).get("fields", row["fields"])
        assert one["fields"] >= len(fields), row["line"]
        request = one["request"] and unquote(one["request"])
        assert request == curl_command_of(row, origin), row["line"]
    # What follows is read, and no command.
    assert {"GET /api/state", "GET /json/all.json"} <= {one["line"] for one in shown[len(rows) :]}

    state = open_command(page, "GET /api/state")
    state.get_by_role("button", name="Send").click()
    expect(state.locator(".reply pre")).to_contain_text('"DS1": 21.5')
    history = open_command(page, "GET /api/history")
    history.get_by_label("labels").fill("DS1")
    expect(history.locator(".request pre")).to_contain_text("/api/history?labels=DS1")
    history.get_by_role("button", name="Send").click()
    expect(history.locator(".reply pre")).to_contain_text('"series"')
    file = open_command(page, "GET /xml/ix.xml")
    file.get_by_role("button", name="Send").click()
    expect(file.locator(".reply")).to_contain_text("text/xml")
    expect(file.locator(".reply pre")).to_contain_text("<ds1>215</ds1>")
    stream = open_command(page, "GET /api/stream")
    stream.get_by_role("button", name="Send").click()
    expect(stream.locator(".reply pre")).to_contain_text("event: state")


def test_commands_are_found_changed_sent_and_answered_or_refused(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?oname=1Pump")
    page = open_page("console", allow=f"{REFUSALS}|ERR_|503")
    search = page.get_by_label("Search commands and paths")
    search.fill("oname")
    command = open_command(page, "GET /stm.cgi?oname=<A><B>")
    expect(command.get_by_text("for the administrator")).to_be_visible()
    command.get_by_label(re.compile(r"\(A\)")).fill("2")
    command.get_by_label(re.compile(r"\(B\)")).fill("Żaluzja *")
    address = f"http://127.0.0.1:{twin.port}/stm.cgi?oname=2%C5%BBaluzja%20%2A"
    expect(command.locator(".request pre")).to_have_text(f"curl '{address}'")
    with page.expect_request(address) as sent:
        command.get_by_role("button", name="Send").click()
    assert sent.value.method == "GET"
    expect(command.locator(".reply strong")).to_have_text("200")
    expect(command.locator(".reply pre")).to_contain_text("<out>000000</out>")
    assert twin.settings()["outputs"][2]["name"] == "Żaluzja *"

    # A refusal is shown with its words, and what is out of range is not sent.
    search.fill("eventon")
    command = open_command(page, "GET /inpa.cgi?eventon=<A>*<B>")
    command.get_by_role("button", name="Send").click()
    expect(command.locator(".reply strong")).to_have_text("409")
    expect(command.locator(".reply pre")).to_contain_text('"detail"')
    expect(command.get_by_role("status")).not_to_be_empty()
    search.fill("pwmd")
    command = open_command(page, "GET /stm.cgi?pwmd=<A><B>")
    command.get_by_label(re.compile(r"\(B\)")).fill("101")
    expect(command.get_by_role("alert")).to_contain_text("0 to 100")
    expect(command.get_by_role("button", name="Send")).to_have_count(0)


@pytest.mark.thorough
def test_lists_and_files_are_sent_what_is_dangerous_by_a_second_press_and_a_search_has_an_address(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?oname=1Pump")
    page = open_page("console", allow=REFUSALS)
    search = page.get_by_label("Search commands and paths")
    # A list is sent with as many entries as wanted.
    search.fill("sched_save")
    command = open_command(page, "POST /post.cgi?sched_save")
    command.get_by_role("button", name="Add").click()
    second = command.get_by_role("group", name="Entry 2")
    second.get_by_label(re.compile(r"\(A\)")).fill("1")
    second.get_by_label(re.compile(r"\(B\)")).fill("Evening")
    command.get_by_role("button", name="Send").click()
    expect(command.locator(".reply strong")).to_have_text("200")
    assert [entry["name"] for entry in twin.settings()["schedule"][:2]] == ["Morning", "Evening"]

    search.fill("pictureupload")
    command = open_command(page, "POST /post.cgi?pictureupload")
    picture: FilePayload = {
        "name": "plan.png",
        "mimeType": "image/png",
        "buffer": b"no picture",
    }
    command.get_by_label("File").set_input_files(picture)
    expect(command.locator(".request pre")).to_contain_text("--data-binary '@plan.png'")
    command.get_by_role("button", name="Send").click()
    expect(command.locator(".reply strong")).to_have_text(re.compile("4.."))

    # A dangerous command needs a second press.
    search.fill("eeprom_reset")
    command = open_command(page, "GET /stm.cgi?eeprom_reset=1")
    command.get_by_role("button", name="Send").click()
    expect(command.get_by_text("Press again to send it.")).to_be_visible()
    assert twin.settings()["outputs"][1]["name"] == "Pump"
    command.get_by_role("button", name="Send").click()
    expect(command.locator(".reply strong")).to_have_text("200")
    assert twin.settings()["outputs"][1]["name"] == ""

    # A search has an address and survives a reload.
    search.fill("watchdog wdog1")
    expect(page.get_by_text("1 found")).to_be_visible()
    page.reload()
    expect(search).to_have_value("watchdog wdog1")
    expect(page.get_by_text("1 found")).to_be_visible()
