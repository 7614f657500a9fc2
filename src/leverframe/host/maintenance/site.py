"""`leverframe site`: build the archive of a web site, or restore the built-in pages.

Symbolic links in a folder are rejected; files whose name begins with a dot are skipped. The reset
is for users with access to the data folder; the controller must be stopped. `/?safe` reaches the
built-in pages of a running controller.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from leverframe.core.errors import BadUpload
from leverframe.interface.uploads.firmware import (
    build_image,
    check_image,
    new_key_pair,
    read_image,
    sign_image,
)
from leverframe.interface.uploads.site import pack_site
from leverframe.storage.datafolder import folder_with_store
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes


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
            raise BadUpload(f"{name} is neither a file nor a folder; remove it from the site.")


async def reset_site(data_folder: Path) -> None:
    """Remove the uploaded site of a stopped controller."""
    with folder_with_store(data_folder) as folder:
        store = SqliteStore(folder.store_path)
        try:
            await store.commit(Changes(blobs={"site": None}))
        finally:
            await store.close()
    print("The built-in pages are restored.")


# `leverframe firmware`: key pairs, and images that the bootloader of a controller accepts.
#
# The private key stays with the owner in a file that only its owner can read. Controllers get the
# public key as `firmware_key` in their configuration.


def make_keys(name: str) -> None:
    """Create NAME.key and NAME.pub."""
    private, public = new_key_pair()
    # Never overwrite an existing key: no more images could be signed with it.
    key = os.open(f"{name}.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(key, "wb") as file:
        file.write(private)
    Path(f"{name}.pub").write_bytes(public)
    print(f"Keep {name}.key secret; configure {name}.pub as firmware_key of the controllers.")


def build(image: Path, hw: Sequence[str], sw: str, site: Path | None) -> None:
    """Write an unsigned image."""
    image.write_bytes(build_image(hw, sw, site.read_bytes() if site else None))
    print(f"{image}: not signed yet; use leverframe firmware sign.")


def sign(image: Path, key: Path) -> None:
    """Sign an image in place."""
    image.write_bytes(sign_image(image.read_bytes(), key.read_bytes()))
    print(f"{image}: signed.")


def show(image: Path, key: Path | None) -> None:
    """Print the contents of an image; with a public key, also verify its signature."""
    content = image.read_bytes()
    firmware = read_image(content)
    site = f"a site of {len(firmware.site)} bytes" if firmware.site else "no site"
    print(f"SW {firmware.sw} for HW {', '.join(firmware.hw)}, with {site}")
    if key is not None:
        check_image(content, key.read_bytes(), firmware.hw[0])
        print("Signed with this key.")
    else:
        print("Signed; use --key to verify the signature." if firmware.is_signed else "Not signed.")
