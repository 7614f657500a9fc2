"""The controller's own read API: typed JSON in real units.

It includes settings, names, the command table, the log and the health of a controller. Nothing here
changes anything. Secrets are masked: a secret is `***` if it is set, and null if not.
"""

import asyncio
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from leverframe.core.engine.journal import EntryReport, report_of
from leverframe.core.engine.texts import labels_by_digits
from leverframe.core.settings import Settings
from leverframe.core.tree import mask_secret, secret_paths, value_at, with_value
from leverframe.devices.modem_line import ModemReport
from leverframe.devices.wire.modbus_modules import MODULES
from leverframe.host.controller.findings import FindingReport
from leverframe.interface.descriptions.listing import CommandDescription, command_table
from leverframe.interface.descriptions.schemas import JSON
from leverframe.interface.names import name_of, unit_of
from leverframe.interface.table.lookup import is_read_only
from leverframe.interface.table.row import ADMIN
from leverframe.interface.table.system import RESTORE_REPORT
from leverframe.notify.outbox import OutboxReport
from leverframe.server.http.certificate import CertificateReport
from leverframe.server.http.messages import Reply
from leverframe.server.routes.backups import NotRestored
from leverframe.server.routes.context import Context
from leverframe.server.routes.headers import compress_reply
from leverframe.server.routes.state import state
from leverframe.server.routes.state_document import State
from leverframe.storage.audit import AuditEntry
from leverframe.storage.datafolder import measure_space

#: A status file as JSON, with the key names that its clients know.
JsonStatus = dict[str, str | list[Any]]


class NameAndUnit(Struct, frozen=True):
    """The configured name of a value, and its unit; both may be empty."""

    name: str
    unit: str


class AccountReport(Struct, frozen=True):
    name: str
    role: Literal["admin", "control"]
    read_only: bool
    names_only: bool
    language: str
    refresh: int
    trusted: Annotated[
        list[str] | UnsetType,
        Meta(description="Networks whose programs need no sign-in; shown to administrators."),
    ] = UNSET
    trusted_role: Literal["user", "administrator"] | UnsetType = UNSET


class Start(Struct, frozen=True):
    board: str
    account: AccountReport
    status: JsonStatus
    labels: dict[str, NameAndUnit]
    state: State
    settings: Settings | None


class Health(Struct, frozen=True):
    status: Literal["ok", "degraded"]
    board: str
    troubles: Annotated[
        list[str] | UnsetType,
        Meta(description="The parts with a problem, if any."),
    ] = UNSET
    findings: Annotated[int | UnsetType, Meta(description="The number of findings, if any.")] = (
        UNSET
    )
    ports: Annotated[
        dict[str, int] | UnsetType,
        Meta(description="The open ports, by protocol."),
    ] = UNSET
    without_effect: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="Configuration keys that have no effect here, each with the reason."),
    ] = UNSET


class FirmwareReport(Struct, frozen=True):
    """The installed version and the result of the firmware check."""

    on: bool
    installed: str
    checked: float | None
    newest: str | None
    is_newer: bool
    notes: str | None
    trouble: str | None


def settings(context: Context) -> Settings:
    return mask_settings(context.controller.engine.settings)


def mask_settings(settings: Settings) -> Settings:
    """Replace each secret in a settings tree by a mask that shows only whether it is set."""
    for path in secret_paths(settings):
        settings = with_value(settings, path, mask_secret(value_at(settings, path)))
    return settings


def account(context: Context) -> AccountReport:
    ui = context.controller.engine.settings.ui
    asking, trusted = context.account, context.handlers.admission.trusted
    shown = asking.role == ADMIN and trusted.networks
    return AccountReport(
        asking.name,
        "admin" if asking.role == ADMIN else "control",
        is_read_only(asking, context.controller.pending),
        ui.names_only,
        ui.language,
        ui.refresh,
        [str(network) for network in trusted.networks] if shown else UNSET,
        ("administrator" if trusted.account.role == ADMIN else "user") if shown else UNSET,
    )


def start(context: Context) -> Reply:
    """Return everything that a page needs at startup: one request instead of six."""
    status = msgspec.Raw(context.handlers.status_files.reply("/json/status.json").body)
    start = Start(
        context.controller.board.kind,
        account(context),
        cast("JsonStatus", status),
        labels(context),
        cast("State", msgspec.Raw(state(context).body)),
        settings(context) if context.account.role == ADMIN else None,
    )
    return compress_reply(context.request, JSON, msgspec.json.encode(start))


