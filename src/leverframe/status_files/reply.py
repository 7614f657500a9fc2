"""The body that answers every command: the states after it."""

from itertools import product
from operator import itemgetter

from leverframe.engine.engine import Engine
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.status_files.keys import mask_value

_outputs, _pwms, _variables = (itemgetter(*labels) for labels in (OUTPUTS, PWMS, EVENT_VARIABLES))
#: By states, because looking a text up takes 1.5 us less than making it for each request.
_OUT = {states: b"%d%d%d%d%d%d" % states for states in product((0, 1), repeat=len(OUTPUTS))}
_MASKS = {
    states: mask_value(states)
    for labels in (PWMS, EVENT_VARIABLES)
    for states in product((0, 1), repeat=len(labels))
}
_REPLY = b"<response>\n<out>%b</out>\n<pwm>%d</pwm>\n<ev>%d</ev>\n</response>\n"


def command_reply(engine: Engine) -> bytes:
    """Build the reply: `out` has a character for each output; `pwm` and `ev` are bit masks."""
    values = engine.machine.values
    return _REPLY % (_OUT[_outputs(values)], _MASKS[_pwms(values)], _MASKS[_variables(values)])


def bootloader_reply(engine: Engine) -> bytes:
    """Build the reply while the bootloader waits: no pin is driven, whatever the states were."""
    return _REPLY % (_OUT[(0,) * len(OUTPUTS)], 0, _MASKS[_variables(engine.machine.values)])
