"""What is loaded when: little by importing the kit, the controller with the first twin."""

import subprocess
import sys

#: The parts of the package that importing `Twin` may load.
LIGHT_PARTS = {"core", "core.durations", "core.errors", "core.labels", "core.profile"}
#: Packages of others that it may load; `msgspec` brings the second one where it is installed.
LIGHT_PACKAGES = {"msgspec", "typing_extensions"}

#: Prints the modules that a program has loaded beyond a bare start of Python.
LOADED = """
import sys
bare = set(sys.modules)
{program}
print(*sorted(set(sys.modules) - bare))
"""


def modules_loaded_by(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(program=program)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stdout.split())


def packages_of_others(modules: set[str]) -> set[str]:
    roots = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names
    return {root for root in roots if not root.startswith("_")} - {"leverframe"}


def test_importing_twin_loads_neither_the_controller_nor_a_client() -> None:
    modules = modules_loaded_by("from leverframe.testing import Twin, AnyTwin, TwinClock")
    parts = {name.removeprefix("leverframe.") for name in modules if "leverframe." in name}
    heavy = {part for part in parts if part.partition(".")[0] != "testing"}
    assert heavy - LIGHT_PARTS == set()
    assert packages_of_others(modules) - LIGHT_PACKAGES == set()
    assert modules & {"http.client", "sqlite3", "multiprocessing"} == set()


TWIN_THAT_SWITCHES = """
from leverframe.testing import Twin
with Twin() as twin:
    twin.command("outs.cgi?out0=1")
    twin.advance("1h")
    assert twin.state["OUT0"] == 1
"""


def test_twin_starts_without_clients_and_units() -> None:
    modules = modules_loaded_by(TWIN_THAT_SWITCHES)
    assert packages_of_others(modules) & {"httpx", "httpcore", "anyio", "h11"} == set()
    assert {
        name for name in modules if name.startswith(("leverframe.units", "leverframe.rec"))
    } == set()


TWINS_WITHOUT_A_NODE = """
import leverframe.testing as kit
with kit.Twin(settings={"outputs.0.name": "Pump"}, start="2026-03-29T00:30") as twin:
    twin.fork().advance("1h")
    twin.fault(kit.faults.slow(1))
    twin.reset()
kit.ProcessTwin().close()
kit.LoopTwin
"""


def test_twins_load_nothing_of_the_fleet() -> None:
    modules = modules_loaded_by(TWINS_WITHOUT_A_NODE)
    assert {name for name in modules if name.startswith("leverframe.fleet")} == set()
