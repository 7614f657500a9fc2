"""TLS: a key of its own, what is spoken, the redirect, and a new certificate without a restart."""

import asyncio
import socket
import ssl
import stat
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from leverframe.server.cross_site import OwnNames
from leverframe.server.fair_shares import DescriptorBudget, FairShares
from leverframe.server.http.certificate import Certificate, CertificateUnusable, own_certificate
from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.messages import Reply, Request
from leverframe.server.http.server import HttpServer
from leverframe.server.routes.sign_in import redirect_to_https
from tests.patience import PATIENCE_S

from . import http_peer
from .handlers import path_as_text


def say_hello(request: Request) -> Reply:
    return Reply(200, "text/plain", f"{request.method} {request.path}".encode())


@asynccontextmanager
async def serving(
    certificate: Certificate,
    limits: HttpLimits | None = None,
    descriptors: DescriptorBudget | None = None,
) -> AsyncIterator[HttpServer]:
    server = HttpServer(say_hello, limits or HttpLimits(), descriptors=descriptors)
    plain = partial(redirect_to_https, OwnNames())
    await server.start("127.0.0.1", 0, certificate.context, plain)
    try:
        yield server
    finally:
        await server.stop(grace_s=0.0)


def client(minimum: ssl.TLSVersion | None = None, maximum: ssl.TLSVersion | None = None):  # type: ignore[no-untyped-def]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if minimum:
        context.minimum_version = minimum
    if maximum:
        context.maximum_version = maximum
    return context


