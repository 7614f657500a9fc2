"""Almost right web sites, pictures and firmware images: no crash, and no change but by a picture.

A picture with a changed dot is still a picture; then what is stored must be one, too. The suite
sends a few. For many:

    python -m tests.interface.uploads.fuzz_rounds --count 50000
"""

import argparse
import asyncio
from io import BytesIO
from random import Random

from PIL import Image

from leverframe.core.errors import BadUpload
from leverframe.devices.linux.oled_panel import png_of
from leverframe.interface.uploads.firmware import build_image, check_image, new_key_pair, sign_image
from leverframe.interface.uploads.picture import content_type
from leverframe.interface.uploads.site import pack_site
from leverframe.testing import LoopTwin
from tests.fuzzed_uploads import fuzz

SITE = pack_site({"index.html": b"<title>Cellar</title>", "js/app.js": b"let x = 1;" * 50})
PICTURES = ("PNG", "JPEG", "GIF", "WEBP")


def picture(kind: str) -> bytes:
    with Image.open(BytesIO(png_of(("one", "two", "three", "four")))) as drawn:
        packed = BytesIO()
        drawn.convert("RGB").save(packed, kind)
    return packed.getvalue()


async def fuzz_sites(count: int, seed: int) -> None:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?wwwfileupload", "POST", SITE)
    for upload in fuzz(SITE, Random(seed), count):
        reply = await twin.ask("/post.cgi?wwwfileupload", "POST", upload)
        assert reply.status == 400, upload
        assert await twin.controller.store.blob("site") == SITE


async def fuzz_pictures(count: int, seed: int) -> None:
    twin = await LoopTwin.start()
    for number, kind in enumerate(PICTURES):
        for upload in fuzz(picture(kind), Random(seed + number), count // len(PICTURES)):
            before = await twin.controller.store.blob("picture")
            reply = await twin.ask("/post.cgi?pictureupload", "POST", upload)
            after = await twin.controller.store.blob("picture")
            if reply.status == 200:
                assert after is not None
                assert content_type(after) is not None
            else:
                assert (reply.status, after) == (400, before), upload


def fuzz_images(count: int, seed: int) -> None:
    private, public = new_key_pair()
    image = sign_image(build_image(["3.9"], "1.60a", SITE), private)
    for upload in fuzz(image, Random(seed), count):
        try:
            check_image(upload, public, "3.9")
        except BadUpload:
            continue
        raise AssertionError(f"taken: {upload!r}")


def fuzz_rounds(count: int, seed: int) -> None:
    asyncio.run(fuzz_sites(count, seed))
    asyncio.run(fuzz_pictures(count, seed))
    fuzz_images(count, seed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    fuzz_rounds(options.count, options.seed)
    print(f"{options.count} uploads of each kind: none upset the controller")
