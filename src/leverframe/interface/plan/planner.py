"""The plan of a change of settings, and its requests with confidential values masked.

Requests of clients are masked more broadly (`masked_query`), because a secret may contain an
unencoded `&`. In planned requests, which this program writes, the position of each field is
certain. A field is shown if it is a number, is empty, or sets a setting that is not confidential;
any other field of a command that may contain a secret is masked.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import (
    MASK,
    defaults,
    difference,
    is_confidential,
    is_secret,
    leaves,
    value_at,
    with_value,
)
from leverframe.interface.plan.inverses import requests_for
from leverframe.interface.plan.plan_builder import (
    PLAIN_HASHES,
    HelpfulRequest,
    PlanBuilder,
    PlannedRequest,
    PlannedStep,
    is_within,
    leaf_or_missing,
    texts_of,
)
from leverframe.interface.plan.rule_order import set_rules
from leverframe.interface.table import schedule, serial_port
from leverframe.interface.table.bodies import FormBody, ListBody
from leverframe.interface.table.command_text import mask_query
from leverframe.interface.table.lookup import OWN_ROWS, REAL_UNIT_ROWS, Call, find, items_of
from leverframe.interface.table.params import Param, has_field
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import Row, Run
from leverframe.interface.table.stage import Stage

#: A function that returns the replacement for a secret, given the path of its setting if known.
Mask = Callable[[str], str]


def mask_request(
    request: PlannedRequest, profile: Profile, mask: Mask = lambda path: MASK
) -> PlannedRequest:
    """Return the request without its secrets."""
    found: list[Call] = []
    for call in find(request.method, request.path, items_of(request.query), profile):
        if isinstance(call, Refusal):
            # The plan is of another version, so the positions of its secrets are unknown.
            return PlannedRequest(
                request.method,
                f"{request.path}?{mask_query(request.query)[0]}",
                request.body and mask(""),
            )
        found.append(call)
    if not any(call.row.secret for call in found):
        return request
    queries = [_mask_call(call, request, profile, mask) for call in found]
    body = request.body
    for call in found:
        if call.row.secret and body:
            body = _mask_body(call, request, profile, mask)
    return PlannedRequest(request.method, f"{request.path}?{'&'.join(queries)}", body)


def _mask_call(call: Call, request: PlannedRequest, profile: Profile, mask: Mask) -> str:
    row = call.row
    if row.secret:
        known = _settings_given(call, request, profile)
        texts = _mask_texts(row.form.holes, row.params, call.values, known, profile, mask)
    else:
        texts = texts_of(row.form.holes, row.params, call.values, profile) or {}
    return row.form.write(texts).partition("?")[2]


def _mask_body(call: Call, request: PlannedRequest, profile: Profile, mask: Mask) -> str:
    body, known = call.row.body, _settings_given(call, request, profile)
    if isinstance(body, ListBody):
        items = body.read(request.body.encode(), "", profile)
        holes, params = body.item.holes, body.params
        texts = [_mask_texts(holes, params, one, known, profile, mask) for one in items]
        return body.write([*texts]).decode()
    if isinstance(body, FormBody):
        form = body.read(request.body.encode(), "", profile)
        shown = _mask_texts([*form], body.fields, form, known, profile, mask)
        return "&".join(f"{name}={text}" for name, text in shown.items())
    return mask("")


def _mask_texts(
    letters: Sequence[str],
    params: Mapping[str, Param],
    values: Mapping[str, Any],
    known: Mapping[Any, Sequence[str]],
    profile: Profile,
    mask: Mask,
) -> dict[str, str]:
    """Return the wire texts of fields; `known` has the paths that a command sets, by value."""
    texts = {}
    for letter in letters:
        param = params[letter]
        if letter not in values or not has_field(param, profile):
            continue
        value = values[letter]
        paths = known.get(value, ()) if isinstance(value, str) else ()
        secret = next(filter(is_confidential, paths), None)
        is_open = isinstance(value, int | float) or value == "" or (paths and secret is None)
        texts[letter] = param.format(value, profile, values) if is_open else mask(secret or "")
    return texts


def _settings_given(
    call: Call, request: PlannedRequest, profile: Profile
) -> Mapping[Any, Sequence[str]]:
    """Map each text that a command sets to the paths of the settings with this text."""
    # Sign-in can be switched on only if a password is set, so set one.
    settings = with_value(defaults(profile), "access.admin.password", MASK)
    stage = Stage(profile, settings, None, PLAIN_HASHES)
    body = call.row.body
    try:
        content = None if body is None else body.read(request.body.encode(), "", profile)
        call.perform(stage, content)
    except Refusal:
        # The command depends on settings that are missing here, so its fields remain unknown.
        return {}
    found: dict[Any, list[str]] = {}
    for path, value in (
        *((path, value_at(stage.settings, path)) for path in stage.given),
        *((path, value) for path, _, value in stage.leaves()),
    ):
        if isinstance(value, str):
            found.setdefault(value, []).append(path)
    return found


# The plan of a change: the requests that lead from the settings of a unit to the desired ones.
#
# Every request is created from the command table and tried on the settings before it is added: it
# must bring at least one leaf to its desired value, change no leaf that has its desired value, and
# set nothing that could not be read. Settings that no request can set are listed with the reason. A
# rule can only be written completely, including the parts that a unit does not show; the step
# mentions this.
#
# The requests are in a safe order. Pages, inputs, sensors, messages and the display come first,
# then the settings of outputs. Then come the rules, one after the other, so that each rule is off
# only while it is written (`rule_order.py`); then schedule and watchdog, and finally the accounts.
# No request switches an output. The outputs are unlocked only if the unit would otherwise reject a
# setting, and locked again afterwards if desired.

#: Branches of the settings in the order in which they change.
_PAGES = ("name", "timezone", "ui", "layout", "variables", "event_variables")
_READINGS = (
    *("serial", "i2c", "onewire", "onewire_extra", "weather", "analog_inputs", "digital_inputs"),
    *("impulse_time", "modbus_devices", "modbus_slots", "modbus_mapping", "modbus_names"),
    *("differentials", "power", "energy_remember"),
)
_MESSAGES = (
    *("gsm", "email", "http", "http_period", "http_double_percent", "mqtt", "snmp"),
    *("modbus_writes", "oled"),
)
_MOVING = ("pwm", "pwm_frequency", "outputs", "pid")
_ACTING = ("schedule", "schedule_catch_up", "watchdog", "output_flags", "modbus_tcp")
_ACCOUNTS = ("access",)
#: The branches that are changed by rows that do not name their settings.
_BRANCH_OF_RUN: dict[Run, set[str]] = {
    schedule.save: {"schedule"},
    schedule.set_active: {"schedule"},
    serial_port.set_9600: {"serial"},
}
#: Flags that start automatic switching of an output.
_BEGINS = frozenset({"pid.enabled", *(f"outputs.{index}.periodic" for index in range(6))})
_HASHED = "A stored password cannot be sent; specify the password itself."
_UNLOCK = PlannedRequest("GET", "/stm.cgi?outblock=0")
_RULES = "rules"
_SETTING_OF_RULE = re.compile(r"rules\.[0-9]+\.[a-z0-9_]+")


class Unreachable(NamedTuple):
    """A setting that no command can change to its desired value, with the reason as a sentence."""

    path: str
    wanted: Any
    reason: str


class Plan(NamedTuple):
    steps: tuple[PlannedStep, ...]
    unreachable: tuple[Unreachable, ...]
    #: The settings after the plan.
    settings: Settings


def plan_between(
    profile: Profile,
    now: Settings,
    wanted: Settings,
    *,
    unread: Collection[str] = (),
    named: Collection[str] = (),
    rows: Sequence[Row] = REAL_UNIT_ROWS,
) -> Plan:
    """Plan the change from current to desired settings of the same version.

    `unread` are leaves or branches that the unit could not show. They are not changed, except those
    in `named`, which are always sent. `rows` are the commands of the unit; Leverframe supports the
    complete table.
    """
    offered: dict[str, list[Row]] = {}
    for row in rows:
        for branch in _branches(row) if row.is_offered(profile) else ():
            offered.setdefault(branch, []).append(row)
    with_own = any(row is own for row in rows for own in OWN_ROWS)
    hidden, unknown = _unread_leaves(now, wanted, unread, named)
    for path in hidden:
        if is_secret(path):
            # The unit may have a secret that cannot be read, and that must not be deleted
            # unnoticed.
            now, wanted = with_value(now, path, MASK), with_value(wanted, path, MASK)
    making = PlanBuilder(profile, now, wanted, hidden, unknown)
    knows_rules = not any(
        is_within(path, (_RULES,)) for path in hidden if not _SETTING_OF_RULE.fullmatch(path)
    )
    _follow(making, offered, (*_PAGES, *_READINGS, *_MESSAGES))
    moving = [row for branch in _MOVING for row in offered[branch]]
    if making.is_locked() and _would_help_unlocked(making, moving):
        making.take(_UNLOCK)
    _take_what_helps(making, moving)
    if knows_rules:
        set_rules(making, with_own=with_own)
    _follow(making, offered, (*_ACTING, *_ACCOUNTS))
    return Plan(tuple(making.steps), tuple(_unreachable(making)), making.now)


def _unread_leaves(
    now: Settings, wanted: Settings, unread: Collection[str], named: Collection[str]
) -> tuple[set[str], set[str]]:
    """Return the unread leaves that must not be changed, and those to be set."""
    if not unread:
        return set(), set()
    paths = {path for tree in (now, wanted) for path, _ in leaves(tree)} | set(unread)
    found = {path for path in paths if _is_below(path, unread)}
    unknown = {path for path in found if _is_below(path, named)}
    # If only a part of a branch is desired, list its leaves.
    hidden = {path for path in found - unknown if path not in unread or not is_within(path, named)}
    return hidden, unknown & {path for path, _ in leaves(wanted)}


def _is_below(path: str, branches: Collection[str]) -> bool:
    return any(path == branch or path.startswith(f"{branch}.") for branch in branches)


def _branches(row: Row) -> frozenset[str]:
    """Return the branches of the settings that a row sets."""
    paths = (*(path for found in row.sets.values() for path in found), *row.limits)
    found = {path.partition(".")[0] for path in paths}
    if "ui" in found:
        # Settings of the pages are also stored as variables.
        found.add("variables")
    return frozenset(found | _BRANCH_OF_RUN.get(row.run, set()) if row.run else found)


def _requests(making: PlanBuilder, rows: Iterable[Row]) -> list[PlannedRequest]:
    return [
        request
        for row in rows
        for request in requests_for(row, making.now, making.wanted, making.profile)
    ]


def _follow(making: PlanBuilder, rows: Mapping[str, list[Row]], branches: Iterable[str]) -> None:
    """Plan each branch with differences or unread settings."""
    for branch in branches:
        differs = getattr(making.now, branch) != getattr(making.wanted, branch)
        if differs or not making.knows_all_of(branch):
            _take_what_helps(making, rows.get(branch, []))


def _take_what_helps(making: PlanBuilder, rows: Sequence[Row]) -> None:
    """Add helpful requests until none is left: largest gain first, then fewest changes."""
    while True:
        offers = [offer for request in _requests(making, rows) if (offer := making.offer(request))]
        if not offers:
            return
        offers.sort(key=_urgency)
        for first in offers:
            offer = making.offer(first.request)
            if offer is not None:
                making.accept(offer)


def _urgency(offer: HelpfulRequest) -> tuple[int, int, int]:
    """Sort requests that end automatic switching first, those that start it last; then by gain."""
    moves = {bool(new) for path, _, new in offer.effect.leaves if path in _BEGINS}
    when = 0 if False in moves else 2 if True in moves else 1
    return when, -offer.gain, len(offer.effect.given)


def _would_help_unlocked(making: PlanBuilder, rows: Iterable[Row]) -> bool:
    unlocked = PlanBuilder(
        making.profile,
        with_value(making.now, "output_flags.lock", False),
        making.wanted,
        making.hidden,
        making.unknown,
    )
    return any(
        unlocked.offer(request) and not making.offer(request)
        for request in _requests(unlocked, rows)
    )


def _unreachable(making: PlanBuilder) -> Iterable[Unreachable]:
    default = f"No command of {making.profile} sets this value."
    missing = {path: new for path, _, new in difference(making.now, making.wanted)}
    missing |= {path: leaf_or_missing(making.wanted, path) for path in sorted(making.unknown)}
    for path, value in missing.items():
        is_hash = is_secret(path) and str(value).startswith("$")
        reason = _HASHED if is_hash else making.reasons.get(path, default)
        yield Unreachable(path, value, reason)
