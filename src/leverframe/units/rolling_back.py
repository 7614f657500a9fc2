"""The settings that a unit had before a change, as its journal tells them."""

from typing import NamedTuple

from leverframe.engine.settings import Settings
from leverframe.engine.tree import MISSING, difference, settings_from_leaves, with_value
from leverframe.profile import Profile
from leverframe.units.apply_journal import JournalLine
from leverframe.units.file_keys import is_part_of
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_plan import BadPlan, LeftOutSetting

_NOT_READ = "It was never read, so that it cannot be had back; give it again."


class Restorable(NamedTuple):
    """What a unit should be again."""

    settings: Settings
    #: What the change set and was known before, also where the unit does not tell it now.
    named: tuple[str, ...]
    #: What nobody knows.
    lost: tuple[LeftOutSetting, ...]


def settings_to_restore(begun: JournalLine, pulled: PulledUnit) -> Restorable:
    """Return what a unit was before a change."""
    profile = Profile(begun.hw, begun.sw)
    if pulled.profile != profile:
        raise BadPlan(
            f"{begun.unit} is {pulled.profile} now, and the journal is of {profile}; settings of "
            "another version are not put back."
        )
    before, _ = settings_from_leaves(profile, dict(begun.before))
    wanted = with_value(before, "profile", pulled.settings.profile)
    for path, old, value in difference(wanted, pulled.settings):
        is_there = old is not MISSING and value is not MISSING
        if is_there and is_part_of(path, begun.unread):
            wanted = with_value(wanted, path, value)
    unknown = [path for path in begun.changed if is_part_of(path, begun.unread)]
    return Restorable(
        wanted,
        tuple(path for path in begun.changed if path not in unknown),
        tuple(LeftOutSetting(path, _NOT_READ) for path in unknown),
    )
