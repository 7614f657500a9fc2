"""The threads in which traps are sent, and their senders; they live while there is a trap to send.

A sender takes a tenth of a second and a megabyte, so there are only as many as threads that send at
the same time, for all controllers of the process.
"""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leverframe.notify.snmp_sender import TrapSender

#: A receiver that does not acknowledge an inform holds one of them for some seconds.
AT_A_TIME = 4


class TrapSenders:
    """Senders that no thread uses at present; made when there is none."""

    def __init__(self) -> None:
        self._idle: list[TrapSender] = []
        self._lock = threading.Lock()
        self._is_closed = False

    @contextmanager
    def sender(self) -> Iterator["TrapSender"]:
        """Lend a sender to this thread."""
        # Loaded here: a process that sends no traps does not need it.
        from leverframe.notify.snmp_sender import TrapSender

        with self._lock:
            lent = self._idle.pop() if self._idle else None
        if lent is None:
            lent = TrapSender()
        try:
            yield lent
        finally:
            with self._lock:
                is_wanted = not self._is_closed
                if is_wanted:
                    self._idle.append(lent)
            if not is_wanted:
                lent.close()

    def close(self) -> None:
        """Close those that are idle now, and the others when they are given back."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for sender in idle:
            sender.close()


class TrapThreads:
    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._senders = TrapSenders()
        self._users = 0

    def take(self) -> tuple[ThreadPoolExecutor, TrapSenders]:
        """Return threads and senders, and keep them until given back as often as taken."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(AT_A_TIME, "traps")
            self._senders = TrapSenders()
        self._users += 1
        return self._executor, self._senders

    def give_back(self, sending: Iterable[Future[Any]] = ()) -> Future[Any]:
        """End threads and senders that no other controller uses; return what to wait for.

        It also waits for what is being sent, which cannot be called off.
        """
        assert self._executor is not None
        self._users -= 1
        if self._users > 0:
            return self._executor.submit(wait, tuple(sending))
        ending = self._executor.submit(self._end, self._senders, tuple(sending))
        self._executor.shutdown(wait=False)
        self._executor = None
        return ending

    def _end(self, senders: TrapSenders, sending: tuple[Future[Any], ...]) -> None:
        wait(sending)
        senders.close()
