"""`leverframe site`: build the archive of a web site, or restore the built-in pages.

Symbolic links in a folder are rejected; files whose name begins with a dot are skipped. The reset
is for users with access to the data folder; the controller must be stopped. `/?safe` reaches the
built-in pages of a running controller.
"""

from collections.abc import Iterator
from pathlib import Path

from leverframe.storage.datafolder import folder_with_store
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes
from leverframe.uploads.bad_upload import BadUpload
from leverframe.uploads.site_archive import pack_site


def build_site(pages: Path, output: Path | None) -> None:
    """Check a folder and pack it, by default into a file beside it."""
    # A path such as `.` has no name of its own.
    folder = pages if pages.name else pages.resolve()
    target = output or folder.with_name(f"{pages.resolve().name}.site")
    packed = dict(_pages(pages))
    target.write_bytes(pack_site(packed))
    print(f"{target}: {len(packed)} files, {sum(map(len, packed.values()))} bytes")


def _pages(folder: Path, above: str = "") -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir()):
        name = above + item.name
        if item.name.startswith("."):
            continue
        if item.is_symlink():
            raise BadUpload(f"{name} is a link; a site has only files.")
        if item.is_dir():
            yield from _pages(item, f"{name}/")
        elif item.is_file():
            yield name, item.read_bytes()
        else:
            # Reading a pipe or a device could block forever or never end.
            raise BadUpload(f"{name} is neither a file nor a folder; take it out of the site.")


async def reset_site(data_folder: Path) -> None:
    """Remove the uploaded site of a stopped controller."""
    with folder_with_store(data_folder) as folder:
        store = SqliteStore(folder.store_path)
        try:
            await store.commit(Changes(blobs={"site": None}))
        finally:
            await store.close()
    print("The built-in pages are restored.")
