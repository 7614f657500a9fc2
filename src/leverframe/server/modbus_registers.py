"""Modbus requests to a controller: a read returns its state, and a write runs its commands.

Any client that may connect may read. A write runs the same commands as over HTTP: all of them or
none. It must come from an address that may write, and is refused if it would switch an output while
the outputs are locked.
"""

import logging
from collections.abc import Callable, Coroutine, Iterator
from functools import lru_cache
from math import isfinite
from typing import Any

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import Cause
from leverframe.core.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.core.profile import Profile
from leverframe.devices.wire import modbus
from leverframe.devices.wire.modbus import (
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
    pack_bits,
    request_from,
)
from leverframe.host.controller import Controller, Outstanding
from leverframe.host.controller.hooks import ControllerElsewhere
from leverframe.interface.table.lookup import MODBUS_WRITER, Call, find
from leverframe.interface.table.refusals import NotOffered, Refusal
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

#: The commands under /outs.cgi that switch the elements behind the coils, by label.
_SWITCHES: dict[str, str] = {
    **{label: f"out{index}" for index, label in enumerate(OUTPUTS)},
    **{label: f"pwm{index}" for index, label in enumerate(PWMS)},
    **{label: f"vout{index}" for index, label in enumerate(EVENT_VARIABLES)},
}


#: Start address of each form of the input registers, the last first, and how it encodes a reading.
_ENCODERS: tuple[tuple[int, Callable[[float | None, int], bytes]], ...] = (
    (modbus.LONGS_AT, lambda value, scale: modbus.long_registers(value)),
    (modbus.WHOLES_AT, modbus.whole_register),
    (modbus.FLOATS_AT, lambda value, scale: modbus.float_registers(value)),
)


#: The command of each coil and value; None if the value has no effect.
Coils = dict[tuple[str, int], Call | Refusal | None]


