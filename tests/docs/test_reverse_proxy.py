"""The documented nginx, running before a controller."""

import http.client
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
import trustme

from tests.conftest import PROGRAM_FOLDERS
from tests.docs.blocks import DOCS, blocks
from tests.docs.shell_page import free_ports
from tests.process.controller_process import controller_process

pytestmark = pytest.mark.needs_program("nginx")

NAME = "cellar.example"
PATIENCE_S = 20.0


def proxy_files(folder: Path, port: int, controller_port: int) -> Path:
    """What a reader would have in /etc, with other paths and ports."""
    (block,) = [x for x in blocks(DOCS / "how-to" / "reverse-proxy.md") if x.language == "nginx"]
    server = block.text.replace("/etc/ssl", str(folder)).replace("443", f"127.0.0.1:{port}")
    server = server.replace("8080", str(controller_port))
    authority = trustme.CA()
    pair = authority.issue_cert(NAME, "127.0.0.1")
    pair.cert_chain_pems[0].write_to_path(folder / f"{NAME}.pem")
    pair.private_key_pem.write_to_path(folder / f"{NAME}.key")
    authority.cert_pem.write_to_path(folder / "authority.pem")
    around = f"pid {folder}/pid; error_log stderr; daemon off;\nevents {{}}\n"
    configuration = folder / "nginx.conf"
    configuration.write_text(f"{around}http {{ access_log off;\n{server}}}\n")
    return configuration


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[http.client.HTTPSConnection]:
    """A connection through nginx to a controller."""
    nginx = shutil.which("nginx", path=PROGRAM_FOLDERS)
    assert nginx is not None
    (port,) = free_ports(1)
    with controller_process(tmp_path, "--hosts", NAME) as controller:
        configuration = proxy_files(tmp_path, port, controller.port)
        command = [nginx, "-p", str(tmp_path), "-c", str(configuration)]
        subprocess.run([*command, "-t", "-q"], check=True)
        with subprocess.Popen(command) as process:
            trusted = ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))
            connection = http.client.HTTPSConnection(
                "127.0.0.1", port, timeout=PATIENCE_S, context=trusted
            )
            try:
                with closing(_connected(connection, process)):
                    yield connection
            finally:
                process.terminate()


def _connected(
    connection: http.client.HTTPSConnection, nginx: subprocess.Popen[bytes]
) -> http.client.HTTPSConnection:
    """nginx does not say when it listens: try until it does, or has ended."""
    while True:
        try:
            connection.connect()
        except ConnectionRefusedError:
            with suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"nginx ended with {nginx.wait(0.05)}") from None
        else:
            return connection


def asked(
    proxy: http.client.HTTPSConnection, target: str, host: str, origin: str
) -> http.client.HTTPResponse:
    proxy.request("GET", target, headers={"Host": host, "Origin": origin})
    return proxy.getresponse()


def test_pages_switch_through_the_proxy_and_foreign_pages_do_not(
    proxy: http.client.HTTPSConnection,
) -> None:
    for host in (NAME, f"{NAME}:8443"):
        with asked(proxy, "/outs.cgi?out0=1", host, f"https://{host}") as answer:
            assert (answer.status, b"<out>1" in answer.read()) == (200, True)
    with asked(proxy, "/outs.cgi?out0=0", NAME, "https://elsewhere.example") as answer:
        assert (answer.status, b"foreign" in answer.read()) == (403, True)
    with asked(proxy, "/outs.cgi?out0=0", "elsewhere.example", "https://elsewhere.example") as no:
        assert no.status == 403


def test_the_live_state_comes_through_the_proxy_at_once(
    proxy: http.client.HTTPSConnection,
) -> None:
    with asked(proxy, "/api/stream", NAME, f"https://{NAME}") as answer:
        assert answer.readline() == b"event: state\n"