def labels(context: Context) -> dict[str, NameAndUnit]:
    settings = context.controller.engine.settings
    return {
        label: NameAndUnit(name_of(label, settings), unit_of(label, settings))
        for label in context.controller.engine.values
    }


class StorageReport(Struct, frozen=True):
    """The storage of a controller, and its size."""

    kind: Annotated[
        Literal["file", "memory", "shared"],
        Meta(
            description="`file`: in the folder; `memory`: lost when the process ends; `shared`: in"
            " the storage of the node."
        ),
    ]
    folder: Annotated[str | None, Meta(description="The data folder; null without one.")] = None
    used_bytes: Annotated[int | None, Meta(description="Size of the files in the folder.")] = None
    free_bytes: Annotated[int | None, Meta(description="Free space for the folder.")] = None
    history_points: Annotated[int, Meta(description="Stored values and intervals.")] = 0
    history_bytes: Annotated[int, Meta(description="Their size.")] = 0


class OneWireReport(Struct, frozen=True):
    """A sensor on the 1-Wire bus."""

    id: str
    celsius: Annotated[
        float | None, Meta(description="Its temperature, without the correction of a position.")
    ]


def onewire_sensors(context: Context) -> list[OneWireReport]:
    found = context.controller.engine.inputs.list_onewire()
    return [OneWireReport(sensor_id, celsius) for sensor_id, celsius in found.items()]


def module_readings(_context: Context) -> dict[str, list[NameAndUnit]]:
    return {
        label: [NameAndUnit(reading.name, reading.unit) for reading in module.readings]
        for label, module in MODULES.items()
    }


def command_descriptions(context: Context) -> list[CommandDescription]:
    return command_table(context.controller.profile)


def reading_codes(context: Context) -> dict[str, str]:
    return labels_by_digits(context.controller.profile)


def log_entries(context: Context) -> list[EntryReport]:
    return [report_of(entry) for entry in context.controller.engine.machine.journal.entries()]


async def audit_entries(context: Context) -> list[AuditEntry]:
    """Merge both audit trails, oldest first; entries are stored as JSON and sent unchanged."""
    entries = await context.controller.audit_entries()
    return cast("list[AuditEntry]", [entries[number] for number in sorted(entries)])


async def restore_report(context: Context) -> list[NotRestored]:
    """List the settings that the last restore or change of version could not carry over."""
    stored = await context.controller.store.blob(RESTORE_REPORT)
    entries = [] if stored is None else msgspec.json.decode(stored)
    return [NotRestored(path, value, reason) for path, value, reason in entries]


def outbox(context: Context) -> OutboxReport:
    report: OutboxReport = context.controller.outbox_report()
    return report


def firmware(context: Context) -> FirmwareReport:
    report: FirmwareReport = context.controller.firmware_report()
    return report


def certificate(context: Context) -> CertificateReport:
    return context.controller.certificate_report() or CertificateReport()


def modem(context: Context) -> ModemReport:
    report: ModemReport = context.controller.modem_report()
    return report


def findings(context: Context) -> list[FindingReport]:
    return context.controller.findings.report()


async def storage(context: Context) -> StorageReport:
    controller = context.controller
    store, figures = controller.store, controller.history.figures if controller.history else None
    report = StorageReport(
        "file" if store.folder else "shared" if store.number else "memory",
        history_points=figures.points if figures else 0,
        history_bytes=figures.bytes if figures else 0,
    )
    if store.folder is None:
        return report
    report = replace(report, folder=str(store.folder.absolute()))
    try:
        used, free = await asyncio.to_thread(measure_space, store.folder)
    except OSError:
        # A finding says what is wrong with the folder.
        return report
    return replace(report, used_bytes=used, free_bytes=free)


def health(context: Context) -> Health:
    """Report the data that a supervisor needs, and nothing confidential."""
    controller = context.controller
    troubles = sorted(controller.troubles)
    status: Literal["ok", "degraded"] = "degraded" if troubles else "ok"
    ports = controller.open_ports()
    found = len(controller.findings.report())
    return Health(
        status,
        controller.board.kind,
        troubles or UNSET,
        found or UNSET,
        ports or UNSET,
        controller.without_effect or UNSET,
    )
