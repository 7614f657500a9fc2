"""Taking new firmware: TFTP, open only while the bootloader waits.

An image that the owner has signed for this hardware is installed: its version, and its site if it
has one, are on disk before the client is told so, in one step. Anything else is refused with the
reason, and the old version starts again at once. Nothing keeps the bootloader waiting longer than
its time: the outputs are off meanwhile, and anybody can begin a transfer.
"""

import asyncio
import socket
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, cast

from leverframe.controller import Controller
from leverframe.controller.version_change import install
from leverframe.engine.facts import Fact
from leverframe.engine.journal import Cause
from leverframe.hardware.troubles import Troubles
from leverframe.servers.udp_socket import bound_udp
from leverframe.storage.store import StoreUnavailable
from leverframe.uploads.bad_upload import BadUpload
from leverframe.uploads.firmware import MAX_BYTES, Firmware, check_image
from leverframe.wire.tftp import Receiver, Sender

PART = "bootloader"
#: How long a last answer that was lost can be asked for again.
LINGER_S = 3.0


class BootloaderServer(asyncio.DatagramProtocol):
    def __init__(self, controller: Controller, host: str, port: int, public_key: bytes) -> None:
        self._controller = controller
        self._address = (host, port)
        self._public_key = public_key
        self._troubles = Troubles(controller.troubles)
        self._receiver = Receiver(MAX_BYTES)
        self._transport: asyncio.DatagramTransport | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        controller.bootloader_watchers.append(self._follow)

    @property
    def port(self) -> int | None:
        """Where firmware is taken; None while it is not."""
        if self._transport is None or self._controller.bootloader_until is None:
            return None
        return cast(int, self._transport.get_extra_info("sockname")[1])

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        if self._closing is not None:
            self._closing.cancel()
        self._shut()

    # --- the window -------------------------------------------------------------------------------

    def _follow(self, waits: bool) -> None:
        if waits:
            self._receiver = Receiver(MAX_BYTES)
            self._open()
            return
        self._receiver.shut()
        self._closing = asyncio.get_running_loop().call_later(LINGER_S, self._shut)

    def _open(self) -> None:
        """Listen; where that is not possible, the old version starts when the time is over.

        The port is there when this returns: whoever is told that the bootloader waits may send at
        once.
        """
        if self._closing is not None:
            self._closing.cancel()
        if self._transport is not None:
            return
        try:
            listening = bound_udp(*self._address)
        except OSError as error:
            self._troubles.note(
                PART,
                f"UDP port {self._address[1]} cannot be used to take firmware"
                f" ({error.strerror or error}); free it or choose another as tftp_port.",
            )
            return
        self._troubles.note(PART, None)
        self._do(self._listen(listening))

    async def _listen(self, listening: socket.socket) -> None:
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=listening)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def _shut(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    # --- a transfer -------------------------------------------------------------------------------

    def datagram_received(self, data: bytes, address: tuple[str | Any, int]) -> None:
        if not self._controller.has_power:
            return
        sender = (address[0], address[1])
        answer = self._receiver.datagram(data, sender, asyncio.get_running_loop().time())
        if answer.packet is not None:
            self._send(answer.packet, sender)
        if answer.file is not None:
            self._do(self._judge(answer.file, sender))

    async def _judge(self, image: bytes, sender: Sender) -> None:
        cause = Cause("firmware", sender[0], source=sender[0])
        try:
            firmware = await asyncio.to_thread(self._checked, image)
            if not self._controller.has_power:
                return
            # The end of this server does not take back what is on its way to the disk.
            await install(self._controller, firmware.sw, firmware.site, cause)
        except (BadUpload, StoreUnavailable) as error:
            self._send(self._receiver.finish(str(error)), sender)
            self._start_old_version(str(error), cause)
        else:
            self._send(self._receiver.finish(None), sender)

    def _checked(self, image: bytes) -> Firmware:
        return check_image(image, self._public_key, self._controller.profile.hw)

    def _start_old_version(self, reason: str, cause: Cause) -> None:
        controller = self._controller
        wall = controller.clock.read().wall
        fact = Fact("firmware_refused", figures={"problem": reason})
        controller.engine.machine.journal.add(wall, cause, fact)
        if controller.bootloader_until is not None and controller.has_power:
            controller.restart()

    def _send(self, packet: bytes, sender: Sender) -> None:
        # A client that has left needs no answer.
        with suppress(OSError):
            if self._transport is not None and self._controller.has_power:
                self._transport.sendto(packet, sender)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
