"""Pictures of the pages for the documents, of a controller that has lived through an example.

    python -m tools.screenshots docs/images

The controller runs on virtual time with the greenhouse of `examples/`, so that there is something
to see and every run shows the same. Without Chromium the pictures stay as they are.
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
#: What makes the other pages look lived in: names, a meter, rules, a little switching.
FURNISHING = (
    "/stm.cgi?sname=Greenhouse",
    "/stm.cgi?oname=0Water%20pump&oname=2Fan&oname=3Door%20light&iname=1Soil%20moisture",
    "/stm.cgi?idname=2Door&eventname=0Holiday&modbus_sensor=01&modbusid=012",
    "/inpa.cgi?event=0*10*0*2600*200*0*2*0*0*0*0*0&eventon=0*1",
    "/inpa.cgi?event=1*102*0*0*0*0*3*0*0*0*0*120*1*0*0*0&eventon=1*1",
    "/inpa.cgi?event=2*2*1*90*20*2*0*11*0*2000*100*0*1*300*0*0&eventon=2*1",
    "/inpa.cgi?rulename=0*Cooling&rulename=1*Door%20light&rulename=2*Watering",
    "/outs.cgi?ortime=0900",
    "/inpa.cgi?sensor=11&powsel=0*6&powim=01000&pown=0Lamp&powsave=1",
    "/sim.cgi?plant=meter*switch:OUT1*reading:INPD1*watts:120*pulses:1000",
)
MOMENT = "/sim.cgi?INPA2=1.4&INPD3=0&VCC=12.1&TEMP=31"
DRAWN_AFTER_MS = 2000
QUIET = ("--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")


@contextmanager
def controller() -> Iterator[str]:
    """A controller on a port that is free; gives its address."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["run", "--port", "0", "--data", folder, "--virtual-time"]
        process = subprocess.Popen(
            [sys.executable, "-m", "leverframe", *command], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process, process.stdout:
            found = re.search(r"http://\S+(?=/ )", process.stdout.readline())
            assert found, "the controller did not start"
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
    passed_s = 0
    for happening in scenario["at"]:
        hours, minutes = map(int, happening["time"].split(":"))
        due_s = hours * 3600 + minutes * 60
        ask(f"/sim.cgi?advance={due_s - passed_s}")
        ask(f"/sim.cgi?{happening['sim']}")
        passed_s = due_s
    ask("/outs.cgi?out0=1")
    ask("/sim.cgi?advance=300")


def take(browser: Browser, address: str, route: str, size: tuple[int, int], file: Path) -> None:
    width, height = size
    page = browser.new_page(
        locale="en", viewport={"width": width, "height": height}, reduced_motion="reduce"
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
    with controller() as address, sync_playwright() as playwright:
        live_through(address, scenario)
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        for name, route in PICTURES.items():
            take(browser, address, route, DESK, folder / f"{name}.png")
        take(browser, address, "status", PHONE, folder / "phone.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
