"""The display of a whole controller, as `/api/oled.png` shows it."""

from io import BytesIO

import pytest
from PIL import Image

from leverframe.core.profile import Profile
from leverframe.devices.linux.oled_panel import png_of
from leverframe.testing import LoopTwin

DARK = png_of(None)


def screen(*lines: str) -> bytes:
    return png_of((*lines, "", "", "", "")[:4])


async def picture(twin: LoopTwin) -> bytes:
    reply = await twin.ok("/api/oled.png")
    assert reply.content_type == "image/png"
    with Image.open(BytesIO(reply.body)) as png:
        assert png.size == (128, 64)
    return reply.body


async def save(twin: LoopTwin, **fields: str | int) -> None:
    body = "&".join(f"{name}={value}" for name, value in fields.items())
    await twin.ok("/post.cgi?oled_save", "POST", body.encode())


async def test_display_that_is_off_is_black() -> None:
    assert await picture(await LoopTwin.start()) == DARK


async def test_reading_codes_show_live_values() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?T1=21.54&H1=48")
    await save(twin, enabled=1, line11="T1 !01417 C", line12="H1 !01500", line13="OUT2 !01000")
    assert await picture(twin) == screen("T1    21.5 C", "H1 48", "OUT2 0")
    await twin.ok("/sim.cgi?T1=-3&H1=none")
    await twin.ok("/outs.cgi?out2=1")
    assert await picture(twin) == screen("T1    -3.0 C", "H1 --", "OUT2 1")


async def test_screens_change_by_action_and_the_display_goes_dark_after_its_time() -> None:
    twin = await LoopTwin.start()
    await save(twin, enabled=1, displayTime=10, screen1=1, screen3=1, line11="one", line31="three")
    # Rule 1 sets screen 3 when EVENT1 is on; rule 2 goes to the next one with EVENT2.
    await twin.ok("/inpa.cgi?event=0*104*0*1*0*0*45*0*0*0*0*0*1*0*0*1&eventon=0*1")
    await twin.ok("/inpa.cgi?event=1*105*0*1*0*0*42*0*0*0*0*0*1*0*0*1&eventon=1*1")
    assert await picture(twin) == screen("one")
    await twin.ok("/outs.cgi?vout0=1")
    assert await picture(twin) == screen("three")
    await twin.controller.advance(9.9)
    assert await picture(twin) == screen("three")
    await twin.controller.advance(0.1)
    assert await picture(twin) == DARK
    await twin.ok("/outs.cgi?vout1=1")
    assert await picture(twin) == screen("one")


@pytest.mark.parametrize("profile", [Profile("3.0", "1.30"), Profile("3.5", "1.43e")], ids=str)
async def test_older_software_has_one_screen_and_shorter_codes(profile: Profile) -> None:
    twin = await LoopTwin.start(profile)
    await twin.ok("/sim.cgi?T1=26.3")
    await twin.ok("/stm.cgi?oled=1*T1 !1410*two*three*four".replace(" ", "%20"))
    assert await picture(twin) == screen("T1 26.3", "two", "three", "four")
    await twin.ok("/stm.cgi?oled=0*T1*two*three*four")
    assert await picture(twin) == DARK


async def test_picture_takes_only_get() -> None:
    await (await LoopTwin.start()).refused("/api/oled.png", 405, "POST")
