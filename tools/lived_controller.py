"""A controller after a simulated day of the greenhouse in `examples/`, for pictures."""

import tomllib
from pathlib import Path
from urllib.request import urlopen

SCENARIO = Path(__file__).parent.parent / "examples" / "greenhouse.toml"
PATIENCE_S = 60
#: Makes the other pages look used: names, a meter, rules, a week, some switching.
FURNISHING = (
    "/stm.cgi?sname=Greenhouse&eventname=0Holiday&modbus_sensor=01&modbusid=012",
    "/stm.cgi?modbusmapping=" + "*".join(["10", "11", *["00"] * 28]),
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
MOMENT = "/sim.cgi?m1=231.4&m2=2.3&INPA2=1.4&INPD2=1&INPD3=0&INPD4=1&VCC=12.1&TEMP=31"
#: The effects of people, weather and plants during the day, in addition to those of the example.
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
NO_OTHER_WATCH = "".join(f"&wdog{number}=0*0*0**3*2*60*120*10*0*60" for number in range(2, 7))
#: An item of each kind that the greenhouse lacks, so that every kind can be shown.
OF_EVERY_KIND = (
    "/stm.cgi?mod_write_set1=Night%20setback*1*100*1*1800*2150",
    "/eeprom.cgi?string0=Open%20until%20ten",
    "/stm.cgi?wdog1=1*0*5*192.168.1.1*1*1*60*0*5*1*0" + NO_OTHER_WATCH,
)


def ask(address: str, target: str) -> None:
    """Send a command; its body follows after a space."""
    path, _, body = target.partition(" ")
    urlopen(address + path, body.encode() or None, timeout=PATIENCE_S).close()


def furnish(address: str) -> None:
    """Name and configure the parts of the greenhouse on a new controller."""
    for target in (*FURNISHING, MOMENT):
        ask(address, target)


def simulate_day(address: str) -> None:
    """Configure a new controller in virtual time, and let the day pass."""
    scenario = tomllib.loads(SCENARIO.read_text(encoding="utf-8"))
    for target in scenario["commands"]:
        ask(address, target)
    furnish(address)
    ask(address, f"/sim.cgi?{scenario['sim']}")
    for plant in scenario["plants"]:
        fields = "".join(f"*{name}:{value}" for name, value in plant.items() if name != "kind")
        ask(address, f"/sim.cgi?plant={plant['kind']}{fields}*sample:30")
    happenings = [(one["time"], f"/sim.cgi?{one['sim']}") for one in scenario["at"]]
    passed_s = 0
    for time, target in sorted((*happenings, *DAY)):
        hours, minutes = map(int, time.split(":"))
        due_s = hours * 3600 + minutes * 60
        ask(address, f"/sim.cgi?advance={due_s - passed_s}")
        ask(address, target)
        passed_s = due_s
    ask(address, "/sim.cgi?advance=300")
