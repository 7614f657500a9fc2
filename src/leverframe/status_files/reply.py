"""The body that answers every command: the states after it.

This is made for every single command, so what can be kept is kept: a controller goes through few
combinations of states.
"""

from functools import lru_cache
from operator import itemgetter

from leverframe.engine.engine import Engine
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.engine.machine import Value
from leverframe.status_files.keys import mask
from leverframe.status_files.writing import xml_bytes

_states = itemgetter(*OUTPUTS, *PWMS, *EVENT_VARIABLES)
_PWM, _VARIABLES = len(OUTPUTS), len(OUTPUTS) + len(PWMS)


def command_reply(engine: Engine) -> bytes:
    """`out` has a character for each output; `pwm` and `ev` are bit masks."""
    return _reply(_states(engine.machine.values))


def bootloader_reply(engine: Engine) -> bytes:
    """The same while the bootloader waits: no pin is driven, whatever the states were."""
    return _reply((0,) * _VARIABLES + _states(engine.machine.values)[_VARIABLES:])


@lru_cache(maxsize=1024)
def _reply(states: tuple[Value, ...]) -> bytes:
    return xml_bytes(
        {
            "out": "".join("1" if on else "0" for on in states[:_PWM]),
            "pwm": mask(states[_PWM:_VARIABLES]),
            "ev": mask(states[_VARIABLES:]),
        }
    )
