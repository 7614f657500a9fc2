"""The storage on the System page: where everything is, its size, and what is wrong with it."""

from pathlib import Path

import pytest
import requests
from playwright.sync_api import expect

from leverframe.storage.sqlite import SqliteStore
from tests.clients.served_twin import HOST, PATIENCE_S
from tests.storage.test_sqlite_writing import lock_by_another_program
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def test_storage_problem_leads_to_the_folder_and_its_space(
    serve: Serve, open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "store.db"
    # As with the default data folder, which is relative.
    monkeypatch.chdir(tmp_path)
    twin = serve(store=SqliteStore(Path(file.name)))
    page = open_page("status", of=twin)
    with lock_by_another_program(file):
        rename = f"http://{HOST}:{twin.port}/stm.cgi?oname=1Pump"
        assert requests.get(rename, timeout=PATIENCE_S).status_code == 507
        page.get_by_role("link", name="Open Storage").click()
        page.wait_for_url("**#/system?open=storage")
        expect(page.locator("main")).to_contain_text("another program has locked the store")
        card = page.locator("[data-part=storage]")
        expect(card).to_contain_text(str(tmp_path))
        expect(card.locator("dl")).to_contain_text("GB")
    report = twin.get("/api/storage").json()
    assert (report["kind"], report["folder"]) == ("file", str(tmp_path))
    assert report["used_bytes"] >= file.stat().st_size
    assert report["free_bytes"] > 0


def test_storage_in_memory_says_how_to_keep_it(open_page: OpenPage) -> None:
    card = open_page("system?open=storage").locator("[data-part=storage]")
    expect(card).to_contain_text("memory only")
    expect(card).to_contain_text("--data FOLDER")
    card.get_by_role("link", name="Backup and reset").click()
    expect(card.page.locator("[data-part=backup]")).to_be_visible()
