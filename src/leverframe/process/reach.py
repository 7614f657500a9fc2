"""How clients reach a controller, from its configuration: names, sign-in, TLS, first password.

On a loopback address it is open to this machine without accounts: the quick start. On any other
address strangers can reach it, so there is an administrator before anything is served.
"""

import logging
import socket
from pathlib import Path

from msgspec.structs import replace

from leverframe.commands.table.rights import TRUSTED_ADMINISTRATOR, TRUSTED_USER
from leverframe.config import Config, NodeConfig
from leverframe.errors import ErrorForPeople
from leverframe.process.administrator import administrator_name, ensure_administrator
from leverframe.process.json_lines import print_json
from leverframe.servers.accounts.cross_site import OwnNames, is_loopback
from leverframe.servers.http.certificate import Certificate, CertificateUnusable, own_certificate
from leverframe.servers.routes.admission import TrustedNetworks
from leverframe.servers.routes.router import Reach
from leverframe.servers.tried_address import try_address
from leverframe.storage.store import Store, StoreUnavailable

log = logging.getLogger(__name__)


class NoAdministrator(ErrorForPeople):
    """Strangers could reach a controller without any usable account: a sentence or two."""


def reach_of(config: Config) -> Reach:
    """Determine from the configuration who can reach the controller."""
    return replace(
        reach_of_node(config, config.cors_origins), trusted=read_trusted_networks(config)
    )


def reach_of_node(config: NodeConfig, origins: tuple[str, ...] = ()) -> Reach:
    """Determine from its listening address who can reach the process."""
    is_local = is_loopback(config.host)
    machine = socket.gethostname()
    named = () if is_local else (machine, f"{machine}.local")
    own = OwnNames(
        config.host,
        config.hosts,
        origins,
        named,
        secure=uses_tls(config),
        has_proxies=bool(config.proxies),
    )
    return Reach(own, must_sign_in=not is_local)


def read_trusted_networks(config: Config) -> TrustedNetworks:
    """Return the trusted networks of the configuration; log them at every start."""
    networks = config.networks_without_sign_in()
    if networks:
        log.warning(
            "programs in %s have the role %s without signing in because of the key trusted",
            ", ".join(map(str, networks)),
            config.trusted_role,
        )
    is_admin = config.trusted_role == "administrator"
    return TrustedNetworks(networks, TRUSTED_ADMINISTRATOR if is_admin else TRUSTED_USER)


def uses_tls(config: NodeConfig) -> bool:
    return config.tls or config.tls_certificate is not None


async def ensure_sign_in(
    store: Store,
    *,
    as_json: bool,
    way_on: str = "change it on the page, or with `leverframe passwd`",
) -> None:
    """Ensure that an administrator exists; print the password of a new one, this once.

    `way_on` says how to change it.
    """
    try:
        password = await ensure_administrator(store)
    except StoreUnavailable as error:
        raise NoAdministrator(
            f"No one could sign in: there is no administrator yet, and none can be created. {error}"
        ) from error
    if password is None:
        return
    name = administrator_name(store)
    if as_json:
        print_json({"event": "administrator", "name": name, "password": password})
    else:
        print(
            f"Sign in as {name} with the password {password}\n"
            f"It is shown only this once; {way_on}.",
            flush=True,
        )


def certificate_of(config: NodeConfig, folder: Path, name: str) -> Certificate | None:
    if config.tls_certificate is not None and config.tls_key is not None:
        return Certificate(Path(config.tls_certificate), Path(config.tls_key))
    if not config.tls:
        return None
    return own_certificate(folder, name, (config.host, *config.hosts))


def try_host(host: str, port: int) -> None:
    """Raise the `OSError` that listening there would raise."""
    # As bytes, as the event loop does: for a text Python loads the rules of international names.
    name = host.encode() if host.isascii() else host
    for family, kind, protocol, _, address in socket.getaddrinfo(
        name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        try_address(family, kind, protocol, address)


def take_up_certificate(certificate: Certificate | None) -> None:
    """Reload the certificate after SIGHUP; keep the old one if the new one is unusable."""
    if certificate is None:
        return
    try:
        certificate.reload()
    except CertificateUnusable as error:
        log.error("%s The old one stays in use.", error)
