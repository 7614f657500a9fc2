"""Faults for tests: one function for each kind of the catalogue, checked when it is called.

    with twin.fault(faults.slow("5s"), path="/json/all.json", times=2):
        ...

Durations are seconds, texts such as `90s`, or `timedelta`. An impossible fault raises `BadFault`,
which says what is allowed. Answers are delayed in real time, because the client runs in real time;
everything else follows the controller's clock.
"""

import json as json_text
from base64 import b64encode
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from leverframe.devices.simulated.fault_catalogue import (
    BadFault,
    Fault,
    HeaderLines,
    fault_from_fields,
)

__all__ = [
    "BadFault",
    "Fault",
    "absent",
    "bounce",
    "brown_out",
    "chatter",
    "clock_jumps",
    "clock_wrong",
    "content_type",
    "cut",
    "down",
    "drifting",
    "drip",
    "frozen",
    "garbage",
    "half_open",
    "modbus",
    "mqtt",
    "noisy",
    "raw",
    "reads_85",
    "reads_minus_127",
    "reboot",
    "refuse",
    "reply",
    "reset",
    "reset_after",
    "reversed_output",
    "slow",
    "spikes",
    "stale",
    "status",
    "stuck",
    "stuck_output",
    "wrong_length",
]

Time = float | str | timedelta


def _fault(kind: str, **fields: Any) -> Fault:
    given = {name.rstrip("_"): _plain(value) for name, value in fields.items() if value is not None}
    return fault_from_fields(kind, given)


