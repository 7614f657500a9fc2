"""What a controller answers besides commands, and every status it answers with.

Plain words and data, from which the OpenAPI document and the reference are made. The servers know
what the paths do; tests compare both lists.
"""

from typing import Any, NamedTuple

from leverframe.commands.table.row import ADMIN, ANYBODY, CONTROL
from leverframe.engine.labels import (
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    LIGHTING,
    POWERS,
    READINGS,
)

JSON = "application/json"
XML = "text/xml"
CSV = "text/csv; charset=utf-8"
EVENT_STREAM = "text/event-stream"
BINARY = "application/octet-stream"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
PROBLEM = "application/problem+json"

SIM_PATH = "/sim.cgi"
#: Takes the command of a rule by POST, for the administrator, and changes nothing.
TRY_PATH = "/api/rules/try"
TRY_DOC = (
    "What a rule would have done in the last 24 hours, with its sources as they were recorded. The "
    "body is the `event` command that would set it; nothing is changed."
)
#: Answers without an end, to every account.
STREAM_PATH = "/api/stream"
STREAM_DOC = (
    "The live state as server-sent events: `state` with all of it first, then `change` with what "
    "is different, and `settings` when one was changed."
)
_DERIVED = {"DEWPOINT", *DIFFERENTIALS, *POWERS, *ENERGIES}
#: Readings that a simulated board can be given.
SENSED = (*(label for label in READINGS if label not in _DERIVED), *DIGITAL_INPUTS, *LIGHTING)

#: Status -> when it is the answer. After any of them nothing has changed.
REFUSALS: dict[int, str] = {
    400: "The command or its body is malformed, a value is out of range, a list has the wrong "
    "length, or a text is too long. Texts are never cut.",
    401: "Nobody is signed in, or the user name or password is wrong.",
    403: "The account may not do this, a page of another site has caused the request, or the Host "
    "header names another machine.",
    404: "There is no such path or command, or this version does not have it yet; `detail` names "
    "the versions that do.",
    405: "The path or command takes another method, named in `Allow`.",
    409: "The command contradicts the present state, such as enabling an entry that does not "
    "exist.",
    410: "This version no longer has the command.",
    411: "A body was announced without its length.",
    413: "The body is too large: 1 MiB for lists and forms, 16 MiB for uploads.",
    414: "The path or the query is too long; a query may have 8 KiB.",
    415: "The body is of a kind that the command does not take.",
    423: "The outputs are locked (`outblock`) and the command would switch one.",
    429: "Too many wrong passwords came from this address; `Retry-After` says when to try again.",
    431: "The headers are too large.",
    503: "The controller is starting or in its bootloader, or too busy; `Retry-After` says when to "
    "try again.",
    507: "The change could not be written to the store.",
}


class QueryField(NamedTuple):
    name: str
    doc: str
    #: JSON schema of its value.
    schema: dict[str, Any]


class Endpoint(NamedTuple):
    path: str
    content_type: str
    #: Who may read it.
    role: str
    doc: str
    #: Name of its schema in the OpenAPI document.
    schema: str
    #: What may stand in its query.
    query: tuple[QueryField, ...] = ()


#: The most points of one label that can be asked for.
MAX_POINTS = 100_000
USUAL_POINTS = 600
#: The end of the year 9999, the last that a clock can be set to.
LATEST_SECOND = 253_402_300_799
_SECONDS: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": LATEST_SECOND}
_HISTORY_QUERY = (
    QueryField(
        "labels",
        "Labels as `/api/state` has them, joined by commas; without it all that were recorded.",
        {"type": "string"},
    ),
    QueryField("from", "Seconds since 1970; an hour before `to` without it.", _SECONDS),
    QueryField("to", "Seconds since 1970; now without it.", _SECONDS),
    QueryField(
        "points",
        f"The most points for each label; {USUAL_POINTS} without it, in CSV {MAX_POINTS}.",
        {"type": "integer", "minimum": 1, "maximum": MAX_POINTS},
    ),
)


