"""The Rules page in a real browser: rows that open in place, are tried, deleted and restored."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import LOSSES, PHONE, REFUSALS, OpenPage, Serve
from tests.web.test_pages import AXE, grave_violations

pytestmark = pytest.mark.needs_program("chromium")

#: When DS1 is at least 21.5 °C (hysteresis 0.5), after 3 s OUT2 on; when no longer, after 5 s off.
HEATING = "event=0*10*0*2150*50*0*2*0*0*0*0*5*1*3*0*0"
DOOR = "event=1*100*0*1*0*0*3*0*0*0*0*0*1*0*0*0"


def row(page: Page, number: int) -> Locator:
    return page.locator(".r").filter(has=page.locator(f"#rule-{number}"))


def editor(page: Page) -> Locator:
    return page.locator("form.editor")


def set_rules(twin: ServedTwin, *items: str) -> None:
    for item in items:
        twin.get(f"/inpa.cgi?{item}")


def test_rule_row_shows_its_state_opens_closes_and_moves(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING, "rulename=0*Heating", "eventon=0*1", DOOR)
    twin.set_readings(DS1=22)
    page = open_page("rules")
    heating = row(page, 1)
    expect(heating).to_contain_text("Thermometer 1 is at least 21.5 °C, until 21 °C → Output 2 on")
    expect(heating.locator(".m")).to_have_text("waiting")
    twin.get("/sim.cgi?advance=3")
    expect(heating.locator(".m")).to_have_text("met")
    expect(heating.locator(".l")).to_contain_text("Output 2 on")
    twin.get("/outs.cgi?out2=0")
    expect(heating.locator(".m")).to_have_text("met, held manually")
    found = page.locator(".findings li")
    expect(found.get_by_role("button", name="Return to rule")).to_be_visible()
    # What is found stands between the tools of the page and its rules, over neither.
    boxes = [page.locator(part).bounding_box() for part in (".head", ".findings", ".rules")]
    ends = [(box["y"], box["y"] + box["height"]) for box in boxes if box]
    assert all(end <= begin for (_, end), (begin, _) in pairwise(ends)), ends
    assert len(ends) == 3
    expect(row(page, 2).locator(".m")).to_have_text("switched off")
    row(page, 2).get_by_role("switch", name="Rule 2 enabled").click()
    expect(row(page, 2).locator(".m")).to_have_text("met")
    box = row(page, 2).bounding_box()
    assert box is not None
    assert box["height"] == 42

    heating.get_by_role("link", name="Heating").click()
    expect(page).to_have_url(re.compile(r"#/rules\?edit=1$"))
    expect(editor(page)).to_contain_text("Output 2 was switched by hand")
    expect(editor(page).get_by_label("Until")).to_have_value("21")
    page.emulate_media(media="print")
    expect(editor(page).locator(".acts, .trial .group").filter(visible=True)).to_have_count(0)
    page.emulate_media(media="screen")
    editor(page).get_by_role("button", name="Return to rule").click()
    expect(heating.locator(".m")).to_have_text("met")
    page.go_back()
    expect(editor(page)).to_have_count(0)

    page.get_by_label("Filter by name or thing").fill("input 1")
    expect(page.locator(".r")).to_have_count(1)
    page.get_by_label("Filter by name or thing").fill("zeppelin")
    expect(page.locator(".rules")).to_have_text("No rules match.")
    page.get_by_label("Filter by name or thing").fill("")
    page.locator("#rule-1").press("Alt+ArrowDown")
    expect(row(page, 2)).to_contain_text("Heating")
    assert [rule["name"] for rule in twin.settings()["rules"]] == ["", "Heating"]


@pytest.mark.thorough
def test_heating_rule_with_a_night_window_needs_few_clicks_and_is_removed_with_its_window(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(DS1=17)
    twin.get("/sim.cgi?advance=3600")
    page = open_page("rules")
    page.evaluate(
        "() => { window.clicks = 0; addEventListener('click', () => window.clicks++, true); }"
    )
    page.get_by_role("button", name="Thermostat").click()
    form = editor(page)
    form.get_by_label("Name", exact=True).fill("Night heating")
    form.get_by_label("Reference value").fill("18")
    form.get_by_label("Until").fill("20")
    form.get_by_role("button", name="time of day").click()
    form.get_by_label("Time window", exact=True).select_option("out")
    form.get_by_label("Days of the window").select_option(label="on weekdays")
    expect(form.locator(".trial")).to_contain_text("The rule would have acted")
    expect(form.locator(".trial .course path")).to_have_count(2)
    form.get_by_role("button", name="Save and enable").click()
    expect(row(page, 1)).to_contain_text("it is not between 22:00 and 06:00, on weekdays")
    # Each choice of a list is two clicks.
    assert page.evaluate("() => window.clicks") + 2 * 2 <= 12

    stored = twin.settings()
    assert stored["rules"][0]["name"] == "Night heating"
    assert stored["rules"][0]["source2"] == "EVENT8"
    begins, ends = (entry for entry in stored["schedule"] if entry)
    assert (begins["action"], begins["time"], ends["time"]) == ("EVENT8", 79200, 21600)
    assert (begins["days"][-1], ends["days"][-1]) == ("Fri", "Sat")

    page.locator("#rule-1").click()
    editor(page).get_by_role("button", name="Delete").click()
    expect(page.locator(".toast")).to_contain_text("Rule “Night heating” deleted")
    assert [entry for entry in twin.settings()["schedule"] if entry] == []
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(row(page, 1)).to_contain_text("it is not between 22:00 and 06:00, on weekdays")
    again = twin.settings()
    assert again["rules"] == stored["rules"]
    assert again["schedule"] == stored["schedule"]


@pytest.mark.thorough
def test_change_of_a_rule_with_dependents_needs_confirmation(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    needing = DOOR.replace("*1*0*0*0", "*1*0*21*0")
    set_rules(twin, HEATING, needing, "rulename=1*Door")
    page = open_page("rules?edit=1")
    editor(page).get_by_role("button", name="Delete").click()
    question = editor(page).get_by_role("group", name="Delete")
    expect(question).to_contain_text(
        "These rules depend on this rule or on what it switches: Door."
    )
    question.get_by_role("button", name="Cancel").click()
    editor(page).get_by_label("Reference value").fill("23")
    editor(page).get_by_role("button", name="Save", exact=True).click()
    expect(editor(page)).to_contain_text("Save anyway?")
    editor(page).get_by_role("group", name="Save").get_by_role("button", name="Save").click()
    expect(row(page, 1)).to_contain_text("at least 23 °C")


@pytest.mark.thorough
def test_rules_that_fight_loop_or_never_act_are_warned_of(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    opposite = HEATING.replace("event=0", "event=1").replace("*5*1*3", "*5*0*3")
    set_rules(twin, HEATING, opposite, "eventon=0*1", "eventon=1*1", "rulename=1*Cooling")
    twin.set_readings(DS1=20)
    page = open_page("rules?edit=1")
    expect(editor(page).locator(".advice")).to_contain_text(
        "Conflicts with rule Cooling over Output 2"
    )
    expect(row(page, 1).locator(".m")).to_have_text("cannot act")


@pytest.mark.thorough
def test_open_rule_is_moved_without_a_mouse_and_stays_open(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING, HEATING.replace("event=0", "event=1"))
    twin.get("/inpa.cgi?rulename=0*First&rulename=1*Second")
    page = open_page("rules?edit=1")
    editor(page).get_by_role("button", name="Move down").click()
    expect(page.locator(".r .name")).to_have_text(["Second", "First"])
    expect(editor(page).get_by_label("Name")).to_have_value("First")
    expect(page).to_have_url(re.compile(r"rules\?edit=2$"))
    expect(editor(page).get_by_role("button", name="Move down")).to_be_disabled()
    assert [rule["name"] for rule in twin.settings()["rules"]] == ["Second", "First"]


@pytest.mark.thorough
def test_rules_behind_empty_places_are_listed_moved_and_joined_by_new_ones(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    """As a client leaves them that sends entries 5 and 3 first; `< 1` is shown as the state 0."""
    below = DOOR.replace("event=1*100*0*1", "event=3*100*1*1")
    set_rules(twin, HEATING.replace("event=0", "event=5"), below)
    set_rules(twin, "rulename=5*Heating", "rulename=3*Door")
    page = open_page("rules")
    expect(page.locator(".r .name")).to_have_text(["Door", "Heating"])
    expect(row(page, 4)).to_contain_text("Input 1 is closed")
    page.get_by_role("button", name="New rule").click()
    page.locator(".templates").get_by_role("button", name="Empty rule").click()
    editor(page).get_by_label("Name", exact=True).fill("New")
    editor(page).get_by_role("button", name="Save without enabling").click()
    expect(page.locator(".r .name")).to_have_text(["New", "Door", "Heating"])
    page.locator("#rule-6").click()
    expect(editor(page).get_by_label("Name", exact=True)).to_have_value("Heating")
    editor(page).get_by_role("button", name="Move up").click()
    expect(page.locator(".r .name")).to_have_text(["New", "Heating", "Door"])
    expect(page).to_have_url(re.compile(r"rules\?edit=4$"))
    names = [rule and rule["name"] for rule in twin.settings()["rules"]]
    assert names == ["New", None, None, "Heating", "Door"]


def test_problems_refusals_and_foreign_changes_are_shown_beside_the_fields(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING)
    twin.set_readings(DS1=20)
    twin.get("/sim.cgi?advance=60")
    page = open_page("rules?edit=1", allow=f"{REFUSALS}|{LOSSES}")
    form = editor(page)
    # Its picture keeps showing the trial while something else is typed.
    expect(form.locator(".trial .course path")).to_have_count(2)
    reference = form.get_by_label("Reference value")
    save = form.get_by_role("button", name="Save", exact=True)
    reference.fill("warm")
    form.get_by_label("Delay before the start").fill("-1")
    save.click()
    alerts = form.get_by_role("alert")
    expect(alerts).to_have_count(2)
    expect(alerts.nth(0)).to_contain_text("Reference value: Not a number")
    reference.press("Escape")
    expect(reference).to_have_value("21.5")

    reference.fill("23")
    page.context.set_offline(True)
    save.click()
    expect(form.get_by_role("alert")).to_contain_text("could not be reached")
    page.context.set_offline(False)
    set_rules(twin, HEATING.replace("2150", "2000"))
    note = form.locator(".foreign")
    expect(note).to_contain_text("changed or moved elsewhere")
    expect(note.locator("dd")).to_have_text(
        [re.compile("^Thermometer 1 is at least 21.5 °C"), re.compile("is at least 20 °C")]
    )
    # What the sentence leaves out is shown by its setting.
    set_rules(twin, HEATING.replace("*5*1*3*", "*7*1*3*"))
    expect(note.locator("dd")).to_have_text([re.compile(": 5$|: 5 s$"), re.compile(": 7$|: 7 s$")])
    expect(reference).to_have_value("23")
    page.get_by_role("link", name="Status").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Unsaved changes")
    page.get_by_role("button", name="Stay").click()
    save.click()
    expect(row(page, 1)).to_contain_text("at least 23 °C")


@pytest.mark.thorough
def test_only_what_the_version_has_is_offered(serve: Serve, open_page: OpenPage) -> None:
    form = editor(open_page("rules?new=door_alarm", of=serve("3.0", "1.58a")))
    expect(form.get_by_label("Action")).to_have_value("eMail")
    expect(form.locator("option[value='DIFF6']")).to_have_count(0)
    expect(form.locator("option[value='OLED ON/NEXT SCREEN']")).to_have_count(0)
    expect(form.get_by_label("When it acts")).to_have_count(0)


@pytest.mark.thorough
def test_twenty_rules_are_accessible_on_a_phone(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, *(HEATING.replace("event=0", f"event={index}") for index in range(20)))
    page = open_page("rules?edit=1", viewport=PHONE)
    expect(page.get_by_text("All 20 places for rules are used.")).to_be_visible()
    expect(page.locator(".r")).to_have_count(20)
    page.evaluate(AXE)
    assert grave_violations(page, []) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.thorough
def test_any_change_is_tried_or_refused_in_words_and_nothing_is_done(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("rules", allow=REFUSALS)
    page.get_by_text("Try any command").first.click()
    page.get_by_label("Commands, one per line").fill("/outs.cgi?melt=1")
    page.get_by_role("button", name="Try the commands").click()
    expect(page.locator(".trial .refusal")).to_contain_text("Line 1")
    page.get_by_label("Commands, one per line").fill("/outs.cgi?ortime=0600\n/outs.cgi?out0=1")
    page.get_by_label("Simulated period").select_option("6")
    page.get_by_role("button", name="Try the commands").click()
    trial = page.locator(".trial")
    expect(trial).to_contain_text("2 differences")
    expect(trial.locator(".log li")).to_have_count(2)
    expect(trial.locator(".log")).to_contain_text("+ Output 0 off")
    expect(trial).to_contain_text("switched 0 times, on for 0 s; with the commands 2 times")
    assert twin.state()["OUT0"] == 0


@pytest.mark.thorough
def test_picture_of_a_trial_fits_a_phone_in_every_language(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING)
    twin.set_readings(DS1=20)
    twin.get("/sim.cgi?advance=60")
    for language in ("fr", "cs"):
        page = open_page("rules?edit=1", language=language, viewport=PHONE)
        expect(editor(page).locator(".trial .axis")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), language


@pytest.mark.thorough
def test_search_field_is_legible_in_a_language_of_long_words(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING)
    field = open_page("rules", language="hu").locator(".head input[type=search]")
    too_wide = """(field) => {
        field.value = field.placeholder;
        return field.scrollWidth - field.clientWidth;
    }"""
    assert field.evaluate(too_wide) <= 0


@pytest.mark.thorough
def test_back_closes_a_new_rule_without_a_question(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING)
    page = open_page("rules")
    for template in ("Thermostat", "Empty rule"):
        page.get_by_role("button", name="New rule").click()
        page.locator(".templates").get_by_role("button", name=template).click()
        expect(editor(page)).to_be_visible()
        page.go_back()
        expect(editor(page)).to_have_count(0)
        assert page.url.endswith("#/rules")


@pytest.mark.thorough
def test_editor_that_was_left_is_no_step_back(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING)
    page = open_page("status")
    page.locator("nav.groups").get_by_role("link", name="Rules").click()

    def begin() -> Locator:
        page.get_by_role("button", name="New rule").click()
        page.locator(".templates").get_by_role("button", name="Thermostat").click()
        return editor(page)

    def is_left() -> None:
        expect(editor(page)).to_have_count(0)
        expect(page).to_have_url(re.compile(r"#/rules$"))

    page.locator("#rule-1").click()
    editor(page).get_by_role("button", name="Cancel").click()
    is_left()
    begin().get_by_role("button", name="Cancel").click()
    is_left()
    begin().get_by_role("button", name="Save without enabling").click()
    is_left()
    page.locator("#rule-2").click()
    editor(page).get_by_role("button", name="Delete").click()
    is_left()
    page.locator("#rule-1").click()
    expect(editor(page)).to_be_visible()
    page.locator("#rule-1").click()
    is_left()
    # From one to the next, and a copy of that.
    page.locator("#rule-1").click()
    editor(page).get_by_role("button", name="Duplicate").click()
    expect(editor(page)).to_have_attribute("aria-label", "Rule 2")
    editor(page).get_by_role("button", name="Cancel").click()
    is_left()
    page.go_back()
    expect(page.locator("main[data-page=status]")).to_be_visible()


@pytest.mark.thorough
def test_rule_that_is_saved_on_the_way_back_leads_there(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING)
    page = open_page("status")
    page.locator("nav.groups").get_by_role("link", name="Rules").click()
    for answer, name in (("Leave without saving", ""), ("Save and continue", "Warm")):
        page.locator("#rule-1").click()
        editor(page).get_by_label("Name", exact=True).fill("Warm")
        page.go_back()
        page.get_by_role("button", name=answer).click()
        expect(editor(page)).to_have_count(0)
        expect(page).to_have_url(re.compile(r"#/rules$"))
        expect(row(page, 1)).to_contain_text(name or "Rule 1")
    page.go_back()
    expect(page.locator("main[data-page=status]")).to_be_visible()


@pytest.mark.thorough
def test_unsaved_rule_needs_confirmation_before_it_is_copied(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_rules(twin, HEATING)
    page = open_page("rules?edit=1")
    name = editor(page).get_by_label("Name", exact=True)
    name.fill("Warm")
    editor(page).get_by_role("button", name="Duplicate").click()
    page.get_by_role("button", name="Stay").click()
    expect(name).to_have_value("Warm")
    editor(page).get_by_role("button", name="Duplicate").click()
    page.get_by_role("button", name="Save and continue").click()
    expect(name).to_have_value("Warm 2")


def read_names(twin: ServedTwin) -> list[str]:
    return [rule["name"] for rule in twin.settings()["rules"]]


@pytest.mark.thorough
def test_concurrent_changes_to_rules_are_kept(twin: ServedTwin, open_page: OpenPage) -> None:
    set_rules(twin, HEATING, "rulename=0*Heating", DOOR, "rulename=1*Door")
    page = open_page("rules")
    form = editor(page)
    name = form.get_by_label("Name", exact=True)
    # Another user adds a rule while one is being written.
    page.get_by_role("button", name="New rule").click()
    page.locator(".templates").get_by_role("button", name="Empty rule").click()
    name.fill("Own")
    set_rules(twin, DOOR.replace("event=1", "event=2"), "rulename=2*Other")
    expect(row(page, 3)).to_contain_text("Other")
    expect(name).to_have_value("Own")
    form.get_by_role("button", name="Save without enabling").click()
    expect(form).to_have_count(0)
    assert read_names(twin) == ["Heating", "Door", "Other", "Own"]

    # Another user deletes the one before it.
    page.locator("#rule-2").click()
    name.fill("Gate")
    twin.get("/inpa.cgi?eventdel=0")
    expect(row(page, 1)).to_contain_text("Door")
    expect(form.locator(".foreign")).to_have_count(0)
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    assert read_names(twin) == ["Gate", "Other", "Own"]

    # Another user changes another field of it: what is seen is saved.
    page.locator("#rule-1").click()
    name.fill("Door")
    twin.get(f"/inpa.cgi?{DOOR.replace('event=1*100*0*1', 'event=0*100*0*0')}")
    expect(form.locator(".foreign")).to_contain_text("Saving overwrites it with what you see")
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    first = twin.settings()["rules"][0]
    assert (first["name"], first["reference"]) == ("Door", 1)

    # Another user deletes it.
    page.locator("#rule-3").click()
    name.fill("Mine")
    twin.get("/inpa.cgi?eventdel=2")
    expect(form.locator(".foreign")).to_contain_text("Saving adds it again")
    form.get_by_role("button", name="Save and enable").click()
    expect(form).to_have_count(0)
    assert read_names(twin) == ["Door", "Other", "Mine"]
    expect(row(page, 3)).to_contain_text("Mine")
