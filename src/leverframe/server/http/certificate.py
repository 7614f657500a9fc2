"""The controller's own key and certificate, created at the first start with TLS.

Both are unique to the controller, and the certificate is self-signed: a visitor's browser asks once
whether to trust them, and the visitor compares the fingerprint with the one printed at startup. If
files are configured, these are used instead. A changed file is loaded without a restart: open
connections keep the old certificate, later ones get the new one.
"""

import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from leverframe.core.engine.findings import Finding
from leverframe.core.errors import ErrorForPeople
from leverframe.storage.private_files import write_private

#: The certificate is never renewed; users trust its fingerprint, not its dates.
VALID = timedelta(days=3650)
MARGIN = timedelta(days=1)


#: Days of warning before the expiry date, enough to get a new certificate.
WARNED_DAYS = 21
#: The page that describes how to replace it.
PAGE = "system?open=certificate"


class CertificateReport(Struct, frozen=True):
    """The certificate in use; empty if the controller itself does not use TLS."""

    ends: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    names: Annotated[list[str], Meta(description="The hosts that it is valid for.")] = []
    fingerprint: Annotated[str | None, Meta(description="SHA-256, as browsers show it.")] = None
    files: Annotated[list[str], Meta(description="The certificate and its key.")] = []
    is_own: Annotated[bool, Meta(description="Whether the controller created it.")] = False


class CertificateUnusable(ErrorForPeople):
    """The key or certificate cannot be used; the message is one sentence."""


class Certificate:
    def __init__(self, certificate: Path, key: Path, *, is_own: bool = False) -> None:
        self._is_own = is_own
        self._certificate = certificate
        self._key = key
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        #: Expiry date, in wall time.
        self.ends = 0.0
        self._names: list[str] = []
        #: SHA-256, as browsers show it.
        self.fingerprint = ""
        #: Called after a change of the certificate.
        self.watchers: list[Callable[[], None]] = []
        self.reload()

    def reload(self) -> None:
        """Read the files; keep using the old ones if the new ones are unusable."""
        try:
            # The files are loaded into a new context first: a context with only a new certificate
            # or key would serve no client.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
                self._certificate, self._key, password=_no_password
            )
            self.context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (OSError, ValueError) as error:
            raise CertificateUnusable(
                f"The certificate {self._certificate} or its key {self._key} cannot be used: "
                f"{_why_unusable(error)}."
            ) from error
        self.ends, self._names, self.fingerprint = _content_of(self._certificate)
        for watcher in self.watchers:
            watcher()

    def findings(self, wall: float) -> Iterator[Finding]:
        """Yield a finding if the certificate expires soon, or has expired."""
        days = self.days_left(wall)
        if days < 0:
            yield Finding("certificate_ended", PAGE, since=self.ends, is_fault=True)
        elif days < WARNED_DAYS:
            yield Finding("certificate_ends", PAGE, figures={"days": days})

    def days_left(self, wall: float) -> int:
        """Return the number of whole days until the certificate expires; negative once it has."""
        return int((self.ends - wall) // 86_400)

    def report(self) -> CertificateReport:
        files = [str(self._certificate), str(self._key)]
        return CertificateReport(self.ends, self._names, self.fingerprint, files, self._is_own)


def _content_of(path: Path) -> tuple[float, list[str], str]:
    """Return the expiry date of a certificate, its host names and its fingerprint."""
    # Imported here, because only controllers with TLS need it.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    ends = certificate.not_valid_after_utc.timestamp()
    fingerprint = certificate.fingerprint(hashes.SHA256()).hex(":").upper()
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ends, [], fingerprint
    hosts = names.get_values_for_type(x509.DNSName)
    addresses = names.get_values_for_type(x509.IPAddress)
    return ends, [*hosts, *map(str, addresses)], fingerprint


def _no_password() -> str:
    raise ValueError("the key is protected by a password; store it without a password")


def _why_unusable(error: OSError | ValueError) -> str:
    if not isinstance(error, ssl.SSLError):
        return getattr(error, "strerror", None) or str(error)
    if error.reason == "KEY_VALUES_MISMATCH":
        return "they do not belong together; name the key that belongs to the certificate"
    return "one of them is damaged or not in PEM format; name a certificate and its key in PEM"


def own_certificate(folder: Path, name: str, hosts: Iterable[str]) -> Certificate:
    """Return the controller's own key and certificate; create them at first use."""
    certificate, key = folder / "tls-certificate.pem", folder / "tls-key.pem"
    if not (certificate.exists() and key.exists()):
        made_certificate, made_key = _self_signed(name, hosts, datetime.now(UTC))
        try:
            write_private(key, made_key)
            write_private(certificate, made_certificate)
        except OSError as error:
            raise CertificateUnusable(
                f"The certificate {certificate} cannot be created: {error.strerror}. Make the "
                "folder writable, or name a certificate and its key with --tls-certificate and "
                "--tls-key."
            ) from error
    return Certificate(certificate, key, is_own=True)


def _self_signed(name: str, hosts: Iterable[str], now: datetime) -> tuple[bytes, bytes]:
    # Imported here, because a controller needs it only once.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    names: list[x509.GeneralName] = []
    for host in dict.fromkeys((*hosts, name, "localhost", "127.0.0.1", "::1")):
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            with suppress(ValueError):
                names.append(x509.DNSName(host))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - MARGIN)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return certificate.public_bytes(pem), key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
