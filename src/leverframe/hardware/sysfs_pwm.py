"""A PWM output through the kernel's `pwm` class: period and duty in nanoseconds.

The kernel refuses a period that is shorter than the duty, so the duty steps aside while the period
shrinks. The pin's polarity stays as it is: active low is the engine's business.
"""

import time
from contextlib import suppress
from pathlib import Path

from leverframe.hardware.sysfs import check_writable, read_number, write_text
from leverframe.hardware.troubles import Unusable
from leverframe.wiring import PwmChannel

NS_PER_S = 1_000_000_000
#: How long udev may take for its rule; only the chip's own thread waits.
RIGHTS_AFTER_S = 3.0


class PwmPin:
    """A PWM output; every call runs in the thread of its chip."""

    def __init__(self, sysfs: Path, place: PwmChannel) -> None:
        self._chip = sysfs / "class" / "pwm" / f"pwmchip{place.chip}"
        self._channel = place.channel
        self._folder = self._chip / f"pwm{place.channel}"
        #: What was last written to the kernel; None if unknown.
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
        """Write everything at the next `drive`: the chip was pulled or plugged in."""
        self._period_ns = None

    def describe(self) -> str:
        """Describe the channel, or what keeps it from being driven; nothing is written."""
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
        """List what the first `drive` writes to; an unused channel has no files of its own yet."""
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
        """Wait until a udev rule has given the files of a new channel to our group."""
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
