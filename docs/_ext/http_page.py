"""The reference page of requests, replies and paths; the commands have a page of their own."""

from typing import Any

from docs._ext.markdown import code, prose, table
from leverframe.core.labels import shorten_labels
from leverframe.fleet.operation import Operation
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.interface.descriptions.schemas import REFUSALS
from leverframe.interface.names import COMPARISONS
from leverframe.interface.table.row import ADMIN, ANYONE, CONTROL
from leverframe.server.routes.endpoints import (
    MODULE_TRIAL,
    RESTORE_TRIAL,
    RULE_TRIAL,
    SIM_PATH,
    STATUS_FILES,
    STREAM_PATH,
    VALUES,
    WHAT_IF,
)
from leverframe.server.routes.sim import SENSED

_READERS = {ADMIN: "administrator", CONTROL: "every account", ANYONE: "all clients"}

_REQUESTS = """\
# HTTP

## Requests

A command is a GET request to a path such as `/stm.cgi`, with the command as its query. POST with
the same query and an empty body has the same effect. Without a query these paths return the
current states.

- Join commands of one path with `&`, up to 100; a name may repeat. They are carried out in order,
  and each command sees the changes of the commands before it.
- A request is applied completely or not at all: every command is checked first. If a command is
  invalid, none is carried out, and the answer names it with the reason. With `--lenient`, invalid
  commands are skipped and the answer is 200.
- The query is split before it is percent-decoded, so an encoded `*`, `&` or `=` inside a text is
  safe. `+` and `%20` are spaces and `%2B` is a plus; in telephone numbers a bare `+` stays a plus.
- List bodies are read from the first `&` to `&&`; text before and after is ignored.
- A changed setting is on disk before the answer is sent.

## Answers

A successful command returns 200 with `text/xml`: `out` contains the states of OUT0 to OUT5 after
the command, one character each; `pwm` and `ev` are numbers whose bits are PWM0 to PWM3 and EVENT1
to EVENT8.

```xml
<response>
<out>010000</out>
<pwm>0</pwm>
<ev>0</ev>
</response>
```

A rejected request returns `application/problem+json` (RFC 9457) with `type`, `title`, `status` and
`detail`, and with `command`, `field`, `value` and `allowed` if they apply. It changes nothing.

```json
{
  "type": "about:blank",
  "title": "A value is not allowed",
  "status": 400,
  "detail": "7 is outside 0 to 5.",
  "command": "oname=7Pump",
  "field": "A",
  "value": "7",
  "allowed": "0 to 5"
}
```
"""

_SIGNING_IN = """
## Signing in

On a loopback address a controller is open until `auth` or `leverframe passwd` requires sign-in. On
any other address sign-in is always required.

- Programs use HTTP Basic, with the first request or after a 401.
- Pages send `username` and `password` as a form to `POST /post.cgi?signin` and get a cookie. The
  session ends with `POST /post.cgi?signout`, after 30 minutes without a request, after 12 hours,
  and when the password changes. `/signin` is a simple page for signing in and out.
- After three wrong passwords for an account from one address, further attempts must wait longer
  each time (429, with `Retry-After`), with at most ten attempts in five minutes. Other addresses
  are not affected.
- Requests with a query, and every POST, are rejected (403) if a page of another site caused them,
  according to `Origin`, `Referer` or `Sec-Fetch-Site`. Requests whose `Host` is not a name of the
  controller are also rejected (`hosts` in the configuration adds names). Requests without these
  headers are accepted.
"""

_STREAM = f"""
## The live state

`{STREAM_PATH}`, for every account, is an endless answer (`text/event-stream`, for `EventSource` in
browsers and `curl -N`):

- `state` comes first, with the whole content of `/api/state`.
- `change` contains the members that have changed, with their whole values. Changes within a tenth
  of a second are combined. `time` and `uptime` are sent only together with other members.
- `settings` is empty and reports that a setting was changed.
- A comment every 15 seconds shows that the connection is alive.

A client that loses the connection connects again and receives the whole state first.
"""

_PICTURES = """
## Pictures and pages

For every account. `/` is the built-in page and `/signin` a plain sign-in page. `/api/oled.png` is
the current picture of the display; it is black while the display is off. `/picture` is the uploaded
picture. An uploaded web site is served at `/` and at every path that the controller does not use
itself; `/?safe` is always the built-in page. While the bootloader waits, every request returns 503;
browsers get a page with a countdown.
"""

_BACKUPS = """
## Backups

For the administrator. `/dev_settings.bin`, and `/lk3_settings.bin` with the same content, is a
[backup](../how-to/backup.md) of all settings; `POST /post.cgi?settingsupload` restores one.
"""


