"""Site archives: what goes in comes out, and nothing dangerous is taken."""

import stat
import tracemalloc
from hashlib import sha256
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.errors import BadUpload
from leverframe.interface.uploads import ending_of
from leverframe.interface.uploads.site import (
    FORMAT,
    MAGIC,
    MAX_BYTES,
    MAX_FILES,
    pack_site,
    unpack_site,
)
from tests.cases import for_each

FRONT = {"index.html": b"<title>Cellar</title>"}
NAMES = st.from_regex(r"[a-z]{1,5}(/[a-z]{1,5}){0,2}\.(html|js|css)", fullmatch=True)
ARCHIVE = pack_site({**FRONT, "js/app.js": b"let x = 1;"})


def seal(content: bytes) -> bytes:
    return MAGIC + bytes([FORMAT]) + sha256(content).digest() + content


def archive_of(*files: tuple[str | ZipInfo, bytes]) -> bytes:
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("index.html", b"front")
        for name, data in files:
            archive.writestr(name, data)
    return seal(packed.getvalue())


def link(name: str, target: bytes) -> tuple[ZipInfo, bytes]:
    info = ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target


@given(st.dictionaries(NAMES, st.binary(max_size=300), max_size=8))
def test_packed_site_is_unpacked(pages: dict[str, bytes]) -> None:
    pages = {**pages, **FRONT}
    assert unpack_site(pack_site(pages)) == pages


def test_same_pages_make_the_same_archive() -> None:
    assert pack_site({"a.js": b"1", **FRONT}) == pack_site({**FRONT, "a.js": b"1"})


@for_each(
    "name",
    [
        *("../evil.html", "/etc/passwd", "a/../../b.html", "a//b.html", "./a.html", "C:/a.html"),
        *("a\\b.html", ".htaccess", "a/.git/x", "ä.html", "a b.html", "a%2e.html", "x" * 201),
        *("a/", "a\n.html"),
    ],
)
def test_unsafe_names_are_refused_when_made_and_when_taken(name: str) -> None:
    with pytest.raises(BadUpload):
        unpack_site(archive_of((name, b"x")))
    with pytest.raises(BadUpload, match="not a safe name"):
        pack_site({**FRONT, name: b"x"})


def test_links_are_refused() -> None:
    with pytest.raises(BadUpload, match="not a regular file"):
        unpack_site(archive_of(link("secret.html", b"/etc/passwd")))


def test_same_name_twice_is_refused() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive = archive_of(("a.html", b"1"), ("a.html", b"2"))
    with pytest.raises(BadUpload, match="twice"):
        unpack_site(archive)


def test_site_needs_a_front_page() -> None:
    with pytest.raises(BadUpload, match="index.html"):
        pack_site({"other.html": b""})


def test_archive_that_grows_too_much_is_refused_unread() -> None:
    with pytest.raises(BadUpload, match="bytes; at most"):
        unpack_site(archive_of(("zeros.html", bytes(MAX_BYTES))))


def test_archive_that_lies_about_a_size_is_not_unpacked_further_than_that() -> None:
    honest = archive_of(("zeros.html", bytes(MAX_BYTES - 100)))[len(seal(b"")) :]
    size = (MAX_BYTES - 100).to_bytes(4, "little")
    assert honest.count(size) == 2
    with pytest.raises(BadUpload, match="cannot be unpacked"):
        unpack_site(seal(honest.replace(size, (100).to_bytes(4, "little"))))


def test_too_many_files_are_refused() -> None:
    with pytest.raises(BadUpload, match="1001 files"):
        pack_site({**FRONT, **{f"{number}.html": b"" for number in range(MAX_FILES)}})


def with_entries(count: int, stated: int) -> bytes:
    """An archive with a number of files in its directory, which states another number."""
    content = ARCHIVE[len(seal(b"")) :]
    end = content.rindex(b"PK\x05\x06")
    start = content.index(b"PK\x01\x02")
    directory = content[start:end]
    # Entries with a name of one letter, all of them of the same file.
    directory += (directory[:28] + b"\1\0" + directory[30:46] + b"x") * count
    numbers = stated.to_bytes(2, "little") * 2
    sizes = len(directory).to_bytes(4, "little") + content[end + 16 : end + 20]
    return seal(content[:start] + directory + b"PK\x05\x06" + bytes(4) + numbers + sizes + b"\0\0")


