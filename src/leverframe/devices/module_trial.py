"""The trial of a Modbus module: every reading is read once, and nothing is stored.

A user sees whether a meter answers, and with which values, before it is set up. If a module
refuses a read of several readings, each reading is requested separately, as when it is polled.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from msgspec import Struct

from leverframe.core.labels import MAPPED
from leverframe.core.settings import ModbusMapping, Settings, module_mapping
from leverframe.devices.bus_worker import RequestRefused
from leverframe.devices.module_slot import ONLY_ONE_BY_ONE, ModuleSlot
from leverframe.devices.readings import Unusable
from leverframe.devices.wire.modbus import Read
from leverframe.devices.wire.modbus_frames import Data
from leverframe.devices.wire.modbus_modules import (
    Block,
    Module,
    ModuleReading,
    blocks_of,
    label_in_slot,
    module_in_slot,
    parts_of,
)

#: The time limit of a trial; a page waits for it.
TRIAL_S = 8.0
#: The slot number during a trial: the module is in none of the polled slots.
NO_SLOT = 0

Request = Callable[[ModuleSlot, Read], Awaitable[Data]]


class TriedReading(Struct, frozen=True):
    """One reading of the tried module."""

    number: int
    name: str
    unit: str
    function: int
    register: int
    value: float | None = None
    #: Why the reading has no value, if the module refused it.
    problem: str | None = None


class ModuleTrial(Struct, frozen=True):
    """The result of a trial."""

    readings: list[TriedReading]
    #: Why the module could not be read, as a sentence.
    problem: str | None = None
    #: No bus was used: the values are those of the simulated board.
    simulated: bool = False


def find_slot(settings: Settings, number: int) -> ModuleSlot:
    """Return the module that the settings choose for a slot (1-3), as a slot for a trial."""
    module = module_in_slot(settings, number)
    if module is None:
        raise Unusable(f"no module is chosen for Modbus slot {number}.")
    chosen = settings.modbus_slots[number - 1]
    label = label_in_slot(settings, number)
    return ModuleSlot(NO_SLOT, label, chosen.slave_id, module, blocks_of(module), host=chosen.host)


async def try_slot(slot: ModuleSlot, request: Request) -> ModuleTrial:
    """Read every reading of a module once; stop at the first read without an answer."""
    values: dict[int, float | None] = {}
    problems: dict[int, str] = {}
    problem = None
    try:
        async with asyncio.timeout(TRIAL_S):
            await _read_blocks(slot, request, values, problems)
    except TimeoutError:
        problem = f"not all readings could be read within {TRIAL_S:.0f} s."
    except Unusable as error:
        problem = str(error)
    if problem is None and not values:
        # The module refuses everything: one reason is enough.
        problem, problems = next(iter(problems.values()), None), {}
    return ModuleTrial(
        [
            _result_of(reading, values.get(reading.number), problems.get(reading.number))
            for reading in slot.module.readings
        ],
        problem,
    )


async def _read_blocks(
    slot: ModuleSlot,
    request: Request,
    values: dict[int, float | None],
    problems: dict[int, str],
) -> None:
    waiting: deque[Block] = deque(slot.blocks)
    while waiting:
        block = waiting.popleft()
        try:
            answer = await request(slot, block.read)
        except RequestRefused as refused:
            if refused.code in ONLY_ONE_BY_ONE and len(block.readings) > 1:
                waiting.extendleft(reversed(parts_of(block)))
            else:
                problems.update((reading.number, str(refused)) for reading in block.readings)
        else:
            values.update(block.values(answer.data))
        if waiting and slot.module.delay_s:
            await asyncio.sleep(slot.module.delay_s)


def try_simulated(
    wanted: Settings, number: int, present: Settings, value_of: Callable[[str], float | None]
) -> ModuleTrial:
    """Return the values that the simulated board has for the readings of a slot."""
    module = module_in_slot(wanted, number)
    readings = () if module is None else _readings_of_board(module, number, present, value_of)
    return ModuleTrial(list(readings), simulated=True)


def _readings_of_board(
    module: Module, number: int, present: Settings, value_of: Callable[[str], float | None]
) -> tuple[TriedReading, ...]:
    labels = dict(zip(reversed(module_mapping(present)), reversed(MAPPED), strict=True))
    return tuple(
        _result_of(reading, value_of(label) if label else None)
        for reading in module.readings
        for label in [labels.get(ModbusMapping(number, reading.number))]
    )


def _result_of(
    reading: ModuleReading, value: float | None, problem: str | None = None
) -> TriedReading:
    return TriedReading(
        reading.number,
        reading.name,
        reading.unit,
        reading.function,
        reading.register,
        value,
        problem,
    )
