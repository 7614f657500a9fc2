"""Types that only one command has."""

from typing import Any

from msgspec import Struct

from leverframe.core.engine.schedule_times import zone_named
from leverframe.core.profile import ALWAYS, Profile
from leverframe.interface.table.codes import I2C_SENSORS, SW
from leverframe.interface.table.params.compound import Changed
from leverframe.interface.table.params.numbers import Int
from leverframe.interface.table.params.texts import Seen, Text, decode_text
from leverframe.interface.table.refusals import BadValue

#: The bit that is set if the particulate sensor is connected in addition to the primary I2C sensor.
WITH_SPS30 = " + SPS30"


#: The parts of a mapping item: a module or an additional 1-Wire sensor, and one of its readings.
MAPPED_SLOT = Changed(((SW["1.57"], Int(0, 6)), (ALWAYS, Int(0, 3))))
MAPPED_READING = Int(0, 29)


class MappingItem(Struct, frozen=True):
    """A slot digit directly followed by a reading number: `112` is reading 12 of slot 1."""

    def slots(self, profile: Profile) -> int:
        slot = MAPPED_SLOT.pick(profile)
        assert isinstance(slot, Int)
        return slot.hi

    def parse(self, raw: str, profile: Profile, seen: Seen) -> tuple[int, int]:
        slot = MAPPED_SLOT.parse(raw[:1], profile, seen)
        return slot, MAPPED_READING.parse(raw[1:], profile, seen)

    def format(self, value: tuple[int, int], profile: Profile, seen: Seen) -> str:
        return f"{value[0]}{value[1]}"

    def describe_allowed(self, profile: Profile) -> str:
        return f"slot 0 to {self.slots(profile)} and reading 0 to 29"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^[0-{self.slots(profile)}][0-9]{{1,2}}$"}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["00", "10", "329", f"{self.slots(profile)}2"]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return [f"{self.slots(profile) + 1}0", "130", "1", "", "x1"]


class I2cSelection(Struct, frozen=True):
    """Five bits: exactly one of the first four is the primary sensor; the fifth is the SPS30."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> tuple[str, bool]:
        number = Int(1, 24).parse(raw, profile, seen)
        primary = number & 0b1111
        if primary.bit_count() != 1:
            raise BadValue(
                f"{number} selects {primary.bit_count()} primary sensors.",
                value=str(number),
                allowed=self.describe_allowed(profile),
            )
        return I2C_SENSORS[primary.bit_length() - 1], bool(number & 0b10000)

    def format(self, value: tuple[str, bool], profile: Profile, seen: Seen) -> str:
        return str((1 << I2C_SENSORS.index(value[0])) + 16 * value[1])

    def describe_allowed(self, profile: Profile) -> str:
        return "1 NONE, 2 BME280, 4 AM2320 or 8 HTS221, plus 16 for SPS30"

    def schema(self, profile: Profile) -> dict[str, Any]:
        words = {
            str((1 << index) + extra): f"{sensor}{with_sps30}"
            for extra, with_sps30 in ((0, ""), (16, WITH_SPS30))
            for index, sensor in enumerate(I2C_SENSORS)
        }
        return {"type": "integer", "enum": [int(key) for key in words], "x-words": words}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["1", "2", "4", "8", "17", "18", "20", "24"]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return ["0", "3", "16", "25", "", "x"]


class EqualsComparison(Struct, frozen=True):
    """The comparison of a digital source, which always means equality: 0, 1 or `=`."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        words = {"0": ">=", "1": "<", "=": ">="}
        word = words.get(decode_text(raw))
        if word is None:
            raise BadValue(
                f"{raw!r} is not a comparison.", value=raw, allowed=self.describe_allowed(profile)
            )
        return word

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return "1" if value == "<" else "0"

    def describe_allowed(self, profile: Profile) -> str:
        return "0, 1 or ="

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "string", "enum": ["0", "1", "="]}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["0", "1", "="]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return ["2", "", "x"]


class TimeZoneName(Text, frozen=True):
    """The name of a time zone that this machine has, or an empty text."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        name = super().parse(raw, profile, seen)
        if name and zone_named(name) is None:
            raise BadValue(
                f"{name!r} is not a time zone of this machine.",
                value=name,
                allowed=self.describe_allowed(profile),
            )
        return name


TIME_ZONE = TimeZoneName(
    64,
    pattern=r"|[A-Za-z][A-Za-z0-9_+\-]*(?:/[A-Za-z0-9_+\-]+){0,2}",
    form="a name such as Europe/Warsaw, or empty for the time zone of the configuration",
    fitting=("", "Europe/Warsaw", "UTC"),
    unfitting=("Europe/Nowhere", "../passwd", "Europe"),
)
