"""`leverframe firmware` as a person uses it."""

import stat
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.interface.uploads.firmware import check_image
from leverframe.interface.uploads.site import pack_site

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def owner(tmp_path: Path) -> str:
    name = str(tmp_path / "owner")
    assert main(["firmware", "keygen", name]) == 0
    return name


def test_image_is_built_signed_and_shown(tmp_path: Path, owner: str, capsys: Capture) -> None:
    image, site = tmp_path / "new.img", tmp_path / "my.site"
    site.write_bytes(pack_site({"index.html": b"x"}))
    build = ["firmware", "build", "--hw", "3.5", "--hw", "3.9", "--sw", "1.60a", str(image)]
    assert main([*build, "--site", str(site)]) == 0
    assert main(["firmware", "show", str(image)]) == 0
    assert main(["firmware", "sign", str(image), "--key", f"{owner}.key"]) == 0
    capsys.readouterr()
    assert main(["firmware", "show", str(image), "--key", f"{owner}.pub"]) == 0
    shown = capsys.readouterr().out
    assert "SW 1.60a for HW 3.5, 3.9" in shown
    assert "Signed with this key" in shown
    firmware = check_image(image.read_bytes(), Path(f"{owner}.pub").read_bytes(), "3.9")
    assert firmware.site == site.read_bytes()


def test_private_key_is_for_its_owner_alone_and_never_overwritten(
    owner: str, capsys: Capture
) -> None:
    key = Path(f"{owner}.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    assert main(["firmware", "keygen", owner]) == 2
    assert key.read_bytes() == before
    assert "owner.key" in capsys.readouterr().err


def test_mistakes_end_in_one_line(tmp_path: Path, owner: str, capsys: Capture) -> None:
    image = tmp_path / "new.img"
    image.write_bytes(b"text")
    for arguments, reason in (
        (["show", str(image)], "not a firmware image"),
        (["sign", str(image), "--key", f"{owner}.key"], "not a firmware image"),
        (["build", str(image), "--hw", "3.9", "--sw", "newest"], "Unknown software"),
        (["show", str(tmp_path / "gone.img")], "gone.img"),
    ):
        assert main(["firmware", *arguments]) == 2
        said = capsys.readouterr().err
        assert reason in said
        assert said.count("\n") == 1
