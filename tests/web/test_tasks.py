"""Tasks of the people who use a controller, each from Status, in no more clicks than stated.

Every click of the mouse counts. A choice of a list counts two more: to open it and to choose.
Typing does not, since Tab leads from field to field.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import HOST, ServedTwin
from tests.web.cards import card, titled
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.needs_program("chromium")

SENSOR = "28:FF:64:1E:8C:16:03:5A"
#: Rule 1: OUT0 is on while DS1 is at least 18 °C.
RULE = "/inpa.cgi?event=0*10*0*1800*200*0*0*0*0*0*0*0*1*0*0*0&eventon=0*1"
#: Rule 2 sends mail, while no server is set up.
MAIL = "/inpa.cgi?event=1*100*0*0*0*0*28*0*0*0*0*0*1*0*0*0&eventon=1*1"
COUNT = (
    "window.clicks = 0; addEventListener('click', (one) => window.clicks += one.detail > 0, true)"
)


class Person:
    """Somebody with a mouse, and the clicks that a task has taken so far."""

    def __init__(self, page: Page, twin: ServedTwin, folder: Path) -> None:
        self.page, self.twin, self.folder = page, twin, folder
        self._choices = 0

    def at_status(self) -> None:
        self.page.goto(f"http://{HOST}:{self.twin.port}/#/status")
        expect(self.page.locator("main[data-page=status][aria-busy=false]")).to_be_visible()
        self.page.evaluate("window.clicks = 0")
        self._choices = 0

    def go(self, *ways: str) -> None:
        for way in ways:
            self.page.get_by_role("link", name=way, exact=True).first.click()

    def choose(self, field: Locator, value: str) -> None:
        field.select_option(value)
        self._choices += 2

    @property
    def clicks(self) -> int:
        return int(self.page.evaluate("window.clicks")) + self._choices


def drawer(page: Page) -> Locator:
    return page.locator("dialog.drawer")


def pulse_an_output(who: Person) -> None:
    who.page.locator("summary[aria-label='Output 1: on for']").click()
    who.page.get_by_role("button", name="10 s").click()
    expect(who.page.get_by_role("switch", checked=True)).to_have_count(2)


def find_why_mail_cannot_leave(who: Person) -> None:
    who.page.locator(".glance .finding").get_by_role("link").first.click()
    expect(who.page.locator("main[data-page=email] > .findings li")).to_be_visible()


def name_an_output(who: Person) -> None:
    who.page.goto(f"http://{HOST}:{who.twin.port}/#/things")
    listed = who.page.locator(".things .rows")
    listed.get_by_role("link", name="Output 2", exact=True).click()
    drawer(who.page).get_by_role("button", name="Rename").click()
    who.page.keyboard.type("Roof fan")
    drawer(who.page).get_by_role("button", name="Save").click()
    expect(drawer(who.page).get_by_role("heading", name="Roof fan")).to_be_visible()


def see_why_an_output_is_on(who: Person) -> None:
    who.go("Things")
    who.page.locator(".things .rows").get_by_role("link", name="Output 0", exact=True).click()
    expect(drawer(who.page).locator(".chain")).to_contain_text("rule Rule 1")


def find_the_rule_that_uses_a_sensor(who: Person) -> None:
    who.go("Things")
    who.page.locator(".things .rows").get_by_role("link", name="Greenhouse", exact=True).click()
    expect(drawer(who.page)).to_contain_text("Rules compare with 18.0 °C.")


def find_any_setting(who: Person) -> None:
    who.page.get_by_role("button", name="Search").click()
    expect(who.page.locator("dialog.search input")).to_be_focused()
    who.page.keyboard.type("name of the controller")
    # It says nothing more once it has looked through everything, and found something.
    expect(who.page.locator("dialog.search [role=status]")).to_have_text("")
    who.page.keyboard.press("Enter")
    expect(who.page.get_by_label("Name of the controller")).to_be_focused()


def try_the_mail(who: Person) -> None:
    who.go("Messages")
    who.page.get_by_label("Server", exact=False).first.fill("mail.example")
    who.page.get_by_role("button", name="Save and send a test mail").click()
    expect(titled(who.page, "Test and last mails").get_by_role("listitem")).not_to_have_count(0)


def connect_to_a_broker(who: Person) -> None:
    who.go("Messages", "MQTT")
    who.page.get_by_label("Connect to the broker").check()
    who.page.get_by_label("Host").fill("127.0.0.1")
    who.page.get_by_label("Port").fill("1")
    who.page.get_by_role("button", name="Save and try the connection").click()
    expect(who.page.locator(".guard")).to_contain_text("not connected")


def reset_a_meter(who: Person) -> None:
    who.go("Things", "Power and energy")
    second = card(who.page, "POWER2")
    second.get_by_role("button", name="Reset the counter").click()
    second.get_by_role("button", name="Reset the counter").click()
    expect(second).to_contain_text("The counter was reset.")


def give_a_new_sensor_a_place(who: Person) -> None:
    who.go("Things", "1-Wire")
    who.page.get_by_role("button", name="Scan the 1-Wire bus").click()
    who.page.get_by_role("button", name="Assign").click()
    expect(who.page.locator(".found li", has_text=SENSOR)).to_contain_text("is DS")


def restore_a_backup(who: Person) -> None:
    file = who.folder / "backup.bin"
    file.write_bytes(who.twin.get("/dev_settings.bin").content)
    who.go("System", "Backup and reset")
    restoring = titled(who.page, "Restore")
    restoring.get_by_label("Backup file").set_input_files(file)
    restoring.get_by_role("button", name="Restore this backup").click()
    name = who.page.locator(".brand span").inner_text().strip()
    restoring.get_by_label("to confirm").fill(name)
    restoring.get_by_role("button", name="Restore this backup").click()
    expect(restoring.get_by_role("status")).to_have_text("The backup was restored.")


def let_the_user_only_look(who: Person) -> None:
    who.go("System")
    who.page.get_by_label("The user account may only look").check()
    form = who.page.locator("form.card[data-changed]")
    form.get_by_role("button", name="Save").click()
    expect(who.page.locator("form.card .saved", has_text="Saved")).to_be_visible()


def regulate_a_simulated_room(who: Person) -> None:
    who.go("System", "Simulated board")
    plants = titled(who.page, "Plants")
    who.choose(plants.get_by_label("Output that heats"), "PWM0")
    plants.get_by_label("Outside").fill("5")
    plants.get_by_label("Degrees that full heating adds").fill("40")
    plants.get_by_label("Time constant").fill("10m")
    plants.get_by_role("button", name="Wire").click()
    expect(plants.locator(".wired")).to_contain_text("PWM0")
    who.go("Things", "PID regulator")
    setting = card(who.page, "Setting")
    setting.get_by_label("Regulate").check()
    who.choose(setting.get_by_label("Input"), "DS1")
    setting.get_by_label("Target").fill("21")
    setting.get_by_label("Kp").fill("10")
    setting.get_by_role("button", name="Save").click()
    expect(who.page.get_by_role("switch", name="Regulator")).to_have_attribute(
        "aria-checked", "true"
    )


#: The choice of a file counts as one click, though its dialog is the browser's.
TASKS: dict[Callable[[Person], None], int] = {
    pulse_an_output: 2,
    find_why_mail_cannot_leave: 1,
    name_an_output: 3,
    see_why_an_output_is_on: 2,
    find_the_rule_that_uses_a_sensor: 2,
    find_any_setting: 1,
    try_the_mail: 2,
    connect_to_a_broker: 4,
    reset_a_meter: 4,
    give_a_new_sensor_a_place: 4,
    restore_a_backup: 5,
    let_the_user_only_look: 3,
    regulate_a_simulated_room: 12,
}


@pytest.mark.thorough
def test_each_task_takes_no_more_clicks_than_stated(
    twin: ServedTwin, open_page: OpenPage, tmp_path: Path
) -> None:
    twin.get(RULE)
    twin.get(MAIL)
    twin.get(f"/sim.cgi?onewire={SENSOR}")
    twin.get("/stm.cgi?tname=0Greenhouse")
    twin.get("/inpa.cgi?powset=15000")
    twin.set_readings(DS1=21.5)
    page = open_page("status")
    page.evaluate(COUNT)
    who = Person(page, twin, tmp_path)
    taken = {}
    for task in TASKS:
        who.at_status()
        task(who)
        taken[task] = who.clicks
    assert {task.__name__: count for task, count in taken.items() if count > TASKS[task]} == {}
