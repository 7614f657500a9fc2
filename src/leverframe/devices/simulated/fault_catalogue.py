"""The catalogue of faults: everything that can fail around a simulated controller, as data.

A fault has a kind, the fields of that kind, and the fields of `SCOPES` that the kind supports:
where, when and how often the fault acts. `slow*delay:5s*path:/json/all.json*times:2` at `/sim.cgi`,
the functions of `leverframe.testing.faults` and the page create the same fault; all of them use
`fault_from_fields`. An error names the field and what is allowed.
"""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from math import inf
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from leverframe.core.durations import DAY_S
from leverframe.core.labels import DIGITAL_INPUTS, OUTPUTS
from leverframe.devices.simulated.plant_wiring import (
    REQUIRED,
    BadField,
    Duration,
    Field,
    Number,
    OneOf,
    fields_from_text,
    values_of,
)
from leverframe.devices.simulated.simulated_board import SETTABLE

HTTP, PORTS, POWER, CLOCK, PINS = "http", "ports", "power", "clock", "pins"
READINGS, LEVELS, MODBUS, CHANNELS = "readings", "levels", "modbus", "channels"
MQTT = "mqtt"
#: Outbox channels by the name of the server that is simulated as unavailable.
SERVERS = {
    "mail": ("email",),
    "broker": ("mqtt",),
    "modem": ("sms",),
    "http": ("http1", "http2", "http3", "http4"),
}
#: Reactions of a Modbus server instead of an answer.
EXCEPTION, SILENT, NONSENSE = "exception", "silent", "garbage"
WRONG_ID, RESET = "wrong id", "reset"
#: Effects on the bytes of a connection.
CUT, DELAY, CORRUPT = "cut", "delay", "corrupt"
#: Paths that no fault affects, so that faults can be ended there.
SPARED_PATHS = ("/sim.cgi", "/api/sim")
#: The maximum length of a fault in the journal.
SHOWN_CHARACTERS = 200
#: Characters that would end a value or its line.
_NOT_IN_VALUES = re.compile(r"[*%\x00-\x1f\x7f]")


class BadFault(BadField):
    """An invalid fault; the message names the wrong field, the reason, and what is allowed."""


class FreeText(Struct, frozen=True):
    """A text that is used unchanged."""

    allowed: str
    max_letters: int = 200
    min_letters: int = 1

    def take(self, value: Any) -> str:
        text = str(value)
        if not self.min_letters <= len(text) <= self.max_letters or not text.isprintable():
            raise BadField(f"{text[:40]!r} is not valid.", self.allowed)
        return text


#: Characters that a pattern must not contain, because only the path of a request is compared.
NOT_IN_PATHS = frozenset("?*# ")


class RequestPath(Struct, frozen=True):
    allowed: str = "a path such as /json/all.json, or a prefix that ends in /"

    def take(self, value: Any) -> str:
        text = str(value)
        is_path = text.startswith("/") and text.isprintable() and len(text) <= 200
        if not is_path or not NOT_IN_PATHS.isdisjoint(text):
            raise BadField(f"{text[:40]!r} is not a path.", self.allowed)
        return text


class OwnPath(RequestPath, frozen=True):
    def take(self, value: Any) -> str:
        path = RequestPath.take(self, value)
        if path.startswith(SPARED_PATHS):
            spared = " and ".join(SPARED_PATHS)
            raise BadField(f"{spared} cannot have a custom answer.", self.allowed)
        return path


class BodyText(Struct, frozen=True):
    """A body as text, or as base64 if its bytes are not text."""

    is_base64: bool
    max_letters: int = 512 << 10

    @property
    def allowed(self) -> str:
        return f"{'base64' if self.is_base64 else 'any text'}, up to {self.max_letters} characters"

    def take(self, value: Any) -> bytes:
        text = str(value)
        try:
            if len(text) > self.max_letters:
                raise ValueError
            return b64decode(text, validate=True) if self.is_base64 else text.encode()
        except (NotBase64, ValueError):
            raise BadField(f"{text[:40]!r} is not valid.", self.allowed) from None


#: Headers that the server derives from the answer.
_OWN_HEADERS = frozenset(("content-length", "content-type", "transfer-encoding", "connection"))


