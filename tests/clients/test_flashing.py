"""The maker's own flash function, unmodified, against a controller in another thread."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tinytoolslib.flash import run_flash

from leverframe.core.profile import Profile
from leverframe.host.ports import connect_bootloader
from leverframe.interface.uploads.firmware import build_image, new_key_pair, sign_image
from tests.clients.served_twin import HOST, LoopThread, ServedTwin, serve_twin

#: The function knows no other port.
TFTP_PORT = 69


PRIVATE, PUBLIC = new_key_pair()


@pytest.fixture
def twin() -> Iterator[ServedTwin]:
    """A controller that takes firmware."""
    thread = LoopThread()
    try:
        with serve_twin(thread, Profile("3.5", "1.60a")) as twin:
            server = connect_bootloader(twin.twin.controller, HOST, TFTP_PORT, PUBLIC)
            yield twin
            thread.wait_for(server.close())
    finally:
        thread.close()


def port_can_be_used() -> bool:
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((HOST, TFTP_PORT))
        except OSError:
            return False
    return True


@pytest.mark.skipif(not port_can_be_used(), reason="needs UDP port 69, which takes more rights")
def test_makers_flash_function_brings_another_version(twin: ServedTwin, tmp_path: Path) -> None:
    file = tmp_path / "firmware.bin"
    file.write_bytes(sign_image(build_image(["3.5"], "1.49d"), PRIVATE))
    steps: list[float] = []
    assert run_flash(
        str(file), HOST, twin.port, callback_progress=lambda *step: steps.append(step[2])
    )
    assert steps[-1] >= 100
    assert twin.state()["profile"] == {"hw": "3.5", "sw": "1.49d"}
