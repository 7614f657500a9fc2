"""The known version as which a unit is read, from the version that it shows."""

import re
from typing import NamedTuple

from leverframe.profile import HARDWARE, Profile, newest_software, version

_NUMBERS = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})")
#: Some units append their variant, such as `ps` for a power strip.
_SOFTWARE = re.compile(r"[1-9]\.[0-9]{2}[a-z]?")


class NearestProfile(NamedTuple):
    profile: Profile
    #: A remark if it is not exactly the version that the unit shows; else empty.
    remark: str


def nearest_profile(hardware: str, software: str) -> NearestProfile:
    """Return the known version nearest to the version that a unit shows."""
    hw = _nearest_hardware(hardware)
    newest = newest_software(hw)
    found = _SOFTWARE.match(software)
    sw = found[0] if found and version(found[0]) <= version(newest) else newest
    profile = Profile(hw, sw)
    if (hw, sw) == (hardware, software):
        return NearestProfile(profile, "")
    if not (hardware or software):
        return NearestProfile(profile, f"It shows no version; it is read as {profile}.")
    told = f"HW {hardware[:20]} SW {software[:20]}"
    return NearestProfile(profile, f"Its version {told} is unknown; it is read as {profile}.")


def _nearest_hardware(hardware: str) -> str:
    """Return the newest known hardware that is not newer, or else the oldest."""
    if hardware in HARDWARE:
        return hardware
    found = _NUMBERS.match(hardware)
    if found is None:
        return HARDWARE[-1]
    order = (int(found[1]), int(found[2]))
    older = [hw for hw in HARDWARE if tuple(map(int, hw.split("."))) <= order]
    return older[-1] if older else HARDWARE[0]
