"""A real display on the I2C bus: an SSD1306 with 128 x 64 dots.

A frame takes up to a fifth of a second on a slow bus, so a thread sends the frames. Of the frames
that arrive while it is sending, only the newest is sent next. A panel that was missing or unplugged
is set up again when it answers.
"""

import asyncio
import unicodedata
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leverframe.devices.linux.device_thread import (
    RETRY_S,
    AdapterWatch,
    DeviceThread,
    Watched,
    file_identity,
)
from leverframe.devices.linux.i2c_parts import I2cBus, OpenBus, bus_file, open_kernel_bus
from leverframe.devices.readings import Troubles, Unusable, not_installed, os_error_text
from leverframe.devices.wiring import OledWiring

if TYPE_CHECKING:
    from PIL.Image import Image


# The display as a picture of 128 x 64 dots: four lines of 21 letters.
#
# The same picture goes to a real panel and to `/api/oled.png`. Pillow's own bitmap font draws the
# letters, so that they look the same on every machine. The font contains the characters of Latin-1.
# The accents of other letters are removed, and remaining unknown characters are replaced by
# question marks.

WIDTH, HEIGHT = 128, 64
LINE_HEIGHT = 16
#: Letters have 6 x 11 dots and are centred vertically in their line.
LETTER_WIDTH = 6
BEFORE_LETTERS, ABOVE_LETTERS = 1, 2
LETTERS_IN_A_LINE = 21

#: Letters with a stroke, which Unicode does not treat as a removable accent.
_STROKES = str.maketrans("łŁđĐħĦı", "lLdDhHi")


def picture_of(lines: Sequence[str] | None) -> "Image":
    """Draw white letters on black; a dark display is all black."""
    # Imported here, because most controllers never draw a picture.
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("1", (WIDTH, HEIGHT))
    drawing, font = ImageDraw.Draw(picture), ImageFont.load_default_imagefont()
    for number, line in enumerate(lines or ()):
        # Some letters start one dot left of their cell; in the first cell it would be cut off.
        place = (BEFORE_LETTERS - LETTER_WIDTH, number * LINE_HEIGHT + ABOVE_LETTERS)
        drawing.text(place, f" {drawable(line)[:LETTERS_IN_A_LINE]}", fill=1, font=font)
    return picture


@lru_cache(maxsize=16)
def png_of(lines: tuple[str, ...] | None) -> bytes:
    file = BytesIO()
    picture_of(lines).save(file, "PNG")
    return file.getvalue()


def load() -> None:
    """Load Pillow and its font, in a thread, before the first picture is drawn."""
    png_of(None)


def drawable(text: str) -> str:
    """Replace letters that the font lacks."""
    return "".join(map(_drawable_letter, text.translate(_STROKES)))


def _drawable_letter(letter: str) -> str:
    plain = letter if letter <= "\xff" else unicodedata.normalize("NFKD", letter)[0]
    return plain if plain.isprintable() and plain <= "\xff" else "?"


NAME = "display"
#: How many seconds shutdown waits until the panel is dark.
LAST_FRAME_S = 2.0

Lines = Sequence[str] | None


class OledPanel:
    """The panel; every method may block."""

    def __init__(self, wiring: OledWiring, open_bus: OpenBus) -> None:
        self._wiring = wiring
        self._open_bus = open_bus
        self._bus: I2cBus | None = None
        self._device: Any = None

    def show(self, lines: Lines) -> None:
        """Show four lines, or a dark display; raise `Unusable` on failure."""
        try:
            if self._device is None:
                self._device = self._set_up()
            self._device.display(picture_of(lines))
            # Switching the picture off saves power and extends the life of the panel.
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
    """Adapts our `I2cBus` to the panel's driver, which calls only this method."""

    def __init__(self, bus: I2cBus) -> None:
        self._bus = bus

    def write_i2c_block_data(self, address: int, register: int, data: Sequence[int]) -> None:
        try:
            self._bus.write(address, bytes((register, *data)))
        except OSError as error:
            # Converted here, because the driver hides some errors behind exceptions of its own.
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
        #: The lines that were sent last; initially none.
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
        """Turn the panel off, because its picture would soon be outdated."""
        await self._watch.close()
        self._sent = None
        self._thread.drive(NAME, partial(self._panel.show, None))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._thread.ask(self._panel.close), LAST_FRAME_S)
        self._thread.close()
