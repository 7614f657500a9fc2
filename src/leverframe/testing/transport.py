"""The connection of a test to the controller of a twin, which depends on the kind of twin.

The methods of a twin are in `any_twin.py` and use only this interface.
"""

import asyncio
import atexit
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from datetime import tzinfo
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import msgspec

from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile

if TYPE_CHECKING:
    from leverframe.devices.simulated.fault_catalogue import Fault
    from leverframe.host.controller.snapshot import SavedSnapshot

#: The address on which twins listen.
HOST = "127.0.0.1"
#: The communities of a twin whose SNMP agent is on.
READ_COMMUNITY, WRITE_COMMUNITY = "public", "private"
#: The keeper of the snapshots of twins in this process.
THIS_PROCESS = "this process"


class TwinAddress(NamedTuple):
    """The address of a server; unpacking it yields host and port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class TwinRefused(ErrorForPeople):
    """The twin refused a request: the request, the status and the reason."""

    def __init__(self, status: int, sentence: str, command: str, title: str = "") -> None:
        super().__init__(f"{command} was refused with {status}: {sentence}")
        #: The status of the answer.
        self.status = status
        #: The reason, in the words of the twin.
        self.sentence = sentence
        #: The refused request, such as `/outs.cgi?out9=1`; possible secrets read `***`.
        self.command = command
        #: The title of the problem, which is the same for all refusals of one kind.
        self.title = title


class TwinSnapshot:
    """The complete state of a twin at one moment, from which it can resume."""

    def __init__(self, state: Any, encode: Callable[[Any], bytes], keeper: str) -> None:
        #: The state in the form of the kind of twin that took it.
        self.state = state
        #: The place that keeps the state; only its twins can restore it.
        self.keeper = keeper
        self._encode = encode

    def save(self, path: str | Path) -> None:
        """Write the snapshot to a file that only its owner can read: it contains all secrets.

        `Twin.load(path)` creates a twin from it. It cannot be saved if faults were set when it was
        taken.
        """
        from leverframe.host.controller.snapshot import BadSnapshot
        from leverframe.storage.private_files import write_private

        try:
            write_private(Path(path), self._encode(self.state))
        except OSError as error:
            raise BadSnapshot(f"{path} cannot be written: {error.strerror}.") from None


class Transport(ABC):
    """The connection to one controller, including how to start and stop it."""

    #: The URL for clients, without a slash at the end.
    url: str
    door: str | None = None
    ca_file: str | None = None
    account: tuple[str, str] | None = None
    #: The message for a port that is closed: `what` it is, its `key`, and the `command` to open it.
    closed = "{what} is off; switch it on with Twin({key}=True)."
    #: The host of its ports other than HTTP; None if other controllers use the same ports.
    host: str | None = HOST
    #: The snapshot file from which it was loaded, and its decoded content.
    saved: "tuple[bytes, SavedSnapshot] | None" = None

    @property
    @abstractmethod
    def is_on(self) -> bool: ...

    @property
    @abstractmethod
    def profile(self) -> Profile: ...

    @abstractmethod
    def start(self) -> None:
        """Start the controller unless it is running."""

    @abstractmethod
    def close(self) -> None:
        """Stop the controller unless it has stopped."""

    @abstractmethod
    def operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        """Carry out a request without using its port; raise `TwinRefused`."""

    @property
    @abstractmethod
    def keeper(self) -> str:
        """The place that keeps its snapshots."""

    @abstractmethod
    def snapshot(self) -> TwinSnapshot: ...

    @abstractmethod
    def go_back(self, state: Any) -> None:
        """Restore the state of a snapshot of this keeper."""

    @abstractmethod
    def reset(self) -> None:
        """Restore the initial state; forget requests and messages."""

    @abstractmethod
    def set_fault(self, fault: "Fault") -> int:
        """Set a fault and return its number."""

    def step(self, limit_s: float) -> float:
        """Let time pass until something is due, at most `limit_s`; return the passed seconds."""
        due_in_s = self.json("/api/sim")["due_in"]
        passed_s = limit_s if due_in_s is None else min(max(due_in_s, 0.0), limit_s)
        self.operate(f"/sim.cgi?advance={passed_s!r}")
        return passed_s

    def json(self, path: str) -> Any:
        return msgspec.json.decode(self.operate(path))


class TwinAccess:
    """A controller that a test accesses without its port."""

    #: The time zone of its schedule, and of `now`.
    zone: tzinfo
    #: The random seed, with which random behaviour is the same in every run.
    seed: int

    _transport: Transport

    @property
    def is_on(self) -> bool:
        """Whether it was started and has not been closed since."""
        return self._transport.is_on

    @property
    def profile(self) -> Profile:
        """Its hardware and software version."""
        return self._transport.profile

    @property
    def url(self) -> str:
        """The URL for clients, without a slash at the end."""
        return self._transport.url

    @property
    def door(self) -> str | None:
        """The address that serves it by its name, if its own address is local to the machine."""
        return self._transport.door

    @property
    def ca_file(self) -> str | None:
        """The file with the certificate that clients trust; None without TLS."""
        return self._transport.ca_file

    @property
    def account(self) -> tuple[str, str] | None:
        """The name and password with which `get` signs in, if it does."""
        return self._transport.account

    @account.setter
    def account(self, account: tuple[str, str] | None) -> None:
        self._transport.account = account

    def _operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        """Carry out a request without using its port; raise `TwinRefused`."""
        return self._transport.operate(target, method, body)

    def _json(self, path: str) -> Any:
        return msgspec.json.decode(self._operate(path))

    def _knows_path(self, path: str) -> bool:
        """Return whether an endpoint, a status file or a `reply` has this path or one below it."""
        from leverframe.testing.misuse import is_below, own_paths

        if any(is_below(one, path) for one in own_paths()):
            return True
        if any(is_below(path, one) or is_below(one, path) for one in self._own_answers()):
            return True
        try:
            self._operate(path)
        except TwinRefused as refused:
            return refused.status not in (404, 410)
        return True

    def _own_answers(self) -> list[str]:
        """Return the paths with answers that were set by `reply`."""
        fields = (text.split("*") for _, text in self._present_faults())
        return [
            field.removeprefix("path:")
            for kind, *others in fields
            if kind == "reply"
            for field in others
            if field.startswith("path:")
        ]

    def _present_faults(self) -> list[tuple[int, str]]:
        """Return the number and the text of each fault that is set."""
        return [(one["number"], one["text"]) for one in self._json("/api/sim")["faults"]["set"]]


# The event loop that all twins of a process share, in its own thread.
#
# It is started with the first twin and ends with the process. The code under test, which may block
# or run its own loop, does not block the twins.

_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")
Awaiting = Coroutine[Any, Any, _Result]
#: How long the end of the process waits for the event loop.
END_S = 5.0


class LoopThread:
    """The thread with the loop; it starts when it is first used."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run work on the loop; return its result, or raise its exception."""
        return asyncio.run_coroutine_threadsafe(work, self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            # After a fork, the process has a copy of its parent's loop, but not the thread.
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = _new_loop(), os.getpid()
                thread = threading.Thread(
                    target=self._loop.run_forever, name="leverframe twins", daemon=True
                )
                thread.start()
                atexit.register(_end, self._loop, thread)
            return self._loop


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        # The default loop of Windows cannot watch sockets, which the HTTP server needs.
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
        thread.join(END_S)


LOOP_THREAD = LoopThread()


def beside_loop(method: Callable[_Given, _Result]) -> Callable[_Given, Awaiting[_Result]]:
    """Return a variant of a method that does not block the event loop of a test."""
    name = method.__name__

    @wraps(method)
    async def beside(*args: _Given.args, **given: _Given.kwargs) -> _Result:
        twin, *others = args
        # Look the method up by name, because subclasses may override it.
        result: _Result = await asyncio.to_thread(getattr(twin, name), *others, **given)
        return result

    beside.__name__ = f"a{name}"
    beside.__doc__ = f"Do the same as `{name}` without blocking the event loop of the test."
    return beside


def on_loop(work: Callable[_Given, Awaiting[_Result]]) -> Callable[_Given, _Result]:
    """Return a blocking function that runs the work on the loop of the twins."""

    @wraps(work)
    def run(*args: _Given.args, **given: _Given.kwargs) -> _Result:
        return LOOP_THREAD.run(work(*args, **given))

    return run
