"""A real display on the I2C bus: an SSD1306 with 128 x 64 dots.

A frame takes up to a fifth of a second on a slow bus, so frames are sent from a thread; while one
is under way only the newest of those that follow is kept. A panel that is missing or was unplugged
is set up again when it answers.
"""

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from leverframe.hardware.adapter_watch import AdapterWatch, Watched, file_identity
from leverframe.hardware.device_thread import RETRY_S, DeviceThread
from leverframe.hardware.display_picture import picture_of
from leverframe.hardware.i2c_bus import I2cBus, OpenBus, bus_file, open_kernel_bus
from leverframe.hardware.troubles import Troubles, Unusable, not_installed, os_error_text
from leverframe.wiring import OledWiring

NAME = "display"
#: How long an end waits for the panel to go dark.
LAST_FRAME_S = 2.0

Lines = Sequence[str] | None


class OledPanel:
    """The panel itself; every method may block."""

    def __init__(self, wiring: OledWiring, open_bus: OpenBus) -> None:
        self._wiring = wiring
        self._open_bus = open_bus
        self._bus: I2cBus | None = None
        self._device: Any = None

    def show(self, lines: Lines) -> None:
        """Show four lines, or nothing; raises `Unusable`."""
        try:
            if self._device is None:
                self._device = self._set_up()
            self._device.display(picture_of(lines))
            # Not a single dot and no current: a dark panel lasts longer.
            self._device.hide() if lines is None else self._device.show()
        except Unusable:
            # The kernel cannot release a pulled adapter while a program holds it open.
            self._device = None
            self.close()
            raise

    def close(self) -> None:
        if self._bus is not None:
            self._bus.close()
            self._bus = None

    def _set_up(self) -> Any:
        try:
            from luma.core.interface.serial import i2c  # type: ignore[import-untyped]
            from luma.oled.device import ssd1306  # type: ignore[import-untyped]
        except ImportError:
            raise not_installed("luma.oled") from None
        self._bus = self._bus or self._open_bus(self._wiring.bus)
        device = ssd1306(i2c(bus=_BlockWriter(self._bus), address=self._wiring.address))
        # Otherwise the driver would write to the bus once more when the process ends.
        device.persist = True
        return device


class _BlockWriter:
    """The one call that the driver makes, on a bus of ours."""

    def __init__(self, bus: I2cBus) -> None:
        self._bus = bus

    def write_i2c_block_data(self, address: int, register: int, data: Sequence[int]) -> None:
        try:
            self._bus.write(address, bytes((register, *data)))
        except OSError as error:
            # Raised here, because the driver hides some errors behind classes of its own.
            raise Unusable(os_error_text(error, f"The display at 0x{address:02X}")) from error


class PanelService:
    """The service that shows the controller's display on the panel."""

    def __init__(
        self,
        wiring: OledWiring,
        lines: Callable[[], Lines],
        troubles: MutableMapping[str, str],
        open_bus: OpenBus = open_kernel_bus,
        retry_s: float = RETRY_S,
        device: Path | None = None,
    ) -> None:
        self._lines = lines
        self._panel = OledPanel(wiring, open_bus)
        self._thread = DeviceThread(NAME, Troubles(troubles).note, retry_s)
        #: What was sent last; nothing has been yet.
        self._sent: Lines | object = object()
        device = bus_file(wiring.bus) if device is None else device
        self._watch = AdapterWatch([Watched(partial(file_identity, device), self._send_again)])

    def show_if_changed(self) -> None:
        """Send a frame if something visible has changed."""
        lines = self._lines()
        if lines != self._sent:
            self._sent = lines
            self._send_again()

    def _send_again(self) -> None:
        self._thread.drive(NAME, partial(self._panel.show, self._lines()))

    async def close(self) -> None:
        """Turn the panel off: what it showed would no longer be true."""
        await self._watch.close()
        self._sent = None
        self._thread.drive(NAME, partial(self._panel.show, None))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._thread.ask(self._panel.close), LAST_FRAME_S)
        self._thread.close()