def test_directory_of_many_files_is_refused_before_it_is_read() -> None:
    """Reading 340,000 entries took seconds and 235 MB, whatever number the archive said."""
    with pytest.raises(BadUpload, match="appears twice"):
        unpack_site(with_entries(2, stated=4))
    for count, said, why in (
        (340_000, 2, "directory of the site archive is too large"),
        (340_000, 60_000, "60000 files; at most 1000"),
        (MAX_FILES, MAX_FILES + 1, "1001 files; at most 1000"),
    ):
        archive = with_entries(count, said)
        tracemalloc.start()
        try:
            with pytest.raises(BadUpload, match=why):
                unpack_site(archive)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # The content without its head, and nothing for each entry.
        assert most < len(archive) + 100_000


def test_archive_that_says_its_size_elsewhere_is_refused() -> None:
    """What stands in front of its end, or a comment behind it, could say something else."""
    content = ARCHIVE[len(seal(b"")) :]
    end = content.rindex(b"PK\x05\x06")
    elsewhere = b"PK\x06\x07" + bytes(16)
    for other in (
        content[:end] + elsewhere + content[end:],
        content[:-2] + b"\1\0" + b"x",
        content[:-2] + b"\1\0",
        content[end:][:10],
        b"",
    ):
        with pytest.raises(BadUpload, match="leverframe site build"):
            unpack_site(seal(other))


def test_file_without_a_name_is_refused() -> None:
    content = ARCHIVE[len(seal(b"")) :]
    start, end = content.index(b"PK\x01\x02"), content.rindex(b"PK\x05\x06")
    nameless = content[start : start + 28] + b"\0\0" + content[start + 30 : start + 46]
    sizes = (1).to_bytes(2, "little") * 2 + len(nameless).to_bytes(4, "little")
    tail = b"PK\x05\x06" + bytes(4) + sizes + content[end + 16 :]
    with pytest.raises(BadUpload, match="not a safe name"):
        unpack_site(seal(content[:start] + nameless + tail))


def test_largest_site_that_is_made_is_taken() -> None:
    longest = {f"{number:0200}": b"" for number in range(MAX_FILES - 1)}
    assert len(unpack_site(pack_site({**FRONT, **longest}))) == MAX_FILES


def test_plain_zip_file_is_refused_with_the_way_to_make_an_archive() -> None:
    with pytest.raises(BadUpload, match="leverframe site build"):
        unpack_site(ARCHIVE[len(seal(b"")) :])


def test_every_cut_is_refused() -> None:
    for length in range(len(ARCHIVE)):
        with pytest.raises(BadUpload):
            unpack_site(ARCHIVE[:length])


def test_every_changed_byte_is_refused() -> None:
    for place in range(len(ARCHIVE)):
        changed = bytearray(ARCHIVE)
        changed[place] ^= 0x41
        with pytest.raises(BadUpload):
            unpack_site(bytes(changed))


@given(st.binary(max_size=300))
def test_noise_behind_a_right_checksum_is_refused(noise: bytes) -> None:
    with pytest.raises(BadUpload):
        unpack_site(seal(noise))


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=4))
def test_tampered_archive_with_a_right_checksum_is_refused_or_safe(
    place: int, noise: bytes
) -> None:
    content = ARCHIVE[len(seal(b"")) :]
    place %= len(content)
    try:
        pages = unpack_site(seal(content[:place] + noise + content[place + len(noise) :]))
    except BadUpload:
        return
    assert all(".." not in name and not name.startswith("/") for name in pages)


@for_each(
    ("name", "ending"),
    [
        ("a.html", "html"),
        ("a/b.c.JS", "js"),
        ("html", ""),
        ("a.b/html", ""),
        ("a.", ""),
        (".js", ""),
    ],
)
def test_only_what_stands_behind_a_dot_of_the_file_is_its_ending(name: str, ending: str) -> None:
    assert ending_of(name) == ending
