"""The body that answers every command: the states after it."""

from collections.abc import Callable
from itertools import product
from operator import itemgetter

from leverframe.engine.engine import Engine
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.status_files.keys import mask_value

_outputs, _pwms, _variables = (itemgetter(*labels) for labels in (OUTPUTS, PWMS, EVENT_VARIABLES))
_States = tuple[int, ...]


def _by_states(count: int, text: Callable[[_States], bytes]) -> dict[_States, bytes]:
    """Make texts beforehand: looking one up takes a third of the time of making it."""
    return {states: text(states) for states in product((0, 1), repeat=count)}


_OUT = _by_states(len(OUTPUTS), lambda on: b"<response>\n<out>%d%d%d%d%d%d</out>\n" % on)
_PWM = _by_states(len(PWMS), lambda on: b"<pwm>%d</pwm>\n" % mask_value(on))
_EV = _by_states(len(EVENT_VARIABLES), lambda on: b"<ev>%d</ev>\n</response>\n" % mask_value(on))
_NO_PINS = _OUT[(0,) * len(OUTPUTS)] + _PWM[(0,) * len(PWMS)]


def command_reply(engine: Engine) -> bytes:
    """Build the reply: `out` has a character for each output; `pwm` and `ev` are bit masks."""
    values = engine.machine.values
    return _OUT[_outputs(values)] + _PWM[_pwms(values)] + _EV[_variables(values)]


def bootloader_reply(engine: Engine) -> bytes:
    """Build the reply while the bootloader waits: no pin is driven, whatever the states were."""
    return _NO_PINS + _EV[_variables(engine.machine.values)]
