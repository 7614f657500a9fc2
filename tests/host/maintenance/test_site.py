"""`leverframe site` as a person uses it."""

import asyncio
import os
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.interface.uploads.site import unpack_site
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    (folder / "js").mkdir(parents=True)
    (folder / "index.html").write_text("front")
    (folder / "js" / "app.js").write_text("1")
    (folder / ".hidden").write_text("no")
    return folder


def test_folder_becomes_an_archive_beside_it(folder: Path) -> None:
    assert main(["site", "build", str(folder)]) == 0
    pages = unpack_site((folder.parent / "pages.site").read_bytes())
    assert pages == {"index.html": b"front", "js/app.js": b"1"}


def test_link_in_the_folder_is_refused(folder: Path, capsys: Capture) -> None:
    (folder / "js" / "secret.js").symlink_to("/etc/hostname")
    assert main(["site", "build", str(folder)]) == 2
    assert "js/secret.js is a link" in capsys.readouterr().err
    assert not (folder.parent / "pages.site").exists()


def test_pipe_in_the_folder_is_refused_and_not_waited_for(folder: Path, capsys: Capture) -> None:
    os.mkfifo(folder / "pipe.js")
    assert main(["site", "build", str(folder)]) == 2
    assert "pipe.js is neither a file nor a folder" in capsys.readouterr().err


def test_folder_with_an_unsafe_name_in_it_is_refused(folder: Path, capsys: Capture) -> None:
    (folder / "ä.html").write_text("x")
    assert main(["site", "build", str(folder)]) == 2
    assert "not a safe name" in capsys.readouterr().err


def test_folder_without_a_front_page_is_refused(folder: Path, capsys: Capture) -> None:
    (folder / "index.html").unlink()
    assert main(["site", "build", str(folder)]) == 2
    assert "no index.html" in capsys.readouterr().err


def test_missing_folder_is_reported(tmp_path: Path, capsys: Capture) -> None:
    assert main(["site", "build", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


async def put_site(data: Path, site: bytes | None) -> bytes | None:
    """Store a site if there is one; gives what is stored."""
    with DataFolder(data) as folder:
        store = SqliteStore(folder.store_path)
        if site is not None:
            await store.commit(Changes(blobs={"site": site}))
        stored = await store.blob("site")
        await store.close()
        return stored


def test_reset_removes_the_uploaded_site(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert asyncio.run(put_site(data, b"archive")) == b"archive"
    assert main(["site", "reset", "--data", str(data)]) == 0
    assert asyncio.run(put_site(data, None)) is None


def test_site_of_a_running_controller_is_not_touched(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "store.db").touch()
    with DataFolder(tmp_path):
        assert main(["site", "reset", "--data", str(tmp_path)]) == 2
    assert "in use" in capsys.readouterr().err
