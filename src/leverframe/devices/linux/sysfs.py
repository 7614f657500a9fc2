"""The kernel's device files for PWM outputs and analog converters."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from leverframe.devices.linux.device_thread import PollResult
from leverframe.devices.readings import Unusable, os_error_text
from leverframe.devices.wiring import AdcChannel, PwmChannel

# Files of the kernel in /sys: read and written completely; failures are raised as sentences.


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise Unusable(os_error_text(error, str(path))) from error


def read_number(path: Path) -> float:
    text = read_text(path)
    try:
        return float(text)
    except ValueError:
        raise Unusable(f"{path} contains {text[:20]!r}, which is not a number.") from None


def write_text(path: Path, text: str) -> None:
    try:
        descriptor = _open_to_write(path)
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, text.encode("ascii"))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Unusable(os_error_text(error, str(path))) from error


def check_writable(path: Path) -> None:
    """Raise Unusable if `write_text` would fail, without writing."""
    try:
        os.close(_open_to_write(path))
    except OSError as error:
        raise Unusable(os_error_text(error, str(path))) from error


def _open_to_write(path: Path) -> int:
    # Open only for writing, because files such as `export` cannot be opened for reading; never
    # create a file.
    return os.open(path, os.O_WRONLY)


# A PWM output through the kernel's `pwm` class: period and duty in nanoseconds.
#
# The kernel rejects a period that is shorter than the duty, so the duty is set to 0 before the
# period is reduced. The polarity of the pin is not changed, because the engine handles active-low
# pins.

NS_PER_S = 1_000_000_000
#: How many seconds udev may need to apply its rule; only the thread of the chip waits for it.
RIGHTS_AFTER_S = 3.0


class PwmPin:
    """A PWM output; every call runs in the thread of its chip."""

    def __init__(self, sysfs: Path, place: PwmChannel) -> None:
        self._chip = sysfs / "class" / "pwm" / f"pwmchip{place.chip}"
        self._channel = place.channel
        self._folder = self._chip / f"pwm{place.channel}"
        #: The values that were last written to the kernel; None if unknown.
        self._period_ns: int | None = None
        self._duty_ns = 0

    def drive(self, level: float, hz: int) -> None:
        period_ns = NS_PER_S // hz
        duty_ns = round(period_ns * level)
        try:
            if period_ns != self._period_ns:
                self._set_period(period_ns)
            if duty_ns != self._duty_ns:
                self._set_duty(duty_ns)
        except Unusable:
            self._period_ns = None
            raise

    def forget(self) -> None:
        """Write all values in the next `drive`, because the chip was pulled or plugged in."""
        self._period_ns = None

    def describe(self) -> str:
        """Describe the channel, or the reason why it cannot be driven, without writing."""
        channels = int(read_number(self._chip / "npwm"))
        if self._channel >= channels:
            raise Unusable(
                f"{self._chip} has no channel {self._channel}; its channels are 0 to"
                f" {channels - 1}."
            )
        for file in self._list_files():
            check_writable(file)
        return f"channel {self._channel} of {channels}"

    def _list_files(self) -> list[Path]:
        """List the files that the first `drive` writes; an unused channel has no folder yet."""
        if not self._folder.is_dir():
            return [self._chip / "export"]
        return self._channel_files()

    def _channel_files(self) -> list[Path]:
        return [self._folder / name for name in ("period", "duty_cycle", "enable")]

    def _set_period(self, period_ns: int) -> None:
        """Set the period, which also enables a channel that was never used."""
        if not self._folder.is_dir():
            write_text(self._chip / "export", str(self._channel))
            self._await_rights()
        if read_number(self._folder / "duty_cycle") > period_ns:
            self._set_duty(0)
        write_text(self._folder / "period", str(period_ns))
        self._duty_ns = int(read_number(self._folder / "duty_cycle"))
        write_text(self._folder / "enable", "1")
        self._period_ns = period_ns

    def _await_rights(self) -> None:
        """Wait until a udev rule grants our group access to the files of a new channel."""
        give_up_at = time.monotonic() + RIGHTS_AFTER_S
        while time.monotonic() < give_up_at:
            with suppress(Unusable):
                for file in self._channel_files():
                    check_writable(file)
                return
            time.sleep(0.02)

    def _set_duty(self, duty_ns: int) -> None:
        write_text(self._folder / "duty_cycle", str(duty_ns))
        self._duty_ns = duty_ns


# Analog readings through the kernel's `iio` class: a converter's channels as files.
#
# A channel has a raw number, a scale and perhaps an offset, either its own or shared by all
# channels of its kind. The sum of raw number and offset, times the scale, is in millivolts (or
# thousandths of a degree). Some drivers provide the final value as `input` instead.

FOLDER = Path("bus/iio/devices")


class Converter:
    """A converter and the labels that are wired to it."""

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