class HeaderLines(Struct, frozen=True):
    allowed: str = (
        "lines such as Retry-After: 5, except Content-Length, Content-Type (see type),"
        " Transfer-Encoding and Connection"
    )

    def take(self, value: Any) -> tuple[tuple[str, str], ...]:
        return tuple(map(self._header, str(value).splitlines()))

    def _header(self, line: str) -> tuple[str, str]:
        name, colon, text = (part.strip() for part in line.partition(":"))
        is_name = re.fullmatch(r"[A-Za-z0-9!#$&'+.^_`|~-]{1,100}", name) is not None
        is_sent = text.isascii() and text.isprintable() and len(text) <= 1000
        if not (colon and is_name and is_sent) or name.lower() in _OWN_HEADERS:
            raise BadField(f"{line[:40]!r} is not valid.", self.allowed)
        return name, text


class FaultKind(Struct, frozen=True):
    #: The affected part of the controller or its environment.
    where: str
    #: The effect, in one sentence.
    doc: str
    #: The behaviour of real units and networks that the fault reproduces.
    real: str
    fields: Mapping[str, Field] = {}
    #: The fields of `SCOPES` that this kind supports.
    scopes: tuple[str, ...] = ("after", "for")


#: Where, when and how often a fault acts. Times are those of the controller's clock.
SCOPES: dict[str, Field] = {
    "path": Field(RequestPath(), "requests to this path only"),
    "times": Field(Number(1, 1e6, "times"), "number of times the fault acts before it ends"),
    "after": Field(Duration(0.0, 30 * DAY_S), "time before the fault begins", 0.0),
    "for": Field(Duration(0.001, 365 * DAY_S), "time after which the fault ends"),
    "chance": Field(
        Number(0.001, 1.0, "of 1"), "probability that the fault acts on each occasion", 1.0
    ),
    "seed": Field(Number(0, 2**31, ""), "random seed for chance, noise and garbage"),
}
_REQUESTS = ("path", "times", "after", "for", "chance", "seed")
_OCCASIONS = ("times", "after", "for", "chance", "seed")
_READING = {
    "label": Field(OneOf(tuple(sorted(SETTABLE - set(DIGITAL_INPUTS)))), "the reading", REQUIRED)
}
_SAMPLED = {
    **_READING,
    "every": Field(Duration(0.1, DAY_S), "time between two samples", 1.0),
}
_RELAY = {"label": Field(OneOf(OUTPUTS), "the output", REQUIRED)}
_EDGES = {
    "edges": Field(Number(1, 100, "edges"), "extra edges per change", 6.0),
    "apart": Field(Duration(0.0005, 1.0), "time between two edges", 0.003),
}
_SEEDED = ("after", "for", "seed")
_BYTES = {
    "delay": Field(Duration(0.0, 3600.0), "delay added by `delay`, in real time", 1.0),
    "bytes": Field(
        Number(0, 1e6, "bytes"),
        "`cut`: bytes sent before the connection closes (default: half); `corrupt`: bytes changed"
        " (default: one)",
    ),
}

