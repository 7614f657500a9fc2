"""Answers Modbus requests out of a controller's state, and turns writes into its commands.

Reading is open to whoever may connect. A write is a request like any other: the same commands as by
HTTP, all or nothing, refused while the outputs are locked; and it must come from an address that
may write.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from struct import error as StructError

from leverframe.commands.refusals import Locked, NotOffered, Refusal
from leverframe.commands.table import Call, find
from leverframe.controller import Controller
from leverframe.engine.engine import Engine
from leverframe.engine.journal import Cause
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.storage.store import StoreUnavailable
from leverframe.wire.modbus import (
    DEVICE_BUSY,
    DEVICE_FAILURE,
    ILLEGAL_ADDRESS,
    ILLEGAL_FUNCTION,
    ILLEGAL_VALUE,
    READ_COILS,
    READ_DISCRETE_INPUTS,
    READ_HOLDING_REGISTERS,
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
from leverframe.wire.modbus_map import (
    COILS,
    DISCRETE_INPUTS,
    DUTIES,
    FLOATS_AT,
    MOST_DUTY,
    SCALES,
    WHOLES_AT,
    float_registers,
    whole_register,
)

log = logging.getLogger(__name__)
