"""The known version that a unit is taken as, whatever it writes about itself."""

import re
from typing import NamedTuple

from leverframe.profile import HARDWARE, Profile, newest_software, version

_NUMBERS = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})")
#: Behind it some units name their variant, such as `ps` for a power strip.
_SOFTWARE = re.compile(r"[1-9]\.[0-9]{2}[a-z]?")


class NearestProfile(NamedTuple):
    profile: Profile
    #: What is to be told where it is not exactly what the unit wrote; else empty.
    remark: str


def nearest_profile(hardware: str, software: str) -> NearestProfile:
    """Return the known version nearest to the one that a unit writes."""
    hw = _nearest_hardware(hardware)
    newest = newest_software(hw)
    found = _SOFTWARE.match(software)
    sw = found[0] if found and version(found[0]) <= version(newest) else newest
    profile = Profile(hw, sw)
    if (hw, sw) == (hardware, software):
        return NearestProfile(profile, "")
    if not (hardware or software):
        return NearestProfile(profile, f"No version is told; it is taken as {profile}.")
    told = f"HW {hardware[:20]} SW {software[:20]}"
    return NearestProfile(profile, f"The version {told} is not known; it is taken as {profile}.")


def _nearest_hardware(hardware: str) -> str:
    """Return the newest known hardware that is not newer; the oldest for what is older than all."""
    if hardware in HARDWARE:
        return hardware
    found = _NUMBERS.match(hardware)
    if found is None:
        return HARDWARE[-1]
    order = (int(found[1]), int(found[2]))
    older = [hw for hw in HARDWARE if tuple(map(int, hw.split("."))) <= order]
    return older[-1] if older else HARDWARE[0]
