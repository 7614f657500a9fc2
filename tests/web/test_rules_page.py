"""The Rules page in a real browser: rules as sentences, live, edited, tried and warned about."""

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import LOSSES, PHONE, REFUSALS, OpenPage, Serve
from tests.web.test_pages import AXE, grave_violations

pytestmark = pytest.mark.needs_program("chromium")

#: When DS1 is at least 21.5 °C (hysteresis 0.5), after 3 s OUT2 on; when no longer, after 5 s off.
HEATING = "event=0*10*0*2150*50*0*2*0*0*0*0*5*1*3*0*0"
SENTENCE = (
    "When DS1 is at least 21.5 °C (hysteresis 0.5) {now}, after 3 s set OUT2 on; "
    "when no longer, after 5 s set OUT2 off."
)


def card(page: Page, number: int) -> Locator:
    return page.get_by_role("article", name=f"Rule {number}")


def editor(page: Page) -> Locator:
    return page.locator("form.rule")


def set_rules(twin: ServedTwin, *items: str) -> None:
    for item in items:
        twin.get(f"/inpa.cgi?{item}")


def choose(editor: Locator, label: str, option: str, *, nth: int = 0) -> None:
    editor.get_by_label(label, exact=True).nth(nth).select_option(option)


def test_a_rule_reads_as_a_sentence_with_what_holds_now(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING, "eventon=0*1")
    twin.set_readings(DS1=20.1)
    rule = card(open_page("rules"), 1)
    expect(rule.locator(".sentence")).to_have_text(SENTENCE.format(now="20.1 °C false"))
    expect(rule.locator(".state")).to_have_text("not met")
    expect(rule.locator(".why")).to_have_text("It does not act: its conditions do not hold.")
    twin.set_readings(DS1=22)
    expect(rule.locator(".sentence")).to_have_text(SENTENCE.format(now="22.0 °C true"))
    twin.set_readings(DS1=None)
    expect(rule.locator(".why")).to_have_text("It does not act: DS1 is absent.")


def test_a_pending_delay_counts_down_and_the_firings_follow(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING, "eventon=0*1")
    twin.set_readings(DS1=22)
    rule = card(open_page("rules"), 1)
    expect(rule.locator(".why")).to_have_text("It begins in 3 s.")
    expect(rule.locator(".state")).to_have_text("waiting")
    twin.get("/sim.cgi?advance=1")
    expect(rule.locator(".why")).to_have_text("It begins in 2 s.")
    twin.get("/sim.cgi?advance=2")
    expect(rule.locator(".state")).to_have_text("met")
    expect(rule.locator(".strip li")).to_have_count(1)
    expect(rule.locator(".strip")).to_contain_text("began")
    twin.set_readings(DS1=15)
    expect(rule.locator(".why")).to_have_text("It ceases in 5 s.")


def test_the_rule_it_depends_on_is_named(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING, "event=1*100*0*1*0*0*3*0*0*0*0*0*1*0*21*0", "eventon=1*1")
    rule = card(open_page("rules"), 2)
    expect(rule.locator(".sentence")).to_contain_text("rule 1 (DS1 ≥ 21.5 °C → OUT2) is met")
    expect(rule.locator(".why")).to_have_text(
        "It does not act: rule 1 must be met, but it is disabled."
    )


