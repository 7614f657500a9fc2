"""Pictures are recognised by content, limited in size, and hold nothing but the picture."""

import errno
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from leverframe.core.errors import BadUpload
from leverframe.interface.uploads.picture import MAX_BYTES, check_picture, content_type
from tests.cases import for_each
from tests.effort import examples

SECRET = b"54.3520N 18.6466E"
KINDS = {"PNG": "image/png", "GIF": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


def drawing(mode: str = "RGB") -> Image.Image:
    picture = Image.new("RGB", (40, 20), "navy")
    ImageDraw.Draw(picture).rectangle((5, 5, 14, 14), "yellow")
    return picture.convert(mode)


def file_of(picture: Image.Image, kind: str, **options: object) -> bytes:
    file = BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def with_a_secret(kind: str) -> bytes:
    """A picture whose file also says where it was taken."""
    if kind == "PNG":
        info = PngInfo()
        info.add_text("place", SECRET.decode())
        return file_of(drawing(), kind, pnginfo=info)
    if kind == "GIF":
        return file_of(drawing(), kind, comment=SECRET)
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    return file_of(drawing(), kind, exif=exif)


@for_each("kind", KINDS)
def test_picture_is_kept_without_what_else_is_in_the_file(kind: str) -> None:
    file = with_a_secret(kind)
    assert SECRET in file
    kept = check_picture(file + b"<script>" + SECRET)
    assert SECRET not in kept
    assert b"<script>" not in kept
    assert content_type(kept) == KINDS[kind]
    with Image.open(BytesIO(kept)) as picture:
        assert picture.size == (40, 20)
        red, green, blue = picture.convert("RGB").getpixel((10, 10))  # type: ignore[misc]
    assert min(red, green) > 200 > 80 > blue


def test_picture_keeps_its_transparent_parts() -> None:
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    with Image.open(BytesIO(check_picture(file_of(clear, "PNG")))) as kept:
        assert kept.convert("RGBA").getpixel((0, 0)) == (0, 0, 0, 0)


def test_picture_that_was_taken_sideways_is_turned() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(BytesIO(check_picture(file_of(drawing(), "JPEG", exif=exif)))) as kept:
        assert kept.size == (20, 40)


@for_each("mode", ["1", "L", "P", "CMYK", "RGB"])
def test_pictures_of_every_colour_mode_are_taken(mode: str) -> None:
    kind = "JPEG" if mode == "CMYK" else "PNG"
    assert content_type(check_picture(file_of(drawing(mode), kind))) == KINDS[kind]


@for_each(
    ("file", "reason"),
    [
        (b"just text", "not PNG, JPEG, GIF or WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not PNG, JPEG, GIF or WebP"),
        (b"\x89PNG\r\n\x1a\n and so on", "damaged or not PNG"),
        (bytes(MAX_BYTES + 1), "at most 8388608"),
        (file_of(drawing(), "TIFF"), "not PNG, JPEG, GIF or WebP"),
        (file_of(drawing(), "PNG")[:-40], "damaged"),
    ],
    ids=["text", "svg", "torn", "bytes", "tiff", "cut"],
)
def test_anything_else_is_refused_with_the_reason(file: bytes, reason: str) -> None:
    with pytest.raises(BadUpload, match=reason):
        check_picture(file)


@pytest.mark.parametrize("size", [(4000, 4000), (9000, 1), (15000, 15000)])
def test_too_many_dots_are_refused_however_small_the_file(size: tuple[int, int]) -> None:
    with pytest.raises(BadUpload, match="too many pixels"):
        check_picture(file_of(Image.new("1", size), "PNG"))


@examples(200)
@given(
    st.sampled_from([with_a_secret(kind) for kind in KINDS]),
    st.integers(0, 10_000),
    st.binary(min_size=1, max_size=8),
)
def test_file_that_was_tampered_with_is_refused_or_a_picture(
    file: bytes, place: int, noise: bytes
) -> None:
    place %= len(file)
    try:
        kept = check_picture(file[:place] + noise + file[place + len(noise) :])
    except BadUpload:
        return
    assert content_type(kept) is not None


@given(st.binary(max_size=200))
def test_noise_is_never_a_picture(noise: bytes) -> None:
    with pytest.raises(BadUpload):
        check_picture(noise)


@pytest.mark.parametrize(
    "trouble", [OSError(errno.EMFILE, "Too many open files"), MemoryError(), ImportError("PIL")]
)
def test_trouble_of_the_machine_is_not_called_a_damaged_picture(
    trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise trouble

    monkeypatch.setattr(Image, "open", fail)
    with pytest.raises(type(trouble)):
        check_picture(file_of(drawing(), "PNG"))
