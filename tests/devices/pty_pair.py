"""Two serial ports joined by a cable, made of pseudo terminals."""

import os
import pty
import select
import threading
import tty


class PtyPair:
    """What is written to one port can be read from the other. Both are device files."""

    def __init__(self) -> None:
        self._ends = [pty.openpty() for _ in range(2)]
        for _, port in self._ends:
            tty.setraw(port)
        self.first, self.second = (os.ttyname(port) for _, port in self._ends)
        self._stop_reading, self._stop_writing = os.pipe()
        self._thread = threading.Thread(target=self._carry)
        self._thread.start()

    def close(self) -> None:
        os.write(self._stop_writing, b"x")
        self._thread.join()
        for descriptor in (*sum(self._ends, ()), self._stop_reading, self._stop_writing):
            os.close(descriptor)

    def _carry(self) -> None:
        (first, _), (second, _) = self._ends
        other = {first: second, second: first}
        while True:
            readable, _, _ = select.select([first, second, self._stop_reading], [], [])
            if self._stop_reading in readable:
                return
            for end in readable:
                os.write(other[end], os.read(end, 4096))
