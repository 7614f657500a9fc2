"""Tasks of the people who use a controller, each from Status, in no more clicks than stated.

Every click of the mouse counts. A choice of a list counts two more: to open it and to choose, and
the choice of a file one more, in the browser's own dialog. Typing does not, since Tab leads from
field to field.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from leverframe.host.services import Sending
from tests.clients.served_twin import HOST, ServedTwin
from tests.web.cards import card, find_card
from tests.web.conftest import REFUSALS, OpenPage, Serve
from tests.web.test_accounts_page import ADMIN, USER, sign_in, type_twice

pytestmark = pytest.mark.needs_program("chromium")

SENSOR = "28:FF:64:1E:8C:16:03:5A"
#: Rule 1: OUT0 is on while DS1 is at least 18 °C.
RULE = "/inpa.cgi?event=0*10*0*1800*200*0*0*0*0*0*0*0*1*0*0*0&eventon=0*1"
#: Nothing listens on this port.
NO_SERVER = "/stm.cgi?em1=127.0.0.1&em2=1&em5=keeper@example.org&em6=frame@example.org"
#: Kept over the sign-in page, which is another document.
COUNT = """addEventListener('click', ({ detail }) => {
  if (detail > 0) sessionStorage.clicks = Number(sessionStorage.clicks) + 1;
}, true)"""


class Person:
    """A user with a mouse, and the clicks that a task has taken so far."""

    def __init__(self, page: Page, twin: ServedTwin, folder: Path) -> None:
        self.page, self.twin, self.folder = page, twin, folder
        self._choices = 0

    def at_status(self) -> None:
        self.page.goto(f"http://{HOST}:{self.twin.port}/#/status")
        expect(self.page.locator("main[data-page=status][aria-busy=false]")).to_be_visible()
        self.page.evaluate("sessionStorage.clicks = 0")
        self._choices = 0

    def go(self, *ways: str) -> None:
        for way in ways:
            self.page.get_by_role("link", name=way, exact=True).first.click()

    def choose(self, field: Locator, value: str) -> None:
        field.select_option(value)
        self._choices += 2

    def choose_file(self, field: Locator, file: Path) -> None:
        with self.page.expect_file_chooser() as dialog:
            field.click()
        dialog.value.set_files(file)
        self._choices += 1

    @property
    def clicks(self) -> int:
        return int(self.page.evaluate("sessionStorage.clicks")) + self._choices


def drawer(page: Page) -> Locator:
    return page.locator("dialog.drawer")


def pulse_an_output(user: Person) -> None:
    user.page.locator("summary[aria-label='Output 1: on for']").click()
    user.page.get_by_role("button", name="10 s").click()
    expect(user.page.get_by_role("switch", checked=True)).to_have_count(2)


def find_why_mail_cannot_leave(user: Person) -> None:
    finding = user.page.locator(".glance .finding", has_text="E-mail")
    finding.get_by_role("link").click()
    reason = user.page.locator("main[data-page=messages] > .findings li")
    expect(reason).to_contain_text("127.0.0.1")


def name_an_output(user: Person) -> None:
    user.page.locator(".post[data-label=OUT2] a.name").click()
    drawer(user.page).get_by_role("button", name="Rename").click()
    user.page.keyboard.type("Roof fan")
    drawer(user.page).get_by_role("button", name="Save").click()
    expect(drawer(user.page).get_by_role("heading", name="Roof fan")).to_be_visible()


def see_why_an_output_is_on(user: Person) -> None:
    user.go("Things")
    user.page.locator(".things .rows").get_by_role("link", name="Output 0", exact=True).click()
    expect(drawer(user.page).locator(".chain")).to_contain_text("rule Rule 1")


def find_any_setting(user: Person) -> None:
    user.page.get_by_role("button", name="Search").click()
    expect(user.page.locator("dialog.search input")).to_be_focused()
    user.page.keyboard.type("name of the controller")
    # It says nothing more once it has looked through everything, and found something.
    expect(user.page.locator("dialog.search [role=status]")).to_have_text("")
    user.page.keyboard.press("Enter")
    expect(user.page.get_by_label("Name of the controller")).to_be_focused()


def try_the_mail(user: Person) -> None:
    user.go("Messages", "E-mail")
    user.page.get_by_label("Server", exact=False).first.fill("127.0.0.2")
    user.page.get_by_role("button", name="Save and send a test mail").click()
    expect(user.page.locator("form.card[data-changed]")).to_have_count(0)
    expect(find_card(user.page, "Test and recent mails").get_by_role("listitem")).not_to_have_count(
        0
    )


def connect_to_a_broker(user: Person) -> None:
    user.go("Messages", "MQTT")
    user.page.get_by_label("Connect to the broker").check()
    user.page.get_by_label("Host").fill("127.0.0.1")
    user.page.get_by_label("Port").fill("1")
    user.page.get_by_role("button", name="Save and test the connection").click()
    expect(user.page.locator(".guard")).to_contain_text("not connected")


def reset_a_meter(user: Person) -> None:
    user.go("Things", "Meter 2")
    second = drawer(user.page)
    second.get_by_role("button", name="Reset the counter").click()
    second.get_by_role("button", name="Reset the counter").click()
    expect(second).to_contain_text("The counter was reset.")


def keep_three_readings_of_a_modbus_meter(user: Person) -> None:
    user.go("Things", "Modbus devices: Add")
    form = drawer(user.page)
    form.get_by_label("SDM120", exact=True).check()
    for reading in ("Voltage", "Active power", "Import active energy"):
        form.get_by_label(reading, exact=True).check()
        form.get_by_label(f"Name of {reading}").fill(f"House {reading[:8]}")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form.locator("footer").get_by_role("status")).to_have_text("Saved")


def heat_by_a_new_sensor_but_not_at_night(user: Person) -> None:
    user.go("Things", "Sensors: Add")
    user.page.get_by_role("button", name="Assign").click()
    expect(user.page.locator(".found li", has_text=SENSOR)).to_contain_text("assigned to ")
    user.page.keyboard.press("Escape")
    user.go("Rules")
    user.page.get_by_role("button", name="New rule").click()
    user.page.get_by_role("button", name="Thermostat").click()
    form = user.page.locator("form.editor")
    form.get_by_label("Name", exact=True).fill("Night heating")
    user.choose(form.get_by_label("Source", exact=True), "DS1")
    form.get_by_label("Reference value").fill("18")
    form.get_by_label("Until").fill("20")
    user.choose(form.get_by_label("Action", exact=True), "OUT4")
    form.get_by_role("button", name="time of day").click()
    user.choose(form.get_by_label("Time window", exact=True), "out")
    form.get_by_role("button", name="Save and enable").click()
    expect(user.page.locator(".r", has_text="Night heating")).to_contain_text(
        "it is not between 22:00 and 06:00"
    )


def send_mail_when_the_door_opens(user: Person) -> None:
    user.go("Rules")
    user.page.get_by_role("button", name="New rule").click()
    user.page.get_by_role("button", name="Door alarm").click()
    form = user.page.locator("form.editor")
    form.get_by_label("Name", exact=True).fill("Door")
    expect(form.get_by_label("Text", exact=True)).to_have_value("Input 1 is open")
    form.get_by_label("Text", exact=True).fill("Door open")
    expect(form.get_by_label("Recipient")).to_have_value("keeper@example.org")
    form.get_by_role("button", name="Save and enable").click()
    rule = user.page.locator(".r", has_text="Input 1 is open → mail “Door open”")
    expect(rule.locator(".m")).to_have_text("met")
    assert user.twin.settings()["email"]["on_texts"][0] == "Door open"


def water_every_day(user: Person) -> None:
    user.go("Schedule")
    user.page.get_by_role("button", name="New entry").click()
    form = user.page.locator("form.editing")
    form.get_by_label("Name").fill("Watering")
    user.choose(form.get_by_label("Action"), "OUT5")
    form.get_by_label("Time of day").fill("06:30:00")
    form.get_by_role("button", name="Save").click()
    expect(
        user.page.get_by_role("button", name="Watering: at 06:30, every day").first
    ).to_be_visible()


def take_readings_to_a_table(user: Person) -> None:
    user.go("Charts")
    with user.page.expect_download() as download:
        user.page.get_by_role("link", name="Download as CSV").click()
    assert download.value.suggested_filename.endswith(".csv")


def restore_a_backup(user: Person) -> None:
    file = user.folder / "backup.bin"
    file.write_bytes(user.twin.get("/dev_settings.bin").content)
    user.go("System", "Backup and reset")
    restoring = find_card(user.page, "Restore")
    user.choose_file(restoring.get_by_label("Backup file"), file)
    restoring.get_by_role("button", name="Restore this backup").click()
    name = user.page.locator(".brand span").inner_text().strip()
    restoring.get_by_label("to confirm").fill(name)
    restoring.get_by_role("button", name="Restore this backup").click()
    expect(restoring.locator(".saved")).to_have_text("The backup was restored.")


def let_a_visitor_only_look(user: Person) -> None:
    user.go("System", "Accounts")
    people, form = user.page.locator(".people"), drawer(user.page)
    people.get_by_role("link", name="user").click()
    form.get_by_label("User account is read-only").check()
    type_twice(form, USER[1])
    form.get_by_role("button", name="Save").click()
    expect(people).to_contain_text("view only")
    user.page.keyboard.press("Escape")
    user.page.get_by_role("link", name="Set the password").click()
    type_twice(form, ADMIN[1])
    form.get_by_role("button", name="Save").click()
    expect(form.locator("footer .saved")).to_have_text("Saved")
    user.page.keyboard.press("Escape")
    signing_in = find_card(user.page, "Sign-in")
    signing_in.get_by_label("Ask for user name and password").check()
    signing_in.get_by_role("button", name="Save").click()
    user.page.wait_for_url("**/signin#/system**")


def change_the_own_password(user: Person) -> None:
    sign_in(user.page, user.twin, ADMIN)
    expect(user.page.locator(".connection[data-kind=live]")).to_be_visible()
    user.at_status()
    user.go("System", "Accounts")
    user.page.locator(".people").get_by_role("link", name="admin").click()
    own = drawer(user.page)
    own.get_by_label("Current password").fill(ADMIN[1])
    type_twice(own, "a garden in June")
    own.get_by_role("button", name="Save").click()
    expect(own.get_by_role("status")).to_have_text("Saved")


def regulate_a_simulated_room(user: Person) -> None:
    user.go("System", "Simulated board")
    plants = find_card(user.page, "Plants")
    user.choose(plants.get_by_label("Heating output"), "PWM0")
    plants.get_by_label("Outside").fill("5")
    plants.get_by_label("Temperature rise at full heating, °C").fill("40")
    plants.get_by_label("Time constant").fill("10m")
    plants.get_by_role("button", name="Wire").click()
    expect(plants.locator(".wired")).to_contain_text("PWM output 0")
    user.go("Things", "PID regulator")
    setting = card(user.page, "Setting")
    setting.get_by_label("Regulate").check()
    user.choose(setting.get_by_label("Input"), "DS1")
    setting.get_by_label("Target").fill("21")
    setting.get_by_label("Kp").fill("10")
    setting.get_by_role("button", name="Save").click()
    expect(user.page.get_by_role("switch", name="Regulator")).to_have_attribute(
        "aria-checked", "true"
    )


#: Those at the end ask for a password from then on.
TASKS: dict[Callable[[Person], None], int] = {
    pulse_an_output: 2,
    find_why_mail_cannot_leave: 1,
    name_an_output: 3,
    see_why_an_output_is_on: 2,
    find_any_setting: 1,
    try_the_mail: 3,
    connect_to_a_broker: 4,
    reset_a_meter: 4,
    keep_three_readings_of_a_modbus_meter: 7,
    heat_by_a_new_sensor_but_not_at_night: 19,
    send_mail_when_the_door_opens: 4,
    water_every_day: 5,
    take_readings_to_a_table: 2,
    regulate_a_simulated_room: 12,
    restore_a_backup: 6,
    let_a_visitor_only_look: 9,
    change_the_own_password: 4,
}


@pytest.mark.thorough
def test_each_task_takes_no_more_clicks_than_stated(
    serve: Serve, open_page: OpenPage, tmp_path: Path
) -> None:
    assert len(TASKS) == 17
    twin = serve(sending=Sending(capture=False))
    twin.get(RULE)
    twin.get(NO_SERVER)
    twin.get("/stm.cgi?testemail=1")
    twin.get(f"/sim.cgi?onewire={SENSOR}")
    twin.get("/stm.cgi?tname=0Greenhouse")
    twin.get("/inpa.cgi?powset=15000")
    twin.set_readings(DS1=21.5)
    page = open_page("status", of=twin, fresh=True, allow=REFUSALS)
    page.add_init_script(COUNT)
    page.reload()
    user = Person(page, twin, tmp_path)
    taken = {}
    for task in TASKS:
        if task is not change_the_own_password:
            user.at_status()
        task(user)
        taken[task] = user.clicks
    assert {task.__name__: count for task, count in taken.items() if count > TASKS[task]} == {}
