"""A base installation without the extras: a feature names the extra it needs."""

import subprocess
import sys

import httpx
import pytest

from leverframe.core.errors import NOT_DONE
from leverframe.core.profile import Profile
from leverframe.core.runtime.installation import EXTRAS, explain_missing_extra
from leverframe.devices.linux.oled_panel import png_of
from leverframe.notify.channel import CannotSend
from leverframe.notify.snmp import TrapSenders
from leverframe.server.shared_ports import SNMP_AGENT
from leverframe.testing import Twin
from leverframe.units import find
from leverframe.units.search import HeardUnit
from tests.cases import for_each
from tests.server.discovery.test_mdns import HERE, announcer_of
from tests.server.snmp.test_agent import running

#: Modules of ours that load a package of an extra at their top.
LOADING = ("leverframe.notify.snmp_sender", "leverframe.server.snmp_")
NEEDS = "This needs the extra {}, which is not installed; run "
WITHOUT_EXTRAS = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(EXTRAS)}))
from leverframe.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in EXTRAS or name.startswith(LOADING):
            monkeypatch.delitem(sys.modules, name)
    png_of.cache_clear()
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)


def run_without_extras(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.usefixtures("no_extras")
@for_each(
    ("method", "target", "body"),
    [("GET", "/api/oled.png", b""), ("POST", "/post.cgi?pictureupload", b"\x89PNG")],
)
def test_request_names_its_extra(method: str, target: str, body: bytes) -> None:
    with Twin() as twin:
        reply = httpx.request(method, twin.url + target, content=body)
    assert reply.status_code == 501
    assert NEEDS.format("pictures") in reply.json()["detail"]


@pytest.mark.usefixtures("no_extras")
async def test_snmp_agent_names_its_extra() -> None:
    async with running("snmp=1*seen*") as (controller, agent, _):
        assert agent.port is None
        assert NEEDS.format("snmp") in controller.troubles[SNMP_AGENT]


@pytest.mark.usefixtures("no_extras")
def test_trap_names_its_extra() -> None:
    with pytest.raises(CannotSend, match=NEEDS.format("snmp")), TrapSenders().sender():
        pass


@pytest.mark.usefixtures("no_extras")
async def test_announcement_names_its_extra() -> None:
    troubles: dict[str, str] = {}
    announcer = announcer_of(Profile())
    announcer.start([HERE], troubles)
    assert announcer._announcing is not None
    await announcer._announcing
    assert NEEDS.format("discovery") in troubles["mDNS"]
    await announcer.close()


@pytest.mark.usefixtures("no_extras")
async def test_search_for_units_without_mdns_returns_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unit = HeardUnit("http://127.0.0.7", "Bed", "02:00:00:00:00:07", "3.9", "1.75")

    async def answer(listen_s: float) -> list[HeardUnit]:
        return [unit]

    monkeypatch.setattr(find, "broadcast_request", answer)
    heard, (remark,) = await find._hear_units(0.1)
    assert heard == [unit]
    assert NEEDS.format("discovery") in remark


def test_command_names_its_extra() -> None:
    done = run_without_extras("commands")
    assert done.returncode == NOT_DONE
    assert done.stderr.startswith(f"leverframe: {NEEDS.format('terminal')}")


def test_configuration_is_checked_without_extras() -> None:
    done = run_without_extras("config", "check", "--json")
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_package_of_no_extra_is_no_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match="spam"):
        explain_missing_extra(ModuleNotFoundError("no spam", name="spam"))
