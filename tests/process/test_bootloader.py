"""The bootloader of a whole process: only where a key is configured."""

from pathlib import Path

from leverframe.uploads.firmware import new_key_pair
from tests.process.controller_process import controller_process

START = "/stm.cgi?upgrade=devstart3"


def test_without_a_key_the_bootloader_is_refused_and_the_controller_goes_on(tmp_path: Path) -> None:
    with controller_process(tmp_path) as process:
        status, answer = process.ask(START)
        assert status == 409
        assert b"firmware_key" in answer
        assert process.ask("/outs.cgi")[0] == 200


def test_with_a_key_it_starts(tmp_path: Path) -> None:
    key = tmp_path / "owner.pub"
    key.write_bytes(new_key_pair()[1])
    with controller_process(tmp_path, "--firmware-key", str(key), "--tftp-port", "0") as process:
        assert process.ask(START)[0] == 200
        assert process.ask("/outs.cgi")[0] == 503
