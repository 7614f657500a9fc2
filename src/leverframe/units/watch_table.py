"""The table `[watch]` of an inventory: how often units are polled, and where notices are sent.

[watch]
every = "30s"
data = "watch"

[watch.email]
host = "mail.example"
recipient = "owner@example"
sender = "watch@example"
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from leverframe.core.durations import BadDuration, seconds_from_text
from leverframe.core.engine.secret_servers import split_address
from leverframe.core.settings import Email, HttpClient, Mqtt
from leverframe.host.configuration.toml import TomlPath
from leverframe.units.document_reader import SecretReference, reference_in

Keys = dict[str, tuple[type, str]]
_DURATION = (str, 'a duration such as "30s" or "15m"')
_TEXT = (str, "a string")
_SECRET = (dict, '{ env = "NAME" } or { secret = "name" }')
_PORT = (int, "a number from 1 to 65535")
_YES_OR_NO = (bool, "true or false")

KEYS: Keys = {
    "every": _DURATION,
    "read_every": _DURATION,
    "data": (str, 'the name of a folder such as "watch"'),
    "host": (str, 'an address to listen on such as "127.0.0.1"'),
    "password": _SECRET,
    "ca_file": (str, 'the name of a file with certificate authorities such as "ca.pem"'),
    "allow_local_targets": _YES_OR_NO,
    "http": (dict, "a table [watch.http]"),
    "email": (dict, "a table [watch.email]"),
    "mqtt": (dict, "a table [watch.mqtt]"),
}
_LOGIN: Keys = {"username": _TEXT, "password": _SECRET}
_SERVER: Keys = {"host": (str, "the name of a server"), "port": _PORT, "tls": _YES_OR_NO, **_LOGIN}
CHANNELS: dict[str, Keys] = {
    "http": {"url": (str, "an address such as https://example/hook"), **_LOGIN},
    "email": {**_SERVER, "recipient": _TEXT, "sender": _TEXT, "subject": _TEXT},
    "mqtt": {**_SERVER, "prefix": _TEXT},
}
#: The required keys of a channel.
_NEEDED = {"http": ("url",), "email": ("host", "recipient", "sender"), "mqtt": ("host",)}
_SHORTEST = {"every": 5.0, "read_every": 60.0}
_LONGEST_S = 86_400.0


class AlarmChannels(Struct, frozen=True):
    """The channels of notices; None for unused ones."""

    http: HttpClient | None = None
    email: Email | None = None
    mqtt: Mqtt | None = None
    ca_file: str | None = None
    #: Whether the HTTP call may reach this machine.
    allow_local: bool = False


class WatchTable(Struct, frozen=True):
    """The options of an inventory for the watch over its units."""

    every_s: float = 30.0
    read_every_s: float = 900.0
    #: As written; relative to the inventory.
    data: str = "watch"
    host: str = "127.0.0.1"
    password: str | None = None
    alarms: AlarmChannels = AlarmChannels()


class TableReading(Protocol):
    """The reader of the inventory that contains the table."""

    def check_table(self, table: dict[str, Any], keys: Keys, place: TomlPath) -> dict[str, Any]:
        """Return the known keys of the right type, and report the rest."""

    def secret(self, reference: SecretReference, place: TomlPath) -> str | None:
        """Return the secret of a reference, or report that it is missing."""

    def wrong(self, place: TomlPath, sentence: str) -> None:
        """Report a mistake."""


def read_watch_table(raw: dict[str, Any], reading: TableReading) -> WatchTable:
    """Read the table; mistakes are reported, and their keys ignored."""
    table = reading.check_table(raw, KEYS, ("watch",))
    channels = {name: _channel(name, table[name], reading) for name in CHANNELS if name in table}
    usual = WatchTable()
    return WatchTable(
        every_s=_seconds(table, "every", usual.every_s, reading),
        read_every_s=_seconds(table, "read_every", usual.read_every_s, reading),
        data=table.get("data", usual.data),
        host=table.get("host", usual.host),
        password=_secret(table, ("watch", "password"), reading),
        alarms=AlarmChannels(
            ca_file=table.get("ca_file"),
            allow_local=table.get("allow_local_targets", False),
            **channels,
        ),
    )


def _seconds(table: Mapping[str, Any], key: str, usual: float, reading: TableReading) -> float:
    if key not in table:
        return usual
    try:
        seconds = seconds_from_text(table[key])
    except BadDuration as error:
        reading.wrong(("watch", key), f"watch.{key}: {error}")
        return usual
    if not _SHORTEST[key] <= seconds <= _LONGEST_S:
        reading.wrong(
            ("watch", key),
            f"watch.{key} must be from {_SHORTEST[key]:.0f}s to {_LONGEST_S:.0f}s, because a real"
            " unit can answer few requests.",
        )
        return usual
    return seconds


def _secret(table: Mapping[str, Any], place: TomlPath, reading: TableReading) -> str | None:
    reference = reference_in(table.get("password"))
    return None if reference is None else reading.secret(reference, place)


_MAKE: dict[str, Callable[..., Any]] = {"http": HttpClient, "email": Email, "mqtt": Mqtt}


def _channel(name: str, raw: dict[str, Any], reading: TableReading) -> Any:
    place = ("watch", name)
    table = reading.check_table(raw, CHANNELS[name], place)
    for key in _NEEDED[name]:
        if not table.get(key):
            reading.wrong(place, f"watch.{name} has no {key}; add it.")
            return None
    if not 0 < table.get("port", 1) < 65536:
        reading.wrong((*place, "port"), f"watch.{name}.port must be {_PORT[1]}.")
    if name == "http" and not split_address(table["url"])[0].startswith(("http://", "https://")):
        # The message omits the URL, because a part of it may be a key.
        reading.wrong((*place, "url"), f"watch.http.url must be {CHANNELS['http']['url'][1]}.")
    password = _secret(table, (*place, "password"), reading) or ""
    return msgspec.structs.replace(_MAKE[name](), **{**table, "password": password})