class ModbusRegisters:
    """A controller as a Modbus device."""

    __slots__ = ("_controller", "_images", "_images_of")

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        #: The input registers as bytes by start address, and the state they were built from.
        self._images: dict[int, bytes] = {}
        self._images_of: tuple[Engine, int] | None = None

    def answer(
        self, pdu: bytes, peer: str, *, may_write: bool
    ) -> bytes | Coroutine[Any, Any, bytes]:
        """Answer a request; return a coroutine if something must be stored first."""
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
        except ControllerElsewhere:
            return exception_answer(function, DEVICE_BUSY)
        except Refusal as refusal:
            log.info("refused a write by %s: %s", peer, refusal.detail)
            code = ILLEGAL_ADDRESS if isinstance(refusal, NotOffered) else DEVICE_FAILURE
            return exception_answer(function, code)

    # --- reading ----------------------------------------------------------------------------------

    def _read(self, request: Read) -> bytes:
        if request.function == READ_COILS:
            return self._bits(modbus.COILS, request)
        if request.function == READ_DISCRETE_INPUTS:
            return self._bits(modbus.DISCRETE_INPUTS, request)
        if request.function == READ_INPUT_REGISTERS:
            return self._input_registers(request)
        return _part(self._holding_registers(), request.address, request.count)

    def _holding_registers(self) -> bytes:
        settings = self._controller.engine.settings
        target = settings.pid.target
        return b"".join(
            (
                *(one.duty.to_bytes(2, "big") for one in settings.pwm),
                modbus.whole_register(target, modbus.TARGET_SCALE),
                modbus.float_registers(target),
            )
        )

    def _bits(self, labels: tuple[str, ...], request: Read) -> bytes:
        chosen = labels[request.address : request.address + request.count]
        if len(chosen) != request.count:
            raise ModbusException(ILLEGAL_ADDRESS)
        values = self._controller.engine.machine.values
        return pack_bits(
            [1 if values[label] and label not in modbus.RESET else 0 for label in chosen]
        )

    def _input_registers(self, request: Read) -> bytes:
        engine = self._controller.engine
        made_of = (engine, engine.machine.version)
        if made_of != self._images_of:
            self._images, self._images_of = {}, made_of
        start, encode = next(each for each in _ENCODERS if each[0] <= request.address)
        image = self._images.get(start)
        if image is None:
            values = engine.machine.values
            scales = modbus.SCALES.items()
            image = b"".join(encode(values[label], scale) for label, scale in scales)
            self._images[start] = image
        return _part(image, request.address - start, request.count)

    # --- writing ----------------------------------------------------------------------------------

    def _write(self, request: Write, cause: Cause) -> bytes | Coroutine[Any, Any, bytes]:
        commands = [(call, None) for call in self._calls(request)]
        outstanding = self._controller.submit(commands, cause, account=MODBUS_WRITER)
        if outstanding is None:
            return request.confirmation()
        return self._confirm_after(outstanding, request)

    def _calls(self, request: Write) -> list[Call]:
        """Return the commands of a write request; check every value before any command is run."""
        of_coils = request.function in (WRITE_COIL, WRITE_COILS)
        count = len(modbus.COILS) if of_coils else modbus.HOLDING_REGISTERS
        if request.address + len(request.values) > count:
            raise ModbusException(ILLEGAL_ADDRESS)
        values = dict(enumerate(request.values, request.address))
        found = self._of_coils(values) if of_coils else self._of_registers(values)
        calls: list[Call] = []
        for call in found:
            if isinstance(call, Refusal):
                raise call
            calls.append(call)
        return calls

    def _of_coils(self, values: dict[int, int]) -> Iterator[Call | Refusal]:
        commands = _coils_of(self._controller.profile)
        for address, value in values.items():
            label = modbus.COILS[address]
            call = commands[label, value]
            if isinstance(call, Refusal) and label in modbus.RESET:
                # A version that has the command may still have fewer counters.
                raise ModbusException(ILLEGAL_ADDRESS)
            if call is not None:
                yield call

    def _of_registers(self, values: dict[int, int]) -> Iterator[Call | Refusal]:
        for address, value in values.items():
            if address < modbus.TARGET_AT:
                if value > modbus.MAX_DUTY:
                    raise ModbusException(ILLEGAL_VALUE)
                yield _call("/stm.cgi", f"pwmd={address}{value}", self._controller.profile)
            elif address == modbus.TARGET_AT:
                yield self._set_target(modbus.whole_from(value))
        high, low = (values.get(modbus.TARGET_FLOAT_AT + word) for word in (0, 1))
        if high is not None and low is not None:
            target = modbus.float_from(high, low) * modbus.TARGET_SCALE
            if not isfinite(target):
                raise ModbusException(ILLEGAL_VALUE)
            yield self._set_target(round(target))
        elif high is not None or low is not None:
            # Both halves of a float must be written together; until the second write, the value
            # would be another number.
            raise ModbusException(ILLEGAL_ADDRESS)

    def _set_target(self, tenths: int) -> Call:
        call = _call("/stm.cgi", f"pidtarget={tenths}", self._controller.profile)
        if isinstance(call, Refusal):
            raise ModbusException(ILLEGAL_VALUE)
        return call

    async def _confirm_after(self, outstanding: Outstanding, request: Write) -> bytes:
        try:
            await outstanding.finish()
        except StoreUnavailable as error:
            log.warning("a write by Modbus TCP failed: %s", error)
            return exception_answer(request.function, DEVICE_FAILURE)
        return request.confirmation()


@lru_cache(maxsize=8)
def _coils_of(profile: Profile) -> Coils:
    """Build the coil commands of a version, at the first write to such a controller; takes 2 ms."""
    coils: Coils = {
        (label, value): _call("/outs.cgi", f"{name}={value}", profile)
        for label, name in _SWITCHES.items()
        for value in (0, 1)
    }
    for index, label in enumerate(modbus.RESET):
        reset = _call("/inpa.cgi", f"powset={index}0", profile)
        coils[label, 1] = reset
        coils[label, 0] = reset if isinstance(reset, Refusal) else None
    return coils


def _call(path: str, text: str, profile: Profile) -> Call | Refusal:
    """Return a command of a version, or the refusal if the version does not have it."""
    (call,) = find("GET", path, [text], profile)
    return call


def _part(image: bytes, address: int, count: int) -> bytes:
    """Cut registers out of an image; raise if some of them do not exist."""
    if 2 * (address + count) > len(image):
        raise ModbusException(ILLEGAL_ADDRESS)
    return image[2 * address : 2 * (address + count)]
