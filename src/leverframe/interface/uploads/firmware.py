"""Firmware images: they select the software version of a controller, and may contain a web site.

An image consists of the magic, a format version, the length of a description, the description
(JSON: the hardware, the software version, the length of the site), the site archive if there is
one, and an Ed25519 signature of all that. The owner's private key creates the signature; the
controller has the public key. An image without a signature can be shown and signed, but not
installed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from leverframe.core.errors import BadUpload
from leverframe.core.profile import HARDWARE, UnknownProfile, existing
from leverframe.interface.uploads.site import unpack_site

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

MAGIC = b"LEVERFRAME FIRMWARE\x00"
FORMAT = 1
MAX_BYTES = 20 << 20
SIGNATURE_BYTES = 64
_LENGTH_BYTES = 4
_HEAD = len(MAGIC) + 1 + _LENGTH_BYTES
_DAMAGED = "The image is damaged or cut off; send it again."


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    hw: tuple[str, ...]
    sw: str
    site_bytes: int = 0


class Firmware(Struct, frozen=True):
    hw: tuple[str, ...]
    sw: str
    #: A site archive; None leaves the site unchanged.
    site: bytes | None
    is_signed: bool


def build_image(hw: Sequence[str], sw: str, site: bytes | None = None) -> bytes:
    """Build an image without a signature; raise `BadUpload` or `UnknownProfile`."""
    if not hw:
        raise BadUpload(f"Name the hardware that the image is for: {', '.join(HARDWARE)}.")
    for one in hw:
        existing(one, sw)
    if site is not None:
        unpack_site(site)
    description = msgspec.json.encode(Description(tuple(hw), sw, len(site or b"")))
    length = len(description).to_bytes(_LENGTH_BYTES, "big")
    return MAGIC + bytes([FORMAT]) + length + description + (site or b"")


def read_image(image: bytes) -> Firmware:
    """Read an image without checking its signature; raise `BadUpload`."""
    description, end = _description(image)
    firmware = _firmware(description, image, end)
    if firmware.site is not None:
        unpack_site(firmware.site)
    return firmware


def sign_image(image: bytes, private_key: bytes) -> bytes:
    """Return the image signed with this key (PEM); replace an existing signature."""
    read_image(image)
    signed = _cut_signed_part(image)
    return signed + _private_key(private_key).sign(signed)


def check_image(image: bytes, public_key: bytes, hw: str) -> Firmware:
    """Return the firmware of an image signed with this key (PEM) for this hardware."""
    from cryptography.exceptions import InvalidSignature

    # Check the signature before parsing data that may come from a stranger.
    description, end = _description(image)
    signature = image[end:]
    if not signature:
        raise BadUpload("The image is not signed; sign it with `leverframe firmware sign`.")
    try:
        _public_key(public_key).verify(signature, image[:end])
    except InvalidSignature:
        raise BadUpload("The image is not signed by the owner of this controller.") from None
    firmware = _firmware(description, image, end)
    if hw not in firmware.hw:
        raise BadUpload(
            f"The image is for HW {', '.join(firmware.hw)}; this controller is HW {hw}."
        )
    if firmware.site is not None:
        unpack_site(firmware.site)
    return firmware


def new_key_pair() -> tuple[bytes, bytes]:
    """Generate a private key and its public key, both as PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public


def check_public_key(pem: bytes) -> None:
    """Raise `BadUpload` unless this is a public key of the kind that signs images."""
    _public_key(pem)


def _description(image: bytes) -> tuple[Description, int]:
    """Return the description, and the position at which the signature begins."""
    if not image.startswith(MAGIC):
        raise BadUpload(
            "This is not a firmware image; create one with `leverframe firmware build`."
        )
    if image[len(MAGIC) : len(MAGIC) + 1] != bytes([FORMAT]):
        raise BadUpload("The image has a format that this program does not support.")
    length = int.from_bytes(image[len(MAGIC) + 1 : _HEAD], "big")
    try:
        description = msgspec.json.decode(image[_HEAD : _HEAD + length], type=Description)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadUpload(_DAMAGED) from error
    end = _HEAD + length + description.site_bytes
    if description.site_bytes < 0 or len(image) not in (end, end + SIGNATURE_BYTES):
        raise BadUpload(_DAMAGED)
    return description, end


def _firmware(description: Description, image: bytes, end: int) -> Firmware:
    site = image[end - description.site_bytes : end] or None
    try:
        for hw in description.hw:
            existing(hw, description.sw)
    except UnknownProfile as error:
        raise BadUpload(f"The image cannot be used here. {error}") from error
    return Firmware(description.hw, description.sw, site, is_signed=len(image) > end)


def _cut_signed_part(image: bytes) -> bytes:
    return image[: _description(image)[1]]


def _private_key(pem: bytes) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadUpload("This is not a private key; create one with `leverframe firmware keygen`.")
    return key


def _public_key(pem: bytes) -> "Ed25519PublicKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem)
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise BadUpload(
            "This is not a public key for firmware; create a pair with `leverframe firmware "
            "keygen`."
        )
    return key
