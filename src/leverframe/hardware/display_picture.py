"""The display as a picture of 128 x 64 dots: four lines of 21 letters.

The same picture goes to a real panel and to `/api/oled.png`. Letters come from the bitmap font that
is part of Pillow, so that they look the same on every machine. It has the letters of Latin-1;
others lose their accents, and what is still not among them becomes a question mark.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH, HEIGHT = 128, 64
LINE_HEIGHT = 16
#: Letters are 6 x 11 dots and stand in the middle of their line.
LETTER_WIDTH = 6
BEFORE_LETTERS, ABOVE_LETTERS = 1, 2
LETTERS_IN_A_LINE = 21

#: Letters whose stroke does not come off by taking accents away.
_STROKES = str.maketrans("łŁđĐħĦı", "lLdDhHi")


def picture_of(lines: Sequence[str] | None) -> "Image":
    """Draw white letters on black; all black while the display is dark."""
    # Imported here: most controllers never draw anything.
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("1", (WIDTH, HEIGHT))
    drawing, font = ImageDraw.Draw(picture), ImageFont.load_default_imagefont()
    for number, line in enumerate(lines or ()):
        # Some letters reach a dot to the left of their place, which is cut off the first of a text.
        place = (BEFORE_LETTERS - LETTER_WIDTH, number * LINE_HEIGHT + ABOVE_LETTERS)
        drawing.text(place, f" {drawable(line)[:LETTERS_IN_A_LINE]}", fill=1, font=font)
    return picture


@lru_cache(maxsize=16)
def png_of(lines: tuple[str, ...] | None) -> bytes:
    file = BytesIO()
    picture_of(lines).save(file, "PNG")
    return file.getvalue()


def load() -> None:
    """Load what drawing takes, in a thread, before the display is looked at."""
    png_of(None)


def drawable(text: str) -> str:
    """Write the text in letters that the font has."""
    return "".join(map(_drawable_letter, text.translate(_STROKES)))


def _drawable_letter(letter: str) -> str:
    plain = letter if letter <= "\xff" else unicodedata.normalize("NFKD", letter)[0]
    return plain if plain.isprintable() and plain <= "\xff" else "?"
