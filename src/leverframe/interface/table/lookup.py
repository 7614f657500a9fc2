"""The complete command table in the order of the interface document, and the search for rows in it.

The table is an ordered list: the first row of a version that accepts a command performs it. If no
row accepts it, the refusal of the most likely row is reported.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.profile import Profile, spans_in_words, withdrawn
from leverframe.core.settings import Settings
from leverframe.interface.table import (
    accounts,
    display,
    energy,
    inputs,
    modbus,
    notifications,
    outputs,
    pwm,
    rules,
    schedule,
    sensors,
    serial_port,
    system,
    user_interface,
)
from leverframe.interface.table import notifications as email
from leverframe.interface.table.params import item_of_version
from leverframe.interface.table.refusals import (
    Malformed,
    NotAllowed,
    NotOffered,
    Refusal,
    SignInRequired,
    TooManyCommands,
    UnknownCommand,
    Withdrawn,
    WrongMethod,
)
from leverframe.interface.table.row import ACCOUNT, ADMIN, ANYONE, CONTROL, Row
from leverframe.interface.table.shape import name_key
from leverframe.interface.table.stage import Stage

#: Every form that the interface document prints, under the document's headings.
DOCUMENT_SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    ("Modbus", modbus.ROWS),
    ("PWM outputs", pwm.ROWS),
    ("PID regulator", pwm.PID_ROWS),
    ("Outputs", outputs.ROWS),
    ("Serial port", serial_port.ROWS),
    ("User interface", user_interface.ROWS),
    ("Analog inputs", inputs.ANALOG_ROWS),
    ("Digital inputs", inputs.DIGITAL_ROWS),
    ("Differential readings", inputs.DIFFERENTIAL_ROWS),
    ("I2C and 1-Wire sensors", sensors.SENSOR_ROWS),
    ("Weather", sensors.WEATHER_ROWS),
    ("Display", display.ROWS),
    ("E-mail", email.EMAIL_ROWS),
    ("Event entries", rules.ROWS),
    ("Power and energy", energy.ROWS),
    ("Firmware, backup, reset", system.FIRMWARE_ROWS),
    ("Restart, status pages, variables", system.OTHER_ROWS),
)
#: Commands of real units that the document only mentions, and our own commands for what is missing
#: there.
FURTHER_SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    ("Further sensor commands", sensors.EXTRA_ROWS),
    ("Schedule", schedule.ROWS),
    ("Watchdog", schedule.WATCHDOG_ROWS),
    ("Accounts", accounts.ROWS),
    ("Name of the controller", system.NAME_ROWS),
    ("Names and order of rules", rules.NAME_AND_ORDER_ROWS),
    ("Messages of rules", notifications.MESSAGE_ROWS),
    ("Single entries of the schedule", schedule.ENTRY_ROWS),
    ("First run", user_interface.FIRST_RUN_ROWS),
    ("Target of the PID regulator", pwm.TARGET_ROWS),
    ("Pulses of outputs", outputs.PULSE_ROWS),
    ("Writing to Modbus modules", modbus.WRITE_ROWS),
    ("Further Modbus commands", modbus.FURTHER_ROWS),
    ("Notifications", notifications.ROWS),
    (
        "Alternative notations",
        outputs.ALIASES + pwm.ALIASES + serial_port.ALIASES + system.ALIASES,
    ),
)
SECTIONS = DOCUMENT_SECTIONS + FURTHER_SECTIONS
DOCUMENT_ROWS = tuple(row for _, rows in DOCUMENT_SECTIONS for row in rows)
FURTHER_ROWS = tuple(row for _, rows in FURTHER_SECTIONS for row in rows)
TABLE = DOCUMENT_ROWS + FURTHER_ROWS
#: Rows that only Leverframe has; real units have all other rows.
OWN_ROWS = (
    *system.NAME_ROWS,
    *rules.NAME_AND_ORDER_ROWS,
    *notifications.MESSAGE_ROWS,
    *schedule.ENTRY_ROWS,
    *user_interface.FIRST_RUN_ROWS,
    *pwm.TARGET_ROWS,
    *outputs.PULSE_ROWS,
    *modbus.WRITE_ROWS,
    *modbus.FURTHER_ROWS,
    *notifications.ROWS,
    *serial_port.ALIASES,
)
_OWN_LINES = frozenset(row.line for row in OWN_ROWS)
REAL_UNIT_ROWS = tuple(row for row in TABLE if row.line not in _OWN_LINES)

#: The paths of commands.
COMMAND_PATHS = frozenset(row.form.path for row in TABLE if row.form.items)


def _index() -> dict[tuple[str, str], tuple[Row, ...]]:
    index: dict[tuple[str, str], tuple[Row, ...]] = {}
    for row in TABLE:
        if row.form.items:
            key = (row.form.path, row.form.items[0].key)
            index[key] = (*index.get(key, ()), row)
    return index


_ROWS_BY_NAME = _index()


class Call(Struct, frozen=True):
    """A row with the values of its fields, ready to be performed."""

    row: Row
    values: dict[str, Any]
    #: The command as it was sent, for refusals; without values that may be secret.
    text: str

    def perform(self, stage: Stage, body: Any = None) -> None:
        """Perform the command on the stage; a refusal names the command."""
        try:
            self.row.perform(stage, self.values, body)
        except Refusal as refusal:
            if self.row.secret:
                refusal.without_value()
            raise refusal.of(self.text) from None


#: The maker's client library omits the `&` between these three items.
_RUN_TOGETHER = re.compile(r"(sensor=\d+)?(calibration=\d-?\d+)?(multiplier=\d+)?", re.ASCII)


#: The limits of one request in all protocols; the length is that of an HTTP query.
MAX_COMMANDS = 100
MAX_QUERY_BYTES = 8 << 10


def items_of(query: str) -> list[str]:
    """Split a raw query into its undecoded commands; reject a request beyond the limits.

    Every reader of commands uses this function, so that the limits apply to all protocols.
    """
    size = len(query.encode("utf-8", "surrogatepass"))
    if size > MAX_QUERY_BYTES:
        raise TooManyCommands(
            f"The commands of the request have {size} bytes.",
            allowed=f"up to {MAX_QUERY_BYTES} bytes in one request",
        )
    items = query.split("&")
    if "sensor=" in query or "calibration=" in query:
        items = [part for item in items for part in _split_item(item)]
    if len(items) > MAX_COMMANDS:
        raise TooManyCommands(
            f"The request has {len(items)} commands.",
            allowed=f"up to {MAX_COMMANDS} commands in one request",
        )
    return items


def _split_item(item: str) -> list[str]:
    found = _RUN_TOGETHER.fullmatch(item)
    return [part for part in found.groups() if part] if found and item else [item]


def find(method: str, path: str, items: list[str], profile: Profile) -> Iterator[Call | Refusal]:
    """Yield a call for each command of a query, or the refusal of an invalid item.

    An item next to a secret may be a part of the secret, if the secret contains an unencoded `&`.
    """
    position, hidden, looked = 0, False, False
    while position < len(items):
        if not items[position]:
            position += 1
            continue
        found, taken = _find_one(method, path, items, position, profile)
        if isinstance(found, Refusal):
            if not looked:
                hidden, looked = any(map(may_hold_secret, items)), True
            if hidden:
                shown = without_value(found.command or items[position])
                if not isinstance(found, UnknownCommand) or shown != f"{found.command}=...":
                    found.without_value()
                found.command = shown
        elif hidden or found.row.secret:
            hidden = True
            found = replace(found, text=without_value(items[position]) or found.row.line)
        yield found
        position += taken


def _find_one(
    method: str, path: str, items: list[str], position: int, profile: Profile
) -> tuple[Call | Refusal, int]:
    """Find the command at a position, or its refusal; return it with the number of its items."""
    text = items[position]
    name = text.partition("=")[0]
    refused: list[tuple[Row, Refusal]] = []
    elsewhen: Row | None = None
    for row in _candidates(path, name):
        if not row.is_offered(profile):
            if elsewhen is None and row.form.items[0].match_name(name) is not None:
                elsewhen = row
            continue
        try:
            values = row.fields(items[position : position + len(row.form.items)], profile)
        except Refusal as not_this_one:
            if len(row.form.items) > 1:
                # All names of this form are present, so the client does not mean a form with fewer
                # items.
                return not_this_one, len(row.form.items)
            refused.append((row, not_this_one))
            continue
        if values is None:
            continue
        if row.form.method == "POST" and method != "POST":
            return WrongMethod(f"{row.line} requires POST.", command=text[:120], allowed="POST"), 1
        return Call(row, values, text[:120]), len(row.form.items)
    if elsewhen is not None and (not refused or elsewhen.form.items[0].is_shape_of(text)):
        return _not_in_this_version(elsewhen, text, profile), 1
    return _best_refusal(refused, text, profile) if refused else _unknown(path, text), 1


def _best_refusal(refused: list[tuple[Row, Refusal]], text: str, profile: Profile) -> Refusal:
    """Choose, among forms of one name, the refusal of the form that the separators indicate.

    A refusal of a value is more helpful than a refusal of the form. If no form fits, all are named.
    """
    meant = [pair for pair in refused if pair[0].form.items[0].shares_separator(text)]
    refusals = [refusal for _, refusal in meant or refused]
    for refusal in refusals:
        if not isinstance(refusal, Malformed):
            return refusal
    best = refusals[0]
    if len(refused) > 1:
        if not meant:
            best.detail = f"The request matches no form of the command {text.partition('=')[0]}."
        items = (item_of_version(row.form.items[0], row.params, profile) for row, _ in refused)
        best.allowed = " or ".join(dict.fromkeys(item.text for item in items))
    return best


def _candidates(path: str, name: str) -> tuple[Row, ...]:
    return _ROWS_BY_NAME.get((path, name_key(name)), ())


_KEYS = frozenset(item.key for row in TABLE for item in row.form.items)
#: Keys of forms with a secret, without indices: `em` for `em4`.
_SECRET_KEYS = tuple({item.key for row in TABLE if row.secret for item in row.form.items})
#: A short name of plain characters, which cannot contain a value.
_PLAIN_NAME = re.compile(r"[a-z0-9_.]{0,30}", re.ASCII)


def may_hold_secret(text: str) -> bool:
    """Return whether a command might contain a secret, even if its name or path is wrong."""
    name = text.partition("=")[0]
    key = name_key(name)
    if key in _KEYS:
        return key in _SECRET_KEYS
    return name.startswith(_SECRET_KEYS) or _PLAIN_NAME.fullmatch(name) is None


def without_value(text: str) -> str | None:
    """Return the name of a command that may contain a secret; None if the name itself may."""
    name = text.partition("=")[0]
    key = name_key(name)
    if key not in _KEYS:
        return None
    # One digit is an index; more digits may be a secret code.
    return f"{name if len(name) <= len(key) + 1 else key}=..."


def _not_in_this_version(row: Row, text: str, profile: Profile) -> Refusal:
    words = spans_in_words(row.when)
    if withdrawn(row.when, profile):
        return Withdrawn(
            f"{profile} no longer has {row.line}. Versions that have it: {words}.",
            command=text[:120],
        )
    return NotOffered(
        f"{profile} does not have {row.line}. Versions that have it: {words}.",
        command=text[:120],
    )


def _unknown(path: str, text: str) -> Refusal:
    name = text.partition("=")[0]
    for row in _candidates(path, name):
        if row.form.items[0].match_name(name) is not None:
            whole = "&".join(item.text for item in row.form.items)
            return Malformed(
                f"{name} is valid only together with other commands.",
                command=text[:120],
                allowed=whole,
            )
    wanted = name_key(name)
    others = sorted(
        {
            row.form.path
            for place in COMMAND_PATHS
            for row in _ROWS_BY_NAME.get((place, wanted), ())
            if row.form.items[0].match_name(name) is not None
        }
    )
    hint = f" It exists under {', '.join(others)}." if others else ""
    # Report only the name, because the value may be a secret.
    return UnknownCommand(
        f"{path} has no command {name[:40]!r}.{hint}",
        command=name[:40],
        discreet=f"{path} has no such command.{hint}",
    )


# The permission of accounts for commands: the single check of all servers before any row runs.
#
# The role that a command requires is data on its row. The administrator may do everything. The user
# account and control users switch outputs, PWM outputs and event variables, one command per
# request; a read-only user account cannot even do that. Requests by other protocols, such as SMS,
# have the rights of a control user, and may contain several commands.


class Account(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    role: str
    #: The setting path of its password; empty for accounts without a password.
    path: str = ""
    joins_commands: bool = False


#: Any client of a controller that does not require sign-in.
UNRESTRICTED = Account("", ADMIN, joins_commands=True)
#: A client that is not signed in.
ANONYMOUS = Account("", ANYONE)
#: A client of a protocol other than HTTP, which has authenticated the client itself.
FIELD_BUS = Account("", CONTROL, joins_commands=True)
#: A client with write access by Modbus TCP, which can change only what the registers offer.
MODBUS_WRITER = Account("", ADMIN, joins_commands=True)

#: Programs in a trusted network, which cannot sign in.
TRUSTED_USER = Account("trusted network", CONTROL)
TRUSTED_ADMINISTRATOR = Account("trusted network", ADMIN, joins_commands=True)


def require(account: Account, role: str) -> None:
    """Raise a refusal unless the account has at least the role."""
    if role == ANYONE or account.role == ADMIN:
        return
    if (role == CONTROL == account.role) or (role == ACCOUNT and account.path):
        return
    if account.role == ANYONE:
        raise SignInRequired("This controller requires a user name and password.")
    raise NotAllowed("Only the administrator may do this.")


def is_read_only(account: Account, settings: Settings) -> bool:
    """Return whether this is the user account and the settings make it read-only."""
    if not settings.ui.user_read_only:
        return False
    return account.path == "access.user.password" or account is TRUSTED_USER


def check_calls(account: Account, calls: "Sequence[Call]", settings: Settings) -> None:
    """Raise a refusal unless the account may run all these commands in one request."""
    if account.role == ADMIN:
        return
    for call in calls:
        require(account, call.row.role)
    if len(calls) > 1 and not account.joins_commands:
        raise NotAllowed("Only the administrator may join several commands in one request.")
    if is_read_only(account, settings) and any(call.row.role == CONTROL for call in calls):
        raise NotAllowed("The user account is read-only on this controller.")