FAULTS: dict[str, FaultKind] = {
    "slow": FaultKind(
        HTTP,
        "The answer is delayed, in real time.",
        "A unit with a small processor answers within about 50 ms, but needs seconds while it "
        "sends an e-mail, saves settings or serves many clients.",
        {
            "delay": Field(Duration(0.0, 3600.0), "delay", REQUIRED),
            "jitter": Field(Duration(0.0, 3600.0), "longest random delay that is added", 0.0),
        },
        _REQUESTS,
    ),
    "drip": FaultKind(
        HTTP,
        "The answer arrives a few bytes at a time, in real time.",
        "On a lossy radio link with small windows a page of two kilobytes takes half a minute.",
        {"rate": Field(Number(1.0, 1e6, "bytes/s"), "bytes per second", 100.0)},
        _REQUESTS,
    ),
    "refuse": FaultKind(
        PORTS,
        "The port is closed: new connections are refused, open connections are reset.",
        "A starting unit brings up its network before its server; a wrong port looks the same.",
    ),
    "reset": FaultKind(
        HTTP,
        "The connection is reset, immediately or after some bytes of the answer.",
        "Small network stacks serve a few connections and reset all others; a power cut resets "
        "all connections.",
        {"bytes": Field(Number(0, 1e7, "bytes"), "bytes of the answer before the reset", 0.0)},
        _REQUESTS,
    ),
    "cut": FaultKind(
        HTTP,
        "The connection is closed in the middle of the body.",
        "A server that runs out of memory while it writes a page closes without an error.",
        {
            "bytes": Field(
                Number(0, 1e7, "bytes"), "bytes of the body before the cut; default: half"
            )
        },
        _REQUESTS,
    ),
    "wrong_length": FaultKind(
        HTTP,
        "Content-Length is wrong, and the connection is closed after the body.",
        "Servers that fill in pages while sending them announce the length of the template.",
        {
            "by": Field(
                Number(-1e6, 1e6, "bytes"), "number of bytes that are announced but not sent", 10.0
            )
        },
        _REQUESTS,
    ),
    "status": FaultKind(
        HTTP,
        "The answer is an error.",
        "A failed script causes 500, too many clients 503, and a unit that lost its password in "
        "a restart 401.",
        {"code": Field(Number(300, 599, ""), "the status", 500.0)},
        _REQUESTS,
    ),
    "garbage": FaultKind(
        HTTP,
        "The body, or the whole answer, consists of random bytes.",
        "Damaged files in the flash memory, and other programs on the expected port.",
        {"of": Field(OneOf(("body", "answer")), "part that is replaced by random bytes", "body")},
        _REQUESTS,
    ),
    "content_type": FaultKind(
        HTTP,
        "The answer has a wrong content type.",
        "Many units send XML and JSON as text/html, or without a type.",
        {"type": Field(FreeText("a content type such as text/html"), "the type", "text/html")},
        _REQUESTS,
    ),
    "stale": FaultKind(
        HTTP,
        "The answer repeats the first answer of this path since the fault began.",
        "Proxies with caches, and units that rebuild status files only now and then.",
        {},
        _REQUESTS,
    ),
    "half_open": FaultKind(
        HTTP,
        "The answer is sent; then the connection stays open, but nothing more is sent.",
        "After a restart, or behind a router that dropped it, a connection can look open for "
        "hours.",
        {},
        _REQUESTS,
    ),
    "frozen": FaultKind(
        HTTP,
        "Connections and requests are accepted, but no request is answered.",
        "A unit whose program hangs: its network chip accepts connections until the watchdog "
        "resets it.",
        {},
        _REQUESTS,
    ),
    "raw": FaultKind(
        HTTP,
        "Status files show this value under a key, whatever is measured.",
        "Broken sensors and versions with other scales show -1270 for a lost thermometer, 32767, "
        "an empty text or nan.",
        {
            "key": Field(
                FreeText("a key of the status files such as ds1", 40), "the key", REQUIRED
            ),
            "value": Field(FreeText("any text", 100, 0), "the text shown there", REQUIRED),
        },
        _REQUESTS,
    ),
    "reply": FaultKind(
        HTTP,
        "A path returns this answer, whether it exists or not; nothing else is done, and no "
        "account is required. Other faults act on this answer too.",
        "Uploaded pages, other firmware and proxies serve paths that no document lists.",
        {
            "path": Field(OwnPath(), "the path, or a prefix that ends in /", REQUIRED),
            "status": Field(Number(200, 599, ""), "the status", 200.0),
            "type": Field(FreeText("a content type such as text/html"), "the type", "text/plain"),
            "body": Field(BodyText(is_base64=False), "the body"),
            "base64": Field(BodyText(is_base64=True), "the body as base64, instead of `body`"),
            "headers": Field(HeaderLines(), "further headers, one per line"),
        },
        _OCCASIONS,
    ),
    "reboot": FaultKind(
        POWER,
        "The controller is off for a while and then starts. While it is off, ports are closed, "
        "open connections are cut, datagrams are ignored, and nothing is sent.",
        "A unit needs 3 to 10 s from power to its first answer; its outputs are off until then.",
        {
            "takes": Field(Duration(0.0, DAY_S), "how long the controller stays off", 5.0),
            "loses": Field(
                OneOf(("nothing", "settings")),
                "what is lost; accounts are always kept",
                "nothing",
            ),
        },
        ("after",),
    ),
    "brown_out": FaultKind(
        POWER,
        "The power fails repeatedly; each time the controller is silent as with `reboot`.",
        "A weak supply breaks down when relays pull in: the unit starts, switches, and fails"
        " again.",
        {
            "cycles": Field(Number(1, 1000, "times"), "number of power failures", 3.0),
            "off": Field(Duration(0.0, DAY_S), "how long the controller stays off each time", 1.0),
            "on": Field(Duration(0.1, DAY_S), "how long the controller runs in between", 2.0),
        },
        ("after",),
    ),
    "clock_wrong": FaultKind(
        CLOCK,
        "The wall clock is wrong by some seconds; it is right again at the end.",
        "Without battery and time server a unit starts in 1970 or 2000; time zones are set "
        "wrongly.",
        {"by": Field(Number(-2e9, 2e9, "s"), "seconds ahead; negative is behind", 3600.0)},
    ),
    "clock_jumps": FaultKind(
        CLOCK,
        "The wall clock jumps back and forth.",
        "Two time servers that disagree, or a crystal that is corrected in steps.",
        {
            "by": Field(Number(-1e6, 1e6, "s"), "size of a jump in seconds", 600.0),
            "every": Field(Duration(1.0, DAY_S), "time between two jumps", 60.0),
        },
    ),
    "output_stuck": FaultKind(
        PINS,
        "The relay does not switch, and the controller does not notice.",
        "Contacts weld under inrush current, coils burn out.",
        {
            **_RELAY,
            "at": Field(
                OneOf(("present", "on", "off")), "state in which the relay sticks", "present"
            ),
        },
    ),
    "output_reversed": FaultKind(
        PINS,
        "The relay does the opposite.",
        "The load is connected to the normally closed contact.",
        _RELAY,
    ),
    "relay_bounce": FaultKind(
        PINS,
        "Each time the relay switches, it produces extra edges.",
        "Contacts bounce for 1 to 10 ms.",
        {**_RELAY, **_EDGES},
    ),
    "sensor_stuck": FaultKind(
        READINGS,
        "The reading keeps its value.",
        "A sensor that hangs keeps returning its last conversion.",
        _READING,
    ),
    "sensor_noisy": FaultKind(
        READINGS,
        "The reading scatters around the measured value.",
        "Long cables next to mains cables add 0.1 to 1 degree, or about 10 mV at analog inputs.",
        {**_SAMPLED, "sigma": Field(Number(0.0, 1e6, ""), "standard deviation", 0.5)},
        _SEEDED,
    ),
    "sensor_drifting": FaultKind(
        READINGS,
        "The reading drifts from the measured value at a constant rate.",
        "Humidity sensors drift by a few percent a year, CO2 sensors without calibration faster.",
        {**_SAMPLED, "per_hour": Field(Number(-1e6, 1e6, "an hour"), "rate of the drift", 1.0)},
    ),
    "sensor_spikes": FaultKind(
        READINGS,
        "Now and then one sample is far off.",
        "Switching relays and motors disturb sensors on the same supply.",
        {
            **_SAMPLED,
            "by": Field(Number(-1e6, 1e6, ""), "size of the error", 50.0),
            "share": Field(Number(0.0001, 1.0, "of 1"), "share of samples", 0.05),
        },
        _SEEDED,
    ),
    "sensor_absent": FaultKind(
        READINGS,
        "The sensor does not answer.",
        "Loose plugs, broken cables, dead sensors.",
        _READING,
    ),
    "sensor_85": FaultKind(
        READINGS,
        "The thermometer shows 85 degrees.",
        "A DS18B20 that lost its supply during a conversion reads 85.00, its power-on value.",
        _READING,
    ),
    "sensor_minus_127": FaultKind(
        READINGS,
        "The thermometer shows -127 degrees, an impossible reading.",
        "Many drivers return -127 for a DS18B20 that does not answer.",
        _READING,
    ),
    "input_chatter": FaultKind(
        LEVELS,
        "Each change of a digital input produces extra edges.",
        "Buttons and float switches bounce for up to 20 ms.",
        {"label": Field(OneOf(DIGITAL_INPUTS), "the input", REQUIRED), **_EDGES},
    ),
    "modbus": FaultKind(
        MODBUS,
        "The Modbus TCP server answers wrongly, or not at all.",
        "Servers behind gateways answer exception 11 or nothing when the bus is silent, 6 while "
        "they are busy; gateways mix up transactions.",
        {
            "what": Field(
                OneOf((EXCEPTION, SILENT, NONSENSE, WRONG_ID, RESET, CUT, DELAY, CORRUPT)),
                "what the server does",
                EXCEPTION,
            ),
            "code": Field(Number(1, 11, ""), "code of the exception", 4.0),
            **_BYTES,
        },
        _OCCASIONS,
    ),
    "mqtt": FaultKind(
        MQTT,
        "Data for the MQTT broker is cut off and the connection closed, is delayed or has wrong "
        "bytes; or the connection is reset instead.",
        "Radio links and routers drop connections, often in the middle of a packet; memory "
        "errors of cheap routers change bytes after the checksum was verified.",
        {
            "what": Field(OneOf((CUT, DELAY, CORRUPT, RESET)), "what happens", RESET),
            **_BYTES,
        },
        _OCCASIONS,
    ),
    "down": FaultKind(
        CHANNELS,
        "A server or modem for messages is down; messages wait and are sent when it is back.",
        "Mail servers, brokers and phone networks are sometimes down for hours.",
        {"server": Field(OneOf(tuple(SERVERS)), "what is down", REQUIRED)},
    ),
}


