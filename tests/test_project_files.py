"""The files around the code: locked versions, the mark for programs, Debian packages.

The lists in requirements/ must hold everything that pyproject.toml asks for, each with hashes, and
nothing about the machine or the index they were made with.
"""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from leverframe.core.runtime.installation import EXTRAS
from tests import effort
from tools import locked_wheels

PROJECT = Path(__file__).parent.parent

pytest_plugins = ["pytester"]


def read_lock(list_name: str) -> dict[str, tuple[str, int]]:
    """Package -> its version and the number of its hashes."""
    text = (PROJECT / "requirements" / list_name).read_text(encoding="utf-8")
    entries = re.findall(r"^(\S+)==(\S+)(.*(?:\n    --hash=sha256:.*)*)", text, re.MULTILINE)
    return {name: (version, rest.count("--hash")) for name, version, rest in entries}


def list_wanted(*extras: str) -> set[str]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return {canonicalize_name(Requirement(requirement).name) for requirement in wanted}


@pytest.mark.parametrize(
    ("list_name", "extras"),
    [
        ("run.txt", []),
        ("package.txt", sorted(set(EXTRAS.values()))),
        ("test.txt", ["build", "hardware", "test"]),
    ],
)
def test_every_dependency_is_locked_with_hashes(list_name: str, extras: list[str]) -> None:
    lock = read_lock(list_name)
    assert list_wanted(*extras) - lock.keys() == set()
    assert [name for name, (_, hashes) in lock.items() if not hashes] == []


def test_tests_run_with_the_versions_that_users_run() -> None:
    assert read_lock("run.txt").items() <= read_lock("package.txt").items()
    assert read_lock("package.txt").items() <= read_lock("test.txt").items()


@pytest.mark.parametrize("list_name", ["run.txt", "package.txt", "test.txt"])
def test_locks_name_no_index_and_no_folder(list_name: str) -> None:
    text = (PROJECT / "requirements" / list_name).read_text(encoding="utf-8")
    assert re.findall(r".*/.*|.*--(?!hash).*", text) == []


def test_running_needs_no_build_tool() -> None:
    assert read_lock("run.txt").keys() & {"hatchling", "setuptools", "wheel", "pip"} == set()


@pytest.mark.parametrize("list_name", locked_wheels.LISTS)
def test_every_locked_package_has_a_wheel_for_every_python_and_machine(list_name: str) -> None:
    lock = (PROJECT / "requirements" / list_name).read_text(encoding="utf-8")
    wheels = (PROJECT / "requirements" / "wheels.txt").read_text(encoding="utf-8")
    assert list(locked_wheels.missing_wheels(lock, wheels)) == []


def test_package_without_a_wheel_for_one_machine_is_named() -> None:
    wheels = "lamp-1.0-cp311-cp311-manylinux_2_17_x86_64.whl lamp-1.0-cp312-abi3-linux_x86_64.whl"
    missing = list(locked_wheels.missing_wheels("lamp==1.0 \\\n    --hash=sha256:00\n", wheels))
    assert missing == [
        "lamp 1.0 has no wheel for Python 3.11.2 on aarch64",
        "lamp 1.0 has no wheel for Python 3.12.0 on aarch64",
        "lamp 1.0 has no wheel for Python 3.13.0 on aarch64",
        "lamp 1.0 has no wheel for Python 3.14.0 on aarch64",
    ]


def test_package_for_newer_pythons_only_needs_no_wheel_for_older_ones() -> None:
    lock = "lamp==1.0 ; python_full_version >= '3.12'\n"
    wheels = "lamp-1.0-cp312-abi3-manylinux_2_17_x86_64.manylinux_2_17_aarch64.whl"
    assert list(locked_wheels.missing_wheels(lock, wheels)) == []


def test_classifiers_name_the_pythons_that_the_lock_is_checked_for() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [text.rpartition(" ")[2] for text in project["classifiers"] if "Python :: 3." in text]
    assert named == [version.rpartition(".")[0] for version in locked_wheels.PYTHONS]


def test_missing_program_skips_the_test_and_says_so(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((PROJECT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.needs_program("no-such-program")
        def test_without():
            raise AssertionError("must not run")

        @pytest.mark.needs_program("sh")
        def test_with():
            pass
        """
    )
    result = pytester.runpytest_inprocess("-rs", "-p", "no:cacheprovider", "-p", "no:asyncio")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*needs the program no-such-program*requirements/debian.txt*"])


@pytest.mark.parametrize(("is_thorough", "outcome"), [(False, "skipped"), (True, "passed")])
def test_thorough_test_runs_in_thorough_runs_only(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, is_thorough: bool, outcome: str
) -> None:
    monkeypatch.setattr(effort, "THOROUGH", is_thorough)
    pytester.makeconftest((PROJECT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile("import pytest\n\n@pytest.mark.thorough\ndef test_thorough(): pass\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    result.assert_outcomes(**{outcome: 1})


@pytest.mark.parametrize("count", [1, 2, 5, 23])
def test_quick_and_thorough_runs_together_take_each_case_once(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[str, list[int]] = {}
    for name in effort.SHARES:
        monkeypatch.setattr(effort, "EFFORT", name)
        taken[name] = list(effort.some_of(range(count)))
    assert sorted(taken["quick"] + taken["thorough"]) == taken["long"] == list(range(count))


def test_dependence_on_the_effort_is_found_through_functions_and_constants() -> None:
    source = """
from tests.effort import EFFORT, SHARES, some_of

COUNT: int = 100 // SHARES[EFFORT]
ALL = range(9)

def helper(): return some_of(ALL)
def test_by_a_helper(): helper()
def test_by_a_constant(): print(COUNT)
@parametrize("one", some_of(ALL))
def test_by_its_cases(one): pass
def test_in_every_run(): print(ALL)
"""
    found = {"COUNT", "helper", "test_by_a_helper", "test_by_a_constant", "test_by_its_cases"}
    assert effort.sampling_names(source) == found


def test_missing_debian_packages_are_named_and_stop_nothing(tmp_path: Path) -> None:
    wanted = tmp_path / "debian.txt"
    wanted.write_text("# for the Modbus tests\n\nmbpoll  # a Modbus client\n", encoding="utf-8")
    for program in ("bash", "env", "sed", "tr"):
        (tmp_path / program).symlink_to(shutil.which(program) or program)
    result = subprocess.run(
        [PROJECT / "tools" / "debian-packages", wanted],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Not installed: mbpoll (this system has no apt-get)." in result.stdout
    assert "sudo apt-get install mbpoll" in result.stdout
