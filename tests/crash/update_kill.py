"""Kill the server at every step of a firmware update, start it again, and see which version it is.

Whatever the moment, the controller starts with all its settings, as the old version or, once the
client got the answer that the image is accepted, as the new one.

The suite kills between all packets. While the last one is judged and the version is written, there
are many moments; for a millisecond each:

    python -m tests.crash.update_kill --moments 40
"""

import argparse
import http.client
import socket
import tempfile
import time
from collections import Counter
from pathlib import Path

from leverframe.interface.uploads.firmware import build_image, new_key_pair, sign_image
from leverframe.interface.uploads.site import pack_site
from tests.crash.kill_rounds import Server
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.server.tftp_sender import packets

OLD, NEW = "1.75", "1.48"


def update_kill(folder: Path) -> list[str]:
    """The version after each kill, in the order of the steps."""
    private, public = new_key_pair()
    (folder / "owner.pub").write_bytes(public)
    site = pack_site({"index.html": b"new"})
    steps = list(packets(sign_image(build_image(["3.9"], NEW, site), private)))
    # Killed with the last packet on its way, either may be right; once it was answered, only one.
    moments = [(number, False) for number in range(len(steps))]
    moments += [(len(steps), False), (len(steps), True)]
    return [
        _version_after(folder / f"data{index}", folder / "owner.pub", steps[:count], answered)
        for index, (count, answered) in enumerate(moments)
    ]


def kill_while_installing(folder: Path, moments: int) -> Counter[str]:
    """Counts which version came up, by the milliseconds from the last packet to the kill."""
    private, public = new_key_pair()
    (folder / "owner.pub").write_bytes(public)
    steps = list(packets(sign_image(build_image(["3.9"], NEW), private)))
    return Counter(
        _version_after(folder / f"data{moment}", folder / "owner.pub", steps, False, moment / 1000)
        for moment in range(moments)
    )


def _version_after(
    data: Path, key: Path, steps: list[bytes], answered: bool, wait_s: float = 0.0
) -> str:
    config = data.with_suffix(".toml")
    config.write_text(f'firmware_key = "{key}"\ntftp_port = {free_port()}\n')
    server = Server(data, "--config", str(config))
    try:
        _get(server.port, "/stm.cgi?oname=0Pump")
        _get(server.port, "/stm.cgi?upgrade=devstart3")
        port = int(config.read_text().rpartition("= ")[2])
        _send(port, steps, answered)
        time.sleep(wait_s)
    finally:
        server.kill()
    again = Server(data, "--config", str(config))
    try:
        settings = again.settings()
    finally:
        again.kill()
    outputs, profile = settings["outputs"], settings["profile"]
    assert isinstance(outputs, list)
    assert isinstance(profile, dict)
    assert outputs[0]["name"] == "Pump"
    return str(profile["sw"])


def _send(port: int, steps: list[bytes], answered: bool) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as line:
        line.settimeout(PATIENCE_S)
        line.connect(("127.0.0.1", port))
        for number, packet in enumerate(steps, start=1):
            _insist(line, packet, wait=answered or number < len(steps))


def _insist(line: socket.socket, packet: bytes, *, wait: bool) -> None:
    """Send until there is an answer: the port opens a moment after the command was answered."""
    while True:
        try:
            line.send(packet)
            if wait:
                line.recv(600)
            return
        except ConnectionRefusedError:
            continue


def _get(port: int, target: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", target)
    assert connection.getresponse().status == 200
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        versions = kill_while_installing(Path(folder), options.moments)
    assert set(versions) <= {OLD, NEW}, versions
    print(f"{options.moments} kills while an image was installed: {dict(versions)}")


if __name__ == "__main__":
    main()