def _plain(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


def slow(delay: Time, jitter: Time = 0) -> Fault:
    """Answer late, by the delay and up to `jitter` more."""
    return _fault("slow", delay=delay, jitter=jitter)


def drip(rate: float = 100) -> Fault:
    """Answer slowly, at this number of bytes per second."""
    return _fault("drip", rate=rate)


def refuse() -> Fault:
    """Close the port: new connections are refused, and open ones are reset."""
    return _fault("refuse")


def reset() -> Fault:
    """Reset the connection instead of answering."""
    return _fault("reset")


def reset_after(count: int) -> Fault:
    """Reset the connection after this number of bytes of the answer."""
    return _fault("reset", bytes=count)


def cut(count: int | None = None) -> Fault:
    """Close the connection after this number of bytes of the body, or after half of it."""
    return _fault("cut", bytes=count)


def wrong_length(by: int = 10) -> Fault:
    """Announce a length that differs by this number of bytes from the body."""
    return _fault("wrong_length", by=by)


def status(code: int = 500) -> Fault:
    """Answer with a bare error."""
    return _fault("status", code=code)


def garbage(of: str = "body") -> Fault:
    """Answer with random bytes as the `body`, or as the whole `answer`."""
    return _fault("garbage", of=of)


def content_type(type_: str = "text/html") -> Fault:
    """Answer with another content type."""
    return _fault("content_type", type=type_)


def stale() -> Fault:
    """Repeat the first answer at each address."""
    return _fault("stale")


def half_open() -> Fault:
    """Answer, then leave the connection open and silent."""
    return _fault("half_open")


def frozen() -> Fault:
    """Accept requests and never answer."""
    return _fault("frozen")


def raw(key: str, value: str) -> Fault:
    """Put this text under a key of the status files, whatever is measured."""
    return _fault("raw", key=key, value=value)


def reboot(takes: Time = 5, loses: str = "nothing") -> Fault:
    """Switch off for a time, then start; `loses="settings"` resets all but the accounts."""
    return _fault("reboot", takes=takes, loses=loses)


def brown_out(cycles: int = 3, off: Time = 1, on: Time = 2) -> Fault:
    """Lose the power repeatedly."""
    return _fault("brown_out", cycles=cycles, off=off, on=on)


def clock_wrong(by: float = 3600) -> Fault:
    """Set the wall clock wrong by this number of seconds."""
    return _fault("clock_wrong", by=by)


def clock_jumps(by: float = 600, every: Time = 60) -> Fault:
    """Make the wall clock jump forward and back."""
    return _fault("clock_jumps", by=by, every=every)


def stuck_output(label: str, at: str = "present") -> Fault:
    """Keep a relay `on` or `off`, whatever is commanded."""
    return _fault("output_stuck", label=label, at=at)


def reversed_output(label: str) -> Fault:
    """Make a relay do the opposite of each command."""
    return _fault("output_reversed", label=label)


def bounce(label: str, edges: int = 6, apart: Time = 0.003) -> Fault:
    """Make a relay bounce whenever it is switched."""
    return _fault("relay_bounce", label=label, edges=edges, apart=apart)


def stuck(label: str) -> Fault:
    """Freeze a reading at its present value."""
    return _fault("sensor_stuck", label=label)


def noisy(label: str, sigma: float = 0.5, every: Time = 1) -> Fault:
    """Add noise with this standard deviation to a reading."""
    return _fault("sensor_noisy", label=label, sigma=sigma, every=every)


def drifting(label: str, per_hour: float = 1.0, every: Time = 1) -> Fault:
    """Make a reading drift away from the measured value."""
    return _fault("sensor_drifting", label=label, per_hour=per_hour, every=every)


def spikes(label: str, by: float = 50.0, share: float = 0.05, every: Time = 1) -> Fault:
    """Give a share of the samples large errors."""
    return _fault("sensor_spikes", label=label, by=by, share=share, every=every)


def absent(label: str) -> Fault:
    """Make a sensor stop answering."""
    return _fault("sensor_absent", label=label)


def reads_85(label: str) -> Fault:
    """Make a thermometer show 85 degrees, like a DS18B20 before its first conversion."""
    return _fault("sensor_85", label=label)


def reads_minus_127(label: str) -> Fault:
    """Make a thermometer show -127 degrees, as drivers do for a sensor that does not answer."""
    return _fault("sensor_minus_127", label=label)


def chatter(label: str, edges: int = 6, apart: Time = 0.003) -> Fault:
    """Make a digital input bounce whenever it changes."""
    return _fault("input_chatter", label=label, edges=edges, apart=apart)


def modbus(
    what: str = "exception", code: int = 4, delay: Time | None = None, count: int | None = None
) -> Fault:
    """Make the Modbus TCP server return an `exception` with a code, stay `silent`, send `garbage`
    or a `wrong id`, `reset` the connection, `cut` answers after `count` bytes (default: half of
    them), `delay` them in real time, or `corrupt` this number of their bytes (default: one).
    """
    return _fault("modbus", what=what, code=code, delay=delay, bytes=count)


def mqtt(what: str = "reset", delay: Time | None = None, count: int | None = None) -> Fault:
    """Make the connection to the MQTT broker `reset` instead of sending, `cut` its data after
    `count` bytes and close, `delay` its data in real time, or `corrupt` this number of its bytes.
    """
    return _fault("mqtt", what=what, delay=delay, bytes=count)


def reply(
    path: str,
    body: str | bytes = "",
    *,
    status: int = 200,
    json: Any = None,
    headers: Mapping[str, str] | None = None,
    content_type: str | None = None,
) -> Fault:
    """Answer a path with this reply; an existing path then has no other effect.

    `json` is the body as a value. The default content type is text/plain, or application/json with
    `json`.
    """
    if not isinstance(body, str | bytes):
        raise BadFault(
            f"body: {body!r} is neither text nor bytes; json= sends it as JSON.",
            "a text or bytes",
            "body",
        )
    if not isinstance(headers, Mapping | None):
        raise BadFault(f"headers: {headers!r} is not valid.", "texts by name", "headers")
    if json is not None and body:
        raise BadFault("reply has a body and json.", "one of body and json", "json")
    if json is not None:
        body, content_type = _as_json(json), content_type or "application/json"
    if body and status in (204, 304):
        raise BadFault(f"An answer with status {status} has no body.", "an empty body", "body")
    headers = headers or {}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if broken := [line for line in lines if len(line.splitlines()) > 1]:
        raise BadFault(f"{broken[0]!r} has a line break.", HeaderLines().allowed, "headers")
    return _fault(
        "reply",
        path=path,
        status=status,
        type_=content_type,
        body=body if isinstance(body, str) and body else None,
        base64=b64encode(body).decode() if isinstance(body, bytes) and body else None,
        headers="\n".join(lines) or None,
    )


def _as_json(value: Any) -> str:
    try:
        return json_text.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadFault(f"json: {error}.", "a value that JSON can represent", "json") from None


def down(server: str) -> Fault:
    """Make the `mail` server, the `broker`, the `modem` or the `http` servers fail."""
    return _fault("down", server=server)
