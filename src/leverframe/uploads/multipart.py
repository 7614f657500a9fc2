"""A file that comes in a form: `multipart/form-data`, as browsers and `curl -F file=@NAME` send it.

The form holds the file and nothing else: one part is taken as the file, whatever its name, and a
form with several is refused, because one of them would be lost. Boundaries are matched exactly as
RFC 2046 defines them; what does not fit is refused rather than guessed, since a wrong guess would
become a damaged file.
"""

import re
from typing import NamedTuple, NoReturn

from leverframe.uploads.bad_upload import BadUpload

MEDIA_TYPE = "multipart/form-data"
MAX_HEADER_BYTES = 8 << 10
_MAX_PADDING = 64
_LINE_END, _HEADER_END = b"\r\n", b"\r\n\r\n"
_ADVICE = "send it as curl -F file=@NAME does, or the file itself as the body"
#: The characters that RFC 2046 allows, of which a space may not be the last.
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]", re.ASCII)
_PARAMETER = re.compile(r';\s*([A-Za-z0-9*!#$%&\'+.^_`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s"]*)\s*')
#: How the content of a part may be written: as it is.
_AS_IT_IS = ("", "binary", "8bit", "7bit")


class _Part(NamedTuple):
    headers: dict[str, str]
    content: bytes
    #: What follows the delimiter behind the content.
    rest: bytes


def read_upload(body: bytes, content_type: str) -> bytes:
    """Return the file that a request holds: its body, or the only part of its form."""
    if _media_type(content_type) != MEDIA_TYPE:
        return body
    delimiter = b"--" + _boundary(content_type)
    if not body.startswith(delimiter):
        _refuse("it does not begin with the boundary that its Content-Type names")
    part = _first_part(body[len(delimiter) :], _LINE_END + delimiter)
    if not part.rest.startswith(b"--"):
        _refuse("it has several parts, and only one file is accepted")
    if part.rest[2:].strip():
        _refuse("there is data after its end")
    _check_part(part.headers)
    return part.content


def _first_part(body: bytes, delimiter: bytes) -> _Part:
    """Take apart what follows the first boundary."""
    if body.startswith(b"--"):
        _refuse("it contains no file")
    start = _after_line(body)
    header_end = body.find(_HEADER_END, start, start + MAX_HEADER_BYTES)
    if header_end < 0:
        _refuse("the headers of its file have no end, or are too long")
    content_start = header_end + len(_HEADER_END)
    content_end = body.find(delimiter, content_start)
    if content_end < 0:
        _refuse("it is cut short: its closing boundary is missing")
    rest = body[content_end + len(delimiter) :]
    if not rest.startswith(b"--"):
        # Blanks and a line end belong to a boundary; anything else is a mere resemblance.
        _after_line(rest)
    headers = _headers(body[start:header_end])
    return _Part(headers, body[content_start:content_end], rest)


def _after_line(text: bytes) -> int:
    """Return where the line after a boundary begins: the boundary may be padded with blanks."""
    end = text.find(_LINE_END, 0, _MAX_PADDING)
    if end < 0 or text[:end].strip(b" \t"):
        _refuse("a boundary in it is not followed by a line end")
    return end + len(_LINE_END)


def _headers(text: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in text.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or not name or name.lower() in headers:
            _refuse("a header of its file cannot be read")
        headers[name.lower()] = value.strip()
    return headers


def _check_part(headers: dict[str, str]) -> None:
    if _media_type(headers.get("content-disposition", "")) != "form-data":
        _refuse("its part is not a form field")
    if headers.get("content-transfer-encoding", "").lower() not in _AS_IT_IS:
        _refuse("its file is encoded for mail; send it as it is")
    if _media_type(headers.get("content-type", "")).startswith("multipart/"):
        _refuse("its part contains several files, and only one is accepted")


def _boundary(content_type: str) -> bytes:
    parameters = content_type[len(content_type.partition(";")[0]) :]
    found = [value for name, value in _PARAMETER.findall(parameters) if name.lower() == "boundary"]
    boundary = found[0].strip('"') if len(found) == 1 else ""
    if not _BOUNDARY.fullmatch(boundary):
        _refuse("its Content-Type names no boundary")
    return boundary.encode()


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _refuse(why: str) -> NoReturn:
    raise BadUpload(f"The form cannot be read: {why}; {_ADVICE}.")