async def ask(port: int, text: str, context: ssl.SSLContext | None = None) -> tuple[str, bytes]:
    """The whole answer, and the certificate that was shown."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        writer.write(text.encode())
        async with asyncio.timeout(PATIENCE_S):
            answer = (await reader.read()).decode()
        shown = writer.get_extra_info("ssl_object")
        return answer, shown.getpeercert(binary_form=True) if shown else b""
    finally:
        writer.close()


HELLO = "GET /a?b=1 HTTP/1.1\r\nHost: localhost:1234\r\nConnection: close\r\n\r\n"


def test_every_instance_makes_a_key_of_its_own_for_its_owner_alone(tmp_path: Path) -> None:
    keys = set()
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        own_certificate(folder, "leverframe-1", ["192.168.1.5", "box.lan"])
        for name in ("tls-key.pem", "tls-certificate.pem"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        keys.add((folder / "tls-key.pem").read_bytes())
    assert len(keys) == 5


def test_certificate_is_kept(tmp_path: Path) -> None:
    first = own_certificate(tmp_path, "leverframe-1", []).fingerprint
    assert own_certificate(tmp_path, "leverframe-1", []).fingerprint == first
    assert len(first) == 32 * 3 - 1


async def test_client_that_knows_the_certificate_trusts_the_names(tmp_path: Path) -> None:
    certificate = own_certificate(tmp_path, "leverframe-1", ["box.lan"])
    trusting = ssl.create_default_context(cafile=str(tmp_path / "tls-certificate.pem"))
    async with serving(certificate) as server:
        for name in ("localhost", "box.lan", "leverframe-1", "127.0.0.1"):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", server.port, ssl=trusting, server_hostname=name
            )
            writer.write(HELLO.encode())
            assert b"200 OK" in await reader.read()
            writer.close()


def client_hello(minor: int) -> bytes:
    """The first message of a client that speaks TLS 1.`minor - 1` and nothing newer.

    By hand, since the TLS library of this machine may refuse to speak old versions at all.
    """
    suites = bytes.fromhex("c02b c009 c00a")  # ECDHE-ECDSA with AES: for 1.2, and for before
    extensions = bytes.fromhex(
        "000a 0006 0004 001d 0017"  # groups: X25519, P-256
        "000b 0002 01 00"  # uncompressed points
        "000d 0006 0004 0403 0203"  # signatures: ECDSA with SHA-256 and SHA-1
    )
    body = bytes((3, minor)) + bytes(32) + b"\0"
    body += len(suites).to_bytes(2, "big") + suites + b"\1\0"
    body += len(extensions).to_bytes(2, "big") + extensions
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


async def first_answer(port: int, hello: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(hello)
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read(7)
    finally:
        writer.close()


async def test_older_versions_than_1_2_are_not_spoken(tmp_path: Path) -> None:
    async with serving(own_certificate(tmp_path, "leverframe-1", [])) as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            answer, _ = await ask(server.port, HELLO, client(version, version))
            assert "200 OK" in answer
        continues = await first_answer(server.port, client_hello(3))
        assert (continues[0], continues[5]) == (0x16, 2)
        for minor in (0, 1, 2):
            refused = await first_answer(server.port, client_hello(minor))
            # The end, with or without the alert that the version is not supported.
            assert refused in (b"", b"\x15\x03" + bytes((minor,)) + b"\x00\x02\x02\x46")


async def test_plain_http_on_the_same_port_is_redirected_to_https(tmp_path: Path) -> None:
    async with serving(own_certificate(tmp_path, "leverframe-1", [])) as server:
        answer, _ = await ask(server.port, HELLO)
        assert answer.startswith("HTTP/1.1 308 ")
        assert "Location: https://localhost:1234/a?b=1\r\n" in answer
        foreign = HELLO.replace("localhost:1234", "evil.example")
        assert (await ask(server.port, foreign))[0].startswith("HTTP/1.1 403 ")
        nameless = "GET / HTTP/1.0\r\n\r\n"
        assert (await ask(server.port, nameless))[0].startswith("HTTP/1.1 400 ")


async def test_new_certificate_is_used_while_old_connections_continue(
    tmp_path: Path,
) -> None:
    (tmp_path / "new").mkdir()
    certificate = own_certificate(tmp_path, "leverframe-1", [])
    own_certificate(tmp_path / "new", "leverframe-1", [])
    async with serving(certificate) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=client())
        _, before = await ask(server.port, HELLO, client())
        for name in ("tls-key.pem", "tls-certificate.pem"):
            (tmp_path / name).write_bytes((tmp_path / "new" / name).read_bytes())
        certificate.reload()
        _, after = await ask(server.port, HELLO, client())
        assert before != after
        writer.write(HELLO.encode())
        assert b"200 OK" in await reader.read()
        writer.close()


async def test_broken_certificate_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    certificate = own_certificate(tmp_path, "leverframe-1", [])
    (tmp_path / "tls-certificate.pem").write_text("no certificate")
    with pytest.raises(CertificateUnusable, match="name a certificate and its key in PEM"):
        certificate.reload()
    async with serving(certificate) as server:
        assert "200 OK" in (await ask(server.port, HELLO, client()))[0]


def test_key_of_another_certificate_is_a_sentence(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        own_certificate(tmp_path / folder, "leverframe-1", [])
    with pytest.raises(CertificateUnusable, match="they do not belong together"):
        Certificate(tmp_path / "one" / "tls-certificate.pem", tmp_path / "other" / "tls-key.pem")


def test_certificate_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CertificateUnusable, match="No such file"):
        Certificate(tmp_path / "a.pem", tmp_path / "b.pem")


def test_certificate_that_ends_soon_or_has_ended_is_a_finding(tmp_path: Path) -> None:
    certificate = own_certificate(tmp_path, "cellar", ())
    day = 86_400

    def find(days_left: float) -> list[tuple[str, object]]:
        findings = certificate.findings(certificate.ends - days_left * day)
        return [(one.kind, one.figures.get("days")) for one in findings]

    assert find(21.5) == []
    assert find(20.5) == [("certificate_ends", 20)]
    assert find(0.5) == [("certificate_ends", 0)]
    assert find(-0.5) == [("certificate_ended", None)]


async def test_client_that_says_nothing_is_dropped(tmp_path: Path) -> None:
    limits = HttpLimits(header_timeout_s=0.05)
    async with serving(own_certificate(tmp_path, "leverframe-1", []), limits) as server:
        for first in (b"", b"\x16\x03"):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(first)
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""
            writer.close()


async def test_waiting_clients_are_limited(tmp_path: Path) -> None:
    descriptors = DescriptorBudget()
    descriptors.clients = FairShares(9, 2.0)
    certificate = own_certificate(tmp_path, "leverframe-1", [])
    async with serving(certificate, descriptors=descriptors) as server:
        waiting = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(7)]
        for sentence, (_, writer) in zip(
            (b"", b"", b"\x16\x03", b"\x16\x03", b"GET /", b"GET /"), waiting, strict=False
        ):
            writer.write(sentence)
        async with asyncio.timeout(PATIENCE_S):
            assert await waiting[6][0].read() == b""
        assert descriptors.clients.used == 6
        for _, writer in waiting:
            writer.close()
    assert descriptors.clients.used == 0


async def test_handshakes_are_limited_apart_from_plain_connections(tmp_path: Path) -> None:
    descriptors = DescriptorBudget()
    descriptors.tls = FairShares(3, 1.0)
    certificate = own_certificate(tmp_path, "leverframe-1", [])
    async with serving(certificate, descriptors=descriptors) as server:
        waiting = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
        for _, writer in waiting:
            writer.write(b"\x16\x03")
        async with asyncio.timeout(PATIENCE_S):
            with suppress(ConnectionResetError):
                assert await waiting[2][0].read() == b""
        assert (descriptors.tls.used, descriptors.clients.used) == (2, 2)
        assert "308" in (await ask(server.port, HELLO))[0]
        waiting[0][1].close()
        async with asyncio.timeout(PATIENCE_S):
            while descriptors.tls.used == 2:  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert "200 OK" in (await ask(server.port, HELLO, client()))[0]
        for _, writer in waiting:
            writer.close()
    assert descriptors.tls.used == 0


async def test_failed_handshake_releases_its_place(tmp_path: Path) -> None:
    descriptors, limits = DescriptorBudget(), HttpLimits(header_timeout_s=0.05)
    certificate = own_certificate(tmp_path, "leverframe-1", [])
    async with serving(certificate, limits, descriptors) as server:
        for sentence in (b"", b"\x16\x03", b"\x16nonsense that is no handshake"):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(sentence)
            async with asyncio.timeout(PATIENCE_S):
                with suppress(ConnectionResetError):
                    await reader.read()
                while descriptors.clients.used:  # noqa: ASYNC110
                    await asyncio.sleep(0)
            writer.close()


@pytest.mark.parametrize("sentence", [b"", b"\x16\x03", b"GET / HTTP/1.1\r\n"])
async def test_stopped_port_is_free_again(tmp_path: Path, sentence: bytes) -> None:
    async with serving(own_certificate(tmp_path, "leverframe-1", [])) as server:
        port = server.port
        reader, waiting = await asyncio.open_connection("127.0.0.1", port)
        waiting.write(sentence)
        await ask(port, HELLO, client())  # what was said before has been seen
    async with asyncio.timeout(PATIENCE_S):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
    with socket.socket() as again:
        assert again.connect_ex(("127.0.0.1", port)) != 0
    waiting.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    file = tmp_path / "both.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1"
    names = ["-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command.split(), *names, "-keyout", file, "-out", tmp_path / "cert.pem"],
        check=True,
        capture_output=True,
    )
    file.write_bytes(file.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    return file


@pytest.mark.needs_program("openssl")
async def test_everything_works_the_same_over_tls(certificate: Path) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=certificate)
    async with http_peer.serving(path_as_text, tls=tls) as running:
        client = await running.connect(trust=trust)
        client.send(
            b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in range(50))
        )
        for number in range(50):
            assert (await client.answer()).body == b"/%d" % number
        assert (await client.ask(b"GET / HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n")).status == 400
        assert await client.rest() == b""
