"""The most read files of one busy controller, per profile, as texts that people can review.

A line holds keys that differ by their number only. After a change that is meant, write the
snapshots again with `SNAPSHOTS=write pytest tests/interface/status_files/test_snapshots.py` and
read what changed.
"""

import os
import re
from itertools import groupby
from pathlib import Path
from typing import Any

from leverframe.core.engine.calls import SetEnergy
from leverframe.core.profile import Profile
from tests.cases import for_each

from .files_bench import PROFILES, FilesBench

FOLDER = Path(__file__).parent / "snapshots"
PATHS = (
    *("/json/status.json", "/json/all.json", "/json/pwmpid.json"),
    *("/xml/ix.xml", "/xml/st.xml", "/xml/eve.xml", "/xml/eve2.xml", "/xml/sched.xml", "/st0.xml"),
)
MAX_LETTERS = 60
#: What every empty place of the entries shows; a snapshot leaves these out.
EMPTY = re.compile(r"00|0(\*0)+|0\*0\*\*0\*0\*0\*0\*0")


def busy_controller(profile: Profile) -> FilesBench:
    bench = FilesBench(profile=profile)
    bench.send("/stm.cgi?oname=1Pump&tname=0Boiler&iname=0Panel&idname=0Door&outnn=1&inpdnn=1")
    bench.send("/inpa.cgi?sensor=01&calibration=010&diffsel=06&diffsel=37&powsel=17")
    bench.send("/stm.cgi?pwmd=173&pwmf=0500&pidvalue=0*10*215*100*10*0*1")
    bench.send("/stm.cgi?dswrite=1:28:FF:64:1E:8C:16:03:5A&dsOffset=1:5&i2csensors=18")
    bench.send("/inpa.cgi?event=0*10*1*2150*50*1*0*9*0*4000*0*30&eventon=0*1")
    bench.send("/post.cgi?sched_save", b"&s0=Night*1*1*79200*0*127*1&&")
    if profile.since("1.36", ("3.5", "3.9")):
        bench.send("/stm.cgi?modbusmapping=10*212" + "*00" * 28)
    bench.sense(VCC=12.34, TEMP=31.49, INPA1=2.41, DS1=21.0, DS2=-4.75, T1=22.5, H1=41.0, P1=1003.2)
    bench.sense(CO2=612.0, INPD1=0, m1=2.997, m2=230.5, **{"PM2.5": 4.2})
    bench.switch_on("OUT1")
    bench.switch_on("PWM1")
    bench.switch_on("EVENT2")
    bench.do(SetEnergy(0, 273.49))
    bench.wait(3661.5)
    return bench


def render_files(bench: FilesBench) -> str:
    sections = ("\n".join([path, *lines(bench.show(path)), ""]) for path in PATHS)
    return "\n".join(sections)


def lines(shown: dict[str, Any]) -> list[str]:
    pairs = [(key, value) for key, value in shown.items() if not _is_empty_entry(key, value)]
    runs = groupby(pairs, key=lambda pair: pair[0].rstrip("0123456789"))
    return ["  " + "  ".join(f"{key}={_shorten(value)}" for key, value in run) for _, run in runs]


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]}... {len(text)} letters"


def _is_empty_entry(key: str, value: Any) -> bool:
    return key.startswith(("eve", "ev", "sched")) and bool(EMPTY.fullmatch(str(value)))


@for_each("profile", PROFILES, ids=str)
def test_files_are_as_in_the_snapshot(profile: Profile) -> None:
    snapshot = FOLDER / f"HW{profile.hw}_SW{profile.sw}.txt"
    now = render_files(busy_controller(profile))
    if os.environ.get("SNAPSHOTS") == "write":
        snapshot.write_text(now, encoding="utf-8")
    assert now == snapshot.read_text(encoding="utf-8")
