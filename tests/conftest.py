"""What all tests share: repeatable property tests, and the marks that skip a test and say why.

`@pytest.mark.thorough` skips a test outside of thorough runs; see effort.py.
`@pytest.mark.needs_program("mbpoll")` skips a test where the program is missing.
The Debian package that brings the program belongs in requirements/debian.txt.
"""

import fcntl
import functools
import gc
import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from leverframe.server import passwords
from leverframe.storage import backup
from tests import effort
from tests.network_guard import sitecustomize as network_guard
from tools.checks import TRIES_MORE

# Servers such as snmpd live in the sbin folders, which an ordinary user's path leaves out.
PROGRAM_FOLDERS = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

# Tests ask only this machine, and name the authorities they trust. To read all those of the system
# takes 40 ms of processor time for every client that may use TLS, here and in other processes.
# This file may be a copy; its neighbours are where they are.
NO_AUTHORITY = Path(effort.__file__).parent / "fixtures" / "no_authority.pem"
os.environ["SSL_CERT_FILE"] = str(NO_AUTHORITY)

# httpx imports this at every lock of a client, and without it Python looks through all of its
# folders each time: a twelfth of the processor time of the tests of units. None is found
# immediately.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# The same engine without windows opens a page in two thirds of the processor time.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

#: Marks of tests that try more in thorough runs.
MORE = {"thorough", "hypothesis", "sampled"}

#: New objects between two looks for garbage: with Python's own 700 tests take a tenth longer.
GARBAGE_THRESHOLD = 50_000

pytest_plugins = ["pytester"]

effort.load_profile()
network_guard.install()


@pytest.fixture(autouse=True, scope="session")
def cheap_hashes() -> Iterator[None]:
    """Hash without the 50 ms for a password and 200 ms for the passphrase of a backup.

    Their real cost is tested with the accounts and the backups.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "HASH_ROUNDS", 1)
        patch.setattr(passwords, "HASH_MEMORY_KIB", 8)
        patch.setattr(backup, "KEY_ROUNDS", 1)
        patch.setattr(backup, "KEY_MEMORY_KIB", 8)
        yield


@pytest.fixture
def mdns_turn() -> Iterator[None]:
    """Have the network's mDNS alone: what one run announces, all others hear."""
    with Path("/tmp/leverframe-tests-mdns.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what tries more in thorough runs, so that `make test-all` can choose it."""
    module = item.getparent(pytest.Module)
    if module and effort.SAMPLING & vars(module.obj).keys():
        test = item.listchain()[item.listchain().index(module) + 1]
        if getattr(test, "originalname", test.name) in samples_in(module.path):
            item.add_marker("sampled")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for garbage seldom, and never among the thousands of tests and what they import."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE_THRESHOLD)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """See that `make test-all`, which reads some files only, misses nothing; prepare properties."""
    more = {item.path for item in items if not MORE.isdisjoint(item.keywords)}
    missed = [path for path in more if not TRIES_MORE.search(path.read_text(encoding="utf-8"))]
    if missed:
        raise pytest.UsageError(f"make test-all would miss {missed}: see tools/checks.py")
    if any("hypothesis" in item.keywords for item in items):
        effort.prepare_examples()


@functools.cache
def samples_in(module: Path) -> set[str]:
    return effort.sampling_names(module.read_text(encoding="utf-8"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("thorough") and not effort.THOROUGH:
        pytest.skip("runs only with TEST_EFFORT=thorough, as make test-all does")
    if item.get_closest_marker("long") and effort.EFFORT != "long":
        pytest.skip("runs only with TEST_EFFORT=long; see docs/testing.md")
    for mark in item.iter_markers("needs_program"):
        (name,) = mark.args
        if shutil.which(name, path=PROGRAM_FOLDERS) is None:
            pytest.skip(
                f"needs the program {name}, which is not installed here;"
                " its Debian package is in requirements/debian.txt"
            )
