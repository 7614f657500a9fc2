"""Versions as tests name them: `3.5/1.49`, `3.5` with its newest software, `newest`, `all`."""

from leverframe.commands.table.versions import all_profiles
from leverframe.profile import HARDWARE, Profile, existing, newest_software, version

NEWEST, HARDWARES, ALL = "newest", "hardware", "all"


def profile_from(text: str) -> Profile:
    """Return the version that `3.5/1.49` or `3.5` names."""
    if text == NEWEST:
        return Profile()
    hw, _, sw = text.strip().partition("/")
    # Refuses a hardware version that never was before its newest software is asked for.
    Profile(hw)
    return existing(hw, sw or newest_software(hw))


def version_parameters(text: str) -> dict[str, str]:
    """Return the same as parameters of a twin."""
    profile = profile_from(text)
    return {"hw": profile.hw, "sw": profile.sw}


def versions_from(text: str) -> list[str]:
    """Return the versions of a list with commas, or of one of the words."""
    if text == ALL:
        return [
            f"{one.hw}/{one.sw}"
            for one in all_profiles()
            if version(one.sw) <= version(newest_software(one.hw))
        ]
    if text == HARDWARES:
        return [f"{hw}/{newest_software(hw)}" for hw in HARDWARE]
    profiles = [profile_from(one) for one in text.split(",")]
    return [f"{one.hw}/{one.sw}" for one in profiles]
