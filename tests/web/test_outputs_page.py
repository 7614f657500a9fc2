"""The Outputs page in a real browser, and with it what every card of settings does."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save
from tests.web.conftest import REFUSALS, OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def test_every_field_of_an_output_is_saved_and_shown_again(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("outputs")
    out2 = card(page, "OUT2")
    out2.get_by_label("Name").fill("Ogród *&=+%'")
    out2.get_by_label("Off by itself after").fill("1 min 5 s")
    out2.get_by_label("Switch on and off periodically").check()
    out2.get_by_label("Time on").fill("60")
    out2.get_by_label("Time off").fill("120")
    out2.get_by_label("On after the controller’s start").check()
    out2.get_by_label("Wait after the start").fill("7")
    out2.get_by_label("Return to the last state after a restart").check()
    save(out2)

    page.reload()
    expect(out2.get_by_label("Name")).to_have_value("Ogród *&=+%'")
    expect(out2.get_by_label("Time off")).to_have_value("2 min")
    expect(out2.get_by_label("On after the controller’s start")).to_be_checked()
    assert twin.settings()["outputs"][2] == {
        "name": "Ogród *&=+%'",
        "return_time": 65,
        "periodic": True,
        "on_time": 60,
        "off_time": 120,
        "on_after_start": True,
        "start_delay": 7,
        "remember": True,
    }


def test_the_flags_of_all_outputs_are_saved(twin: ServedTwin, open_page: OpenPage) -> None:
    flags = card(open_page("outputs"), "All outputs")
    flags.get_by_label("Show states inverted").check()
    flags.get_by_label("Lock outputs").check()
    save(flags)
    assert twin.settings()["output_flags"] == {"invert_display": True, "lock": True}


def test_only_what_was_changed_is_sent(open_page: OpenPage) -> None:
    page = open_page("outputs")
    out0 = card(page, "OUT0")
    out0.get_by_label("Name").fill("Lamp")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        out0.get_by_label("Name").press("Enter")
    assert sent.value.url.endswith("/stm.cgi?oname=0Lamp")


def test_a_value_out_of_range_is_refused_before_sending(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("outputs")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    out1 = card(page, "OUT1")
    out1.get_by_label("Off by itself after").fill("-1")
    out1.get_by_role("button", name="Save").click()
    expect(out1.get_by_role("alert")).to_have_text("Not a time. Write 10 s, 5 min or 1 h 25 min.")
    expect(out1.get_by_label("Off by itself after")).to_have_value("-1")
    assert "POST" not in sent


def test_a_refusal_of_the_controller_stands_beside_its_field(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("outputs", allow=REFUSALS)
    out1 = card(page, "OUT1")
    out1.get_by_label("Time on").fill("9")
    out1.get_by_label("Name").fill("two\N{LINE SEPARATOR}lines")
    out1.get_by_role("button", name="Save").click()
    field = out1.locator(".field").filter(has=page.get_by_label("Name"))
    expect(field.get_by_role("alert")).to_contain_text("control character")
    expect(out1.get_by_label("Time on")).to_have_value("9")
    assert twin.settings()["outputs"][1]["name"] == ""


def test_escape_restores_and_changed_fields_are_marked(open_page: OpenPage) -> None:
    out0 = card(open_page("outputs"), "OUT0")
    out0.get_by_label("Name").fill("Lamp")
    expect(out0.get_by_text("changed")).to_be_visible()
    out0.get_by_label("Name").press("Escape")
    expect(out0.get_by_label("Name")).to_have_value("")
    expect(out0.get_by_text("changed")).to_have_count(0)


def test_the_requests_of_a_card_can_be_read_as_curl(twin: ServedTwin, open_page: OpenPage) -> None:
    out3 = card(open_page("outputs"), "OUT3")
    out3.get_by_label("Off by itself after").fill("30")
    out3.get_by_text("As request").click()
    address = f"http://127.0.0.1:{twin.port}/outs.cgi?ortime=330"
    expect(out3.locator("pre")).to_have_text(f"curl -X POST '{address}'")


def test_what_another_page_saves_shows_without_touching_what_is_typed(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    out4 = card(open_page("outputs"), "OUT4")
    out4.get_by_label("Name").fill("Lamp")
    twin.get("/outs.cgi?ouet=444")
    expect(out4.get_by_label("Wait after the start")).to_have_value("44 s")
    expect(out4.get_by_label("Name")).to_have_value("Lamp")
    twin.get("/stm.cgi?oname=4Pump")
    expect(out4).to_contain_text("Changed elsewhere meanwhile: was “”, is “Pump” now.")
    expect(out4.get_by_label("Name")).to_have_value("Lamp")


@pytest.mark.thorough
def test_a_version_without_a_command_has_no_field_for_it(serve: Serve, open_page: OpenPage) -> None:
    out0 = card(open_page("outputs", of=serve("3.0", "1.58a")), "OUT0")
    expect(out0.get_by_label("On after the controller’s start")).to_be_visible()
    expect(out0.get_by_label("Return to the last state after a restart")).to_have_count(0)