API = (
    Endpoint(
        "/api/settings",
        JSON,
        ADMIN,
        "Every stored setting as one tree, in real units and words. A secret that is set reads "
        "`***`, one that is not set reads null.",
        "Settings",
    ),
    Endpoint(
        "/api/state",
        JSON,
        CONTROL,
        "Every live value by label, absent readings as null, and why things are as they are: for "
        "each rule whether it is met and what it waits for.",
        "State",
    ),
    Endpoint(
        "/api/account",
        JSON,
        CONTROL,
        "Who asks: the account's name, empty where no sign-in is asked for; its role, `admin` or "
        "`control`; whether it may only look (`bit3`); and how pages are shown to it: whether "
        "names stand without labels (`bit2`), the language (`lang`), and the seconds between two "
        "readings where there is no stream (`word0`).",
        "CurrentAccount",
    ),
    Endpoint(
        "/api/start",
        JSON,
        CONTROL,
        "All that a page needs before it can show anything, in one answer: how the board calls "
        "itself, who asks, what `/json/status.json`, `/api/labels` and `/api/state` say, and for "
        "the administrator what `/api/settings` says, otherwise null.",
        "Start",
    ),
    Endpoint(
        "/api/panel",
        JSON,
        CONTROL,
        "Where the picture of the Status for user page is to be had, or null without one.",
        "Panel",
    ),
    Endpoint(
        "/api/labels",
        JSON,
        CONTROL,
        "The name that people gave to every value and its unit, by label; both may be empty.",
        "Labels",
    ),
    Endpoint(
        "/api/modules",
        JSON,
        ADMIN,
        "What the Modbus modules measure: name and unit of their readings, in the order in which "
        "`modbusmapping` counts them, by module.",
        "Modules",
    ),
    Endpoint(
        "/api/rules",
        JSON,
        ADMIN,
        "Every rule: its settings and state, what it does, why it does not act, when it did, and "
        "advice about rules that fight, loop or can never act.",
        "Rules",
    ),
    Endpoint(
        "/api/history",
        JSON,
        CONTROL,
        "What was: `labels=DS1,OUT0&from=...&to=...&points=600`, all of them optional. `step` 0 "
        "gives values as they came, with `times` of their own; each holds until the next one. A "
        "larger `step` is the width in seconds of intervals that begin at the common `times`, with "
        "the lowest value, the mean by time and the highest. Absent is null, nothing is "
        "interpolated. Values are kept for days as they came, and reduced for years.",
        "History",
        _HISTORY_QUERY,
    ),
    Endpoint(
        "/api/history.csv",
        CSV,
        CONTROL,
        "The same as a table: a line whenever one of the labels changed, with what all of them "
        "held, or one for each interval. Times are ISO 8601 in UTC, absent is empty.",
        "Table",
        _HISTORY_QUERY,
    ),
    Endpoint(
        "/api/commands",
        JSON,
        ADMIN,
        "The command table of this version: everything a form needs.",
        "Commands",
    ),
    Endpoint("/api/openapi.json", JSON, ADMIN, "This interface as OpenAPI.", "AnyObject"),
    Endpoint(
        "/api/reading-codes",
        JSON,
        ADMIN,
        "What the codes in texts of messages and on the display stand for: the label by its "
        "number, written as this version writes it.",
        "ReadingCodes",
    ),
    Endpoint("/api/log", JSON, ADMIN, "What happened and who caused it, oldest first.", "Log"),
    Endpoint(
        "/api/audit",
        JSON,
        ADMIN,
        "The newest 1000 changes of settings, and the newest 1000 orders to switch outputs, PWM "
        "outputs and event variables or to do something else, oldest first: when, by whom, from "
        "where, old and new values. Secrets read `***`. They survive a restart and a factory "
        "reset.",
        "Audit",
    ),
    Endpoint(
        "/api/outbox",
        JSON,
        ADMIN,
        "The messages of HTTP1-HTTP4, e-mail and SMS: what waits, what was sent, what failed and "
        "why, and the state of every channel. Captured messages are shown in full.",
        "Outbox",
    ),
    Endpoint(
        "/api/restore-report",
        JSON,
        ADMIN,
        "What the last restored backup, or the last change of the version, held that could not be "
        "carried over, and why.",
        "RestoreReport",
    ),
    Endpoint(
        "/api/firmware",
        JSON,
        ADMIN,
        "The installed software version, and what the automatic firmware check (`bit1`) heard: the "
        "newest version for this hardware, whether it is newer, where to read about it, when that "
        "was, or what went wrong. The address `firmware_check_url` of the configuration is asked "
        "once a day and answers JSON: `version`, and perhaps `hardware` (a list) and `notes` (an "
        "address).",
        "Firmware",
    ),
    Endpoint(
        "/api/modem",
        JSON,
        ADMIN,
        "The GSM modem: SIM card, network, signal, and the last `gsmcmd` with its answer.",
        "Modem",
    ),
    Endpoint(
        "/api/sim",
        JSON,
        ADMIN,
        "The simulated board: how its pins are driven, what it senses, with limits and units, the "
        "sensors on its buses, plants and what can be wired, hosts, received SMS with their "
        "answers, and when something is due. 404 on any other board.",
        "Bench",
    ),
    Endpoint("/health", JSON, ANYBODY, "Whether the controller runs, for supervisors.", "Health"),
    Endpoint(
        "/metrics",
        METRICS,
        ADMIN,
        "Every reading, state and counter, the outbox, the requests and the event loop, as "
        "Prometheus reads them.",
        "Metrics",
    ),
)

_JSON_FILES = {
    "/json/all.json": "Identity, states and readings in one file.",
    "/json/dsi2c.json": "1-Wire and I2C settings; `dsid` is the 1-Wire ID read last.",
    "/json/events_per.json": "States of the event variables.",
    "/json/inputs.json": "Settings of the inputs.",
    "/json/network.json": "Network name and address.",
    "/json/outputs.json": "Settings of the outputs.",
    "/json/pwmpid.json": "PWM duties and frequencies, the PID regulator.",
    "/json/status.json": "Names, flags, the restart flag, and all states and readings.",
    "/json/status_per.json": "States and readings.",
}
_XML_FILES = {
    "/st0.xml": "Output states in the oldest form.",
    "/xml/co.xml": "The clock.",
    "/xml/eve.xml": "Which event entries are met.",
    "/xml/eve2.xml": "The event entries.",
    "/xml/ix.xml": "States and readings.",
    "/xml/sched.xml": "The schedule.",
    "/xml/st.xml": "Whether sign-in is required and firmware updates are allowed; no passwords.",
    "/xml/stat.xml": "Versions, name and address, PWM duties and frequencies.",
}
#: Path -> content type and what the file holds. Some versions do not have all of them.
STATUS_FILES: dict[str, tuple[str, str]] = {
    **{path: (JSON, doc) for path, doc in _JSON_FILES.items()},
    **{path: (XML, doc) for path, doc in _XML_FILES.items()},
}
