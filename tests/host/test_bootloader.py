"""The bootloader of a whole process, with the owner's key and without."""

import subprocess
from pathlib import Path

import pytest

from leverframe.interface.uploads.firmware import build_image, new_key_pair, sign_image
from tests.host.controller_process import controller_process
from tests.ports import free_port

START = "/stm.cgi?upgrade=devstart3"


def put(port: int, image: Path) -> str:
    """Send an image with tftp-hpa; return what that prints."""
    said = subprocess.run(
        ["tftp", "-m", "binary", "127.0.0.1", str(port), "-c", "put", image.name],
        cwd=image.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return said.stdout + said.stderr


@pytest.mark.needs_program("tftp")
def test_bootloader_without_a_key_starts_and_refuses_images_with_the_reason(
    tmp_path: Path,
) -> None:
    image = tmp_path / "new.img"
    image.write_bytes(sign_image(build_image(["3.9"], "1.48"), new_key_pair()[0]))
    port = free_port()
    with controller_process(tmp_path, "--tftp-port", str(port)) as process:
        assert process.ask(START)[0] == 200
        assert process.ask("/outs.cgi")[0] == 503
        assert "has no key to verify it with" in put(port, image)
        assert process.ask("/outs.cgi")[0] == 200


def test_bootloader_starts_with_a_key(tmp_path: Path) -> None:
    key = tmp_path / "owner.pub"
    key.write_bytes(new_key_pair()[1])
    with controller_process(tmp_path, "--firmware-key", str(key), "--tftp-port", "0") as process:
        assert process.ask(START)[0] == 200
        assert process.ask("/outs.cgi")[0] == 503
