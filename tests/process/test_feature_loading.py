"""What features need is loaded beside the loop: at the start, or when they are switched on."""

import threading
from collections.abc import Iterator

import pytest

from leverframe.process import feature_loading
from leverframe.process.feature_loading import FeatureLoader
from leverframe.testing import LoopTwin
from tests.hardware.waiting import until

WATCH = "/stm.cgi?" + "&".join(
    f"wdog{number}={int(number == 1)}*0*0*192.0.2.1*3*2*60*120*10*0*60" for number in range(1, 7)
)
SIGN_IN = "/stm.cgi?auth=11YWRtaW4=*c2VjcmV0*dXNlcg==*c2VjcmV0"


class Library:
    """Something to load, which notes the threads that it was loaded in."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.fault: Exception | None = None

    def __call__(self) -> None:
        self.threads.append(threading.current_thread())
        if self.fault is not None:
            raise self.fault


class Libraries:
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.pages, self.passwords, self.pictures = Library(), Library(), Library()
        self.pings, self.sites = Library(), Library()
        patch.setattr(feature_loading, "pages", self.pages)
        patch.setattr(feature_loading.passwords, "load", self.passwords)
        patch.setattr(feature_loading.display_picture, "load", self.pictures)
        patch.setattr(feature_loading.pinger, "load", self.pings)
        patch.setattr(feature_loading.uploaded, "load", self.sites)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        pages, passwords, pictures, pings = (
            len(library.threads)
            for library in (self.pages, self.passwords, self.pictures, self.pings)
        )
        return pages, passwords, pictures, pings


@pytest.fixture
def libraries() -> Iterator[Libraries]:
    with pytest.MonkeyPatch.context() as patch:
        yield Libraries(patch)


async def started(
    *, must_sign_in: bool = False, has_site: bool = False
) -> tuple[LoopTwin, FeatureLoader]:
    twin = await LoopTwin.start()
    loader = FeatureLoader(twin.controller, must_sign_in=must_sign_in, has_site=has_site)
    loader.start()
    return twin, loader


async def test_the_pages_are_loaded_and_nothing_of_a_feature_that_is_off(
    libraries: Libraries,
) -> None:
    twin, loader = await started()
    await loader.close()
    assert libraries.counts == (1, 0, 0, 0)
    assert libraries.pages.threads != [threading.main_thread()]
    await twin.controller.stop()


async def test_where_strangers_are_near_hashing_is_loaded(libraries: Libraries) -> None:
    twin, loader = await started(must_sign_in=True)
    await loader.close()
    assert libraries.counts == (1, 1, 0, 0)
    await twin.controller.stop()


async def test_where_a_site_is_stored_its_archive_can_be_read(libraries: Libraries) -> None:
    twin, loader = await started(has_site=True)
    await loader.close()
    assert (libraries.counts, len(libraries.sites.threads)) == ((1, 0, 0, 0), 1)
    await twin.controller.stop()


async def test_who_switches_something_on_is_answered_when_it_is_loaded(
    libraries: Libraries,
) -> None:
    twin, loader = await started()
    await twin.ok("/post.cgi?oled_save", "POST", b"enabled=1")
    assert libraries.counts == (1, 0, 1, 0)
    await twin.ok(WATCH)
    assert libraries.counts == (1, 0, 1, 1)
    await twin.ok(SIGN_IN)
    assert libraries.counts == (1, 1, 1, 1)
    await loader.close()
    await twin.controller.stop()


async def test_what_could_not_be_loaded_is_told_and_tried_again(
    libraries: Libraries, caplog: pytest.LogCaptureFixture
) -> None:
    libraries.pages.fault = OSError(24, "Too many open files")
    libraries.pages.__module__ = "pages"
    twin, loader = await started()
    await until(lambda: "could not be loaded yet" in caplog.text)
    libraries.pages.fault = None
    await twin.ok("/stm.cgi?oname=0Pump")
    await twin.ok("/stm.cgi?oname=0Lamp")
    assert libraries.counts == (2, 0, 0, 0)
    await loader.close()
    await twin.controller.stop()