_FLEET = """
## A node with many controllers

Each controller of a [node](../how-to/fleet.md) has the interface above under its own name. The node
has these paths at its own address, for its administrator, and on loopback for every user of the
machine. `name` and `tag` select the controllers with one of these names and all of these tags;
without both, all controllers are selected. Separate several values with commas.
"""


def _fleet_path(operation: Operation[Any]) -> str:
    method = "POST " if "POST" in operation.methods else ""
    return code(f"{method}{operation.path}")


def _fleet_parameters(operation: Operation[Any]) -> str:
    return ", ".join(code(parameter.name) for parameter in operation.query)


def http_page() -> str:
    return "\n".join(
        [
            _REQUESTS,
            table(
                ("status", "when"),
                [(str(status), prose(words)) for status, words in REFUSALS.items()],
            ),
            _SIGNING_IN,
            "\n## Values in real units\n",
            "Typed JSON, read-only, including the whole interface as OpenAPI.\n",
            table(
                ("path", "for", ""),
                [(code(x.path), _READERS[x.role], prose(x.doc)) for x in VALUES],
            ),
            f"\n`POST {RULE_TRIAL.path}`, for the administrator: {prose(RULE_TRIAL.doc)}\n",
            f"\n`POST {WHAT_IF.path}`, for the administrator: {prose(WHAT_IF.doc)}\n",
            f"\n`POST {MODULE_TRIAL.path}`, for the administrator: {prose(MODULE_TRIAL.doc)}\n",
            _STREAM,
            "\n## Status files\n",
            "Files for existing clients. [Status files](files.md) lists every key.\n",
            table(
                ("path", "content"),
                [(code(x.path), prose(x.doc)) for x in STATUS_FILES],
            ),
            _PICTURES,
            _BACKUPS,
            f"\n`POST {RESTORE_TRIAL.path}`, for the administrator: {prose(RESTORE_TRIAL.doc)}\n",
            "\n## The simulated board\n",
            _board_section(),
            _FLEET,
            table(
                ("path", "parameters", ""),
                [(_fleet_path(x), _fleet_parameters(x), prose(x.doc)) for x in OPERATIONS],
            ),
        ]
    )


def _board_section() -> str:
    return f"""\
`{SIM_PATH}` controls the simulated board; with any other board it returns 404. Join items with `&`;
all items are checked before the first is carried out.

- `DS1=21.5` sets a reading in real units (volts at the pin for INPA1 to INPA6, 0 or 1 for INPD1 to
  INPD4); `DS1=none` unplugs it. The board senses {", ".join(shorten_labels(SENSED))}.
- `onewire=28:FF:64:1E:8C:16:03:5A` attaches a sensor to the 1-Wire bus; `onewire=none` clears the
  bus. `28:FF:64:1E:8C:16:03:5A=21.5` sets the reading of this sensor; `=none` unplugs it.
- `i2c=BME280` selects the sensor on the I2C bus; `barcode=...` sets a scanned barcode.
- `sms=+48601000000:1234:out=0` simulates an SMS from that number. `/api/sim` shows the answer.
- `plant=room*heater:PWM0*reading:DS1*...` wires a [plant](simulation.md) between outputs and
  inputs; `plant=none` removes all plants; `DS1=plant` returns a reading to its plant.
- `fault=slow*delay:5s*path:/json/all.json*times:2` sets a [fault](simulation.md#faults);
  `fault=end:3` ends the fault with this number; `fault=none` ends all faults.
- `ping=router:5` lets a host answer pings of the watchdog after 5 ms; `ping=router:none` stops it.
  Only with `--virtual-time`; in real time, real pings are sent.
- `advance=3600` moves virtual time by seconds; `advance=next` moves it to the next due event. Only
  with `--virtual-time`. All events that are due in this time happen before the answer.
- `until=DS1 >= 30 and "Pump room" != on*within:2h`, percent-encoded, moves virtual time until a
  condition is met; 409 if it is not met within this time (default: one day). The condition is
  evaluated immediately and after every due event. A comparison is a label or a name, then
  {", ".join(map(code, COMPARISONS))}, then a number, `on`, `off`, or `none` for an absent reading.
  Join comparisons with `and`, `or` and parentheses.

`/api/sim` shows all of this as data, with limits and units. `/api/sim/snapshot` downloads the
current state of the controller, or a stored snapshot with `name=NAME`, as a file with all secrets.
`POST /api/sim/snapshots?load=NAME` accepts such a file as its body, also in another process of the
same version."""
