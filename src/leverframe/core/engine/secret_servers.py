"""URLs, and the server to which each secret belongs."""

from collections.abc import Sequence

from leverframe.core.settings import Settings


def url_host(host: str) -> str:
    """Return a host as it is written in a URL, where an IPv6 address is in brackets."""
    return f"[{host}]" if ":" in host else host


def split_address(url: str) -> tuple[str, str]:
    """Split a URL into `https://host:port` and `/path?query`; the default scheme is http."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "http", url
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash + path or "/"


# Secrets that are sent to a server, and the server to which each belongs.
#
# The user entered a secret for one server. A change of its name, port or encryption could send the
# secret to another recipient, so such a change deletes it.

#: Scheme or encryption, host and port; None if no server is set.
Server = tuple[str | bool, str, str | int] | None

#: The settings that identify a server; `*` stands for any index.
SERVER_SETTINGS = frozenset(
    {
        *("email.host", "email.port", "email.tls"),
        *("mqtt.host", "mqtt.port", "mqtt.tls"),
        *("snmp.trap.host", "snmp.trap.port"),
        *("snmp.more_traps.*.host", "snmp.more_traps.*.port"),
        "http.*.url",
    }
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def server_of(url: str) -> Server:
    """Return the server in an address of HTTP1-HTTP4."""
    scheme, _, place = split_address(url.lower())[0].partition("://")
    host, _, port = place.partition(":")
    return (scheme, host, port or _DEFAULT_PORTS.get(scheme, "")) if host else None


def servers(settings: Settings) -> dict[str, Server]:
    """Return the servers by the paths of the secrets that are sent to them."""
    email, mqtt, trap = settings.email, settings.mqtt, settings.snmp.trap
    found: dict[str, Server] = {
        "email.password": _server(email.tls, email.host, email.port),
        "mqtt.password": _server(mqtt.tls, mqtt.host, mqtt.port),
        "snmp.trap.community": _server(False, trap.host, trap.port),
    }
    for number, more in enumerate(settings.snmp.more_traps):
        found[f"snmp.more_traps.{number}.community"] = _server(False, more.host, more.port)
    for number, call in enumerate(settings.http):
        found[f"http.{number}.password"] = server_of(call.url)
    return found


def _server(tls: bool, host: str, port: int) -> Server:
    return (tls, host.lower(), port) if host else None


def secrets_to_forget(old: Settings, new: Settings) -> Sequence[str]:
    """Return the paths of the secrets whose server was changed or removed.

    A secret that was entered before any server belongs to the first server.
    """
    if (
        old.email is new.email
        and old.http is new.http
        and old.mqtt is new.mqtt
        and old.snmp is new.snmp
    ):
        # The usual case.
        return ()
    before, now = servers(old), servers(new)
    return [path for path, server in before.items() if server is not None and server != now[path]]
