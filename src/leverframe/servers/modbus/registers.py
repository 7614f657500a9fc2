"""A controller's state as answers to Modbus requests, and its commands for writes.

Reading is open to whoever may connect. A write is a request like any other: the same commands as by
HTTP, all or nothing, refused while the outputs are locked; and it must come from an address that
may write.
"""

import logging
from collections.abc import Coroutine
from typing import Any

from leverframe.commands.table.matching import Call, find
from leverframe.commands.table.refusals import NotOffered, Refusal
from leverframe.controller import Command, Controller, Outstanding
from leverframe.engine.engine import Engine
from leverframe.engine.journal import Cause
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.storage.store import StoreUnavailable
from leverframe.wire import modbus_map
from leverframe.wire.modbus import (
    DEVICE_BUSY,
    DEVICE_FAILURE,
    ILLEGAL_ADDRESS,
    ILLEGAL_FUNCTION,
    ILLEGAL_VALUE,
    READ_COILS,
    READ_DISCRETE_INPUTS,
    READ_INPUT_REGISTERS,
    WRITE_COIL,
    WRITE_COILS,
    ModbusException,
    Read,
    Write,
    data_answer,
    exception_answer,
    packed_bits,
    request_from,
)

log = logging.getLogger(__name__)

#: The commands under /outs.cgi that switch what the coils stand for, by label.
_SWITCHES: dict[str, str] = {
    **{label: f"out{index}" for index, label in enumerate(OUTPUTS)},
    **{label: f"pwm{index}" for index, label in enumerate(PWMS)},
    **{label: f"vout{index}" for index, label in enumerate(EVENT_VARIABLES)},
}


class ModbusRegisters:
    """One controller as a Modbus device."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._switches: dict[tuple[str, int], Call | Refusal] = {}
        self._learn_switches()
        controller.profile_watchers.append(self._learn_switches)
        #: The input registers as bytes, and what they were made of.
        self._image: tuple[bytes, bytes] = (b"", b"")
        self._image_of: tuple[Engine, int] | None = None

    def _learn_switches(self) -> None:
        """Look up the switching commands of the version that runs now."""
        self._switches = {
            (label, value): self._call("/outs.cgi", f"{name}={value}")
            for label, name in _SWITCHES.items()
            for value in (0, 1)
        }

    def answer(
        self, pdu: bytes, peer: str, *, may_write: bool
    ) -> bytes | Coroutine[Any, Any, bytes]:
        """Answer a request; a coroutine where something goes to the disk first."""
        function = pdu[0]
        try:
            if self._controller.bootloader_until is not None:
                raise ModbusException(DEVICE_BUSY)
            request = request_from(pdu)
            if isinstance(request, Read):
                return data_answer(function, self._read(request))
            if not may_write:
                raise ModbusException(ILLEGAL_FUNCTION)
            return self._write(request, Cause("command", f"Modbus TCP {peer}", source=peer))
        except ModbusException as refused:
            return exception_answer(function, refused.code)
        except Refusal as refusal:
            log.info("a write by %s was refused: %s", peer, refusal.detail)
            code = ILLEGAL_ADDRESS if isinstance(refusal, NotOffered) else DEVICE_FAILURE
            return exception_answer(function, code)

    # --- reading ----------------------------------------------------------------------------------

    def _read(self, request: Read) -> bytes:
        if request.function == READ_COILS:
            return self._bits(modbus_map.COILS, request)
        if request.function == READ_DISCRETE_INPUTS:
            return self._bits(modbus_map.DISCRETE_INPUTS, request)
        if request.function == READ_INPUT_REGISTERS:
            return self._input_registers(request)
        duties = [one.duty for one in self._controller.engine.settings.pwm]
        image = b"".join(duty.to_bytes(2, "big") for duty in duties)
        return _part(image, request.address, request.count)

    def _bits(self, labels: tuple[str, ...], request: Read) -> bytes:
        chosen = labels[request.address : request.address + request.count]
        if len(chosen) != request.count:
            raise ModbusException(ILLEGAL_ADDRESS)
        values = self._controller.engine.machine.values
        return packed_bits([1 if values[label] else 0 for label in chosen])

    def _input_registers(self, request: Read) -> bytes:
        engine = self._controller.engine
        made_of = (engine, engine.machine.version)
        if made_of != self._image_of:
            self._image, self._image_of = _image(engine), made_of
        floats, wholes = self._image
        if request.address >= modbus_map.WHOLES_AT:
            return _part(wholes, request.address - modbus_map.WHOLES_AT, request.count)
        return _part(floats, request.address - modbus_map.FLOATS_AT, request.count)

    # --- writing ----------------------------------------------------------------------------------

    def _write(self, request: Write, cause: Cause) -> bytes | Coroutine[Any, Any, bytes]:
        commands = self._commands(request)
        outstanding = self._controller.submit(commands, cause)
        if outstanding is None:
            return request.confirmation()
        return self._confirm_after(outstanding, request)

    def _commands(self, request: Write) -> list[Command]:
        """Return the commands of a write request; check every value before any is carried out."""
        of_coils = request.function in (WRITE_COIL, WRITE_COILS)
        labels = modbus_map.COILS if of_coils else modbus_map.DUTIES
        chosen = labels[request.address : request.address + len(request.values)]
        if len(chosen) != len(request.values):
            raise ModbusException(ILLEGAL_ADDRESS)
        make = self._switch if of_coils else self._set_duty
        pairs = zip(chosen, request.values, strict=True)
        return [(make(label, value), None) for label, value in pairs]

    def _switch(self, label: str, value: int) -> Call:
        call = self._switches[label, value]
        if isinstance(call, Refusal):
            raise call
        return call

    def _set_duty(self, label: str, percent: int) -> Call:
        if percent > modbus_map.MAX_DUTY:
            raise ModbusException(ILLEGAL_VALUE)
        call = self._call("/stm.cgi", f"pwmd={PWMS.index(label)}{percent}")
        if isinstance(call, Refusal):
            raise call
        return call

    def _call(self, path: str, text: str) -> Call | Refusal:
        """Return a command of this version, or the refusal where it has none."""
        (call,) = find("GET", path, [text], self._controller.profile)
        return call

    async def _confirm_after(self, outstanding: Outstanding, request: Write) -> bytes:
        try:
            await outstanding.finish()
        except StoreUnavailable as error:
            log.warning("a write by Modbus TCP was not carried out: %s", error)
            return exception_answer(request.function, DEVICE_FAILURE)
        return request.confirmation()


def _image(engine: Engine) -> tuple[bytes, bytes]:
    """Encode all readings as floats and as whole numbers."""
    values = engine.machine.values
    scales = modbus_map.SCALES
    floats = b"".join(modbus_map.float_registers(values[label]) for label in scales)
    wholes = (modbus_map.whole_register(values[label], scale) for label, scale in scales.items())
    return floats, b"".join(wholes)


def _part(image: bytes, address: int, count: int) -> bytes:
    """Cut registers out of an image, or raise where some of them do not exist."""
    if 2 * (address + count) > len(image):
        raise ModbusException(ILLEGAL_ADDRESS)
    return image[2 * address : 2 * (address + count)]
