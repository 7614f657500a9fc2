"""Pictures of the pages for the documents, of a controller that has lived through an example.

    python -m tools.screenshots docs/images

The controller runs on virtual time with the greenhouse of `examples/`, so that there is something
to see and every run shows the same; so does a node of many. Without Chromium the pictures stay as
they are.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import Browser, expect, sync_playwright

from tools.lived_fleet import live_through_morning

PROJECT = Path(__file__).parent.parent
SCENARIO = PROJECT / "examples" / "greenhouse.toml"
DESK = (1280, 900)
PHONE = (390, 844)
#: Name of the picture -> route of the page.
PICTURES = {
    "status": "status",
    "timeline": "timeline",
    "things": "things",
    "drawer": "things?thing=OUT0",
    "rules": "rules",
    "schedule": "schedule",
    "charts": "charts",
    "panel": "panel",
    "modbus": "things?thing=SLOT1",
    "simulated-board": "simulation",
    "journal": "log",
}
#: What makes the other pages look lived in: names, a meter, rules, a week, a little switching.
FURNISHING = (
    "/stm.cgi?sname=Greenhouse&eventname=0Holiday&modbus_sensor=01&modbusid=012",
    "/stm.cgi?oname=0Water%20pump&oname=1Grow%20lamps&oname=2Roof%20fan",
    "/stm.cgi?oname=3Door%20light&oname=4Misting&oname=5Router",
    "/stm.cgi?pname=1Side%20vents&pname=2Bench%20mat&pname=3Grow%20strip",
    "/stm.cgi?iname=1Soil%20moisture",
    "/stm.cgi?idname=0Lamp%20meter&idname=1Rain&idname=2Door&idname=3Tank%20full",
    "/inpa.cgi?event=0*10*0*2600*200*0*2*0*0*0*0*0&eventon=0*1",
    "/inpa.cgi?event=1*102*1*1*0*0*3*0*0*0*0*120*1*0*0*0&eventon=1*1",
    "/inpa.cgi?event=2*2*1*90*20*2*0*11*0*2000*100*0*1*180*0*0&eventon=2*1",
    "/inpa.cgi?event=3*9*0*8000*1000*0*7*0*0*0*0*0&eventon=3*1",
    "/inpa.cgi?event=4*11*1*200*100*0*8*0*0*0*0*0&eventon=4*1",
    "/inpa.cgi?event=5*104*1*1*0*0*4*0*0*0*0*0",
    "/inpa.cgi?rulename=0*Too%20warm&rulename=1*Door%20open&rulename=2*Watering",
    "/inpa.cgi?rulename=3*Too%20damp&rulename=4*Frost&rulename=5*Holiday%20mist",
    "/inpa.cgi?schedset=0*Daylight*1*1*50400*0*127*1&schedset=1*Daylight*1*0*81000*0*127*1",
    "/inpa.cgi?schedset=2*Warm%20roots*9*1*21600*0*31*1&schedset=3*Warm%20roots*9*0*36000*0*31*1",
    "/inpa.cgi?schedset=4*Morning%20mist*4*1*25200*0*127*1",
    "/inpa.cgi?schedset=5*Evening%20mist*4*1*68400*0*42*1",
    "/inpa.cgi?schedset=6*Holiday*10*1*0*0*96*1",
    "/outs.cgi?ortime=0900&ortime=4600&out5=1",
    "/inpa.cgi?sensor=11&powsel=0*6&powim=01000&pown=0Grow%20lamps&powsave=1",
    "/sim.cgi?plant=meter*switch:OUT1*reading:INPD1*watts:620*pulses:1000",
    "/sim.cgi?i2c=BME280&T1=19.4&H1=71&P1=1014",
)
MOMENT = "/sim.cgi?INPA2=1.4&INPD2=1&INPD3=0&INPD4=1&VCC=12.1&TEMP=31"
#: What people, weather and plants do in the course of the day, beside the example's own.
DAY = (
    ("06:10", "/sim.cgi?H1=74&T1=18.9"),
    ("07:48", "/sim.cgi?INPD3=1"),
    ("07:57", "/sim.cgi?INPD3=0"),
    ("08:30", "/sim.cgi?H1=78&INPA2=1.2"),
    ("10:05", "/sim.cgi?INPA2=0.86"),
    ("10:14", "/sim.cgi?INPA2=1.32"),
    ("11:40", "/sim.cgi?H1=86&T1=22.3"),
    ("12:20", "/outs.cgi?out2=1"),
    ("12:55", "/outs.cgi?out2=0"),
    ("14:10", "/sim.cgi?H1=64&INPA2=1.21"),
    ("16:20", "/sim.cgi?INPD3=1"),
    ("16:26", "/sim.cgi?INPD3=0"),
    ("18:40", "/sim.cgi?INPA2=1.02&H1=73&T1=20.1"),
    ("20:20", "/sim.cgi?DS2=1.6&H1=77"),
    ("20:30", "/sim.cgi?INPA2=0.94&T1=19.6"),
    ("20:42", "/outs.cgi?pwm2=0"),
    ("20:50", "/sim.cgi?DS2=1.2&H1=81&INPA2=0.91"),
    ("20:56", "/sim.cgi?INPA2=0.88"),
)
DRAWN_AFTER_MS = 2000
QUIET = ("--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")


@contextmanager
def running(*command: str) -> Iterator[str]:
    """A controller, or a node of many, on a port that is free; gives its address."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*command, "--port", "0", "--data", folder, "--virtual-time"]
        process = subprocess.Popen(
            [sys.executable, "-m", "leverframe", *words], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process, process.stdout:
            found = re.search(r"http://[^\s/]+", process.stdout.readline())
            assert found, "it did not start"
            yield found[0]
            process.terminate()


def live_through(address: str, scenario: dict[str, Any]) -> None:
    def ask(target: str) -> None:
        path, _, body = target.partition(" ")
        urlopen(address + path, body.encode() or None, timeout=60).close()

    for target in (*scenario["commands"], *FURNISHING, MOMENT, f"/sim.cgi?{scenario['sim']}"):
        ask(target)
    for plant in scenario["plants"]:
        fields = "".join(f"*{name}:{value}" for name, value in plant.items() if name != "kind")
        ask(f"/sim.cgi?plant={plant['kind']}{fields}*sample:30")
    happenings = [(one["time"], f"/sim.cgi?{one['sim']}") for one in scenario["at"]]
    passed_s = 0
    for time, target in sorted((*happenings, *DAY)):
        hours, minutes = map(int, time.split(":"))
        due_s = hours * 3600 + minutes * 60
        ask(f"/sim.cgi?advance={due_s - passed_s}")
        ask(target)
        passed_s = due_s
    ask("/sim.cgi?advance=300")


def take(browser: Browser, address: str, route: str, size: tuple[int, int], file: Path) -> None:
    width, height = size
    page = browser.new_page(
        locale="en",
        timezone_id="UTC",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
    )
    page.goto(f"{address}/#/{route}")
    expect(page.locator("main[aria-busy=false]")).to_be_visible()
    expect(page.locator(".connection[data-kind=live]")).to_be_visible()
    # Charts and the small lines below readings are drawn when the history has come.
    page.wait_for_timeout(DRAWN_AFTER_MS)
    page.screenshot(path=file)
    page.close()


def main(folder: Path) -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is not installed: the pictures of the pages stay as they are.")
        return 0
    scenario = tomllib.loads(SCENARIO.read_text(encoding="utf-8"))
    with (
        running("run") as address,
        running("fleet", "run") as node,
        sync_playwright() as playwright,
    ):
        live_through(address, scenario)
        live_through_morning(node)
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        for name, route in PICTURES.items():
            take(browser, address, route, DESK, folder / f"{name}.png")
        take(browser, address, "status", PHONE, folder / "phone.png")
        take(browser, node, "", DESK, folder / "fleet.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
