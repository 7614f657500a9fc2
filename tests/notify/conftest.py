"""Certificates for the servers of these tests, made once, and trusted only by them."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme


@dataclass(frozen=True)
class Certificates:
    #: For localhost, and for a server of another name.
    server: ssl.SSLContext
    of_another: ssl.SSLContext
    ca_file: str


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    authority = trustme.CA()
    server, of_another = (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) for _ in range(2))
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(server)
    authority.issue_cert("elsewhere.example").configure_cert(of_another)
    ca_file: Path = tmp_path_factory.mktemp("trust") / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    return Certificates(server, of_another, str(ca_file))
