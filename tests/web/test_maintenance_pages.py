"""Backup, reset, firmware and log in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from leverframe.interface.uploads.site import pack_site
from tests.clients.served_twin import HOST, ServedTwin, eventually
from tests.web.cards import find_card
from tests.web.conftest import REFUSALS, OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")

#: What Chromium says while the bootloader answers nothing else.
WAITING = r"the server responded with a status of 503|net::ERR_|ERR_INCOMPLETE_CHUNKED"


def device_name(page: Page) -> str:
    shown = page.locator(".brand span").inner_text()
    return shown.removeprefix(" · ").strip()


def confirm(page: Page, heading: str, button: str) -> None:
    """Press, type the name of the controller, press again."""
    place = find_card(page, heading)
    place.get_by_role("button", name=button).click()
    second = place.get_by_role("button", name=button)
    expect(second).to_be_disabled()
    place.get_by_label("to confirm").fill(device_name(page))
    second.click()


def download(page: Page, file: Path, passphrase: str) -> None:
    card = find_card(page, "Backup")
    card.get_by_label("Passphrase", exact=True).fill(passphrase)
    if passphrase:
        # Asked twice: a mistyped one would seal the passwords for ever.
        button = card.get_by_role("button", name="Download the backup")
        card.get_by_label("Repeat the passphrase").fill("mistyped")
        expect(card.get_by_text("The two passphrases do not match.")).to_be_visible()
        expect(button).to_be_disabled()
        card.get_by_label("Repeat the passphrase").fill(passphrase)
        expect(button).to_be_enabled()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the backup").click()
    download.value.save_as(file)
    assert download.value.suggested_filename.startswith(device_name(page))


def test_backups_are_downloaded_and_restored_and_a_reset_needs_the_name_typed(
    twin: ServedTwin, open_page: OpenPage, tmp_path: Path
) -> None:
    twin.get("/stm.cgi?oname=1Pump&em4=a+secret")
    page = open_page("backup", allow=REFUSALS)
    expect(page.get_by_text("The flag is not set.")).to_be_visible()
    page.get_by_role("button", name="Set the flag").click()
    expect(page.get_by_text("The flag is set.")).to_be_visible()
    assert twin.state()["restart"] == 1

    # A file that is no backup changes nothing.
    restoring = find_card(page, "Restore")
    restoring.get_by_label("Backup file").set_input_files(
        {"name": "x.bin", "mimeType": "application/octet-stream", "buffer": b"no backup"}
    )
    expect(restoring.locator(".refusal")).to_contain_text("backup")
    expect(restoring.get_by_role("button", name="Restore this backup")).to_be_disabled()
    assert twin.settings()["outputs"][1]["name"] == "Pump"

    button = restoring.get_by_role("button", name="Restore this backup")
    for passphrase, opens, secret in (
        ("correct horse", True, "***"),
        ("correct horse", False, None),
        ("", False, None),
    ):
        twin.get("/stm.cgi?em4=a+secret")
        file = tmp_path / "backup.bin"
        download(page, file, passphrase)
        twin.get("/stm.cgi?oname=1Other&em4=")
        restoring.get_by_label("Backup file").set_input_files(file)
        if passphrase:
            # Losses are named before, and have to be confirmed.
            expect(restoring).to_contain_text("encrypted with a passphrase: E-mail · Password.")
            expect(button).to_be_disabled()
            without = restoring.get_by_role("switch", name="Restore without these passwords")
            without.check()
            expect(button).to_be_enabled()
            expect(restoring.get_by_label("Passphrase")).to_have_count(0)
            if opens:
                without.uncheck()
                expect(button).to_be_disabled()
                restoring.get_by_label("Passphrase").fill(passphrase)
                restoring.get_by_role("button", name="Show what would change").click()
        else:
            expect(restoring).to_contain_text("These are not restored: E-mail · Password.")
        # It is seen before it is done.
        restoring.locator("summary", has_text="Other").click()
        expect(restoring.get_by_text("Name: “Other” → “Pump”")).to_be_visible()
        assert twin.settings()["outputs"][1]["name"] == "Other"
        confirm(page, "Restore", "Restore this backup")
        expect(restoring.locator(".saved")).to_have_text("The backup was restored.")
        eventually(lambda: twin.settings()["outputs"][1]["name"], "Pump")
        assert twin.settings()["email"]["password"] == secret
        page.reload()

    reset = find_card(page, "Factory settings")
    reset.get_by_role("button", name="Reset to factory settings").click()
    expect(reset.get_by_text("energy counters are lost")).to_be_visible()
    reset.get_by_label("to confirm").fill("something else")
    expect(reset.get_by_role("button", name="Reset to factory settings")).to_be_disabled()
    reset.get_by_role("button", name="Cancel").click()
    assert twin.settings()["outputs"][1]["name"] == "Pump"
    confirm(page, "Factory settings", "Reset to factory settings")
    expect(reset.get_by_role("status")).to_have_text("The factory settings were restored.")
    assert twin.settings()["outputs"][1]["name"] == ""


@pytest.mark.thorough
def test_settings_not_carried_over_are_listed(
    serve: Serve, open_page: OpenPage, twin: ServedTwin
) -> None:
    old = serve("3.0", "1.58a")
    twin.get("/stm.cgi?diffname=3Attic")
    backup = twin.get("/dev_settings.bin").content
    page = open_page("backup", of=old)
    find_card(page, "Restore").get_by_label("Backup file").set_input_files(
        {"name": "new.bin", "mimeType": "application/octet-stream", "buffer": backup}
    )
    confirm(page, "Restore", "Restore this backup")
    report = find_card(page, "Not carried over")
    expect(report.get_by_role("row").nth(1)).to_be_visible()
    listed = old.get("/api/restore-report").json()
    expect(report.get_by_role("row")).to_have_count(len(listed) + 1)
    expect(report).to_contain_text(listed[0]["reason"])
    expect(report).to_contain_text("Difference 4 · Name")


@pytest.mark.thorough
def test_bootloader_counts_down_and_the_page_comes_back(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("firmware", allow=WAITING)
    confirm(page, "Firmware", "Start the bootloader")
    expect(page.get_by_role("timer")).to_contain_text("The bootloader waits 60 s for an image.")
    twin.get("/sim.cgi?advance=20")
    expect(page.get_by_role("timer")).to_contain_text("The bootloader waits 40 s for an image.")
    twin.get("/sim.cgi?advance=41")
    expect(page.get_by_text("SW 1.75 has restarted; no other image was installed.")).to_be_visible()
    expect(page.locator(".connection[data-kind=live]")).to_be_visible()


@pytest.mark.thorough
def test_uploaded_site_answers_and_the_built_in_pages_stay(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("firmware")
    site = pack_site({"index.html": b"<!doctype html><title>mine</title><h1>My own page</h1>"})
    page.get_by_label("Site archive").set_input_files(
        {"name": "my.site", "mimeType": "application/octet-stream", "buffer": site}
    )
    page.get_by_role("button", name="Use this site").click()
    page.get_by_role("button", name="Use this site").click()
    expect(page.get_by_text("The site is installed.")).to_be_visible()
    assert "My own page" in twin.get("/").text
    page.get_by_role("link", name=f"{HOST}:{twin.port}/?safe").click()
    expect(page.locator("main[data-page=status]")).to_be_visible()


def test_journal_follows_shows_names_and_is_filtered(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("log")
    entries = page.locator(".journal li")
    expect(entries).to_have_count(1)
    expect(entries).to_contain_text("The controller started")
    twin.get("/stm.cgi?oname=1Pump")
    twin.get("/outs.cgi?out1=1")
    twin.get("/stm.cgi?testemail=1")
    expect(entries).to_have_count(4)
    expect(page.locator(".journal h3")).to_have_text("Today")
    settings = entries.filter(has_text="Output 1 renamed to Pump")
    settings.get_by_text("show").click()
    expect(settings).to_contain_text("Pump · Name: “” → “Pump”")
    page.get_by_label("Cause").select_option("messages")
    expect(entries).to_have_count(1)
    page.get_by_label("Cause").select_option("all")
    page.get_by_label("Thing").select_option("Pump")
    expect(entries).to_have_count(2)
    page.get_by_label("Contains").fill("pump on")
    expect(entries).to_have_count(1)
    assert "about=OUT1" in page.url
    assert "text=pump" in page.url
    expect(entries.locator("a.at")).to_have_attribute("href", re.compile(r"#/timeline\?at=\d+"))
    entries.get_by_role("link", name="Pump").click()
    expect(page.get_by_role("dialog", name="Pump")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    entries.get_by_role("link", name="Chart at").click()
    expect(page.locator("main[data-page=charts][aria-busy=false] .courses")).to_contain_text("Pump")
    page.go_back()
    expect(entries).to_have_count(1)
    page.get_by_label("List").select_option("Who changed what")
    page.get_by_label("Contains").fill("pump · name")
    changes = page.locator(".log li")
    expect(changes).to_contain_text("Pump · Name: “” → “Pump”")
    page.reload()
    expect(changes).to_contain_text("Pump · Name: “” → “Pump”")
