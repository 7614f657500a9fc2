"""The body that answers every command: the states after it."""

from operator import itemgetter

from leverframe.engine.engine import Engine
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.engine.machine import Value
from leverframe.status_files.keys import mask_value

_states = itemgetter(*OUTPUTS, *PWMS, *EVENT_VARIABLES)
_REPLY = b"<response>\n<out>%d%d%d%d%d%d</out>\n<pwm>%d</pwm>\n<ev>%d</ev>\n</response>\n"
_PWM, _VARIABLES = len(OUTPUTS), len(OUTPUTS) + len(PWMS)


def command_reply(engine: Engine) -> bytes:
    """Build the reply: `out` has a character for each output; `pwm` and `ev` are bit masks."""
    return _reply(_states(engine.machine.values))


def bootloader_reply(engine: Engine) -> bytes:
    """Build the reply while the bootloader waits: no pin is driven, whatever the states were."""
    return _reply((0,) * _VARIABLES + _states(engine.machine.values)[_VARIABLES:])


def _reply(states: tuple[Value, ...]) -> bytes:
    pwm, variables = states[_PWM:_VARIABLES], states[_VARIABLES:]
    return _REPLY % (*states[:_PWM], mask_value(pwm), mask_value(variables))
