"""Receive new firmware by TFTP, while the bootloader waits for it.

An image that the owner has signed for this hardware is installed. Its version, and its site if it
has one, are written to disk in one step, before the client gets its last answer. Any other image is
refused with the reason, and the old version starts again immediately. Without the owner's key,
every image is refused.

Any client can begin a transfer, and the outputs are off until the bootloader ends. So no transfer
extends the bootloader's time.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, cast

from msgspec import Struct

from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.errors import BadUpload
from leverframe.devices.readings import Troubles
from leverframe.devices.wire.tftp import FULL, Receiver, Sender, error_packet, is_write_request
from leverframe.host.controller import Controller
from leverframe.server.shared_ports import bind_udp
from leverframe.storage.store import StoreUnavailable

PART = "bootloader"
#: How long the client may request the last reply again, in case it was lost.
LINGER_S = 3.0
NO_KEY = (
    "This controller accepts no firmware because it has no key to verify it with. Set "
    "firmware_key in its configuration to the owner's public key."
)
NO_ADDRESS = (
    "This controller cannot receive firmware because it has no address of its own on its node. "
    "Set address in the fleet file, or use `leverframe fleet place NAME --address ADDRESS`."
)


#: Maximum number of simultaneous transfers in a process: each may hold the largest image in memory.
TRANSFERS_AT_A_TIME = 4
NO_PLACE = (
    f"{TRANSFERS_AT_A_TIME} other controllers of this node are receiving firmware; retry in a "
    "minute."
)


class TransferPlaces:
    """The controllers of a process that are receiving an image."""

    def __init__(self, most: int = TRANSFERS_AT_A_TIME) -> None:
        self._most = most
        self._taken: set[object] = set()

    def take(self, owner: object) -> bool:
        """Reserve a place; return whether one was free."""
        if owner not in self._taken and len(self._taken) >= self._most:
            return False
        self._taken.add(owner)
        return True

    def give_back(self, owner: object) -> None:
        self._taken.discard(owner)


class ImageInstaller(Struct, frozen=True):
    """Verifies and installs images; exists only if the owner's key is configured."""

    max_bytes: int
    #: Raises `BadUpload` or `StoreUnavailable` if the image is not installed.
    install: Callable[[bytes, Cause], Awaitable[None]]
    places: TransferPlaces


class BootloaderServer(asyncio.DatagramProtocol):
    __slots__ = (
        "_closing",
        "_controller",
        "_host",
        "_installer",
        "_port",
        "_receiver",
        "_socket",
        "_tasks",
        "_transport",
        "_troubles",
    )

    def __init__(
        self, controller: Controller, host: str | None, port: int, installer: ImageInstaller | None
    ) -> None:
        """Accept images on this host, if any; without an installer, refuse all images."""
        self._controller = controller
        self._host = host
        self._port = port
        self._installer = installer
        self._troubles = Troubles(controller.troubles)
        self._receiver = self._new_receiver()
        self._socket: socket.socket | None = None
        self._transport: asyncio.DatagramTransport | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        controller.bootloader_watchers.append(self._follow)

    @property
    def port(self) -> int | None:
        """The port that accepts firmware; None while it accepts none."""
        if self._transport is None or self._controller.bootloader_until is None:
            return None
        return cast(int, self._transport.get_extra_info("sockname")[1])

    def move_to(self, host: str | None) -> None:
        """Accept images at another address from now on."""
        self._host = host
        if self._socket is not None and self._controller.bootloader_until is not None:
            self._shut()
            self._open()

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        if self._closing is not None:
            self._closing.cancel()
        self._shut_receiver()
        self._shut()

    # --- the window -------------------------------------------------------------------------------

    def _follow(self, waits: bool) -> None:
        if waits:
            self._receiver = self._new_receiver()
            self._open()
            return
        if self._host is None:
            self._troubles.note(PART, None)
        self._shut_receiver()
        self._closing = asyncio.get_running_loop().call_later(LINGER_S, self._shut)

    def _new_receiver(self) -> Receiver:
        if self._installer is None:
            return Receiver(0, refusal=NO_KEY)
        return Receiver(self._installer.max_bytes)

    def _open(self) -> None:
        """Open the port; if that fails, the old version starts when the time is over.

        The port is open when this returns: a client that sees the bootloader waiting may send
        immediately.
        """
        if self._closing is not None:
            self._closing.cancel()
        if self._socket is not None:
            return
        if self._host is None:
            self._troubles.note(PART, NO_ADDRESS)
            return
        try:
            self._socket = bind_udp(self._host, self._port)
        except OSError as error:
            self._troubles.note(
                PART,
                f"UDP port {self._port} cannot be used to receive firmware "
                f"({error.strerror or error}). Free it, or set another tftp_port.",
            )
            return
        self._troubles.note(PART, None)
        self._do(self._listen(self._socket))

    async def _listen(self, listening: socket.socket) -> None:
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=listening)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def _shut_receiver(self) -> None:
        self._receiver.shut()
        if self._installer is not None:
            self._installer.places.give_back(self)

    def _shut(self) -> None:
        if self._transport is not None:
            self._transport.close()
        elif self._socket is not None:
            self._socket.close()
        self._transport = self._socket = None

    # --- a transfer -------------------------------------------------------------------------------

    def datagram_received(self, data: bytes, address: tuple[str | Any, int]) -> None:
        if not self._controller.has_power:
            return
        sender = (address[0], address[1])
        if not self._has_place(data):
            self._send(error_packet(FULL, NO_PLACE), sender)
            return
        answer = self._receiver.datagram(data, sender, asyncio.get_running_loop().time())
        if answer.packet is not None:
            self._send(answer.packet, sender)
        if answer.is_refused:
            self._start_old_version(NO_KEY, _cause(sender))
        if answer.file is not None:
            self._do(self._judge(answer.file, sender))

    def _has_place(self, data: bytes) -> bool:
        """Return whether a datagram may be handled.

        A datagram that begins a transfer requires a free place.
        """
        is_over = self._controller.bootloader_until is None
        if self._installer is None or is_over or not is_write_request(data):
            return True
        return self._installer.places.take(self)

    async def _judge(self, image: bytes, sender: Sender) -> None:
        assert self._installer is not None
        cause = _cause(sender)
        try:
            await self._installer.install(image, cause)
        except (BadUpload, StoreUnavailable) as error:
            self._send(self._receiver.finish(str(error)), sender)
            self._start_old_version(str(error), cause)
        else:
            self._send(self._receiver.finish(None), sender)

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


def _cause(sender: Sender) -> Cause:
    return Cause("firmware", sender[0], source=sender[0])
