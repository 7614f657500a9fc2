"""Every kind of finding: on an open Status page within a second of its cause, and gone within a
second of its repair."""

from pathlib import Path

import pytest
import requests
from playwright.sync_api import Page, expect

from leverframe.host.controller.findings import SENTENCES
from leverframe.host.services import Sending
from leverframe.server.http.certificate import own_certificate
from leverframe.storage.sqlite import SqliteStore
from tests.clients.served_twin import HOST, PATIENCE_S, ServedTwin
from tests.host.controller.test_findings import CASES, Case
from tests.storage.test_sqlite_writing import lock_by_another_program
from tests.web.conftest import REFUSALS, OpenPage, Serve, within_a_second
from tests.web.signing_in import ADMIN, ask_for_passwords, sign_in_as

pytestmark = pytest.mark.needs_program("chromium")

DAY_S = 86_400
DONE, NOT_STORED = 200, 507
BROKER = Case(
    "trouble.MQTT broker",
    "mqtt",
    ["/stm.cgi?mqtt=1*127.0.0.1*1***cellar*0"],
    ["/stm.cgi?mqtt=0*127.0.0.1*1***cellar*0"],
)
WEAK = Case(
    "password_weak.guest",
    "accounts",
    ["POST /post.cgi?users_save &u0=guest*secret*1&&"],
    ["POST /post.cgi?users_save &u0=guest*a garden in May*1&&"],
)
#: What the settings of a twin alone do not make: how each is made real stands below.
OF_PARTS = {"trouble", "password_weak", "certificate_ends", "certificate_ended"}


def does(twin: ServedTwin, steps: list[str]) -> None:
    for step in steps:
        method, mark, rest = step.partition(" ")
        target, _, body = rest.partition(" ")
        answer = requests.request(
            method if mark else "GET",
            f"http://{HOST}:{twin.port}{target if mark else step}",
            data=body,
            auth=ADMIN,
            timeout=PATIENCE_S,
        )
        answer.raise_for_status()


def is_seen_and_goes(page: Page, twin: ServedTwin, case: Case) -> None:
    finding = page.locator(f".glance .finding[data-id='{case.id}']")
    expect(finding).to_have_count(0)
    does(twin, case.made)
    within_a_second(finding.is_visible, True)
    does(twin, case.repaired)
    within_a_second(finding.count, 0)


def a_refusing_disk_is_seen_and_goes(page: Page, twin: ServedTwin, file: Path) -> None:
    finding = page.locator(".glance .finding[data-id='trouble.store']")
    rename = f"http://{HOST}:{twin.port}/stm.cgi?oname=1Pump"
    with lock_by_another_program(file):
        assert requests.get(rename, timeout=PATIENCE_S).status_code == NOT_STORED
        within_a_second(finding.is_visible, True)
        expect(finding).to_contain_text("another program has locked the store")
    within_a_second(finding.count, 0)
    assert requests.get(rename, timeout=PATIENCE_S).status_code == DONE


def of_certificate(twin: ServedTwin, folder: Path) -> list[Case]:
    """A twin has no certificate to end: it is given one, and the clock is set around its end."""
    controller = twin.twin.controller
    certificate = own_certificate(folder, "leverframe-1", [])
    controller.findings.sources.append(lambda: certificate.findings(controller.clock.wall()))
    before, soon, after = (
        f"/stm.cgi?t_man={int(certificate.ends + days * DAY_S)}" for days in (-90, -5, 1)
    )
    return [
        Case("certificate_ends", "accounts", [before, soon], [before]),
        Case("certificate_ended", "accounts", [before, after], [before]),
    ]


@pytest.mark.thorough
def test_every_finding_appears_and_disappears_within_a_second(
    serve: Serve, open_page: OpenPage, tmp_path: Path
) -> None:
    sending = serve(sending=Sending(capture=False))
    is_seen_and_goes(open_page("status", of=sending), sending, BROKER)

    file = tmp_path / "store.db"
    stored = serve(store=SqliteStore(file))
    a_refusing_disk_is_seen_and_goes(open_page("status", of=stored), stored, file)

    twin = serve()
    page = open_page("status", of=twin, allow=REFUSALS)
    does(twin, ["POST /api/sim/snapshots?take=start "])
    cases = [*CASES, *of_certificate(twin, tmp_path)]
    for case in cases:
        is_seen_and_goes(page, twin, case)
        does(twin, ["POST /api/sim/snapshots?restore=start "])
        expect(page.locator(".glance .fine")).to_be_visible()

    page.goto("about:blank")
    ask_for_passwords(twin)
    sign_in_as(page, twin, ADMIN)
    page.goto(f"http://{HOST}:{twin.port}/#/status")
    expect(page.locator(".connection[data-kind=live]")).to_be_visible()
    is_seen_and_goes(page, twin, WEAK)
    made = {case.id.partition(".")[0] for case in (*cases, BROKER, WEAK)}
    assert made - {case.id.partition(".")[0] for case in CASES} == OF_PARTS


def test_every_kind_of_finding_has_a_case_that_is_seen_on_status() -> None:
    assert {case.id.partition(".")[0] for case in CASES} | OF_PARTS == SENTENCES.keys()
