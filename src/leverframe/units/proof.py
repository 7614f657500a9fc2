"""Create plans for units, and verify them on an in-memory twin without a port."""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any

import httpx
from msgspec import UNSET
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.settings import MAX_RULES, Settings
from leverframe.core.tree import defaults, difference, is_secret, leaves
from leverframe.host.assembly import build
from leverframe.interface.plan.plan_builder import leaf_or_missing
from leverframe.interface.plan.planner import Plan, plan_between
from leverframe.interface.status_files.entries import late_letters, unshown_letters
from leverframe.interface.table.lookup import REAL_UNIT_ROWS, TABLE
from leverframe.interface.table.row import Row
from leverframe.interface.table.rules import SETTINGS as RULE_SETTINGS
from leverframe.server.http.messages import Request, complete_answer
from leverframe.server.passwords import Passwords
from leverframe.server.routes.router import Web
from leverframe.storage.store import Changes, MemoryStore
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.testing.recordings.unit_client import UnitClient, unit_at
from leverframe.units.addresses import normal_mac
from leverframe.units.client import PacedClient
from leverframe.units.live_values import is_leverframe
from leverframe.units.pulled_unit import PulledUnit, reason_at
from leverframe.units.unit_file import UnitFile
from leverframe.units.unit_plan import (
    BadPlan,
    LeftOutSetting,
    SettingChange,
    UnitPlan,
    UnitStep,
    UnreadableSetting,
    follow_accounts,
)
from leverframe.units.unit_reader import pull_unit

#: Only the trial knows this twin, which ends with the trial.
_PASSWORD = "of a twin for a trial"
_ADDRESS = "http://twin"
_LOOPBACK = "127.0.0.1"


@asynccontextmanager
async def trial_twin(
    profile: Profile, settings: Settings, *, signs_in: bool
) -> AsyncIterator[PacedClient]:
    """Start a twin with these settings; yield its client.

    If the trial involves accounts, the administrator has a password known only to the trial.
    """
    leaves: dict[str, Any] = {
        path: value for path, _, value in difference(defaults(profile), settings)
    }
    login = None
    if signs_in:
        leaves["access.admin.password"] = await Passwords().hash(_PASSWORD)
        login = UnitLogin(settings.access.admin.name, _PASSWORD)
    store = MemoryStore()
    await store.commit(Changes(settings=leaves))
    built = await build(profile, store, VirtualClock(), UTC)
    try:
        async with httpx.AsyncClient(transport=in_process(built.web), trust_env=False) as client:
            yield PacedClient(UnitClient(unit_at(_ADDRESS), client), login, paced=False)
    finally:
        await built.stop()


def in_process(web: Web) -> httpx.MockTransport:
    """Pass the client's bytes to the HTTP request function."""

    async def answer(sent: httpx.Request) -> httpx.Response:
        path, mark, query = sent.extensions["target"].decode().partition("?")
        headers = {name: value for name, value in sent.headers.items() if name != "host"}
        request = Request(
            sent.method, path, query if mark else None, headers, sent.content, _LOOPBACK
        )
        reply: Any = await complete_answer(web.handle(request))
        return httpx.Response(
            reply.status,
            headers={"content-type": reply.content_type},
            stream=httpx.ByteStream(reply.body),
        )

    return httpx.MockTransport(answer)


# Create a plan for a unit from its settings, and verify it on a twin.

_ACCESS = "access."


async def plan_for_file(unit: str, pulled: PulledUnit, file: UnitFile) -> UnitPlan:
    """Plan the changes of a unit to match a file; report settings its version does not support."""
    for_unit, lost = file.for_version(pulled.profile)
    wanted = for_unit.over(pulled.settings)
    named = [path for path, _ in leaves(wanted) if _is_wanted(path, for_unit, pulled)]
    left_out = [LeftOutSetting(one.path, one.reason) for one in lost]
    return await plan_for_settings(unit, pulled, wanted, named, left_out)


def _is_wanted(path: str, file: UnitFile, pulled: PulledUnit) -> bool:
    """Return whether a file defines a setting.

    The rules are defined as a whole, but a part of a rule that the file omits and the unit does not
    show is no reason to write the rule.
    """
    is_said = path in file.settings_named or path not in _unread(pulled)
    return file.names(path) and is_said


async def plan_for_settings(
    unit: str,
    pulled: PulledUnit,
    wanted: Settings,
    named: Collection[str],
    left_out: Collection[LeftOutSetting] = (),
) -> UnitPlan:
    """Plan the changes of a unit to the wanted settings of its version, and verify the plan.

    `named` are wanted settings that could not be read.
    """
    own, unread = is_leverframe(pulled), _unread(pulled)
    rows = TABLE if own else REAL_UNIT_ROWS
    plan = plan_between(
        pulled.profile,
        pulled.settings,
        wanted,
        unread=unread,
        named=named,
        rows=rows,
    )
    steps = tuple(
        UnitStep(step.request, tuple(SettingChange(*change) for change in step.changes))
        for step in plan.steps
    )
    made = UnitPlan(
        unit=unit,
        address=pulled.identity.address,
        mac=normal_mac(pulled.identity.mac) or "",
        hw=pulled.profile.hw,
        sw=pulled.profile.sw,
        is_leverframe=own,
        digest=pulled.digest,
        before=_before(pulled),
        unread=tuple(sorted(unread)),
        lossy=tuple(sorted({*pulled.lossy, *_unproven(pulled)})),
        steps=steps,
        left_out=(
            *left_out,
            *(LeftOutSetting(one.path, one.reason) for one in plan.unreachable),
        ),
        unreadable=tuple(_unreadable(pulled, steps)),
        irreversible=tuple(_irreversible(pulled, plan, rows)),
    )
    result = await _prove(made, pulled, plan)
    # Settings that the plan makes unreadable, such as the duty of a newly regulated output.
    hidden = {path for path in result.unread if pulled.why_unread(path) is None}
    return replace(made, lossy=tuple(sorted({*made.lossy, *hidden})))


