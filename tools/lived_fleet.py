"""A node of twenty controllers after a simulated morning, for the picture of its page.

They have three versions, some have findings, and one has no power, like a real fleet.
"""

from urllib.parse import urlencode
from urllib.request import Request, urlopen

PATIENCE_S = 60
#: Name, hardware, software, tags.
CONTROLLERS = (
    ("boiler-house", "3.9", "1.75", "heating,site-b"),
    *((f"greenhouse-{number}", "3.9", "1.75", "garden,site-a") for number in range(1, 7)),
    ("pump-station", "3.9", "1.75", "water,remote"),
    ("well-1", "3.5", "1.49", "water,remote"),
    ("well-2", "3.5", "1.49", "water,remote"),
    ("irrigation", "3.5", "1.49", "water,site-a"),
    ("workshop", "3.9", "1.75", "site-a"),
    ("cold-store-1", "3.9", "1.75", "food,site-b"),
    ("cold-store-2", "3.9", "1.75", "food,site-b"),
    ("gatehouse", "3.9", "1.75", "site-a"),
    ("office-north", "3.9", "1.75", "heating,site-b"),
    ("office-south", "3.9", "1.75", "heating,site-b"),
    ("weather-mast", "3.0", "1.58a", "remote"),
    ("bee-house", "3.0", "1.58a", "garden"),
    ("stable", "3.0", "1.58a", "site-a"),
)
WITHOUT_POWER = "stable"
_NO_WATCH = "".join(f"&wdog{number}=0*0*0**3*2*60*120*10*0*60" for number in range(2, 7))
#: Minute, controller, and event.
MORNING = (
    (0, "boiler-house", "/stm.cgi?oname=0Burner&oname=1Pump&iname=1Flow"),
    (0, "boiler-house", "/inpa.cgi?sensor=11"),
    (0, "boiler-house", f"/stm.cgi?wdog1=1*0*5*10.8.0.1*1*1*60*0*5*1*0{_NO_WATCH}"),
    (0, "boiler-house", "/sim.cgi?INPA2=1.4"),
    (0, "boiler-house", "/outs.cgi?out0=1&out1=1&out3=1"),
    (0, "greenhouse-2", "/stm.cgi?oname=0Heating&tname=0Bed"),
    (0, "greenhouse-2", "/inpa.cgi?event=0*10*1*1800*200*0*0*0*0*0*0*0&eventon=0*1"),
    (0, "greenhouse-2", "/inpa.cgi?rulename=0*Frost"),
    (0, "greenhouse-2", "/sim.cgi?DS1=15"),
    (0, "pump-station", "/stm.cgi?oname=1Pump"),
    (0, "pump-station", "/inpa.cgi?event=0*103*1*1*0*0*28*0*0*0*0*0&eventon=0*1"),
    (0, "cold-store-2", "/inpa.cgi?sensor=21"),
    (0, "cold-store-2", "/stm.cgi?iname=2Evaporator"),
    (0, "cold-store-2", "/sim.cgi?INPA3=0.8"),
    (5, "cold-store-1", "/outs.cgi?out0=1&out1=1&out2=1"),
    (9, "cold-store-2", "/outs.cgi?out0=1&out1=1&out2=1"),
    (12, "workshop", "/outs.cgi?out2=1&out4=1"),
    (20, "boiler-house", "/sim.cgi?INPA2=none"),
    (31, "greenhouse-1", "/outs.cgi?out0=1&out3=1"),
    (47, "greenhouse-2", "/outs.cgi?out0=0&out1=1&out5=1"),
    (70, "greenhouse-3", "/outs.cgi?out0=1"),
    (95, "irrigation", "/outs.cgi?out0=1&out1=1"),
    (110, "cold-store-2", "/sim.cgi?INPA3=none"),
    (124, "greenhouse-4", "/outs.cgi?out1=1"),
    (128, "well-1", "/outs.cgi?out0=1"),
    (131, "office-north", "/outs.cgi?out0=1&out4=1"),
    (133, "irrigation", "/outs.cgi?out1=0&out2=1"),
    (137, "greenhouse-5", "/outs.cgi?out0=1&out2=1"),
    (141, "gatehouse", "/outs.cgi?out3=1"),
    (144, "gatehouse", "/outs.cgi?out3=0"),
    (149, "irrigation", "/outs.cgi?out2=0&out3=1"),
    (152, "workshop", "/outs.cgi?out4=0"),
    (155, "well-1", "/outs.cgi?out0=0"),
    (158, "well-2", "/outs.cgi?out0=1"),
    (163, "office-south", "/outs.cgi?out0=1"),
    (166, "bee-house", "/outs.cgi?out1=1"),
    (171, "irrigation", "/outs.cgi?out3=0"),
    (174, "greenhouse-6", "/outs.cgi?out0=1&out5=1"),
    (178, "pump-station", "/outs.cgi?out1=1"),
)


def simulate_morning(address: str) -> None:
    """Create the controllers on a new node, and let the morning pass for all of them."""
    for name, hw, sw, tags in CONTROLLERS:
        _post(address, "add", name=name, hw=hw, sw=sw, tags=tags)
    passed = 0
    for minute, name, target in MORNING:
        if minute > passed:
            _post(address, "advance", **{"for": f"{minute - passed}m"})
            passed = minute
        _ask(address, name, target)
    # Sent to the node, because at the controller the fault would end its own connection.
    _post(address, "fault", name=WITHOUT_POWER, fault="reboot*takes:8h")


def _post(address: str, what: str, **given: str) -> None:
    body = urlencode(given).encode()
    urlopen(f"{address}/api/fleet/{what}", body, timeout=PATIENCE_S).close()


def _ask(address: str, name: str, target: str) -> None:
    """Send a command to a controller by its name, without resolving the name."""
    port = address.rpartition(":")[2]
    request = Request(f"http://127.0.0.1:{port}{target}")
    request.add_header("Host", f"{name}.localhost:{port}")
    urlopen(request, timeout=PATIENCE_S).close()
