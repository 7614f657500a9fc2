"""The hardware and software version of a controller, and what that version supports.

A `Profile` is one hardware version with one software version. Everything that differs between
versions has one or more `VersionSpan`s: the hardware, the software version that introduced it and
the software version that removed it. No other code compares versions.

Software versions are a number, a dot, two digits and sometimes a letter (`1.49d`); they are ordered
by the numbers, then by the letter; a version without a letter comes first.
"""

import re
from functools import lru_cache

from msgspec import Struct

from leverframe.core.errors import ErrorForPeople

HW30 = ("3.0",)
HW35_TO_38 = ("3.5", "3.6", "3.7", "3.8")
HW39 = ("3.9",)
#: `HW 3.5+` in the interface document.
HW35 = HW35_TO_38 + HW39
HARDWARE = HW30 + HW35

_SOFTWARE = re.compile(r"([1-9])\.([0-9]{2})([a-z]?)")


class UnknownProfile(ErrorForPeople, ValueError):
    """The requested hardware or software version does not exist."""


class Version(Struct, frozen=True, order=True):
    major: int
    minor: int
    letter: str


@lru_cache(maxsize=256)
def version(text: str) -> Version:
    """Parse a software version into a value that can be compared."""
    found = _SOFTWARE.fullmatch(text)
    if not found:
        raise UnknownProfile(
            f"Unknown software version {text!r}. Write it like 1.36, 1.49d or 1.75: a number, "
            "a dot, two digits and an optional letter."
        )
    return Version(int(found[1]), int(found[2]), found[3])


class Profile(Struct, frozen=True):
    """One hardware version with one software version; raise `UnknownProfile` for others."""

    hw: str = "3.9"
    sw: str = "1.75"

    def __post_init__(self) -> None:
        if self.hw not in HARDWARE:
            raise UnknownProfile(
                f"Unknown hardware {self.hw!r}. Choose one of {', '.join(HARDWARE)}."
            )
        version(self.sw)

    def __str__(self) -> str:
        return f"HW {self.hw} SW {self.sw}"

    def since(self, sw: str, hw: tuple[str, ...] = HARDWARE) -> bool:
        """Return whether this is one of the given hardware versions with at least that software."""
        return self.hw in hw and version(self.sw) >= version(sw)


def newest_software(hw: str) -> str:
    """Return the newest known software for a hardware version."""
    return "1.58a" if hw in HW30 else Profile().sw


def existing(hw: str, sw: str) -> Profile:
    """Return the requested profile; raise `UnknownProfile` if it never existed."""
    profile, newest = Profile(hw, sw), newest_software(hw)
    if version(sw) > version(newest):
        raise UnknownProfile(
            f"Software {sw} does not exist for HW {hw}. The newest version for it is {newest}."
        )
    return profile


class VersionSpan(Struct, frozen=True):
    """Hardware versions, and software versions from `since` up to, but excluding, `until`."""

    hw: tuple[str, ...] = HARDWARE
    since: str | None = None
    until: str | None = None

    def covers(self, profile: Profile) -> bool:
        return profile.hw in self.hw and not self.is_before(profile) and not self.is_after(profile)

    def is_before(self, profile: Profile) -> bool:
        """Return whether the profile's software is older than the span."""
        return self.since is not None and version(profile.sw) < version(self.since)

    def is_after(self, profile: Profile) -> bool:
        """Return whether the profile's software is newer than the span."""
        return self.until is not None and version(profile.sw) >= version(self.until)

    def __str__(self) -> str:
        words = [hardware_words(self.hw)] if self.hw != HARDWARE else []
        if self.since:
            words.append(f"SW {self.since}+")
        if self.until:
            words.append(f"before SW {self.until}")
        return " ".join(words) or "all versions"


Spans = tuple[VersionSpan, ...]
#: The spans of everything that all versions have.
ALWAYS: Spans = (VersionSpan(),)


def hardware_words(hw: tuple[str, ...]) -> str:
    """Describe hardware versions as the interface document does, for example `HW 3.5+`."""
    if hw == HW35:
        return "HW 3.5+"
    if hw == HW35_TO_38:
        return "HW 3.5-3.8"
    return "HW " + ", ".join(hw)


def is_offered(spans: Spans, profile: Profile) -> bool:
    return spans is ALWAYS or any(span.covers(profile) for span in spans)


def withdrawn(spans: Spans, profile: Profile) -> bool:
    """Return whether this version lacks a feature that an earlier software version had."""
    return not is_offered(spans, profile) and any(
        profile.hw in span.hw and span.is_after(profile) for span in spans
    )


def spans_in_words(spans: Spans) -> str:
    return " or ".join(str(span) for span in spans)