def _unread(pulled: PulledUnit) -> dict[str, str]:
    """Return why settings cannot be read, including those of new rules."""
    if is_leverframe(pulled):
        return dict(pulled.unread)
    names = [RULE_SETTINGS[letter] for letter in unshown_letters(pulled.profile)]
    reason = f"no status file of {pulled.profile} shows this setting"
    every = {f"rules.{place}.{name}": reason for place in range(MAX_RULES) for name in names}
    return every | dict(pulled.unread)


def _unreadable(pulled: PulledUnit, steps: Iterable[UnitStep]) -> Iterator[UnreadableSetting]:
    """Yield settings of rules that the steps set, remove or keep although the unit hides them."""
    unread = _unread(pulled)
    last = {change.path: change.new for step in steps for change in step.changes}
    for path in _beside(last, unread):
        yield UnreadableSetting(path, reason_at(unread, path) or "", "kept")
    for path, value in last.items():
        reason = reason_at(unread, path)
        if reason is None:
            continue
        was_there = leaf_or_missing(pulled.settings, path) is not UNSET
        if value is not UNSET:
            yield UnreadableSetting(path, reason, "set", value, was_there)
        elif was_there:
            yield UnreadableSetting(path, reason, "removed")


def _beside(changed: Collection[str], unread: Collection[str]) -> Iterator[str]:
    """Yield unread settings of rules that are only enabled, disabled or made permanent."""
    for path in unread:
        rule = path.rpartition(".")[0]
        found = {one for one in changed if one.startswith(f"{rule}.")}
        if (
            rule.startswith("rules.")
            and found
            and found <= {f"{rule}.enabled", f"{rule}.permanent"}
        ):
            yield path


def _irreversible(pulled: PulledUnit, plan: Plan, rows: Sequence[Row]) -> Iterator[str]:
    """Yield changes that no command can revert, such as a first password."""
    if plan.steps:
        back = plan_between(pulled.profile, plan.settings, pulled.settings, rows=rows)
        yield from (one.path for one in back.unreachable)


def _unproven(pulled: PulledUnit) -> Iterator[str]:
    """Yield settings that real units may place elsewhere, including those of new rules."""
    if not is_leverframe(pulled):
        for place in range(MAX_RULES):
            for letter in late_letters(pulled.profile):
                yield f"rules.{place}.{RULE_SETTINGS[letter]}"


def _before(pulled: PulledUnit) -> dict[str, object]:
    standard = defaults(pulled.profile)
    return {
        path: value
        for path, _, value in difference(standard, pulled.settings)
        if pulled.why_unread(path) is None
    }


async def _prove(made: UnitPlan, pulled: PulledUnit, plan: Plan) -> PulledUnit:
    """Carry out a plan on a twin and read the twin; raise `BadPlan` if settings are not reached."""
    touches_accounts = any(
        change.path.startswith(_ACCESS) for step in made.steps for change in step.changes
    )
    signs_in = touches_accounts or pulled.settings.access.required
    async with trial_twin(pulled.profile, pulled.settings, signs_in=signs_in) as twin:
        for number, step in enumerate(made.steps, start=1):
            request = step.request
            body = request.body.encode() if request.method == "POST" else None
            answer = await twin.command(request.target, body)
            if not answer.is_ok:
                raise BadPlan(
                    f"A twin of {made.profile} rejects step {number} of the plan for {made.unit}"
                    f" ({step.mask_request(made.profile).target}); nothing was sent to the unit."
                )
            follow_accounts(twin, step, made)
        result = await pull_unit(twin, by_files=not made.is_leverframe)
    _compare(made, pulled, result, plan.settings)
    return result


def _compare(made: UnitPlan, pulled: PulledUnit, result: PulledUnit, expected: Settings) -> None:
    for path, was, should in difference(result.settings, expected):
        is_known = not _is_doubtful(path, pulled) and not _is_doubtful(path, result)
        if path.startswith("profile.") or is_secret(path) or not is_known:
            continue
        change = SettingChange(path, was, should)
        raise BadPlan(
            f"The plan for {made.unit} does not reach the required settings on a twin of"
            f" {made.profile}: {change.key} is {change.show(was)} there, not"
            f" {change.show(should)}. Nothing was sent to the unit."
        )


def _is_doubtful(path: str, result: PulledUnit) -> bool:
    return result.why_unread(path) is not None or result.why_lossy(path) is not None
