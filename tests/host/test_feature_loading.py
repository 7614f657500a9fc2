"""What requests need is loaded beside the loop after the start, and again where that failed."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, with_value
from leverframe.devices.linux import oled_panel
from leverframe.host import serve
from leverframe.host.serve import FeatureLoader, large_features
from tests.devices.waiting import until

#: Prints which modules requests would still have to load.
LATE_IMPORTS = """
import asyncio, sys
from leverframe.host.serve import SMALL, FeatureLoader
from leverframe.storage.backup import decode_backup, encode_backup
from leverframe.core.tree import defaults
from leverframe.core.profile import Profile
from leverframe.server import passwords
from leverframe.devices.linux import oled_panel
from leverframe.interface.uploads import site
asyncio.run(FeatureLoader().load((*SMALL, oled_panel.load)))
before = set(sys.modules)
passwords._verify(passwords._hash("secret"), "secret")
sealed = encode_backup(Profile(), defaults(Profile()), "a long passphrase")
decode_backup(sealed, "a long passphrase")
oled_panel.png_of(("A", "B", "C", "D"))
site.unpack_site(site.pack_site({"index.html": b"<title>Cellar</title>"}))
print(*sorted(set(sys.modules) - before))
"""


class Library:
    """Something to load, which notes the threads that it was loaded in."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.fault: Exception | None = None
        self.__module__ = "library"

    def __call__(self) -> None:
        self.threads.append(threading.current_thread())
        if self.fault is not None:
            raise self.fault


class Libraries:
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.small, self.large = Library(), Library()
        patch.setattr(serve, "SMALL", (self.small,))
        patch.setattr(serve, "RETRY_S", 0.0)
        self.patch = patch


@pytest.fixture
def libraries() -> Iterator[Libraries]:
    with pytest.MonkeyPatch.context() as patch:
        yield Libraries(patch)


async def test_small_libraries_are_loaded_in_threads_and_large_ones_later(
    libraries: Libraries,
) -> None:
    loader = FeatureLoader((libraries.large,))
    loader.start()
    await until(lambda: bool(libraries.small.threads))
    assert libraries.small.threads != [threading.main_thread()]
    await loader.close()
    assert not libraries.large.threads


async def test_large_libraries_are_loaded_once_the_process_has_run_for_a_while(
    libraries: Libraries,
) -> None:
    libraries.patch.setattr(serve, "LARGE_AFTER_S", 0.0)
    loader = FeatureLoader((libraries.large,))
    loader.start()
    await until(lambda: bool(libraries.large.threads))
    await loader.close()
    assert len(libraries.small.threads) == len(libraries.large.threads) == 1


async def test_failed_library_is_reported_and_loaded_again(
    libraries: Libraries, caplog: pytest.LogCaptureFixture
) -> None:
    libraries.patch.setattr(serve, "LARGE_AFTER_S", 0.0)
    libraries.small.fault = OSError(24, "Too many open files")
    loader = FeatureLoader((libraries.large,))
    loader.start()
    await until(lambda: len(libraries.small.threads) > 1)
    libraries.small.fault = None
    assert "library could not be loaded yet: [Errno 24] Too many open files" in caplog.text
    count = len(libraries.small.threads)
    await until(lambda: len(libraries.small.threads) > count)
    await asyncio.sleep(0)
    await loader.close()
    assert len(libraries.large.threads) == 1


def test_requests_import_nothing_once_everything_is_loaded() -> None:
    late = subprocess.check_output([sys.executable, "-c", LATE_IMPORTS], text=True)
    assert late.split() == []


def test_controller_without_a_display_loads_no_pictures() -> None:
    settings = defaults(Profile())
    assert large_features(settings) == ()
    assert large_features(with_value(settings, "oled.enabled", True)) == (oled_panel.load,)
