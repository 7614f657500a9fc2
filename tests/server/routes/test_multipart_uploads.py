"""Picture, web site and backup in a form: taken as the file itself is, or refused unchanged."""

import subprocess
from pathlib import Path

import httpx
import pytest

from leverframe.devices.linux.oled_panel import png_of
from leverframe.interface.uploads.site import pack_site
from leverframe.testing import LoopTwin, Twin
from tests.cases import for_each

PNG = png_of(("one", "two", "three", "four"))
SITE = pack_site({"index.html": b"Cellar"})
PICTURE_UPLOAD, SITE_UPLOAD, RESTORE = (
    f"/post.cgi?{name}" for name in ("pictureupload", "wwwfileupload", "settingsupload")
)


def form_of(*files: bytes) -> tuple[bytes, str]:
    named = [("file", (f"{number}.bin", file)) for number, file in enumerate(files)]
    request = httpx.Request("POST", "http://unit/", files=named)
    return request.read(), request.headers["content-type"]


async def backup_of(twin: LoopTwin) -> bytes:
    await twin.ok("/stm.cgi?oname=0Lamp")
    backup = (await twin.ok("/dev_settings.bin")).body
    await twin.ok("/stm.cgi?oname=0Other")
    return backup


async def files_and_names(twin: LoopTwin) -> tuple[str, bytes, int]:
    page, picture = await twin.ok("/"), await twin.ask("/picture")
    return twin.controller.engine.settings.outputs[0].name, page.body, picture.status


async def test_files_in_forms_are_taken() -> None:
    twin = await LoopTwin.start()
    backup = await backup_of(twin)
    for target, file in ((PICTURE_UPLOAD, PNG), (SITE_UPLOAD, SITE), (RESTORE, backup)):
        body, kind = form_of(file)
        reply = await twin.ask(target, "POST", body, content_type=kind)
        assert reply.status == 200, reply.body
    assert await files_and_names(twin) == ("Lamp", b"Cellar", 200)


@for_each("lenient", [False, True])
async def test_forms_that_hold_no_single_whole_file_change_nothing(lenient: bool) -> None:
    twin = await LoopTwin.start(lenient=lenient)
    backup = await backup_of(twin)
    before = await files_and_names(twin)
    for target, file in ((PICTURE_UPLOAD, PNG), (SITE_UPLOAD, SITE), (RESTORE, backup)):
        whole, kind = form_of(file)
        for body, boundary in (form_of(file, file), (whole[:-9], kind), (whole, kind + "x")):
            reply = await twin.ask(target, "POST", body, content_type=boundary)
            assert reply.status == 400
            assert b"The form cannot be read" in reply.body
        empty, kind = form_of(b"")
        reply = await twin.ask(target, "POST", empty, content_type=kind)
        assert b"The body is empty" in reply.body
    assert await files_and_names(twin) == before


@pytest.mark.needs_program("curl")
def test_curl_uploads_a_file_as_a_form(tmp_path: Path) -> None:
    for name, content in (("picture.png", PNG), ("my.site", SITE)):
        (tmp_path / name).write_bytes(content)
    with Twin(settings={"outputs.0.name": "Lamp"}) as twin:

        def curl(*words: str) -> None:
            subprocess.run(
                ["curl", "--fail", "--silent", "--show-error", "--max-time", "20", *words],
                check=True,
                cwd=tmp_path,
                capture_output=True,
            )

        curl("-o", "backup.bin", f"{twin.url}/dev_settings.bin")
        twin.command("stm.cgi?oname=0Other")
        curl("-F", "file=@picture.png", f"{twin.url}{PICTURE_UPLOAD}")
        curl("-F", "upload=@my.site;type=application/zip", f"{twin.url}{SITE_UPLOAD}")
        curl("-F", "=@backup.bin", f"{twin.url}{RESTORE}")
        assert twin.settings["outputs"][0]["name"] == "Lamp"
        assert twin.get("/") == "Cellar"
        with pytest.raises(subprocess.CalledProcessError, match="returned non-zero exit status 22"):
            curl("-F", "a=@picture.png", "-F", "b=@picture.png", f"{twin.url}{PICTURE_UPLOAD}")
