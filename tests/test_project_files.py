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

PROJECT = Path(__file__).parent.parent

pytest_plugins = ["pytester"]


def locked(list_name: str) -> dict[str, tuple[str, int]]:
    """Package -> its version and the number of its hashes."""
    text = (PROJECT / "requirements" / list_name).read_text(encoding="utf-8")
    entries = re.findall(r"^(\S+)==(\S+)(.*(?:\n    --hash=sha256:.*)*)", text, re.MULTILINE)
    return {name: (version, rest.count("--hash")) for name, version, rest in entries}


def asked_for(*extras: str) -> set[str]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return {re.split(r"[^\w-]", requirement)[0] for requirement in wanted}


@pytest.mark.parametrize(
    ("list_name", "extras"), [("run.txt", ["build"]), ("test.txt", ["build", "test"])]
)
def test_every_dependency_is_locked_with_hashes(list_name: str, extras: list[str]) -> None:
    lock = locked(list_name)
    assert asked_for(*extras) - lock.keys() == set()
    assert [name for name, (_, hashes) in lock.items() if not hashes] == []


def test_tests_run_with_the_versions_that_users_run() -> None:
    assert locked("run.txt").items() <= locked("test.txt").items()


@pytest.mark.parametrize("list_name", ["run.txt", "test.txt"])
def test_locks_name_no_index_and_no_folder(list_name: str) -> None:
    text = (PROJECT / "requirements" / list_name).read_text(encoding="utf-8")
    assert re.findall(r".*/.*|.*--(?!hash).*", text) == []


def test_a_missing_program_skips_the_test_and_says_so(pytester: pytest.Pytester) -> None:
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
