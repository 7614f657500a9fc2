"""The first run in a real browser: from Status to a first rule, left and continued."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import HOST, ServedTwin
from tests.web.conftest import REFUSALS, OpenPage
from tests.web.signing_in import ADMIN, ask_for_passwords, ready_to_sign_in

BOILER = "28:FF:64:1E:8C:16:03:5A"
GARDEN = "28:AA:00:1E:8C:16:03:11"
GOOD = "three wet tomatoes"


def test_fresh_controller_is_named_locked_and_set_to_work_in_five_steps(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get(f"/sim.cgi?onewire={BOILER}&onewire={GARDEN}")
    page = open_page("", allow=REFUSALS)
    base = f"http://{HOST}:{twin.port}"
    # A twin without passwords opens Status, which offers the first run.
    page.get_by_role("link", name="Start the first run").click()
    page.get_by_label("Name of the controller").fill("Greenhouse")
    page.get_by_label("Time zone").fill("Europe/Nowhere")
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_role("alert")).to_contain_text("is not a time zone of this machine")
    page.get_by_label("Time zone").fill("Europe/Prague")
    page.get_by_role("button", name="Save and continue").click()

    expect(page.get_by_label("New password")).to_be_visible()
    for typed, reason in (
        ("short", "5"),
        ("administrator", "lists of common passwords"),
        ("greenhouse 12", "a name that everyone can see"),
    ):
        page.get_by_label("New password").fill(typed)
        page.get_by_role("button", name="Save and continue").click()
        expect(page.get_by_role("alert")).to_contain_text(reason)
    page.get_by_label("New password").fill(GOOD)
    page.get_by_label("Repeat the password").fill("three wet tomatos")
    page.get_by_label("Show the password").check()
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_role("alert")).to_have_text("The passwords do not match.")
    assert twin.settings()["access"]["required"] is False
    page.get_by_label("Repeat the password").fill(GOOD)
    page.get_by_role("button", name="Save and continue").click()

    # The new password is asked for, and the way leads back here.
    expect(page.get_by_role("heading", name="Greenhouse")).to_be_visible()
    expect(page.get_by_label("Password")).to_be_focused()
    expect(page.get_by_label("User name")).to_have_value("admin")
    page.get_by_label("Password").fill(GOOD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Scan the buses").click()
    page.get_by_role("button", name="Scan again").click()
    expect(page.locator(".found code")).to_have_text([GARDEN, BOILER])
    page.get_by_role("button", name="Save and continue").click()

    # A sensor held in a hand is recognised by its rise.
    def measure(readings: str) -> None:
        page.request.post(f"{base}/sim.cgi?{readings}", headers={"Origin": base})

    expect(page.locator("[data-label=DS2]")).to_contain_text("steady")
    measure("DS2=31")
    expect(page.locator("[data-label=DS2]")).to_contain_text("rising now")
    expect(page.locator("[data-label=DS1]")).to_contain_text("steady")
    page.get_by_label(f"Name of the sensor {BOILER}").fill("Bench")
    # So is what is connected to an output, by a second of being on.
    page.get_by_role("button", name="Test 1 s: output 1").click()
    expect(page.locator("[data-label=OUT1][data-felt]")).to_be_visible()
    page.get_by_label("What is connected to 1?").fill("Pump")
    page.get_by_role("button", name="Save and continue").click()

    # Left here, it continues here: the address without a page leads back.
    expect(page.get_by_role("heading", name="A first rule")).to_be_visible()
    page.get_by_role("link", name="Continue later").click()
    expect(page.get_by_role("link", name="Continue the first run")).to_be_visible()
    page.goto(f"{base}/")
    page.get_by_label("Reading", exact=True).select_option("Bench")
    page.get_by_label("On at").fill("17,5")
    page.get_by_role("button", name="Save and finish").click()
    expect(page.locator("main[data-page=status][aria-busy=false]")).to_be_visible()
    expect(page.locator(".first-run")).to_have_count(0)
    # What was left without a name is there when it is asked for.
    levers = page.locator(".frame [role=switch]")
    expect(page.get_by_role("switch", name="Pump")).to_be_visible()
    shown = levers.count()
    page.get_by_role("switch", name="not in use").check()
    expect(page.get_by_role("switch", name="Output 5", exact=True)).to_be_visible()
    assert shown == 1 < levers.count()

    settings = page.request.get(f"{base}/api/settings").json()
    assert (settings["name"], settings["timezone"]) == ("Greenhouse", "Europe/Prague")
    assert settings["onewire"][1]["name"] == "Bench"
    assert settings["outputs"][1]["name"] == "Pump"
    (rule,) = settings["rules"]
    assert (rule["source"], rule["reference"], rule["hysteresis"]) == ("DS2", 17.5, 2.5)
    assert rule["enabled"]
    assert settings["ui"]["first_run"] == "done"


@pytest.mark.thorough
def test_skipped_step_is_called_skipped_and_can_be_done_after_all(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("firstrun")
    steps = page.locator(".steps li")
    for _ in range(3):
        page.get_by_role("button", name="Skip this step").click()
    expect(page.get_by_role("heading", name="Name sensors and outputs")).to_be_visible()
    expect(steps.nth(0)).to_contain_text("skipped")
    page.get_by_role("button", name="Do it now: Name and place").click()
    page.get_by_label("Name of the controller").fill("Greenhouse")
    page.get_by_role("button", name="Save and continue").click()
    # It continues where it was; finished steps are marked, also in another browser.
    expect(page.get_by_role("heading", name="Name sensors and outputs")).to_be_visible()
    for _ in range(2):
        expect(steps.locator("small")).to_have_text(
            ["done", "skipped", "skipped", "now", "to come"]
        )
        page.reload()
    assert twin.settings()["ui"]["first_run"] == "names"


@pytest.mark.thorough
def test_first_sign_in_opens_the_first_run_unless_the_address_names_a_page(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("")
    page.goto("about:blank")
    ask_for_passwords(twin)
    page.goto(f"http://{HOST}:{twin.port}/")
    ready_to_sign_in(page)
    page.get_by_label("User name").fill(ADMIN[0])
    page.get_by_label("Password").fill(ADMIN[1])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Name of the controller")).to_be_visible()
    page.goto(f"http://{HOST}:{twin.port}/#/status")
    expect(page.get_by_role("link", name="Start the first run")).to_be_visible()
    page.goto(f"http://{HOST}:{twin.port}/#/firstrun")
    page.get_by_role("button", name="Do not show the first run again").click()
    expect(page.locator("main[data-page=status][aria-busy=false]")).to_be_visible()
    expect(page.locator(".first-run")).to_have_count(0)
