"""The reference page of requests, replies and paths; the commands have a page of their own."""

from typing import Any

from leverframe.commands.describe.refusal_statuses import REFUSALS
from leverframe.commands.table.row import ADMIN, ANYBODY, CONTROL
from leverframe.engine.labels import shorten_labels
from leverframe.fleet.operation import Operation
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.naming.awaited_conditions import COMPARISONS
from leverframe.reference.markdown import code, prose, table
from leverframe.servers.routes.endpoints import (
    RULE_TRIAL,
    SIM_PATH,
    STATUS_FILES,
    STREAM_PATH,
    VALUES,
    WHAT_IF,
)
from leverframe.servers.routes.sim import SENSED

_READERS = {ADMIN: "administrator", CONTROL: "every account", ANYBODY: "everybody"}

_REQUESTS = """\
# HTTP

## Requests

A command is a request with GET to a path such as `/stm.cgi`, with the command as its query. POST
does the same, with the same query and an empty body. The paths without a query answer the present
states.

- Commands of one path may be joined with `&`, up to 100 of them, and a name may come again. They
  are carried out in order, each seeing what the ones before it set.
- All or nothing: every command is checked first. If one is bad, none is carried out and the answer
  says which one and why. With `--lenient` a bad command is skipped instead and the answer is 200.
- The query is split before it is percent-decoded, so an encoded `*`, `&` or `=` inside a text is
  safe. `+` and `%20` are spaces and `%2B` is a plus; in telephone numbers a bare `+` stays a plus.
- List bodies are read from the first `&` to `&&`, whatever stands around them.
- A changed setting is on disk before the answer comes.

## Answers

A command that was carried out answers 200 with `text/xml`: `out` holds the states of OUT0 to OUT5
after it, one character each; `pwm` and `ev` are numbers whose bits are PWM0 to PWM3 and EVENT1 to
EVENT8.

```xml
<response>
<out>010000</out>
<pwm>0</pwm>
<ev>0</ev>
</response>
```

A refusal is `application/problem+json` (RFC 9457) with `type`, `title`, `status` and `detail`, and
with `command`, `field`, `value` and `allowed` where they apply. Nothing has changed after it.

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
any other address it is required always.

- Programs send HTTP Basic, at once or when they are asked for it.
- Pages send `username` and `password` as a form to `POST /post.cgi?signin` and get a cookie. The
  session ends with `POST /post.cgi?signout`, after 30 minutes without a request, after 12 hours,
  and when the password changes. `/signin` is a plain page that does all this.
- After three wrong passwords for an account from one address there are growing waits (429, with
  `Retry-After`), and at most ten tries in five minutes. Other addresses are not affected.
- Requests with a query, and every POST, are refused (403) when a page of another site has caused
  them: by `Origin`, `Referer` or `Sec-Fetch-Site`. So are requests whose `Host` is none of the
  controller's names (`hosts` in the configuration adds some). Requests without these headers are
  taken.
"""

_STREAM = f"""
## The live state

`{STREAM_PATH}`, for every account, is an answer without an end (`text/event-stream`, as
`EventSource` in browsers and `curl -N` read it):

- `state` comes first, with all that `/api/state` has.
- `change` has those of its members that are different now, as whole values. Changes within a tenth
  of a second come together. `time` and `uptime` come along with others, never alone.
- `settings` is empty and says that a setting was changed.
- A comment every 15 seconds shows that the other end is there.

Whoever loses the connection connects again and gets the whole state first.
"""

_PICTURES = """
## Pictures and pages

For every account. `/` is the built-in page and `/signin` a plain one to sign in. `/api/oled.png` is
what the display shows at this moment, black while it is dark. `/picture` is the uploaded picture.
An uploaded web site answers at `/` and at every path that is none of the controller's own;
`/?safe` is always the built-in page. While the bootloader waits, everything is 503, for browsers
with a page that counts down.
"""

