"""Unit files as tests write and read them."""

from pathlib import Path
from textwrap import dedent

import pytest

from leverframe.core.profile import newest_software, version
from leverframe.interface.table.versions import all_profiles
from leverframe.units.file_keys import BadUnitFile
from leverframe.units.file_loader import KnownSecrets, load_unit_file
from leverframe.units.unit_file import UnitFile
from leverframe.units.unit_text import UnitText

#: Versions that units really had.
PROFILES = tuple(
    profile
    for profile in all_profiles()
    if version(profile.sw) <= version(newest_software(profile.hw))
)


def write_unit_file(folder: Path, text: str, name: str = "unit.toml") -> Path:
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    return path


def read_back(folder: Path, unit_text: UnitText) -> UnitFile:
    path = write_unit_file(folder, unit_text.text)
    return load_unit_file(path, secrets=KnownSecrets({}, unit_text.secrets))


def mistakes(path: Path) -> list[str]:
    """Return the mistakes of a file, without its folder."""
    with pytest.raises(BadUnitFile) as error:
        load_unit_file(path)
    return [line.removeprefix(f"{path.parent}/") for line in str(error.value).splitlines()]
