"""Notifies systemd that the service is ready, alive, or stopping.

The messages go to the socket that systemd names in the environment; without a socket nothing is
sent. The event loop itself sends the heartbeat, so systemd restarts a controller that hangs.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

#: Interval between checks of the progress of a start or stop, and the extension requested.
LOOK_EVERY_S = 5.0
MORE_TIME_S = 30.0


class Supervisor:
    def __init__(self, environment: dict[str, str] | None = None) -> None:
        known = os.environ if environment is None else environment
        self._address = known.get("NOTIFY_SOCKET", "")
        # The watchdog is meant for this process, not for processes that inherit its environment.
        is_ours = known.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        limit_us = int(known.get("WATCHDOG_USEC", "0") or 0) if is_ours else 0
        #: Seconds between two heartbeats; None if none is expected.
        self.interval_s = limit_us / 2e6 if self._address and limit_us else None

    def ready(self) -> None:
        self._send("READY=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    @asynccontextmanager
    async def extend_time(self, progress: Callable[[], int]) -> AsyncIterator[None]:
        """Extend the time-out of systemd for as long as a start or stop makes progress."""
        asking = asyncio.create_task(self._ask_for_time(progress)) if self._address else None
        try:
            yield
        finally:
            if asking is not None:
                asking.cancel()

    async def _ask_for_time(self, progress: Callable[[], int]) -> None:
        last = -1
        while True:
            if (now := progress()) != last:
                self._send(f"EXTEND_TIMEOUT_USEC={MORE_TIME_S * 1e6:.0f}")
                last = now
            await asyncio.sleep(LOOK_EVERY_S)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):
            address = f"\0{address[1:]}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notice:
            try:
                notice.connect(address)
                notice.send(message.encode())
            except OSError:
                # A supervisor whose socket does not accept heartbeats gets none.
                return
