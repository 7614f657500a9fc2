"""The settings that a row changes, found by trial.

Many rows only name a setting; the remaining rows change settings in code. Therefore every row is
performed on a stage, once for each example of each field, and the settings before and after are
compared.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import MAX_RULES, SCHEDULE_ENTRIES, Rule, ScheduleEntry, Settings
from leverframe.core.tree import defaults, difference, with_value
from leverframe.interface.descriptions.listing import fill, newest_with
from leverframe.interface.table.bodies import FormBody, ListBody
from leverframe.interface.table.inputs import AMPLIFIED
from leverframe.interface.table.params import Int, Param
from leverframe.interface.table.refusals import Refusal, Restored
from leverframe.interface.table.row import Row
from leverframe.interface.table.stage import Stage
from leverframe.interface.table.system import RESTORE_ROW
from leverframe.interface.table.versions import params_of

ALL_SETTINGS = "all settings but `access`"


def settings_changed(row: Row) -> list[str]:
    """List the paths of leaves that the row can change, `*` for any index, in the order found."""
    profile = newest_with(row)
    found: dict[str, None] = {}
    for _, after in _outcomes(row, profile):
        if after == defaults(profile):
            return [ALL_SETTINGS]
        found |= dict.fromkeys(_list_changes(_prepare(profile), after))
    return list(found)


def settings_of_fields(row: Row) -> dict[str, list[str]]:
    """Return the leaves that each field sets; nothing if an index selects between leaves."""
    profile = newest_with(row)
    outcomes = list(_outcomes(row, profile))
    if not outcomes or outcomes[0][0] is not None:
        return {}
    _, base = outcomes[0]
    usual = set(_list_changes(_prepare(profile), base))
    goes_to: dict[str, list[str]] = {}
    indices: set[str] = set()
    for name, after in outcomes:
        changed = _list_changes(base, after)
        if name is None or not changed:
            continue
        if len(changed) > len(set(changed)):
            # The same leaf at two positions.
            indices.add(name)
        if name in indices and set(_list_changes(_prepare(profile), after)) != usual:
            return {}
        goes_to[name] = [path for path in goes_to.get(name, changed) if path in changed]
    return {name: paths for name, paths in goes_to.items() if name not in indices}


def _list_changes(before: Settings, after: Settings) -> list[str]:
    return [any_index(path) for path, _, _ in difference(before, after)]


def _outcomes(row: Row, profile: Profile) -> Iterator[tuple[str | None, Settings]]:
    """Yield the settings after every trial that was not refused, with the field that was varied."""
    for name, values in _variations(row, profile):
        stage = Stage(profile, _prepare(profile), i2c_found="BME280")
        fields, body = _as_sent(row, values)
        try:
            row.perform(stage, fields, body)
        except Refusal:
            continue
        yield name, stage.settings


def any_index(path: str) -> str:
    return ".".join("*" if step.isdigit() else step for step in path.split("."))


@lru_cache(maxsize=16)
def _prepare(profile: Profile) -> Settings:
    """Return settings in which every entry exists, so that it can be changed."""
    settings = replace(
        defaults(profile),
        rules=(Rule(),) * MAX_RULES,
        schedule=(ScheduleEntry(),) * SCHEDULE_ENTRIES,
    )
    return with_value(settings, "analog_inputs.0.sensor", AMPLIFIED)


def _as_sent(row: Row, values: dict[str, Any]) -> tuple[Mapping[str, Any], Any]:
    """Return the fields of the query, and the body."""
    match row.body:
        case ListBody():
            return {}, [values]
        case FormBody():
            return {}, values
        case None:
            return values, None
        case _ if row is RESTORE_ROW:
            return {}, Restored(defaults(newest_with(row)))
        case _:
            return {}, b"any file"


def _variations(row: Row, profile: Profile) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """Yield all fields at their example, then each of them at each of its own examples."""
    params = params_of(row)
    base = fill(params, row.example, profile).values
    yield None, base
    for name, param in params.items():
        for text in _samples(param, profile, base):
            yield name, fill(params, {**row.example, name: text}, profile).values


def _samples(param: Param, profile: Profile, seen: Mapping[str, Any]) -> list[str]:
    """Return the texts to try in a field: all values of an index, which may select the setting."""
    if isinstance(param, Int) and param.hi - param.lo < MAX_RULES:
        return [str(number) for number in range(param.lo, param.hi + 1)]
    return param.examples(profile, seen)
