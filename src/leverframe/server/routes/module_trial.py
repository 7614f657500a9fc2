"""`/api/modbus/try`: read the module of a slot once, as commands would set the slot up.

A page shows what a meter answers before anything is stored. The commands are those that would set
up the slot: they are checked, and nothing of them is kept.
"""

from typing import Annotated

from msgspec import Meta

from leverframe.devices.bus_worker import NO_BUS
from leverframe.devices.module_trial import ModuleTrial, try_simulated
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.command_text import parse_commands, perform_written
from leverframe.interface.table.params import decode_text
from leverframe.interface.table.refusals import BadValue
from leverframe.interface.table.stage import NO_HASHES, Stage
from leverframe.server.routes.context import Context

PARAMETERS = (
    QueryParameter(
        "slot",
        Annotated[int, Meta(ge=1, le=3, description="The Modbus slot, 1-3.")],
        "The slot whose module is read; default: 1.",
    ),
)


async def module_trial(context: Context) -> ModuleTrial:
    controller = context.controller
    slot = _slot_in(context.request.query or "", len(controller.pending.modbus_slots))
    stage = Stage(
        controller.profile, controller.pending, controller.engine.inputs.i2c_found, NO_HASHES
    )
    text = context.request.body.decode(errors="replace")
    if text.strip():
        perform_written(parse_commands(text), stage)
    trial = controller.try_module(stage.settings, slot)
    if trial is not None:
        return await trial
    if controller.board.bench is None:
        return ModuleTrial([], NO_BUS)
    engine = controller.engine
    return try_simulated(stage.settings, slot, engine.settings, engine.values.get)


def _slot_in(query: str, count: int) -> int:
    if not query:
        return 1
    allowed = f"slot=1 to slot={count}" if count > 1 else "slot=1"
    name, _, text = query.partition("=")
    if name != "slot":
        raise BadValue(f"There is no {name[:40]!r}.", field=name[:40], allowed=allowed)
    number = decode_text(text)
    if number not in [str(place) for place in range(1, count + 1)]:
        raise BadValue("There is no such slot.", field="slot", value=number[:40], allowed=allowed)
    return int(number)
