"""Uploaded web sites and pictures: recognised by their content, checked, and unpacked."""

import codecs
import re
import stat
import struct
from collections.abc import Iterable, Mapping
from hashlib import sha256
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from leverframe.core.errors import BadUpload
from leverframe.interface.uploads import FRONT_PAGE

if TYPE_CHECKING:
    pass


# A web site as one file: magic, format version, checksum, and a ZIP archive of the pages.
#
# `leverframe site build` creates it; `/post.cgi?wwwfileupload` and firmware images transport it.
# The checksum detects a truncated or damaged file. The archive is checked as untrusted data, for
# names outside the site, links, and huge unpacked sizes.

# Load the codec now, because loading it for the first archive may fail if too many files are open.
codecs.lookup("cp437")

MAGIC = b"LEVERFRAME SITE\x00"
FORMAT = 1
MAX_FILES = 1000
MAX_BYTES = 16 << 20
_HEAD = len(MAGIC) + 1 + sha256().digest_size
_ENCRYPTED = 0x1
#: Folders and file names; none begins with a dot, so none is `..` or hidden.
_NAME = re.compile(r"(?=.{1,200}\Z)[\w~-][\w.~-]*(/[\w~-][\w.~-]*)*", re.ASCII)
_MAKE_ONE = "create one with `leverframe site build FOLDER`"
#: The last bytes of an archive, which contain the size of its directory. Our archives have no
#: comment after these bytes, and no record for larger numbers (ZIP64) before them.
_END = struct.Struct("<4s4H2LH")
_END_MARK, _LARGE_END_MARK, _LARGE_END_BYTES = b"PK\x05\x06", b"PK\x06\x07", 20
#: The maximum size of a directory entry: data about a file, its name, and some extra fields.
_MAX_ENTRY_BYTES = 46 + 200 + 64


def pack_site(pages: Mapping[str, bytes]) -> bytes:
    """Pack pages by name into an archive, the same bytes for the same pages; raise `BadUpload`."""
    _check_names(pages)
    _check_sizes([len(page) for page in pages.values()])
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name in sorted(pages):
            archive.writestr(ZipInfo(name), pages[name], ZIP_DEFLATED)
    content = packed.getvalue()
    return MAGIC + bytes([FORMAT]) + sha256(content).digest() + content


def unpack_site(file: bytes) -> dict[str, bytes]:
    """Return the pages of an archive by name; raise `BadUpload`."""
    content = _content(file)
    _check_directory(content)
    try:
        with ZipFile(BytesIO(content)) as archive:
            infos = archive.infolist()
            _check_names([info.filename for info in infos])
            for info in infos:
                _check_kind(info)
            _check_sizes([info.file_size for info in infos])
            return {info.filename: _read(archive, info) for info in infos}
    except (BadZipFile, ZlibError, NotImplementedError, ValueError, EOFError, OSError) as error:
        raise BadUpload(f"The site archive cannot be unpacked; {_MAKE_ONE}.") from error


def _content(file: bytes) -> bytes:
    if not file.startswith(MAGIC):
        raise BadUpload(f"This is not a site archive; {_MAKE_ONE}.")
    if file[len(MAGIC) : len(MAGIC) + 1] != bytes([FORMAT]):
        raise BadUpload(f"The site archive has an unknown format; {_MAKE_ONE}.")
    content = file[_HEAD:]
    if sha256(content).digest() != file[len(MAGIC) + 1 : _HEAD]:
        raise BadUpload("The site archive is damaged or cut off; send it again.")
    return content


def _check_directory(content: bytes) -> None:
    """Reject a directory with too many entries before parsing it, to save time and memory."""
    end = len(content) - _END.size
    if end < 0 or not content.startswith(_END_MARK, end):
        raise BadUpload(f"The site archive cannot be unpacked; {_MAKE_ONE}.")
    *_, files, size, _start, comment_bytes = _END.unpack_from(content, end)
    if comment_bytes or content.startswith(_LARGE_END_MARK, end - _LARGE_END_BYTES):
        raise BadUpload(f"The site archive has too many files or a comment; {_MAKE_ONE}.")
    if files > MAX_FILES:
        raise _too_many(files)
    if size > MAX_FILES * _MAX_ENTRY_BYTES:
        raise BadUpload(f"The directory of the site archive is too large; {_MAKE_ONE}.")


def _read(archive: ZipFile, info: ZipInfo) -> bytes:
    """Read a file; unpack no more bytes than its header states."""
    with archive.open(info) as packed:
        data = packed.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise BadUpload(f"{info.filename!r} is shorter than the archive says.")
    return data


def _check_kind(info: ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or info.is_dir():
        raise BadUpload(f"{info.filename[:80]!r} is not a regular file; a site has only files.")
    if info.flag_bits & _ENCRYPTED or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise BadUpload(f"{info.filename[:80]!r} uses an unsupported compression method.")


def _check_names(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadUpload(
                f"{name[:80]!r} is not a safe name; use letters, digits, `.`, `-`, `_`, `~` and "
                "`/` between folders, none of which starts with a dot."
            )
        if name in seen:
            raise BadUpload(f"{name[:80]!r} appears twice.")
        seen.add(name)
    if FRONT_PAGE not in seen:
        raise BadUpload(f"The site has no {FRONT_PAGE}; add this file as its front page.")


def _check_sizes(sizes: list[int]) -> None:
    if len(sizes) > MAX_FILES:
        raise _too_many(len(sizes))
    if sum(sizes) > MAX_BYTES:
        raise BadUpload(f"The site has {sum(sizes)} bytes; at most {MAX_BYTES} are accepted.")


def _too_many(files: int) -> BadUpload:
    return BadUpload(f"The site has {files} files; at most {MAX_FILES} are accepted.")
