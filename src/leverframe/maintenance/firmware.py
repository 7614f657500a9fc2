"""`leverframe firmware`: key pairs, and images that the bootloader of a controller accepts.

The private key stays with the owner in a file that only its owner can read. Controllers get the
public key as `firmware_key` in their configuration.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from leverframe.uploads.firmware import (
    build_image,
    check_image,
    new_key_pair,
    read_image,
    sign_image,
)


def make_keys(name: str) -> None:
    """Create NAME.key and NAME.pub."""
    private, public = new_key_pair()
    # Never overwrite an existing key: its images could not be signed again.
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
