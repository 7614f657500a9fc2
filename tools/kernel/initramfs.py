"""Archives that the kernel unpacks as its root at startup (cpio, "newc").

The kernel unpacks concatenated archives over each other, so parts that seldom change are kept and
changed files are appended.
"""

import io
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

_KINDS = {
    tarfile.REGTYPE: stat.S_IFREG,
    tarfile.AREGTYPE: stat.S_IFREG,
    tarfile.DIRTYPE: stat.S_IFDIR,
    tarfile.SYMTYPE: stat.S_IFLNK,
    tarfile.CHRTYPE: stat.S_IFCHR,
    tarfile.BLKTYPE: stat.S_IFBLK,
    tarfile.FIFOTYPE: stat.S_IFIFO,
}


class Entry(NamedTuple):
    name: str
    mode: int
    data: bytes = b""
    owner: int = 0
    group: int = 0
    device: tuple[int, int] = (0, 0)
    #: The modification time: compiled Python files are valid only for sources with that time.
    changed: int = 0


def from_tar(path: Path) -> Iterator[Entry]:
    """Read the entries of a tar archive; a file with several names is copied for each name."""
    with tarfile.open(path) as archive:
        for member in archive:
            source = archive.getmember(member.linkname) if member.islnk() else member
            data = b""
            if member.issym():
                data = member.linkname.encode()
            elif source.isfile() and (file := archive.extractfile(source)) is not None:
                data = file.read()
            name = member.name.removeprefix("./").strip("/")
            if name and name != ".":
                mode = _KINDS[source.type] | source.mode
                device = (source.devmajor, source.devminor)
                changed = int(source.mtime)
                yield Entry(name, mode, data, source.uid, source.gid, device, changed)


def from_folder(folder: Path, place: str) -> Iterator[Entry]:
    """Read a folder to be placed in the root; all its files belong to root."""
    yield from parents(place)
    yield Entry(place, stat.S_IFDIR | 0o755)
    for path in sorted(folder.rglob("*")):
        name = f"{place}/{path.relative_to(folder)}"
        if path.is_symlink():
            yield Entry(name, stat.S_IFLNK | 0o777, str(path.readlink()).encode())
        elif path.is_dir():
            yield Entry(name, stat.S_IFDIR | 0o755)
        else:
            executable = 0o111 if path.stat().st_mode & 0o100 else 0
            yield Entry(name, stat.S_IFREG | 0o644 | executable, path.read_bytes())


def text_file(name: str, text: str, mode: int = 0o644) -> Iterator[Entry]:
    yield from parents(name)
    yield Entry(name, stat.S_IFREG | mode, text.encode())


def link(name: str, target: str) -> Iterator[Entry]:
    yield from parents(name)
    yield Entry(name, stat.S_IFLNK | 0o777, target.encode())


def parents(name: str) -> Iterator[Entry]:
    parts = name.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        yield Entry("/".join(parts[:count]), stat.S_IFDIR | 0o755)


def write_archive(entries: Iterator[Entry], to: BinaryIO) -> None:
    for number, entry in enumerate(entries, start=1):
        _write(entry, number, to)
    _write(Entry("TRAILER!!!", 0), 0, to)
    to.write(bytes(-to.tell() % 512))


def archive_of(entries: Iterator[Entry]) -> bytes:
    to = io.BytesIO()
    write_archive(entries, to)
    return to.getvalue()


def _write(entry: Entry, number: int, to: BinaryIO) -> None:
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (
        *(number, entry.mode, entry.owner, entry.group, links, entry.changed, len(entry.data)),
        *(0, 0, *entry.device, len(name), 0),
    )
    to.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
    to.write(bytes(-(6 + 8 * len(fields) + len(name)) % 4))
    to.write(entry.data)
    to.write(bytes(-len(entry.data) % 4))
