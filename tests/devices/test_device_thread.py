"""Threads of devices and the pollers on them: what blocks, fails and comes back."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from leverframe.devices.linux.device_thread import HANGS, DeviceThread, Poller, PollResult
from leverframe.devices.readings import Readings, Troubles, Unusable, os_error_text
from tests.cases import for_each
from tests.patience import PATIENCE_S


class Notes:
    """What a thread said about the things it drives."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str | None]] = []
        self._changed = asyncio.Event()

    def note(self, what: str, text: str | None) -> None:
        self.said.append((what, text))
        self._changed.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.said) < count:
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
async def thread(notes: Notes) -> AsyncIterator[DeviceThread]:
    thread = DeviceThread("device", notes.note, retry_s=0.0)
    yield thread
    thread.close()


def fails_first(*complaints: str, then: Callable[[], None]) -> Callable[[], None]:
    left: Iterator[str] = iter(complaints)

    def call() -> None:
        complaint = next(left, None)
        if complaint is not None:
            raise Unusable(complaint)
        then()

    return call


async def test_failed_device_is_retried_until_it_works(notes: Notes, thread: DeviceThread) -> None:
    driven = threading.Event()
    thread.drive("OUT0", fails_first("no", "still no", then=driven.set))
    await notes.until(3)
    assert notes.said == [("OUT0", "no"), ("OUT0", "still no"), ("OUT0", None)]
    assert driven.is_set()


async def test_while_a_device_is_slow_only_the_newest_of_each_thing_is_driven(
    notes: Notes, thread: DeviceThread
) -> None:
    free = threading.Event()
    driven: list[str] = []
    thread.drive("slow", lambda: (free.wait(), None)[1])
    for text in ("a", "b", "c"):
        thread.drive("OUT0", lambda text=text: driven.append(text))  # type: ignore[misc]
        thread.drive("OUT1", lambda text=text: driven.append(text * 2))  # type: ignore[misc]
    free.set()
    await notes.until(3)
    assert driven == ["c", "cc"]


async def test_failed_device_is_retried_while_other_devices_are_driven(notes: Notes) -> None:
    thread = DeviceThread("device", notes.note, retry_s=0.02)
    thread.drive("OUT0", fails_first("no", then=lambda: None))
    async with asyncio.timeout(PATIENCE_S):
        while ("OUT0", None) not in notes.said:
            thread.drive("OUT1", lambda: None)
            await notes.until(len(notes.said) + 1)
    thread.close()


async def test_mistake_in_a_driver_does_not_end_the_thread(
    notes: Notes, thread: DeviceThread
) -> None:
    def mistake() -> None:
        raise ZeroDivisionError

    thread.drive("PWM0", mistake)
    await notes.until(1)
    ((what, text),) = notes.said
    assert what == "PWM0"
    assert text is not None
    assert text.startswith("failed unexpectedly: ZeroDivisionError")
    assert await thread.ask(lambda: 7) == 7


async def test_request_is_answered_or_raises(thread: DeviceThread) -> None:
    assert await thread.ask(lambda: 7) == 7
    with pytest.raises(Unusable, match="no"):
        await thread.ask(fails_first("no", then=lambda: None))


class StuckDevice:
    """Returns one look immediately and then hangs until it is freed."""

    name = "stuck device"
    period_s = 3600.0

    def __init__(self) -> None:
        self.limit_s = 20.0
        self.free = threading.Event()
        self.free.set()
        self.value = 1.0

    def poll(self) -> PollResult:
        self.free.wait()
        return PollResult({"VCC": self.value}, {})


async def test_device_that_hangs_is_absent_until_it_answers() -> None:
    device, texts = StuckDevice(), dict[str, str]()
    reports: list[Readings] = []
    reported = asyncio.Event()

    def report(readings: Readings) -> None:
        reports.append(readings)
        reported.set()

    poller = Poller(device, report, Troubles(texts))
    await poller.poll()
    device.limit_s = 0.01
    device.free.clear()
    device.value = 2.0
    reported.clear()
    polling = asyncio.ensure_future(poller.poll())
    async with asyncio.timeout(PATIENCE_S):
        await reported.wait()
    assert texts == {"stuck device": HANGS}
    device.free.set()
    await polling
    await poller.close()
    assert reports == [{"VCC": 1.0}, {"VCC": None}, {"VCC": 2.0}]
    assert texts == {}


class MistakenDevice:
    name = "mistaken device"
    period_s = 3600.0
    limit_s = 20.0

    def __init__(self) -> None:
        self.results: Iterator[PollResult] = iter([PollResult({"VCC": 1.0}, {})])

    def poll(self) -> PollResult:
        return next(self.results)


async def test_mistake_in_a_driver_makes_its_readings_absent() -> None:
    reports: list[Readings] = []
    texts: dict[str, str] = {}
    poller = Poller(MistakenDevice(), reports.append, Troubles(texts))
    for _ in range(2):
        await poller.poll()
    await poller.close()
    assert reports == [{"VCC": 1.0}, {"VCC": None}]
    assert texts["mistaken device"].startswith("failed unexpectedly: StopIteration")


class RestlessDevice:
    name = "restless device"
    period_s = 0.0
    limit_s = 20.0

    def poll(self) -> PollResult:
        return PollResult({"VCC": 1.0}, {})


@pytest.mark.parametrize("fault_at", [1, 3])
async def test_fault_of_the_reading_callback_is_reported_and_polling_continues(
    fault_at: int, caplog: pytest.LogCaptureFixture
) -> None:
    reports = 0
    enough = asyncio.Event()

    def report(_: Readings) -> None:
        nonlocal reports
        reports += 1
        if reports == fault_at:
            raise ZeroDivisionError
        if reports == 5:
            enough.set()

    poller = Poller(RestlessDevice(), report, Troubles({}))
    first = poller.start()
    async with asyncio.timeout(PATIENCE_S):
        await enough.wait()
    await poller.close()
    assert isinstance(first.exception(), ZeroDivisionError) == (fault_at == 1)
    assert "readings of restless device could not be passed on" in caplog.text


@for_each(
    ("error", "sentence"),
    [
        (FileNotFoundError(2, "No such file"), "/dev/x is missing"),
        (PermissionError(13, "Permission denied"), "This account may not use /dev/x"),
        (OSError(16, "Device or resource busy"), "/dev/x is used by another program"),
        (OSError(22, "Invalid argument"), "/dev/x rejects its setting"),
        (OSError(5, "Input/output error"), "/dev/x failed: Input/output error."),
    ],
)
def test_failure_is_reported_in_a_sentence(error: OSError, sentence: str) -> None:
    assert os_error_text(error, "/dev/x").startswith(sentence)


def test_trouble_is_logged_once_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    texts: dict[str, str] = {}
    troubles = Troubles(texts)
    troubles.note("OUT1", None)
    for _ in range(3):
        troubles.note("OUT1", "is gone.")
    assert texts == {"OUT1": "is gone."}
    troubles.note("OUT1", None)
    assert texts == {}
    assert caplog.messages == ["OUT1: is gone.", "OUT1: the problem is over"]
