"""The display as a picture, compared dot for dot with the stored ones in `pictures/`.

`python -m tests.devices.test_display_picture` redraws the stored ones; look at them before you
keep them.
"""

from io import BytesIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from leverframe.devices.linux.oled_panel import (
    BEFORE_LETTERS,
    HEIGHT,
    LETTER_WIDTH,
    LETTERS_IN_A_LINE,
    LINE_HEIGHT,
    WIDTH,
    drawable,
    picture_of,
    png_of,
)
from tests.cases import for_each

PICTURES = Path(__file__).parent / "pictures"
SCREENS: dict[str, tuple[str, ...] | None] = {
    "readings": ("Greenhouse", "T1   21.5\xb0C", "H1   48 %", "OUT0 1  PWM0 0"),
    "letters": ("!\"#$%&'()*+,-./01234", "56789:;<=>?@ABCDEFGHI", "abc xyz {|}~", "Zażółć gęślą"),
    "too-long": ("123456789012345678901234567890", "", "", "end"),
    "dark": None,
}


def dots(picture: Image.Image) -> bytes:
    return picture.convert("1").tobytes()


@for_each("name", SCREENS)
def test_screen_is_drawn_as_in_the_stored_picture(name: str) -> None:
    with Image.open(PICTURES / f"{name}.png") as stored:
        assert dots(picture_of(SCREENS[name])) == dots(stored)


def test_dark_display_is_black() -> None:
    assert not any(dots(picture_of(None)))


def test_png_is_the_picture() -> None:
    lines = SCREENS["readings"]
    with Image.open(BytesIO(png_of(lines))) as png:
        assert (png.format, png.size) == ("PNG", (WIDTH, HEIGHT))
        assert dots(png) == dots(picture_of(lines))


def test_line_has_room_for_21_letters() -> None:
    full = "W" * LETTERS_IN_A_LINE
    assert dots(picture_of([full])) == dots(picture_of([full + "W"]))
    assert dots(picture_of([full])) != dots(picture_of([full[1:]]))


@given(st.characters(min_codepoint=33, max_codepoint=126))
def test_first_letter_of_a_line_looks_like_any_other(letter: str) -> None:
    first, second = picture_of([f"{letter} "]), picture_of([f" {letter}"])
    left = BEFORE_LETTERS - 1
    drawn = first.crop((left, 0, left + LETTER_WIDTH, LINE_HEIGHT))
    moved = second.crop((left + LETTER_WIDTH, 0, left + 2 * LETTER_WIDTH, LINE_HEIGHT))
    assert dots(drawn) == dots(moved)


def test_letters_that_the_font_lacks_lose_their_accent() -> None:
    assert drawable("Zażółć gęślą jaźń 21\xb0 \u0416\t") == "Zazólc gesla jazn 21\xb0 ??"


@given(st.lists(st.text(max_size=30), max_size=4))
def test_every_text_can_be_drawn(lines: list[str]) -> None:
    assert picture_of(lines).size == (WIDTH, HEIGHT)


if __name__ == "__main__":
    for name, lines in SCREENS.items():
        picture_of(lines).save(PICTURES / f"{name}.png")
