"""Notices to systemd that the service is ready, alive, or stopping.

The messages go to the socket that systemd names in the environment; without one nothing is sent.
The sign of life comes from the event loop itself, so a controller that hangs is started again.
"""

import os
import socket


class Supervisor:
    def __init__(self, environment: dict[str, str] | None = None) -> None:
        known = os.environ if environment is None else environment
        self._address = known.get("NOTIFY_SOCKET", "")
        # The watchdog is meant for one process, not for those that inherit its environment.
        is_ours = known.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        limit_us = int(known.get("WATCHDOG_USEC", "0") or 0) if is_ours else 0
        #: Seconds between two signs of life; None where none is expected.
        self.interval_s = limit_us / 2e6 if self._address and limit_us else None

    def ready(self) -> None:
        self._send("READY=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

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
                # A supervisor that asked for signs of life but does not take them gets none.
                return
