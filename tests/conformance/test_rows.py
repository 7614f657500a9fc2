"""Every row of the command table through the one request function, as HTTP sees it.

For each row and each profile at which the row changes: every good request is answered with 200 and
has exactly its effect; every bad one with 400, a problem that names the field and what is allowed,
and no effect at all; on profiles without the row it is 404 or 410. A row that was never accepted or
never refused in its test fails it.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile, withdrawn
from leverframe.core.settings import Settings
from leverframe.core.tree import difference, is_secret, value_at
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.row import Row
from leverframe.server.http.messages import Reply
from leverframe.testing import LoopTwin
from tests.boundary_profiles import ALL_HARDWARE, NEWEST, profiles_that_change
from tests.cases import for_each
from tests.conformance.effects import OTHERWISE, SETTINGS, STATES, settings_after
from tests.conformance.requests import (
    ACCOUNTS,
    EVENT,
    PREPARATIONS,
    Sample,
    make_bad_samples,
    make_good_samples,
    misshapen,
)
from tests.effort import EFFORT, some_of

COMMANDS = [(number, row) for number, row in enumerate(TABLE) if row.form.items]
USERS = "POST /post.cgi?users_save"
#: Where passwords go in as hashes, which no test can foresee.
HASHED = {ACCOUNTS: ("access.admin.password", "access.user.password"), USERS: ("access.users",)}


def for_rows(wanted: Callable[[Row], bool]) -> pytest.MarkDecorator:
    """One test for each command of that kind, called with its number in the table."""
    rows = [pytest.param(number, id=row.line) for number, row in COMMANDS if wanted(row)]
    return pytest.mark.parametrize("number", rows)


def profiles_of(number: int) -> list[Profile]:
    """Where the row looks different, and the newest; only those that offer it."""
    profiles = dict.fromkeys((*profiles_that_change(number), NEWEST))
    return [profile for profile in profiles if TABLE[number].is_offered(profile)]


async def send(twin: LoopTwin, sample: Sample) -> Reply:
    return await twin.ask(
        sample.target, sample.method, sample.body, content_type=sample.content_type
    )


async def prepare(profile: Profile, row: Row) -> LoopTwin:
    """A fresh controller with what the row needs."""
    twin = await LoopTwin.start(profile)
    for request in PREPARATIONS.get(row.line, ()):
        method, target, *body = request.split(" ", 2)
        await twin.ok(target, method, "".join(body).encode())
    return twin


# --- good requests -------------------------------------------------------------------------------


def value_shown(shown: Any, path: str) -> Any:
    for step in path.split("."):
        shown = shown[int(step)] if isinstance(shown, list) else shown[step]
    return shown


def as_shown(path: str, value: Any) -> Any:
    """How the settings document shows a value: plain, or masked."""
    if is_secret(path):
        return "***" if value else None
    return plain(value)


def plain(value: Any) -> Any:
    """As JSON gives it back: lists for tuples, mappings for nodes."""
    return msgspec.json.decode(msgspec.json.encode(value))


def covers(expected: Iterable[str], path: str) -> bool:
    """Is a changed leaf one of these paths, below one, or a list that holds one?"""
    return any(f"{path}.".startswith(f"{one}.") or one.startswith(f"{path}.") for one in expected)


async def read_settings(twin: LoopTwin, sample: Sample) -> dict[str, Any]:
    """The settings document, with the credentials that the request itself may have set."""
    if not twin.controller.pending.access.required:
        return await twin.settings()
    names = f"{sample.values['C']}:{sample.values['D']}"
    basic = f"Basic {b64encode(names.encode()).decode()}"
    reply = await twin.ask("/api/settings", authorization=basic)
    assert reply.status == 200, sample
    shown: dict[str, Any] = msgspec.json.decode(reply.body)
    return shown


async def check_settings(twin: LoopTwin, sample: Sample, before: Settings) -> None:
    expected = settings_after(sample.row, sample.values, sample.profile)
    after = twin.controller.engine.settings
    for path, value in expected.items():
        assert plain(value_at(after, path)) == plain(value), sample
    known = (*expected, *HASHED.get(sample.row.line, ()))
    assert [path for path, _, _ in difference(before, after) if not covers(known, path)] == []


async def check_shown(twin: LoopTwin, sample: Sample) -> None:
    shown = await read_settings(twin, sample)
    for path, value in settings_after(sample.row, sample.values, sample.profile).items():
        assert value_shown(shown, path) == as_shown(path, value), sample


def sets_secrets(sample: Sample) -> bool:
    """Whether the settings document shows something else than what was set.

    All else it shows as JSON has it, like `plain`: to read it after every request takes as long as
    the request itself.
    """
    expected = settings_after(sample.row, sample.values, sample.profile)
    return sample.row.line in HASHED or any(map(is_secret, expected))


async def check_accepted(twin: LoopTwin, sample: Sample) -> None:
    before = twin.controller.engine.settings
    look = STATES.get(sample.row.line)
    state = await twin.state() if look else {}
    reply = await send(twin, sample)
    assert reply.status == 200, f"{sample}: {reply.body!r}"
    assert reply.content_type == "text/xml"
    await check_settings(twin, sample, before)
    if look:
        expected, now = look(sample.values, state), await twin.state()
        assert {name: now[name] for name in expected} == expected, sample


async def check_good_requests(
    number: int, samples_of: Callable[[Row, Profile], Iterable[Sample]]
) -> None:
    row = TABLE[number]
    sent = 0
    for profile in profiles_of(number):
        twin = await prepare(profile, row)
        for place, sample in enumerate(samples_of(row, profile)):
            if row.line == ACCOUNTS:
                twin = await prepare(profile, row)
            await check_accepted(twin, sample)
            if place == 0 or sets_secrets(sample):
                await check_shown(twin, sample)
            if row.line == EVENT:
                await twin.ok(f"/inpa.cgi?eventdel={sample.values['A']}")
            sent += 1
    assert sent


@for_rows(lambda row: row.line not in {*OTHERWISE, EVENT})
async def test_good_request_has_exactly_its_effect(number: int) -> None:
    await check_good_requests(number, make_good_samples)


def good_rules(row: Row, profile: Profile) -> Sequence[Sample]:
    """All of the newest version, in quick runs; of others, whose rules take ten seconds, some."""
    if profile == NEWEST and EFFORT == "thorough":
        return []
    samples = list(make_good_samples(row, profile))
    return samples if profile == NEWEST else some_of(samples)


@for_rows(lambda row: row.line == EVENT)
async def test_good_rule_has_exactly_its_effect(number: int) -> None:
    await check_good_requests(number, good_rules)


def test_every_row_has_its_effect_tested() -> None:
    by_code = {row.line for row in TABLE if row.run is not None or not row.sets}
    assert by_code == SETTINGS.keys() | STATES.keys() | OTHERWISE


# --- bad requests --------------------------------------------------------------------------------


def everything(twin: LoopTwin) -> tuple[Any, ...]:
    """All that a refused request must leave alone."""
    controller = twin.controller
    board: Any = controller.board
    return (
        id(controller.pending),
        id(controller.engine),
        id(controller.engine.settings),
        dict(controller.engine.values),
        len(board.history),
        controller.clock.read(),
        controller.bootloader_until,
    )


async def check_refused(twin: LoopTwin, sample: Sample) -> None:
    before = everything(twin)
    reply = await send(twin, sample)
    assert reply.status == 400, f"{sample}: {reply.status} {reply.body!r}"
    assert reply.content_type == "application/problem+json"
    problem = msgspec.json.decode(reply.body)
    assert problem["status"] == 400
    assert {"type", "title", "detail", "command", "allowed"} <= problem.keys(), sample
    assert sample.field is None or problem["field"] == sample.field, sample
    assert everything(twin) == before, sample


@for_rows(lambda row: True)
async def test_bad_request_names_the_field_and_changes_nothing(number: int) -> None:
    row = TABLE[number]
    fields: set[str | None] = set()
    for profile in profiles_of(number):
        twin = await LoopTwin.start(profile)
        before = await twin.settings()
        for sample in (*make_bad_samples(row, profile), *misshapen(row, profile)):
            await check_refused(twin, sample)
            fields.add(sample.field)
        assert await twin.settings() == before
    assert fields
    assert set(row.params) <= fields


@for_rows(lambda row: row.body is not None)
async def test_command_with_a_body_must_be_posted(number: int) -> None:
    row = TABLE[number]
    twin = await LoopTwin.start()
    before = everything(twin)
    reply = await twin.ask(row.form.write({}))
    assert (reply.status, dict(reply.headers)["Allow"]) == (405, "POST")
    assert everything(twin) == before


@for_each("line", PREPARATIONS)
async def test_command_that_contradicts_the_state_is_a_conflict(line: str) -> None:
    (row,) = [row for row in TABLE if row.line == line]
    twin = await LoopTwin.start()
    before = everything(twin)
    sample = next(make_good_samples(row, NEWEST))
    problem = await twin.refused(sample.target, 409)
    assert problem["field"] == "A"
    assert everything(twin) == before


# --- other versions ------------------------------------------------------------------------------


def is_distinguished(row: Row, target: str, profile: Profile) -> bool:
    """Could no form that the profile does offer be meant instead?"""
    path, _, query = target.partition("?")
    name = query.partition("=")[0]
    others = [
        other
        for other in TABLE
        if other.form.items
        and other.form.path == path
        and other.is_offered(profile)
        and other.form.items[0].match_name(name) is not None
    ]
    return not others or row.form.items[0].is_shape_of(query)


@for_rows(lambda row: not all(row.is_offered(profile) for profile in ALL_HARDWARE))
async def test_row_of_another_version_is_not_there_and_says_where_it_is(number: int) -> None:
    row = TABLE[number]
    sample = next(make_good_samples(row, newest_that_offers(row)))
    for profile in profiles_that_change(number):
        if row.is_offered(profile) or not is_distinguished(row, sample.target, profile):
            continue
        twin = await LoopTwin.start(profile)
        before = everything(twin)
        reply = await send(twin, sample)
        assert reply.status == (410 if withdrawn(row.when, profile) else 404), profile
        detail = msgspec.json.decode(reply.body)["detail"]
        versions = {end for span in row.when for end in (span.since, span.until) if end}
        assert all(f"SW {version}" in detail for version in versions)
        assert everything(twin) == before


def newest_that_offers(row: Row) -> Profile:
    offering = [profile for profile in ALL_HARDWARE if row.is_offered(profile)]
    return NEWEST if NEWEST in offering else offering[-1]
