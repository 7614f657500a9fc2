"""The endpoint table: every path except those of the commands.

The router, the refusal of other methods, the role check, the OpenAPI document, the reference and
the tests that visit all paths are derived from it.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta

from leverframe import __version__
from leverframe.core.engine.journal import EntryReport
from leverframe.core.engine.rule_report import RuleReport, RuleTrial
from leverframe.core.engine.what_if import WhatIf
from leverframe.core.settings import Settings
from leverframe.devices.linux.oled_panel import png_of
from leverframe.devices.modem_line import ModemReport
from leverframe.devices.module_trial import ModuleTrial
from leverframe.host.controller.findings import FindingReport
from leverframe.interface import status_files
from leverframe.interface.descriptions.listing import CommandDescription
from leverframe.interface.descriptions.openapi import EndpointDescription, openapi
from leverframe.interface.descriptions.schemas import BINARY, XML, StatusReply
from leverframe.interface.rule_words import EXAMPLE
from leverframe.interface.table.lookup import ANONYMOUS, TABLE, require
from leverframe.interface.table.row import ADMIN, ANYONE, CONTROL
from leverframe.notify.outbox import OutboxReport
from leverframe.server.http.certificate import CertificateReport
from leverframe.server.http.messages import NOT_KEPT, Reply
from leverframe.server.http.request_journal import JournalRequest
from leverframe.server.problems import NoSuchPath
from leverframe.server.routes import api, sim
from leverframe.server.routes.admission import with_session
from leverframe.server.routes.backups import NotRestored, RestoreTrial
from leverframe.server.routes.context import Context
from leverframe.server.routes.files import PICTURE_PATH, Panel
from leverframe.server.routes.history import CSV, CSV_PARAMETERS, History, history_csv, history_json
from leverframe.server.routes.history import PARAMETERS as HISTORY_PARAMETERS
from leverframe.server.routes.metrics import METRICS, metrics
from leverframe.server.routes.module_trial import PARAMETERS as MODULE_TRIAL_PARAMETERS
from leverframe.server.routes.module_trial import module_trial
from leverframe.server.routes.pages import page_reply
from leverframe.server.routes.rules import PARAMETERS as WHAT_IF_PARAMETERS
from leverframe.server.routes.rules import TRIAL_PARAMETERS, rule_trial, rules, try_commands
from leverframe.server.routes.sign_in import SIGN_IN_PATH, redirect, wants_page
from leverframe.server.routes.sim_report import SimReport, sim_report
from leverframe.server.routes.sim_time import FILE_PARAMETERS as SNAPSHOT_FILE_PARAMETERS
from leverframe.server.routes.sim_time import PARAMETERS as SNAPSHOT_PARAMETERS
from leverframe.server.routes.sim_time import SnapshotReport
from leverframe.server.routes.state import EVENT_STREAM, state, stream
from leverframe.server.routes.state_document import State
from leverframe.server.routes.timeline import JOURNAL_PARAMETERS as JOURNAL_PARAMETERS
from leverframe.server.routes.timeline import TIMELINE_PARAMETERS as TIMELINE_PARAMETERS
from leverframe.server.routes.timeline import LeverTimeline, journal_json, timeline
from leverframe.storage.audit import AuditEntry

HTML = "text/html"
PNG = "image/png"
#: `/?safe` opens the built-in pages even if a site has been uploaded.
SAFE = "safe"
TRY_PATH = "/api/rules/try"
STREAM_PATH = "/api/stream"
SIM_PATH = "/sim.cgi"


class Endpoint(EndpointDescription, frozen=True, kw_only=True):
    #: Returns a value of the type `reply`, which is sent as JSON, a complete reply, or a coroutine
    #: of either.
    function: Callable[[Context], Any]
    #: Whether the value depends only on the version of the controller.
    fixed: bool = False
    #: Whether a query changes something, even with GET.
    changes: bool = False
    #: Whether it also answers while the bootloader waits.
    in_bootloader: bool = False
    #: Whether its coroutine returns a reply even for a refusal.
    refuses_itself: bool = False


def openapi_document(context: Context) -> dict[str, Any]:
    return openapi(context.controller.profile, "Leverframe", __version__, ENDPOINTS)


async def display_picture(context: Context) -> Reply:
    # This is done off the event loop: if the display is off, this may be the first picture to be
    # drawn.
    picture = await asyncio.to_thread(png_of, context.controller.engine.display.lines())
    return Reply(200, PNG, picture, (NOT_KEPT,))


def sign_in_page(context: Context) -> Reply:
    is_signed_in = context.account is not ANONYMOUS
    return context.handlers.sign_in.page(context.request, signed_in=is_signed_in)


async def front_page(context: Context) -> Reply:
    """Show the uploaded site, else the built-in page; redirect unknown clients to sign in."""
    request = context.request
    if context.account is ANONYMOUS:
        if not wants_page(request):
            require(context.account, CONTROL)
        return redirect(SIGN_IN_PATH)
    uploads = context.handlers.uploads
    uploaded = None if request.query == SAFE else await uploads.page(request.path)
    if uploaded is None:
        return await page_reply(request.path, request)
    return with_session(request, context.handlers.admission) or uploaded


async def simulate(context: Context) -> Reply:
    if context.handlers.sim is None:
        raise NoSuchPath("This board is not simulated.")
    # Items that are too long for a query are in the body.
    await context.handlers.sim.run(
        context.request.query or context.request.body.decode(errors="replace")
    )
    return context.handlers.commands.status_reply()


async def snapshots(context: Context) -> list[SnapshotReport]:
    if context.handlers.snapshots is None:
        raise NoSuchPath("This board is not simulated.")
    if context.request.method == "POST":
        await context.handlers.snapshots.run(context.request.query or "", context.request.body)
    return context.handlers.snapshots.report()


async def snapshot_file(context: Context) -> Reply:
    if context.handlers.snapshots is None:
        raise NoSuchPath("This board is not simulated.")
    data = await context.handlers.snapshots.encode(context.request.query or "")
    return Reply(200, BINARY, data, (NOT_KEPT,))


def sim_requests(context: Context) -> list[JournalRequest]:
    if context.controller.request_journal is None:
        raise NoSuchPath("Requests are recorded in virtual time only; start with --virtual-time.")
    entries: list[JournalRequest] = context.controller.request_journal.entries()
    return entries


#: Typed JSON in real units, and related documents.
VALUES = (
    Endpoint(
        "/api/settings",
        role=ADMIN,
        reply=Settings,
        function=api.settings,
        doc="Show every stored setting as one tree, with physical units and words instead of"
        " codes. A secret reads `***` "
        "if it is set, otherwise null.",
    ),
    Endpoint(
        "/api/state",
        role=CONTROL,
        reply=State,
        function=state,
        doc="Show every live value by label, absent readings as null, with the causes, and for "
        "each rule whether it is met and what it waits for.",
    ),
    Endpoint(
        "/api/account",
        role=CONTROL,
        reply=api.AccountReport,
        function=api.account,
        doc="Show the account of the request: its name, empty if no sign-in is required; its "
        "role, `admin` or `control`; and whether it is read-only (`bit3`). The page settings "
        "follow: names without labels (`bit2`), the language (`lang`), and the polling "
        "interval in seconds without a stream (`word0`).",
    ),
    Endpoint(
        "/api/start",
        role=CONTROL,
        reply=api.Start,
        function=api.start,
        doc="Return all that a page needs at startup in one response: the kind of board, the "
        "account, and the contents of `/json/status.json`, `/api/labels` and `/api/state`. "
        "Administrators also get `/api/settings`; for other accounts it is null.",
    ),
    Endpoint(
        "/api/panel",
        role=CONTROL,
        reply=Panel,
        function=lambda context: context.handlers.uploads.panel(),
        doc="Return the address of the picture of the Status for user page, or null without a "
        "picture.",
    ),
    Endpoint(
        "/api/labels",
        role=CONTROL,
        reply=dict[str, api.NameAndUnit],
        function=api.labels,
        doc="List the configured name and the unit of every value, by label; both may be empty.",
    ),
    Endpoint(
        "/api/modules",
        role=ADMIN,
        reply=dict[str, list[api.NameAndUnit]],
        function=api.module_readings,
        doc="List the name and unit of the readings of each Modbus module, in the order of "
        "`modbusmapping`.",
    ),
    Endpoint(
        "/api/storage",
        role=ADMIN,
        reply=api.StorageReport,
        function=api.storage,
        doc="Show where settings and history are stored, how much space they take, and how much is"
        " free.",
    ),
    Endpoint(
        "/api/onewire",
        role=ADMIN,
        reply=list[api.OneWireReport],
        function=api.onewire_sensors,
        doc="List the sensors on the 1-Wire bus with their temperatures, also those that are not"
        " assigned to a position.",
    ),
    Endpoint(
        "/api/rules",
        role=ADMIN,
        reply=list[RuleReport],
        methods=("GET", "HEAD", "POST"),
        body=Annotated[str, Meta(description=f"A rule as a line of text: {EXAMPLE}.")],
        function=rules,
        doc="List every rule: its settings and state, what it does, why it is or is not acting, "
        "and when it last acted. Advice names rules that conflict, loop or can never act. POST "
        "adds and enables the rule of the body in the first free place, and lists it alone.",
    ),
    Endpoint(
        "/api/history",
        role=CONTROL,
        reply=History,
        function=history_json,
        ends_with_client=True,
        query=HISTORY_PARAMETERS,
        doc="Show recorded values: `labels=DS1,OUT0&from=...&to=...&points=600`, all parameters "
        "are optional. With `step` 0, each label has its raw values with their own `times`; a "
        "value holds until the next one. A larger `step` is the width in seconds of intervals "
        "that begin at the common `times`, with the lowest value, the time-weighted mean and "
        "the highest. Absent values are null; nothing is interpolated. Raw values are kept "
        "for days, reduced ones for years.",
    ),
    Endpoint(
        "/api/timeline",
        role=CONTROL,
        reply=LeverTimeline,
        function=timeline,
        ends_with_client=True,
        query=TIMELINE_PARAMETERS,
        doc="Show when outputs were on, rules met and inputs open, with the causes:"
        " `from=...&to=...`, both optional. A "
        "lane is an output, a PWM output, an event variable, a digital input or a rule. Its "
        "bars cover the time up to now without a gap, each with its cause. If `to` is in the "
        "future, `planned` bars follow: what return times, delays and the schedule will do. "
        "`messages` lists the messages of that time, and `rules` describes the rules. Changes "
        "and their causes are kept for as many days as raw values.",
    ),
    Endpoint(
        "/api/history.csv",
        role=CONTROL,
        reply=str,
        content_type=CSV,
        function=history_csv,
        ends_with_client=True,
        query=CSV_PARAMETERS,
        doc="Show recorded values as CSV: a line with all values for each change of a label, or a"
        " line for each interval. Times are ISO 8601 in UTC; absent values are empty.",
    ),
    Endpoint(
        "/api/commands",
        role=ADMIN,
        reply=list[CommandDescription],
        function=api.command_descriptions,
        fixed=True,
        doc="List the command table of this version: everything a form needs.",
    ),
    Endpoint(
        "/api/openapi.json",
        role=ADMIN,
        reply=dict[str, Any],
        function=openapi_document,
        fixed=True,
        doc="Describe this interface as OpenAPI.",
    ),
    Endpoint(
        "/api/reading-codes",
        role=ADMIN,
        reply=dict[str, str],
        function=api.reading_codes,
        doc="List the codes that message texts and the display can contain: each number with its"
        " label, as this version writes it.",
    ),
    Endpoint(
        "/api/findings",
        role=ADMIN,
        reply=list[FindingReport],
        function=api.findings,
        doc="List the findings, worst first, with the page on which each can be fixed.",
    ),
    Endpoint(
        "/api/log",
        role=ADMIN,
        reply=list[EntryReport],
        function=api.log_entries,
        doc="List the newest 500 events since the start with their causes, oldest first.",
    ),
    Endpoint(
        "/api/journal",
        role=ADMIN,
        reply=list[EntryReport],
        function=journal_json,
        query=JOURNAL_PARAMETERS,
        doc="List events from before the last start, too: entries as in `/api/log`, with numbers "
        "that continue across restarts. The newest 20 000 are kept with the history.",
    ),
    Endpoint(
        "/api/audit",
        role=ADMIN,
        reply=list[AuditEntry],
        function=api.audit_entries,
        doc="List the newest 1000 changes of settings, and the newest 1000 commands that switched "
        "outputs, PWM outputs and event variables or triggered another action, oldest first. "
        "Each entry has the time, the account, the address, and the old and new values. "
        "Secrets read `***`. Entries survive a restart and a "
        "factory reset.",
    ),
    Endpoint(
        "/api/outbox",
        role=ADMIN,
        reply=OutboxReport,
        function=api.outbox,
        doc="List the messages of HTTP1-HTTP4, e-mail and SMS: pending, sent and failed ones with "
        "the reason, and the state of every channel. Captured messages are shown in full.",
    ),
    Endpoint(
        "/api/restore-report",
        role=ADMIN,
        reply=list[NotRestored],
        function=api.restore_report,
        doc="List the settings that the last restore or change of version could not carry over, "
        "with the reasons.",
    ),
    Endpoint(
        "/api/firmware",
        role=ADMIN,
        reply=api.FirmwareReport,
        function=api.firmware,
        doc="Show the installed software version, and the result of the automatic firmware check "
        "(`bit1`): the newest version for this hardware, whether it is newer, the address of "
        "its notes, and the time of the check or its error. The controller polls "
        "`firmware_check_url` of the configuration once a day. The response is JSON with "
        "`version`, and optionally `hardware` (a list) and `notes` (an address).",
    ),
    Endpoint(
        "/api/certificate",
        role=ADMIN,
        reply=CertificateReport,
        function=api.certificate,
        doc="Show the controller's TLS certificate: expiry date, host names, fingerprint and "
        "files. `ends` is null if the controller does not serve TLS.",
    ),
    Endpoint(
        "/api/modem",
        role=ADMIN,
        reply=ModemReport,
        function=api.modem,
        doc="Show the GSM modem: SIM card, network, signal, and the last `gsmcmd` with its answer.",
    ),
    Endpoint(
        "/api/sim",
        role=ADMIN,
        reply=SimReport,
        function=sim_report,
        in_bootloader=True,
        doc="Show the simulated board: its pin levels and its readings with limits and units; the "
        "sensors on its buses; plants and what can be wired; hosts; received SMS with their "
        "replies; and the next due moment. 404 on any other board.",
    ),
    Endpoint(
        "/api/sim/snapshots",
        role=ADMIN,
        reply=list[SnapshotReport],
        methods=("GET", "HEAD", "POST"),
        query=SNAPSHOT_PARAMETERS,
        function=snapshots,
        in_bootloader=True,
        doc="List the snapshots of the simulated controller: settings, engine, timers, plants, "
        "clock and captured messages at a moment. With POST, `take=NAME`, `restore=NAME` and "
        "`delete=NAME`, in any combination, are carried out first; so is `load=NAME`, with a "
        "saved snapshot as the body. Snapshots need virtual time, are limited to 20, and are lost "
        "when the process ends. 404 on "
        "any other board.",
    ),
    Endpoint(
        "/api/sim/requests",
        role=ADMIN,
        reply=list[JournalRequest],
        function=sim_requests,
        in_bootloader=True,
        doc="List the newest 2000 requests of clients with their responses, oldest first, in "
        "virtual time: headers, body, duration and faults. Possible secrets read `***`. At "
        "most 4 MiB are kept. 404 in real time.",
    ),
    Endpoint(
        "/health",
        role=ANYONE,
        reply=api.Health,
        function=api.health,
        doc="Report to supervisors whether the controller is running.",
    ),
    Endpoint(
        "/metrics",
        role=ADMIN,
        reply=str,
        content_type=METRICS,
        function=metrics,
        doc="List every reading, state and counter, and figures of the outbox, the requests and "
        "the event loop, in the Prometheus text format.",
    ),
)

RULE_TRIAL = Endpoint(
    TRY_PATH,
    role=ADMIN,
    reply=RuleTrial,
    methods=("POST",),
    query=TRIAL_PARAMETERS,
    body=Annotated[str, Meta(pattern="^event=")],
    function=rule_trial,
    ends_with_client=True,
    doc="Show what a rule would have done in the last hours (`for=24h`), based on the recorded"
    " values of its sources and the time windows of the schedule. The body is the `event`"
    " command that would "
    "set it, joined by `&` with `schedset` and `scheddel` of its window. Nothing is changed.",
)

WHAT_IF = Endpoint(
    "/api/what-if",
    role=ADMIN,
    reply=WhatIf,
    methods=("POST",),
    query=WHAT_IF_PARAMETERS,
    body=Annotated[str, Meta(description="Commands, one per line, such as /outs.cgi?out0=1.")],
    function=try_commands,
    ends_with_client=True,
    doc="Show what commands would change in the coming hours (`for=24h`), without carrying them "
    "out. The response lists the journal entries and messages that occur only with or only"
    " without the commands, and the changes of outputs. The recorded readings of the same "
    "number of hours are replayed; plants of a simulated board keep running. Pings are "
    "assumed to succeed.",
)

RESTORE_TRIAL = Endpoint(
    "/api/restore/try",
    role=ADMIN,
    reply=RestoreTrial,
    methods=("POST",),
    body=Annotated[
        str, Meta(description="A settings backup.", extra_json_schema={"format": "binary"})
    ],
    body_content_type=BINARY,
    function=lambda context: context.handlers.backups.preview(context.request),
    doc="Show which settings a restore of the backup in the body would change, and which it could "
    "not carry over. The header `Backup-Passphrase` opens its secrets, which are masked. Nothing is"
    " changed.",
)

MODULE_TRIAL = Endpoint(
    "/api/modbus/try",
    role=ADMIN,
    reply=ModuleTrial,
    methods=("POST",),
    query=MODULE_TRIAL_PARAMETERS,
    body=Annotated[
        str,
        Meta(description="Commands that set the slot up, one per line."),
    ],
    body_is_optional=True,
    function=module_trial,
    ends_with_client=True,
    doc="Read every reading of the module in a Modbus slot once (`slot=1`), as the commands of the"
    " body would set the slot up. The response lists each reading with its register and value, or"
    " why it has none. Nothing is changed. On a simulated board without a bus, the values are those"
    " of the board.",
)

STATUS_FILES = tuple(
    Endpoint(
        file.path,
        role=ADMIN if file.is_for_administrator else CONTROL,
        reply=api.JsonStatus if file.path.endswith(".json") else dict[str, str],
        content_type=file.content_type,
        function=lambda context: context.handlers.status_files.reply(context.request.path),
        doc=file.doc,
    )
    for _, file in sorted(status_files.FILES.items())
)

#: Answers that are not typed values: the stream, pictures, pages, backups, the simulated board.
OTHERS = (
    Endpoint(
        STREAM_PATH,
        role=CONTROL,
        reply=str,
        content_type=EVENT_STREAM,
        function=stream,
        doc="Send the live state as server-sent events: first `state` with every value, then "
        "`change` with the values that changed, `settings` after a change of settings, and "
        "`heartbeat` every 2 s with the controller's `clock`, which `X-Valid-Until` of a request "
        "refers to.",
    ),
    Endpoint(
        "/api/oled.png",
        role=CONTROL,
        content_type=PNG,
        function=display_picture,
        doc="Draw the current contents of the display; it is black while the display is off.",
    ),
    Endpoint(
        PICTURE_PATH,
        role=CONTROL,
        content_type="image/*",
        function=lambda context: context.handlers.uploads.picture(),
        doc="Send the uploaded picture.",
    ),
    Endpoint(
        "/",
        role=ANYONE,
        content_type=HTML,
        function=front_page,
        doc="Show the front page: the uploaded one, else the built-in one; `/?safe` is always the "
        "built-in one.",
    ),
    Endpoint(
        SIGN_IN_PATH,
        role=ANYONE,
        content_type=HTML,
        function=sign_in_page,
        doc="Show the sign-in page.",
    ),
    *(
        Endpoint(
            row.form.path,
            role=row.role,
            content_type=BINARY,
            function=lambda context: context.handlers.backups.download(context.request),
            doc=row.doc,
        )
        for row in TABLE
        if not row.form.items
    ),
    Endpoint(
        "/api/sim/snapshot",
        role=ADMIN,
        content_type=BINARY,
        query=SNAPSHOT_FILE_PARAMETERS,
        function=snapshot_file,
        in_bootloader=True,
        doc="Download the snapshot of this `name`, or of the present moment, as a file with all "
        "secrets. 409 if faults are set in it. 404 on any other board.",
    ),
    Endpoint(
        SIM_PATH,
        role=ADMIN,
        reply=StatusReply,
        content_type=XML,
        methods=("GET", "POST"),
        query=sim.PARAMETERS,
        body=Annotated[
            str, Meta(description="The items as a body, if they are too long for a query.")
        ],
        body_is_optional=True,
        function=simulate,
        changes=True,
        in_bootloader=True,
        doc="Set readings of the simulated board, or advance virtual time. 404 on any other board.",
    ),
)

ENDPOINTS = (*VALUES, RULE_TRIAL, WHAT_IF, RESTORE_TRIAL, MODULE_TRIAL, *STATUS_FILES, *OTHERS)
