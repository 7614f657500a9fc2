"""The time zone that the settings name.

The zones themselves are tables that come with the machine; each is read once.
"""

from datetime import tzinfo
from errno import EMFILE, ENFILE
from zoneinfo import ZoneInfo

#: Too many files are open: that says nothing about the zone.
_NONE_OPENS_NOW = (EMFILE, ENFILE)


def zone_named(name: str) -> tzinfo | None:
    """Return the zone of this name; None where this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError):
        return None
    except OSError as error:
        # Names that are a folder of zones, such as Europe, or too long, cannot be opened.
        if error.errno in _NONE_OPENS_NOW:
            raise
        return None
