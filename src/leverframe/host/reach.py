"""Determine from the configuration how clients reach a controller: names, sign-in, TLS.

On a loopback address the controller is open to this machine without accounts, for a quick start. On
any other address strangers can reach it, so an administrator is created before anything is served.
"""

import logging
import secrets
import socket
import time
from pathlib import Path

from msgspec.structs import replace

from leverframe.core.engine.journal import Cause
from leverframe.core.errors import ErrorForPeople, print_json
from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, settings_from_leaves
from leverframe.host.configuration import Config, NodeConfig
from leverframe.interface.table.accounts import (
    MAX_PASSWORD_LETTERS,
    MIN_PASSWORD_LETTERS,
    list_stored_accounts,
    password_path,
)
from leverframe.interface.table.lookup import TRUSTED_ADMINISTRATOR, TRUSTED_USER
from leverframe.server.cross_site import OwnNames, is_any_address, is_loopback
from leverframe.server.http.certificate import Certificate, CertificateUnusable, own_certificate
from leverframe.server.passwords import Passwords
from leverframe.server.routes.admission import TrustedNetworks
from leverframe.server.routes.router import Reach
from leverframe.server.shared_ports import try_address
from leverframe.storage.audit import AuditTrail
from leverframe.storage.store import Changes, Store, Stored, StoreUnavailable

# The administrator's password: the first one, and a new one if it was lost.
#
# Both are set in the store while no controller uses it: before the start, or with `leverframe
# passwd`.

#: 32 unambiguous letters and digits, 5 bits each.
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP_LETTERS = 4, 6


#: The setting with the password of the administrator.
ADMINISTRATOR = "access.admin.password"
#: The actor in the audit trail: a user with access to the machine.
BY_HAND = Cause("command line")


class PasswordRefused(ErrorForPeople):
    """The password or account is not usable; the message is one sentence."""


def random_password() -> str:
    """Generate a password of 120 random bits that is easy to read and type."""
    return "-".join(
        "".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_LETTERS)) for _ in range(_GROUPS)
    )


async def ensure_administrator(store: Store) -> str | None:
    """Set and return a password for the administrator if there is none yet, else return None."""
    if store.load().settings.get(ADMINISTRATOR):
        return None
    password = random_password()
    await _store_password(store, ADMINISTRATOR, password)
    return password


async def set_password(store: Store, profile: Profile, name: str, password: str) -> None:
    """Set the password of an account by name."""
    settings, _ = settings_from_leaves(profile, store.load().settings)
    path = password_path(settings, name)
    if path is None:
        names = [account.name for _, account in list_stored_accounts(settings.access)]
        raise PasswordRefused(f"Unknown account {name!r}; known accounts: {', '.join(names)}.")
    check_length(password)
    await _store_password(store, path, password)


def check_length(password: str) -> None:
    if not MIN_PASSWORD_LETTERS <= len(password) <= MAX_PASSWORD_LETTERS:
        raise PasswordRefused(
            f"The password has {len(password)} characters; it must have {MIN_PASSWORD_LETTERS} to"
            f" {MAX_PASSWORD_LETTERS}."
        )


def administrator_name(store: Store) -> str:
    name: str = store.load().settings.get(
        "access.admin.name", defaults(Profile()).access.admin.name
    )
    return name


async def _store_password(store: Store, path: str, password: str) -> None:
    hashed = await Passwords().hash(password)
    await store.commit(password_change(store.load(), path, hashed))


def password_change(before: Stored, path: str, hashed: str) -> Changes:
    """Return the changes that set a password and require sign-in, with their audit entry."""
    leaves = [(path, before.settings.get(path), hashed)]
    audit = AuditTrail(before.audit).rows(time.time(), BY_HAND, leaves, {})
    return Changes({path: hashed, "access.required": True}, audit=audit)


log = logging.getLogger(__name__)


class NoAdministrator(ErrorForPeople):
    """Strangers could reach a controller without any usable account: a sentence or two."""


def reach_of(config: Config) -> Reach:
    """Determine from the configuration who can reach the controller."""
    return replace(
        reach_of_node(config, config.cors_origins), trusted=read_trusted_networks(config)
    )


def reach_of_node(config: NodeConfig, origins: tuple[str, ...] = ()) -> Reach:
    """Determine who can reach the process, from its listening address."""
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
            "programs in %s have the role %s without signing in because of the configuration key"
            " trusted",
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
    """Ensure that an administrator exists; print a new administrator's password, only this once.

    `way_on` explains how to change the password.
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
            f"Sign in as {name} with the password {password}\nIt is shown only once; {way_on}.",
            flush=True,
        )


def reachable_host(host: str) -> str:
    """Return a host for URLs: for a server on all addresses, one that other machines can reach."""
    if not is_any_address(host):
        return host
    # Imported here: most controllers run without discovery.
    from leverframe.server.discovery import own_addresses

    return next(iter(own_addresses()), socket.gethostname())


def certificate_of(config: NodeConfig, folder: Path, name: str) -> Certificate | None:
    if config.tls_certificate is not None and config.tls_key is not None:
        return Certificate(Path(config.tls_certificate), Path(config.tls_key))
    if not config.tls:
        return None
    return own_certificate(folder, name, (config.host, *config.hosts))


def try_host(host: str, port: int) -> None:
    """Raise the `OSError` that listening on this host and port would raise."""
    # Pass bytes, as the event loop does: for a string Python loads tables of international names.
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
        log.error("%s The old certificate stays in use.", error)
