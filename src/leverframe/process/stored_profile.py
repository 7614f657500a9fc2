"""The version of a controller that its store was last used with."""

from leverframe.storage.store import Store, Stored

#: The row that says what the program which used the store last took settings to mean.
STORED_EDITION = "settings.edition"


def stored_profile(store: Store) -> tuple[str | None, str | None, str | None]:
    """Return the profile that the store was last used with, and the `sw` configured then."""
    return profile_in(store.load())


def profile_in(stored: Stored) -> tuple[str | None, str | None, str | None]:
    """Return the same of what was read of a store."""
    kept = stored.kept
    return kept.get("profile.hw"), kept.get("profile.sw"), kept.get("profile.configured_sw")
