"""What differs between a unit and its file: only what the file names and the unit can tell."""

from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_comparison import ComparedUnit, UnitDifference, compared
from leverframe.units.unit_file import UnitFile


def drift_from(file: UnitFile, pulled: PulledUnit) -> list[str]:
    """Return a sentence without its end for each setting that is not as the file wants it.

    Settings are called what the file calls them, in whatever language that is read.
    """
    return [
        f"{one.key} is {one.first}, not {one.second}"
        for one in compared_with(file, pulled).differences
    ]


def compared_with(file: UnitFile, pulled: PulledUnit) -> UnitDifference:
    """Compare a unit, first, with its file, second."""
    for_unit, _ = file.for_version(pulled.profile)
    present = ComparedUnit(
        "the unit",
        pulled.profile,
        pulled.settings,
        # What may be another value is no reason to wake somebody.
        unread={**pulled.lossy, **pulled.unread},
    )
    wanted = ComparedUnit(
        "its file", pulled.profile, for_unit.over(pulled.settings), speaks=for_unit.names
    )
    return compared(present, wanted)