_BACKUPS = """
## Backups

For the administrator. `/dev_settings.bin`, and `/lk3_settings.bin` with the same content, is a
[backup](../how-to/backup.md) of all settings; `POST /post.cgi?settingsupload` restores one.
"""


_FLEET = """
## A node with many controllers

[Many controllers in one process](../how-to/fleet.md) have the interface above each, at a name of
their own. The node has these paths at its own address, for its administrator; on loopback for
every user of the machine. `name` and `tag` choose controllers: those of these names that have all
of these tags, all of them where neither is given. Several are written with commas.
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
            "Typed JSON, to read. The whole interface as OpenAPI is among it.\n",
            table(
                ("path", "for", ""),
                [(code(x.path), _READERS[x.role], prose(x.doc)) for x in VALUES],
            ),
            f"\n`POST {RULE_TRIAL.path}`, for the administrator: {prose(RULE_TRIAL.doc)}\n",
            f"\n`POST {WHAT_IF.path}`, for the administrator: {prose(WHAT_IF.doc)}\n",
            _STREAM,
            "\n## Status files\n",
            "What clients of such controllers read. [Files](files.md) tells every key.\n",
            table(
                ("path", "holds"),
                [(code(x.path), prose(x.doc)) for x in STATUS_FILES],
            ),
            _PICTURES,
            _BACKUPS,
            "\n## The simulated board\n",
            _simulated_board(),
            _FLEET,
            table(
                ("path", "parameters", ""),
                [(_fleet_path(x), _fleet_parameters(x), prose(x.doc)) for x in OPERATIONS],
            ),
        ]
    )


def _simulated_board() -> str:
    return f"""\
`{SIM_PATH}` plays the world around a simulated board; elsewhere it is 404. Items are joined with
`&`; all are checked before the first is carried out.

- `DS1=21.5` makes the board sense something in real units (volts at the pin for INPA1 to INPA6,
  0 or 1 for INPD1 to INPD4), `DS1=none` unplugs it. It senses {", ".join(shorten_labels(SENSED))}.
- `onewire=28:FF:64:1E:8C:16:03:5A` attaches a sensor to the 1-Wire bus, `onewire=none` clears the
  bus. `28:FF:64:1E:8C:16:03:5A=21.5` lets one sensor of it measure something, `=none` unplugs it.
- `i2c=BME280` says which sensor answers on the I2C bus, `barcode=...` what was scanned.
- `sms=+48601000000:1234:out=0` lets an SMS arrive from that number. `/api/sim` tells its answer.
- `plant=room*heater:PWM0*reading:DS1*...` wires a [plant](simulation.md) between outputs and
  inputs, `plant=none` removes all, `DS1=plant` shows again what a plant gives.
- `fault=slow*delay:5s*path:/json/all.json*times:2` sets a [fault](simulation.md#faults),
  `fault=end:3` ends the one with that number, `fault=none` all of them.
- `ping=router:5` lets a host answer the watchdog after milliseconds, `ping=router:none` no longer;
  only with `--virtual-time`. On real time pings are real.
- `advance=3600` moves virtual time by seconds, `advance=next` to the next moment at which something
  is due; only with `--virtual-time`. All that is due in between happens before the answer.
- `until=DS1 >= 30 and "Pump room" != on*within:2h`, percent-encoded, moves virtual time until a
  condition holds; 409 if it does not hold within that time (a day if not given). It is judged now
  and whenever something was due. A comparison is a label or a name; then
  {", ".join(map(code, COMPARISONS))}; then a number, `on`, `off` or `none` for what is absent.
  Comparisons are joined with `and`, `or` and parentheses.

`/api/sim` shows all of this as data, with limits and units. `/api/sim/snapshot` downloads the
controller at this moment, or with `name=NAME` a snapshot that was taken, as a file with all its
secrets; `POST /api/sim/snapshots?load=NAME` takes such a file as its body, also in another process
of the same version."""
