"""Firmware images: made, signed, read; only the owner's images for the hardware are taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.errors import BadUpload
from leverframe.core.profile import HARDWARE, UnknownProfile
from leverframe.interface.uploads.firmware import (
    FORMAT,
    MAGIC,
    build_image,
    check_image,
    check_public_key,
    new_key_pair,
    read_image,
    sign_image,
)
from leverframe.interface.uploads.site import pack_site
from tests.cases import for_each

PRIVATE, PUBLIC = new_key_pair()
SITE = pack_site({"index.html": b"Cellar"})
IMAGE = sign_image(build_image(["3.9"], "1.60a", SITE), PRIVATE)


@given(
    st.lists(st.sampled_from(HARDWARE), min_size=1, unique=True),
    st.sampled_from(["1.36", "1.49d", "1.58a"]),
    st.sampled_from([None, SITE]),
)
def test_signed_image_holds_what_it_was_made_of(hw: list[str], sw: str, site: bytes | None) -> None:
    firmware = check_image(sign_image(build_image(hw, sw, site), PRIVATE), PUBLIC, hw[0])
    assert (firmware.hw, firmware.sw, firmware.site) == (tuple(hw), sw, site)
    assert firmware.is_signed


def test_unsigned_image_can_be_shown_but_not_installed() -> None:
    unsigned = build_image(["3.9"], "1.60a")
    assert not read_image(unsigned).is_signed
    with pytest.raises(BadUpload, match="not signed; sign it"):
        check_image(unsigned, PUBLIC, "3.9")


def test_image_signed_by_another_key_is_refused() -> None:
    stranger, _ = new_key_pair()
    with pytest.raises(BadUpload, match="not signed by the owner"):
        check_image(sign_image(IMAGE, stranger), PUBLIC, "3.9")


def test_image_for_other_hardware_is_refused() -> None:
    with pytest.raises(BadUpload, match=r"for HW 3\.9; this controller is HW 3\.0"):
        check_image(IMAGE, PUBLIC, "3.0")


def test_signing_again_replaces_the_signature() -> None:
    stranger, public = new_key_pair()
    assert check_image(sign_image(IMAGE, stranger), public, "3.9").sw == "1.60a"


def test_every_cut_is_refused() -> None:
    for length in range(len(IMAGE)):
        with pytest.raises(BadUpload):
            check_image(IMAGE[:length], PUBLIC, "3.9")
    with pytest.raises(BadUpload, match="damaged or cut off"):
        check_image(IMAGE + b"x", PUBLIC, "3.9")


def test_every_changed_byte_is_refused() -> None:
    for place in range(len(IMAGE)):
        changed = bytearray(IMAGE)
        changed[place] ^= 0x01
        with pytest.raises(BadUpload):
            check_image(bytes(changed), PUBLIC, "3.9")


@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    for upload in (noise, MAGIC + bytes((FORMAT, 0, 0, 0, len(noise))) + noise):
        with pytest.raises(BadUpload):
            check_image(upload, PUBLIC, "3.9")


def test_images_for_nothing_or_of_no_version_cannot_be_made() -> None:
    with pytest.raises(UnknownProfile):
        build_image(["4.0"], "1.60a")
    with pytest.raises(UnknownProfile):
        build_image(["3.9"], "newest")
    with pytest.raises(UnknownProfile, match=r"does not exist for HW 3\.0\. .* is 1\.58a"):
        build_image(["3.9", "3.0"], "1.75")
    with pytest.raises(BadUpload, match="Name the hardware"):
        build_image([], "1.60a")
    with pytest.raises(BadUpload, match="not a site archive"):
        build_image(["3.9"], "1.60a", b"PK")


def test_image_of_a_version_that_never_existed_is_not_taken() -> None:
    made = build_image(["3.9"], "1.75").replace(b'"1.75"', b'"9.99"')
    for read in (read_image, lambda image: sign_image(image, PRIVATE)):
        with pytest.raises(BadUpload, match=r"newest version for it is 1\.75"):
            read(made)


@for_each("pem", [b"", b"text", PRIVATE, PUBLIC[:60]], ids=["empty", "text", "private", "cut"])
def test_invalid_public_key_is_reported(pem: bytes) -> None:
    with pytest.raises(BadUpload, match="not a public key"):
        check_public_key(pem)


def test_public_key_cannot_sign() -> None:
    with pytest.raises(BadUpload, match="not a private key"):
        sign_image(IMAGE, PUBLIC)
