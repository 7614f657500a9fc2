"""The version of a controller at the last use of its store."""

from typing import Any

from leverframe.commands.version_change.backup_content import EDITION
from leverframe.profile import Profile
from leverframe.storage.store import Store, Stored

#: The row with the edition: how the last program interpreted the settings.
STORED_EDITION = "settings.edition"


def profile_rows(profile: Profile) -> dict[str, Any]:
    """Return the rows that store the version and the edition of a controller."""
    return {"profile.hw": profile.hw, "profile.sw": profile.sw, STORED_EDITION: EDITION}


def is_of_this_edition(stored: Stored) -> bool:
    """Return whether the program that used the store last took settings to mean the same."""
    return bool(stored.kept.get(STORED_EDITION) == EDITION)


def read_stored_profile(store: Store) -> tuple[str | None, str | None, str | None]:
    """Return the profile that the store was last used with, and the `sw` configured then."""
    return profile_in(store.load())


def profile_in(stored: Stored) -> tuple[str | None, str | None, str | None]:
    """Return the same of what was read of a store."""
    kept = stored.kept
    return kept.get("profile.hw"), kept.get("profile.sw"), kept.get("profile.configured_sw")
