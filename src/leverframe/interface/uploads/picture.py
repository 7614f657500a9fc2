"""The picture of the Status for user page: recognised by its content and encoded again.

A picture is decoded and encoded again, so that neither the camera's data (place, time, owner) nor
anything hidden behind the picture is stored or served. Sizes are checked before decoding, because a
small file can claim to be a picture of many gigabytes. Of an animation, only the first picture is
kept.
"""

from io import BytesIO
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from leverframe.core.errors import BadUpload

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES = 8 << 20
MAX_DOTS = 8_000_000
LONGEST_SIDE = 8192
QUALITY = 90
#: Accepted formats, and the format of the result. GIF has no advantage over PNG except animation.
BECOMES = {"PNG": "PNG", "GIF": "PNG", "JPEG": "JPEG", "WEBP": "WEBP"}
ALLOWED = "PNG, JPEG, GIF or WebP"
_MARKS = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"RIFF", "image/webp"))


def check_picture(file: bytes) -> bytes:
    """Return only the picture of the file; raise `BadUpload` if there is none."""
    if len(file) > MAX_BYTES:
        raise BadUpload(
            f"The picture has {len(file)} bytes; at most {MAX_BYTES} are accepted. Make it smaller."
        )
    try:
        return _redraw(file)
    except (BadUpload, ImportError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            # The problem is on this machine and not in the picture.
            raise
        # The decoders raise various exceptions for manipulated files.
        raise BadUpload(f"The picture cannot be read: it is damaged or not {ALLOWED}.") from error


def content_type(picture: bytes) -> str | None:
    """Return the content type of a checked picture; None for anything else."""
    return next((kind for mark, kind in _MARKS if picture.startswith(mark)), None)


def _redraw(file: bytes) -> bytes:
    # Imported here, in the thread of an upload, because controllers without a picture need no
    # decoders. The plugin completes the decoders of the accepted formats.
    from PIL import Image, ImageOps, WebPImagePlugin  # noqa: F401

    try:
        with catch_warnings():
            # For a picture that is large but not huge, the decoders only issue a warning.
            simplefilter("error", Image.DecompressionBombWarning)
            opened = Image.open(BytesIO(file), formats=list(BECOMES))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_large() from None
    with opened as picture:
        kind = BECOMES[picture.format or ""]
        if picture.width * picture.height > MAX_DOTS or max(picture.size) > LONGEST_SIDE:
            raise _too_large()
        return _encode(ImageOps.exif_transpose(picture), kind)


def _encode(picture: "Image", kind: str) -> bytes:
    has_holes = kind != "JPEG" and picture.has_transparency_data
    plain = picture.convert("RGBA" if has_holes else "RGB")
    plain.info.clear()
    file = BytesIO()
    plain.save(file, kind, quality=QUALITY)
    return file.getvalue()


def _too_large() -> BadUpload:
    return BadUpload(
        f"The picture has too many pixels; at most {MAX_DOTS} in total and {LONGEST_SIDE} on a "
        "side are accepted. Make it smaller."
    )
