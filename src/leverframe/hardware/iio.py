"""Analog readings through the kernel's `iio` class: a converter's channels as files.

A channel has a raw number, a scale and perhaps an offset, its own or shared by all channels of its
kind; raw plus offset times scale are millivolts (or thousandths of a degree). Some drivers give the
finished value as `input` instead.
"""

from collections.abc import Mapping
from pathlib import Path

from leverframe.hardware.poller import PollResult
from leverframe.hardware.sysfs import read_number, read_text
from leverframe.hardware.troubles import Unusable
from leverframe.wiring import AdcChannel

FOLDER = Path("bus/iio/devices")


class Converter:
    """All labels on one converter."""

    period_s = 0.5
    limit_s = 5.0

    def __init__(self, sysfs: Path, device: str, channels: Mapping[str, AdcChannel]) -> None:
        self.name = f"converter {device}"
        self._devices = sysfs / FOLDER
        self._device = device
        self._channels = channels

    def poll(self) -> PollResult:
        readings: dict[str, float | None] = dict.fromkeys(self._channels)
        try:
            folder = self._find()
        except Unusable as fault:
            return PollResult(readings, dict.fromkeys(readings, str(fault)))
        troubles: dict[str, str] = {}
        for label, channel in self._channels.items():
            try:
                readings[label] = _measure(folder, channel)
            except Unusable as fault:
                troubles[label] = str(fault)
        return PollResult(readings, troubles)

    def _find(self) -> Path:
        folder = self._devices / self._device
        if folder.is_dir():
            return folder
        named = [
            path.parent
            for path in sorted(self._devices.glob("iio:device*/name"))
            if read_text(path) == self._device
        ]
        if len(named) == 1:
            return named[0]
        if named:
            folders = ", ".join(path.name for path in named)
            raise Unusable(f"several converters are named {self._device}; choose one of {folders}.")
        raise Unusable(f"no converter {self._device} in {self._devices}; check wiring and driver.")


def _measure(folder: Path, channel: AdcChannel) -> float:
    """Read volts or degrees, with the factor applied."""
    own = folder / f"in_{channel.channel}"
    finished = own.with_name(f"{own.name}_input")
    if finished.exists():
        thousandths = read_number(finished)
    else:
        raw = read_number(own.with_name(f"{own.name}_raw"))
        thousandths = (raw + _read_attribute(own, "offset", 0.0)) * _read_attribute(
            own, "scale", 1.0
        )
    return round(thousandths / 1000 * channel.factor, 6)


def _read_attribute(own: Path, attribute: str, default: float) -> float:
    """Read an attribute of the channel (in_voltage0_scale) or of its kind (in_voltage_scale)."""
    kind = own.name.rstrip("0123456789")
    for name in (own.name, kind):
        path = own.with_name(f"{name}_{attribute}")
        if path.exists():
            return read_number(path)
    return default