def test_rules_that_fight_loop_or_never_act_are_warned_of(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    opposite = HEATING.replace("event=0", "event=1").replace("*5*1*3", "*5*0*3")
    flicker = "event=2*104*0*0*0*0*10*0*0*0*0*0*1*0*0*0"
    set_rules(twin, HEATING, opposite, flicker, "event=3*10*0*20000*0*0*5*0*0*0*0*0*1*0*0*0")
    set_rules(twin, "eventon=0*1", "eventon=1*1", "eventon=2*1")
    twin.set_readings(DS1=20)
    page = open_page("rules")
    expect(card(page, 1).locator(".advice")).to_contain_text("Fights over OUT2 with rule 2")
    expect(card(page, 2).locator(".advice")).to_contain_text("Fights over OUT2 with rule 1")
    expect(card(page, 3).locator(".advice")).to_contain_text("Loop: rule 3 sets itself off")
    expect(card(page, 4).locator(".advice")).to_have_text(
        "Rule 4 never acts: DS1 is between -55 and 125 and never gets to 200."
    )
    expect(card(page, 2).locator(".advice")).to_contain_text("it switches OUT2 on, also if rule 1")
    expect(page.get_by_text("Points to look at: 4.")).to_be_visible()


def test_a_rule_is_enabled_and_disabled_by_one_press(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING)
    rule = card(open_page("rules"), 1)
    expect(rule.locator(".state")).to_have_text("disabled")
    rule.get_by_role("switch", name="Rule 1 enabled").click()
    expect(rule.locator(".state")).to_have_text("not met")
    assert twin.settings()["rules"][0]["enabled"] is True
    rule.get_by_role("switch", name="Rule 1 enabled").click()
    expect(rule.locator(".state")).to_have_text("disabled")


def test_deleting_needs_a_second_press_and_later_rules_move_down(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING, "event=1*100*0*1*0*0*3*0*0*0*0*0*1*0*0*0")
    page = open_page("rules")
    card(page, 1).get_by_role("button", name="Delete the rule").click()
    expect(card(page, 1)).to_contain_text("The rule will be lost")
    assert len(twin.settings()["rules"]) == 2
    card(page, 1).get_by_role("button", name="Delete the rule").click()
    expect(card(page, 2)).to_have_count(0)
    expect(card(page, 1).locator(".sentence")).to_contain_text("When INPD1 is high (1)")


def test_a_change_between_a_deletion_and_the_next_reading_is_drawn(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING, "event=1*100*0*1*0*0*3*0*0*0*0*0*1*0*0*0")
    page = open_page("rules")
    held: list[Route] = []
    page.route("**/api/rules", lambda route: held.append(route))
    card(page, 1).get_by_role("button", name="Delete the rule").click()
    with page.expect_request("**/api/rules"):
        card(page, 1).get_by_role("button", name="Delete the rule").click()
    twin.get("/stm.cgi?sname=Cellar")
    expect(page.locator("header.top")).to_contain_text("Cellar")
    for route in held:
        route.continue_()
    page.unroute("**/api/rules")
    expect(card(page, 2)).to_have_count(0)


def test_a_new_rule_starts_from_a_template(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.set_readings(DS1=19)
    page = open_page("rules")
    expect(page.get_by_text("There are no rules yet.")).to_be_visible()
    page.get_by_role("button", name="Thermostat").click()
    form = editor(page)
    expect(form.get_by_label("Source", exact=True)).to_have_value("DS1")
    expect(form.locator(".now")).to_have_text("19.0 °C")
    expect(form.locator(".truth")).to_have_text("true")
    form.get_by_label("Reference value").fill("18,5")
    expect(form.locator(".truth")).to_have_text("false")
    form.get_by_role("button", name="Save and enable").click()
    expect(card(page, 1).locator(".sentence")).to_contain_text("When DS1 is below 18.5 °C")
    (rule,) = twin.settings()["rules"]
    assert (rule["source"], rule["compare"], rule["reference"]) == ("DS1", "<", 18.5)
    assert (rule["action"], rule["enabled"]) == ("OUT0", True)


def test_every_blank_of_the_newest_dialect_is_saved_and_shown_again(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING)
    page = open_page("rules?new=empty")
    form = editor(page)
    choose(form, "Source", "INPD2")
    choose(form, "State", "0")
    choose(form, "Second condition", "XOR")
    choose(form, "Source", "T1", nth=1)
    choose(form, "Comparison", "<")
    form.get_by_label("Reference value").fill("-3.25")
    form.get_by_label("Hysteresis").fill("0.75")
    choose(form, "Depends on", "21")
    choose(form, "Action", "PWM1")
    choose(form, "Value", "2")
    form.get_by_label("Delay before it begins").fill("7")
    form.get_by_label("Delay before it ceases").fill("9")
    choose(form, "When it acts", "1")
    form.get_by_role("switch", name="Keep the result").check()
    form.get_by_role("button", name="Save, not enabled yet").click()
    expect(card(page, 2)).to_be_visible()
    assert twin.settings()["rules"][1] == {
        "source": "INPD2",
        "compare": ">=",
        "reference": 0.0,
        "hysteresis": 0.0,
        "operator": "XOR",
        "action": "PWM1",
        "source2": "T1",
        "compare2": "<",
        "reference2": -3.25,
        "hysteresis2": 0.75,
        "off_delay": 9,
        "value": 2,
        "on_delay": 7,
        "depends": 21,
        "mode": 1,
        "enabled": False,
        "permanent": True,
    }
    card(page, 2).get_by_role("button", name="Edit").click()
    expect(form.get_by_label("Reference value")).to_have_value("-3.25")
    expect(form.get_by_label("Depends on")).to_have_value("21")
    expect(form.get_by_label("When it acts")).to_have_value("1")
    expect(form.get_by_role("button", name="Save", exact=True)).to_be_disabled()


@pytest.mark.thorough
def test_only_what_the_version_has_is_offered(serve: Serve, open_page: OpenPage) -> None:
    form = editor(open_page("rules?new=door_alarm", of=serve("3.0", "1.58a")))
    expect(form.get_by_label("Action")).to_have_value("eMail")
    expect(form.locator("option[value='DIFF6']")).to_have_count(0)
    expect(form.locator("option[value='OLED ON/NEXT SCREEN']")).to_have_count(0)
    expect(form.get_by_label("When it acts")).to_have_count(0)


def test_a_value_that_cannot_be_sent_is_told_beside_its_blank(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING)
    form = editor(open_page("rules?edit=1"))
    form.get_by_label("Reference value").fill("warm")
    form.get_by_label("Delay before it begins").fill("-1")
    form.get_by_role("button", name="Save", exact=True).click()
    alerts = form.get_by_role("alert")
    expect(alerts).to_have_count(2)
    expect(alerts.nth(0)).to_contain_text("Reference value: Not a number")
    expect(alerts.nth(1)).to_contain_text("Delay before it begins: Out of range")
    expect(form.get_by_label("Reference value")).to_have_value("warm")
    assert twin.settings()["rules"][0]["reference"] == 21.5


def test_a_refusal_of_the_controller_stands_beside_its_blank(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING)
    page = open_page("rules?edit=1", allow=REFUSALS)
    form = editor(page)
    # What the page would not send: a source of another version.
    form.get_by_label("Delay before it begins").fill("4")
    page.route(
        "**/inpa.cgi?event=*",
        lambda route: route.continue_(url=route.request.url.replace("event=0*10*", "event=0*999*")),
    )
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("999 is no rule source code")
    expect(form.get_by_label("Delay before it begins")).to_have_value("4")


def test_nothing_typed_is_lost_with_the_connection(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING)
    page = open_page("rules?edit=1", allow=LOSSES)
    form = editor(page)
    form.get_by_label("Reference value").fill("23")
    page.context.set_offline(True)
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("could not be reached")
    expect(form.get_by_label("Reference value")).to_have_value("23")
    page.context.set_offline(False)
    form.get_by_role("button", name="Save", exact=True).click()
    expect(card(page, 1).locator(".sentence")).to_contain_text("at least 23 °C")


def test_escape_restores_and_leaving_asks(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING)
    page = open_page("rules?edit=1")
    form = editor(page)
    form.get_by_label("Reference value").fill("23")
    page.get_by_role("link", name="Status").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("There are unsaved changes")
    page.get_by_role("button", name="Stay").click()
    form.get_by_label("Reference value").press("Escape")
    expect(form.get_by_label("Reference value")).to_have_value("21.5")


def test_a_rule_is_read_as_a_request(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING)
    page = open_page("rules")
    card(page, 1).get_by_text("As request").click()
    address = f"http://127.0.0.1:{twin.port}/inpa.cgi?{HEATING}"
    expect(card(page, 1).locator("pre")).to_have_text(f"curl -X POST '{address}'")


def test_a_rule_changed_elsewhere_shows_at_once_and_is_told_in_the_editor(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING, "event=1*100*0*1*0*0*3*0*0*0*0*0*1*0*0*0")
    page = open_page("rules?edit=1")
    editor(page).get_by_label("Reference value").fill("23")
    set_rules(twin, HEATING.replace("2150", "2000"), "event=1*100*0*0*0*0*3*0*0*0*0*0*1*0*0*0")
    expect(card(page, 2).locator(".sentence")).to_contain_text("INPD1 is low (0)")
    expect(editor(page)).to_contain_text("changed or moved elsewhere")
    expect(editor(page).get_by_label("Reference value")).to_have_value("23")


def test_what_only_the_settings_show_is_followed_too(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING)
    rule = card(open_page("rules"), 1)
    expect(rule.locator(".sentence")).to_be_visible()
    set_rules(twin, "eventper=0*1")
    expect(rule.locator(".sentence")).to_contain_text("It is kept so as long as the rule is met.")


def test_rules_and_their_blanks_can_be_used_by_everybody(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    two = HEATING.replace("event=0", "event=1").replace("*50*0*2*0*0", "*50*1*2*100*0")
    set_rules(twin, HEATING, two, "eventon=0*1", "eventon=1*1")
    twin.set_readings(DS1=25)
    page = open_page("rules?edit=2", theme="dark")
    expect(editor(page)).to_be_visible()
    expect(card(page, 1).locator(".advice")).to_be_visible()
    page.evaluate(AXE)
    assert grave_violations(page, []) == []


def test_a_rule_is_tried_on_what_was_recorded(twin: ServedTwin, open_page: OpenPage) -> None:
    for degrees in (20, 22, 20):
        twin.set_readings(DS1=degrees)
        twin.get("/sim.cgi?advance=60")
    set_rules(twin, HEATING)
    form = editor(open_page("rules?edit=1"))
    form.get_by_role("button", name="What would have happened").click()
    expect(form.locator(".trial")).to_contain_text("begun: 1 times; ceased: 1 times")
    expect(form.locator(".trial .strip li")).to_have_count(2)
    form.get_by_label("Reference value").fill("25")
    expect(form.locator(".trial")).to_have_count(0)


def test_twenty_rules_fit_on_a_phone_and_leave_no_place_for_more(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    items = [HEATING.replace("event=0", f"event={index}") for index in range(20)]
    set_rules(twin, "&".join(items))
    page = open_page("rules", language="hu", viewport=PHONE)
    expect(page.get_by_role("article")).to_have_count(20)
    expect(page.get_by_text("Mind a(z) 20 szabályhely foglalt.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_any_change_is_tried_and_nothing_is_done(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("rules")
    page.get_by_label("Commands, one in a line").fill("/outs.cgi?ortime=0600\n/outs.cgi?out0=1")
    page.get_by_label("Hours ahead").select_option("6")
    page.get_by_role("button", name="Try the commands").click()
    told = page.locator(".trial")
    expect(told).to_contain_text("What differs: 2")
    expect(told.locator(".log li")).to_have_count(2)
    expect(told.locator(".log")).to_contain_text("+ OUT0 off")
    expect(told).to_contain_text("OUT0: switched 0 times, 0.00 h on; with the commands 2 times")
    assert twin.state()["OUT0"] == 0


def test_a_change_that_cannot_be_tried_is_refused_in_words(open_page: OpenPage) -> None:
    page = open_page("rules", allow=REFUSALS)
    page.get_by_label("Commands, one in a line").fill("/outs.cgi?melt=1")
    page.get_by_role("button", name="Try the commands").click()
    expect(page.locator(".trial .refusal")).to_contain_text("Line 1")
