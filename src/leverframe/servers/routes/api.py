"""Our own read side: typed JSON in real units.

Settings, live state, the command table, the log and the health of one controller. Nothing here
changes anything. Secrets are masked: set is `***`, not set is null.
"""

from typing import Any

import msgspec

from leverframe import __version__
from leverframe.clock import VirtualClock
from leverframe.commands.describe.listing import command_table, openapi
from leverframe.commands.table.rights import Account, is_read_only
from leverframe.commands.table.row import ADMIN
from leverframe.controller import Controller
from leverframe.engine.labels import OUTPUTS
from leverframe.engine.settings import Settings
from leverframe.engine.texts import numbered_labels
from leverframe.engine.tree import masked, secret_paths, value_at, with_value
from leverframe.naming.names import name_of
from leverframe.naming.units import unit_of
from leverframe.wire.modbus_modules import MODULES


def masked_settings(settings: Settings) -> dict[str, Any]:
    """The settings tree without its secrets."""
    for path in secret_paths(settings):
        settings = with_value(settings, path, masked(value_at(settings, path)))
    shown: dict[str, Any] = msgspec.to_builtins(settings)
    return shown


def state(controller: Controller) -> dict[str, Any]:
    """Every live value by label, and why things are as they are."""
    engine, at = controller.engine, controller.clock.read()
    machine = engine.machine
    returns = {
        label: seconds
        for index, label in enumerate(OUTPUTS)
        if (seconds := engine.outputs.returns_in(index, at.now)) is not None
    }
    return {
        **engine.values,
        "profile": {"hw": controller.profile.hw, "sw": controller.profile.sw},
        "time": at.wall,
        "virtual_time": isinstance(controller.clock, VirtualClock),
        "uptime": engine.uptime(at),
        "restart": int(machine.restart_flag),
        "settings_revision": controller.settings_revision,
        "absent_since": dict(machine.absent_since),
        "returns_in": returns,
        "rules": engine.rules.explain(at.now),
        "schedule": engine.schedule.explain(),
        "watchdog": engine.watchdog.explain(),
        "pid": engine.pid.explain(),
        "barcode": engine.inputs.barcode,
        "lighting": dict(engine.inputs.lighting),
        "troubles": dict(controller.troubles),
        **{key: report() for key, report in controller.reports.items()},
    }


def reading_codes(controller: Controller) -> dict[str, str]:
    """What the codes in texts stand for: label by number."""
    return numbered_labels(controller.profile)


def account(controller: Controller, asking: Account) -> dict[str, Any]:
    """Who asks, what that account may do, and how pages are shown to it."""
    ui = controller.engine.settings.ui
    return {
        "name": asking.name,
        "role": asking.role,
        "read_only": is_read_only(asking, controller.pending),
        "names_only": ui.names_only,
        "language": ui.language,
        "refresh": ui.refresh,
    }


def start(controller: Controller, asking: Account, status: msgspec.Raw) -> dict[str, Any]:
    """What a page needs before it can show anything, in one answer instead of six."""
    may_read_settings = asking.role == ADMIN
    return {
        "board": controller.board.kind,
        "account": account(controller, asking),
        "status": status,
        "labels": labels(controller),
        "state": state(controller),
        "settings": masked_settings(controller.engine.settings) if may_read_settings else None,
    }


def log_entries(controller: Controller) -> list[dict[str, Any]]:
    """What happened and why, oldest first."""
    return [
        {
            "number": entry.number,
            "time": entry.wall,
            "cause": entry.cause.kind,
            "detail": entry.cause.detail,
            "text": entry.text,
        }
        for entry in controller.engine.machine.journal.entries()
    ]


def labels(controller: Controller) -> dict[str, dict[str, str]]:
    """What people call every value, and its unit."""
    settings = controller.engine.settings
    return {
        label: {"name": name_of(label, settings), "unit": unit_of(label, settings)}
        for label in controller.engine.values
    }


def module_readings(_controller: Controller) -> dict[str, list[dict[str, str]]]:
    """What the Modbus modules measure: name and unit of each reading in order, by module."""
    return {
        label: [{"name": reading.name, "unit": reading.unit} for reading in module.readings]
        for label, module in MODULES.items()
    }


def audit_entries(controller: Controller) -> list[msgspec.Raw]:
    """Who changed or switched what, oldest first."""
    entries = controller.audit.entries() | controller.action_audit.entries()
    return [entries[number] for number in sorted(entries)]


def commands(controller: Controller) -> list[dict[str, Any]]:
    return command_table(controller.profile)


def openapi_document(controller: Controller) -> dict[str, Any]:
    return openapi(controller.profile, "Leverframe", __version__)


def health(controller: Controller) -> dict[str, Any]:
    """Enough for a supervisor, and nothing that a stranger should not know."""
    status = {"status": "ok", "board": controller.board.kind}
    if controller.troubles:
        return {**status, "status": "degraded", "troubles": sorted(controller.troubles)}
    return status
