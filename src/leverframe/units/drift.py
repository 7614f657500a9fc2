"""Differences between a unit and its file: only settings in the file that the unit shows."""

from msgspec import Struct

from leverframe.units.file_keys import key_of, path_of
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_comparison import ComparedUnit, UnitDifference, compare_units
from leverframe.units.unit_file import UnitFile


class DriftedSetting(Struct, frozen=True):
    """A setting that differs from the file, with values as a unit file writes them."""

    path: str
    unit: str
    file: str

    def __str__(self) -> str:
        """Describe it in the terms of the file, without a full stop, independent of language."""
        return f"{key_of(self.path)} is {self.unit}, not {self.file}"


def drift_from(file: UnitFile, pulled: PulledUnit) -> list[DriftedSetting]:
    return [
        DriftedSetting(path_of(one.key) or one.key, one.first, one.second)
        for one in compare_with_file(file, pulled).differences
    ]


def compare_with_file(file: UnitFile, pulled: PulledUnit) -> UnitDifference:
    """Compare a unit, first, with its file, second."""
    for_unit, _ = file.for_version(pulled.profile)
    present = ComparedUnit(
        "the unit",
        pulled.profile,
        pulled.settings,
        # A possible difference is no reason for an alarm.
        unread={**pulled.lossy, **pulled.unread},
    )
    wanted = ComparedUnit(
        "its file", pulled.profile, for_unit.over(pulled.settings), speaks=for_unit.names
    )
    return compare_units(present, wanted)
