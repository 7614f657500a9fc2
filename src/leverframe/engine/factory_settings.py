"""The factory settings of each version: the tree of `settings.py` with the version's lists.

A setting that all versions have in the same number needs nothing here.
"""

from functools import lru_cache

from leverframe.engine.settings import Identity, Layout, Oled, Settings
from leverframe.profile import HW30, HW35, Profile


def differential_count(profile: Profile) -> int:
    return 6 if profile.since("1.49", HW35) else 3


def power_count(profile: Profile) -> int:
    return 6 if profile.since("1.49", HW35) else 4


def modbus_device_count(profile: Profile) -> int:
    if profile.since("1.57", HW35):
        return 5
    return 3 if profile.since("1.36", HW35) else 0


def offset_count(profile: Profile) -> int:
    """Return how many elements the Status for user page places."""
    if profile.since("1.49"):
        return 79
    return 78 if profile.since("1.44") else 43


def visibility_count(profile: Profile) -> int:
    if profile.since("1.49"):
        return 132
    return 118 if profile.since("1.44") else 87


def screen_count(profile: Profile) -> int:
    return 4 if profile.since("1.44") else 1


@lru_cache(maxsize=64)
def defaults(profile: Profile) -> Settings:
    """Build the factory settings of a profile; their lists have the profile's lengths."""
    full = Settings()
    offsets = offset_count(profile)
    return Settings(
        profile=Identity(profile.hw, profile.sw),
        differentials=full.differentials[: differential_count(profile)],
        power=full.power[: power_count(profile)],
        onewire_extra=full.onewire_extra if profile.since("1.57", HW35) else (),
        modbus_slots=full.modbus_slots[: 1 if profile.hw in HW30 else 3],
        modbus_devices=full.modbus_devices[: modbus_device_count(profile)],
        modbus_mapping=full.modbus_mapping if profile.since("1.36", HW35) else (),
        oled=Oled(screens=full.oled.screens[: screen_count(profile)]),
        layout=Layout(
            top=full.layout.top[:offsets],
            left=full.layout.left[:offsets],
            visible=full.layout.visible[: visibility_count(profile)],
        ),
    )
