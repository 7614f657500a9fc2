"""What a card of settings does with secrets, lists, codes and scaled numbers, on a page of its own.

The card is made in the browser from the modules of the pages, so that no setting page is needed.
"""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from leverframe.process.serve import http_limits
from leverframe.servers.routes.commands import MAX_COMMANDS
from tests.clients.served_twin import ServedTwin
from tests.web.conftest import LOSSES, OpenPage

pytestmark = pytest.mark.needs_program("chromium")

SHOW_CARD = """
async (spec) => {
  const [{ render }, { Form }, { Context }, { Live }, words] = await Promise.all([
    import("/web/vendor/lit-html.js"),
    import("/web/lib/form.js"),
    import("/web/lib/context.js"),
    import("/web/lib/live.js"),
    import("/web/lib/words.js"),
  ]);
  const place = document.createElement("div");
  document.body.prepend(place);
  let form;
  const context = new Context(new Live(), () => form && render(form.view(), place));
  await context.load();
  await Promise.all([context.knowCommands(), words.useCodes()]);
  form = new Form(context, spec);
  context.redraw();
}
"""


def show_card(page: Page, *fields: dict[str, Any], **more: Any) -> Locator:
    """A card with these fields; their labels are the names of the commands and letters."""
    named = [
        {"plainLabel": f"{field['command']} {field.get('part', field.get('letter', ''))}".strip()}
        | field
        for field in fields
    ]
    page.evaluate(SHOW_CARD, json.loads(json.dumps({"heading": "card", "fields": named, **more})))
    return page.locator("form.card").first


def save(card: Locator) -> None:
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved")


def test_a_secret_that_a_changed_command_carries_is_asked_for_again(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?mqtt=1*broker.example*1883*cellar*secret*leverframe*0")
    letters = [{"command": "mqtt", "letter": letter} for letter in "ABCDEFG"]
    card = show_card(open_page("more"), *letters)
    password = card.get_by_label("mqtt E")
    expect(password).to_have_attribute("type", "password")
    expect(password).to_have_value("")
    card.get_by_label("mqtt B").fill("other.example")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_contain_text("Type this again")
    expect(password).to_be_focused()
    password.fill("other secret")
    save(card)
    mqtt = twin.settings()["mqtt"]
    assert (mqtt["host"], mqtt["username"], mqtt["password"]) == ("other.example", "cellar", "***")


def test_a_connection_that_goes_after_saving_leaves_the_card_as_it_was_typed(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("more", allow=LOSSES)
    card = show_card(page, {"command": "oname", "at": {"A": 0}})
    page.route("**/api/start", lambda route: route.abort("connectionfailed"))
    card.get_by_label("oname").fill("Pump")
    with page.expect_event("requestfailed"):
        card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("button", name="Save")).to_be_enabled()
    expect(card.get_by_label("oname")).to_have_value("Pump")
    expect(card.get_by_role("alert")).to_have_count(0)
    assert twin.settings()["outputs"][0]["name"] == "Pump"


def test_codes_are_chosen_by_their_words_and_numbers_are_typed_in_real_units(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    card = show_card(
        open_page("more"),
        *({"command": "pidvalue", "letter": letter} for letter in "ABCG"),
    )
    card.get_by_label("pidvalue A").check()
    card.get_by_label("pidvalue B").select_option("DS1")
    card.get_by_label("pidvalue C").fill("21,55")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_have_text("Allowed in steps of 0.1.")
    card.get_by_label("pidvalue C").fill("21,5")
    save(card)
    pid = twin.settings()["pid"]
    assert (pid["enabled"], pid["source"], pid["target"], pid["kp"]) == (True, "DS1", 21.5, 0)


def test_a_part_of_a_command_leaves_its_other_parts_alone(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?imptimen=2")
    card = show_card(open_page("more"), {"command": "imptimen", "part": 0})
    card.get_by_label("imptimen 0").check()
    save(card)
    assert twin.settings()["impulse_time"] == [True, True]


def test_a_member_of_a_record_is_set_with_all_other_entries_as_they_are(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    before = twin.settings()["watchdog"]
    paths = {letter: f"watchdog.{index}" for index, letter in enumerate("ABCDEF")}
    card = show_card(
        open_page("more"),
        {"command": "wdog1", "letter": "B", "part": "host"},
        {"command": "wdog1", "letter": "B", "part": "interval"},
        paths={"wdog1": paths},
    )
    card.get_by_label("wdog1 host").fill("192.168.1.1")
    card.get_by_label("wdog1 interval").fill("30")
    save(card)
    after = twin.settings()["watchdog"]
    assert after[1] == before[1] | {"host": "192.168.1.1", "interval": 30}
    assert [after[0], *after[2:]] == [before[0], *before[2:]]


def test_a_list_grows_and_shrinks_within_its_limits(twin: ServedTwin, open_page: OpenPage) -> None:
    card = show_card(
        open_page("more"),
        {"command": "gsmnumber<A>", "at": {"A": 1}, "path": "gsm.sms.0.numbers"},
    )
    card.get_by_role("button", name="Add").click()
    card.get_by_role("textbox").fill("+48123456789")
    card.get_by_role("button", name="Add").click()
    card.get_by_role("textbox").nth(1).fill("12")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_contain_text("Not the right form")
    card.get_by_role("button", name="Remove").nth(1).click()
    save(card)
    assert twin.settings()["gsm"]["sms"][0]["numbers"] == ["+48123456789"]


def test_a_form_body_is_sent_as_the_command_reads_it(twin: ServedTwin, open_page: OpenPage) -> None:
    card = show_card(
        open_page("more"),
        {"command": "oled_save", "letter": "line11", "path": "oled.screens.0.lines.0"},
        {"command": "oled_save", "letter": "enabled", "path": "oled.enabled"},
    )
    card.get_by_label("oled_save line11").fill("Żar & 5 %")
    card.get_by_label("oled_save enabled").check()
    save(card)
    oled = twin.settings()["oled"]
    assert (oled["enabled"], oled["screens"][0]["lines"][0]) == (True, "Żar & 5 %")


@pytest.mark.parametrize(("count", "letters"), [(250, 1), (90, 150), (3, 8000)])
def test_what_one_request_does_not_take_goes_out_in_several(
    open_page: OpenPage, count: int, letters: int
) -> None:
    rows = f"Array.from({{length: {count}}}, () => row({letters}))"
    targets = open_page("more").evaluate(
        f"""async () => {{
          const {{ requestsOf }} = await import("/web/lib/request.js");
          const command = {{ path: "/x.cgi", query: (length) => "a".repeat(length) }};
          const row = (values) => ({{ command, values }});
          return requestsOf({rows}).map((request) => request.target);
        }}"""
    )
    queries = [target.removeprefix("/x.cgi?") for target in targets]
    assert all(len(query) <= http_limits().query_bytes for query in queries)
    assert all(query.count("&") < MAX_COMMANDS for query in queries)
    assert "&".join(queries) == "&".join(["a" * letters] * count)


def test_every_schema_of_the_table_can_be_drawn(open_page: OpenPage) -> None:
    # Nobody would put all commands on one card, and Chromium says so.
    page = open_page("more", allow=r"\[DOM\]")
    rows = page.evaluate("fetch('/api/commands').then((reply) => reply.json())")
    fields = [
        {"command": row["line"].partition("?")[2], "letter": field["letter"]}
        for row in rows
        if row["items"]
        for field in (row["body"] or {}).get("fields", row["fields"])
    ]
    card = show_card(page, *fields)
    expect(card.locator(".fields > .field")).to_have_count(len(fields))
