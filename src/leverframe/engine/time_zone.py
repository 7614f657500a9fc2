"""The time zone that the settings name.

The zones themselves are tables that come with the machine; each is read once.
"""

from datetime import tzinfo
from zoneinfo import ZoneInfo


def zone_named(name: str) -> tzinfo | None:
    """Return the zone of this name; None where this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, IsADirectoryError, PermissionError):
        # Names that are a folder of zones, such as Europe, cannot be opened.
        return None
