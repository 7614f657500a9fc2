"""The content of a backup, and the check that some version could have made it.

A value that no version allows refuses the whole file, before anything is carried over.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from leverframe.commands.table.accounts import check_names
from leverframe.commands.table.refusals import BadValue
from leverframe.commands.table.restored import NotCarriedOver
from leverframe.commands.table.versions import all_profiles
from leverframe.commands.version_change.limits import (
    is_allowed,
    missing_of_rule,
    missing_of_schedule,
)
from leverframe.engine.factory_settings import defaults
from leverframe.engine.settings import MAX_RULES, Settings, number_rules
from leverframe.engine.tree import (
    MISSING,
    UnfitSettings,
    difference,
    is_confidential,
    settings_from_leaves,
)
from leverframe.profile import Profile

#: Counts changes in what stored settings mean. 2: `< 1` of a digital source is met at 0, not at 1.
EDITION = 2
#: Checked entry by entry, or as a whole.
ENTRIES = ("rules.", "schedule.")
_PROFILE = "profile."


class Content(Struct, frozen=True):
    """The settings that were read from a backup."""

    profile: Profile
    #: Values by path; of secrets only those that came along.
    settings: Mapping[str, Any]
    #: Secrets that were set and are not in the file.
    left_out: tuple[str, ...] = ()
    #: The file's secrets came along, so its accounts can be taken over.
    with_secrets: bool = False
    #: What its program took settings to mean.
    edition: int = EDITION


def check_content(content: Content, lost: list[NotCarriedOver]) -> Settings:
    """Check a backup; return the tree as its controller had it."""
    stored = {
        path: value for path, value in content.settings.items() if not path.startswith(_PROFILE)
    }
    _check_rule_places(stored)
    try:
        tree, unknown = settings_from_leaves(content.profile, stored)
    except UnfitSettings as error:
        raise BadValue(f"The backup contains a value of the wrong type: {error}") from None
    lost += (
        NotCarriedOver(path, None, "This program does not have the setting.") for path in unknown
    )
    _check_plain(tree, content.profile)
    _check_entries(tree, content.profile)
    if content.with_secrets:
        _check_accounts(tree)
    return tree


def _check_rule_places(stored: Mapping[str, Any]) -> None:
    places = {path.split(".")[1] for path in stored if path.startswith("rules.")}
    if not places <= {str(place) for place in range(MAX_RULES)}:
        raise BadValue("The backup has an event entry outside 0 to 19.")


def _check_plain(tree: Settings, profile: Profile) -> None:
    for path, value, default in plain_leaves(tree, profile):
        if is_allowed(path, value, default, profile):
            continue
        if not any(is_allowed(path, value, default, version) for version in all_profiles()):
            shown = None if is_confidential(path) else str(value)[:80]
            raise BadValue(
                f"The backup contains a value for {path} that no version allows.",
                field=path,
                value=shown,
            )


def plain_leaves(tree: Settings, profile: Profile) -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, value, default) of every leaf that is not at its default."""
    for path, default, value in difference(defaults(profile), tree):
        if not path.startswith((*ENTRIES, _PROFILE)):
            yield path, value, None if default is MISSING else default


def _check_entries(tree: Settings, profile: Profile) -> None:
    for number, rule in number_rules(tree.rules):
        place = number - 1
        if not any(not missing_of_rule(rule, version) for version in (profile, *all_profiles())):
            raise BadValue(
                f"Event entry {place} of the backup has values that no version allows.",
                field=f"rules.{place}",
            )
    for place, entry in enumerate(tree.schedule):
        if entry is not None and not any(
            not missing_of_schedule(entry, version) for version in (profile, *all_profiles())
        ):
            raise BadValue(
                f"Schedule entry {place} of the backup has values that no version allows.",
                field=f"schedule.{place}",
            )


def _check_accounts(tree: Settings) -> None:
    users = [user.name for user in tree.access.users if user is not None]
    check_names(tree.access.admin.name, tree.access.user.name, *users)
    if tree.access.required and not tree.access.admin.password:
        raise BadValue(
            "The backup requires sign-in, but its administrator has no password.",
            field="access.required",
        )