class Fault(Struct, frozen=True):
    """A fault of the catalogue with its checked field values."""

    kind: str
    fields: Mapping[str, Any]
    #: The fields as given by the caller, for users and for `/sim.cgi`.
    given: Mapping[str, str]

    @property
    def where(self) -> str:
        return FAULTS[self.kind].where

    @property
    def text(self) -> str:
        """Write the fault as in `/sim.cgi?fault=`; `*` and `%` in values are percent-encoded."""
        fields = (f"{name}:{_encode(value)}" for name, value in self.given.items())
        return "*".join((self.kind, *fields))

    @property
    def shown(self) -> str:
        """Write the fault for users; a whole page in it is shortened."""
        text = self.text
        return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."

    def within(self, **scope: Any) -> "Fault":
        """Return the same fault with a scope: path, times, after, for, chance, seed."""
        given = {name.rstrip("_"): value for name, value in scope.items() if value is not None}
        return fault_from_fields(self.kind, {**self.given, **given})


def fault_from_text(text: str) -> Fault:
    """Decode `slow*delay:5s*...`."""
    kind, fields = fields_from_text(text, BadFault)
    return fault_from_fields(kind, {name: unquote(value) for name, value in fields.items()})


def _encode(value: str) -> str:
    return _NOT_IN_VALUES.sub(lambda found: f"%{ord(found[0]):02X}", value)


def fault_from_fields(kind: str, fields: Mapping[str, Any]) -> Fault:
    """Create a fault from its kind and its fields; raise `BadFault` if they are invalid."""
    if kind not in FAULTS:
        raise BadFault(f"There is no fault {kind[:40]!r}.", ", ".join(FAULTS), "kind", kind[:40])
    values = values_of(kind, fields_of(kind), fields, BadFault)
    return Fault(kind, values, {name: str(value) for name, value in fields.items()})


def fields_of(kind: str) -> dict[str, Field]:
    """Return the fields of a kind, then those of its scope."""
    one = FAULTS[kind]
    return {**one.fields, **{name: SCOPES[name] for name in one.scopes}}


def time_unreachable_s(fault: Fault) -> float | None:
    """Return the seconds until a new fault stops blocking requests; None if it blocks none."""
    fields = fault.fields
    match fault.kind:
        case "refuse":
            lasts_s = fields["for"]
            return inf if lasts_s is None else float(fields["after"] + lasts_s)
        case "reboot":
            return float(fields["after"] + fields["takes"])
        case "brown_out":
            return float(fields["after"] + fields["cycles"] * (fields["off"] + fields["on"]))
    return None
