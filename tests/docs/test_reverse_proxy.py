"""The documented nginx, running before a controller."""

import http.client
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import trustme

from leverframe.core.profile import is_offered
from leverframe.host.configuration import read_config
from leverframe.host.reach import reach_of
from leverframe.interface.table.user_interface import AUTO_SIGN_IN
from tests.boundary_profiles import PROFILES
from tests.clients.served_twin import LoopThread, serve_twin
from tests.conftest import PROGRAM_FOLDERS
from tests.docs.blocks import DOCS, blocks
from tests.host.controller_process import controller_process
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.server.signing_up import ADMINISTRATOR, USER, base64, basic

pytestmark = pytest.mark.needs_program("nginx")

NAME = "cellar.example"


def proxy_files(folder: Path, port: int, controller_port: int) -> Path:
    """Write the files that a reader has in /etc, with other paths and ports."""
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


@contextmanager
def nginx_before(folder: Path, controller_port: int) -> Iterator[http.client.HTTPSConnection]:
    """Connect through nginx to the server at the port."""
    nginx = shutil.which("nginx", path=PROGRAM_FOLDERS)
    assert nginx is not None
    (port,) = free_ports(1)
    configuration = proxy_files(folder, port, controller_port)
    command = [nginx, "-p", str(folder), "-c", str(configuration)]
    subprocess.run([*command, "-t", "-q"], check=True)
    with subprocess.Popen(command) as process:
        trusted = ssl.create_default_context(cafile=str(folder / "authority.pem"))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=PATIENCE_S, context=trusted
        )
        try:
            with closing(_connect(connection, process)):
                yield connection
        finally:
            process.terminate()


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[http.client.HTTPSConnection]:
    """Connect through nginx to a controller."""
    with (
        controller_process(tmp_path, "--hosts", NAME) as controller,
        nginx_before(tmp_path, controller.port) as connection,
    ):
        yield connection


def _connect(
    connection: http.client.HTTPSConnection, nginx: subprocess.Popen[bytes]
) -> http.client.HTTPSConnection:
    """Retry until nginx listens or has ended; it does not report that it listens."""
    while True:
        try:
            connection.connect()
        except ConnectionRefusedError:
            with suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"nginx ended with {nginx.wait(0.05)}") from None
        else:
            return connection


def send_request(
    proxy: http.client.HTTPSConnection, target: str, host: str, origin: str
) -> http.client.HTTPResponse:
    proxy.request("GET", target, headers={"Host": host, "Origin": origin})
    return proxy.getresponse()


def test_pages_switch_through_the_proxy_and_foreign_pages_do_not(
    proxy: http.client.HTTPSConnection,
) -> None:
    for host in (NAME, f"{NAME}:8443"):
        with send_request(proxy, "/outs.cgi?out0=1", host, f"https://{host}") as answer:
            assert (answer.status, b"<out>1" in answer.read()) == (200, True)
    with send_request(proxy, "/outs.cgi?out0=0", NAME, "https://elsewhere.example") as answer:
        assert (answer.status, b"page of another site" in answer.read()) == (403, True)
    with send_request(
        proxy, "/outs.cgi?out0=0", "elsewhere.example", "https://elsewhere.example"
    ) as no:
        assert no.status == 403


def test_live_state_passes_the_proxy_without_delay(
    proxy: http.client.HTTPSConnection,
) -> None:
    with send_request(proxy, "/api/stream", NAME, f"https://{NAME}") as answer:
        assert answer.readline() == b"event: state\n"


@pytest.fixture
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


def test_no_client_behind_the_proxy_is_signed_in_automatically(
    tmp_path: Path, loop_thread: LoopThread
) -> None:
    (port,) = free_ports(1)
    reach = reach_of(read_config(None, {"hosts": NAME}))
    switched_on = []
    with nginx_before(tmp_path, port) as proxy:
        for profile in PROFILES:
            with serve_twin(loop_thread, profile, port, reach) as controller:
                assert controller.port == port
                fields = "*".join(base64(text) for text in (*ADMINISTRATOR, *USER))
                controller.get(f"/stm.cgi?auth=11{fields}")
                chief = {"Authorization": basic(*ADMINISTRATOR), "Host": NAME}
                # On a profile without auto sign-in the bit is a plain variable.
                proxy.request("GET", "/eeprom.cgi?bit0=1", headers=chief)
                with proxy.getresponse() as answer:
                    answer.read()
                    assert answer.status == 200, profile
                if controller.twin.controller.engine.settings.ui.auto_sign_in:
                    switched_on.append(profile)
                for target in ("/signin", "/", "/api/settings"):
                    with send_request(proxy, target, NAME, f"https://{NAME}") as answer:
                        answer.read()
                        assert answer.getheader("Set-Cookie") is None, (profile, target)
                        assert answer.status == (200 if target == "/signin" else 401), profile
    assert switched_on == [profile for profile in PROFILES if is_offered(AUTO_SIGN_IN, profile)]
