"""The names that users gave to outputs, inputs and readings; modules bring their own names."""

from leverframe.engine.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    EVENT_VARIABLES,
    MAPPED,
    ONEWIRE,
    OUTPUTS,
    POWERS,
    PWMS,
)
from leverframe.engine.pwm import DUTIES
from leverframe.engine.settings import Settings, module_mapping
from leverframe.wire.modbus_modules import find_reading


def own_name(label: str, settings: Settings) -> str:
    """Return the name that a user gave the label, or an empty text."""
    weather = settings.weather
    named = {"T1": weather.t1_name, "H1": weather.h1_name, "P1": weather.p1_name}
    if label in named:
        return named[label]
    for labels, branch in (
        (OUTPUTS, settings.outputs),
        (PWMS, settings.pwm),
        (DUTIES, settings.pwm),
        (EVENT_VARIABLES, settings.event_variables),
        (DIGITAL_INPUTS, settings.digital_inputs),
        (ANALOG_INPUTS, settings.analog_inputs),
        (ONEWIRE, settings.onewire),
        (DIFFERENTIALS, settings.differentials),
        (POWERS, settings.power),
        (ENERGIES, settings.power),
    ):
        if label in labels and labels.index(label) < len(branch):
            return branch[labels.index(label)].name
    return ""


def own_names(settings: Settings) -> dict[str, str]:
    """Return the names that a user gave, by label."""
    labels = (
        *(*OUTPUTS, *PWMS, *EVENT_VARIABLES, *DIGITAL_INPUTS, *ANALOG_INPUTS),
        *(*ONEWIRE, *DIFFERENTIALS, *POWERS, "T1", "H1", "P1"),
    )
    return {label: name for label in labels if (name := own_name(label, settings))}


def name_of(label: str, settings: Settings) -> str:
    """Return the given name; a mapped reading has the name that the module's list gives it."""
    return _name_in_module(label, settings) if label in MAPPED else own_name(label, settings)


def _name_in_module(label: str, settings: Settings) -> str:
    mapping = module_mapping(settings)[MAPPED.index(label)]
    extra = mapping.slot - len(settings.modbus_slots) - 1
    if 0 <= extra < len(settings.onewire_extra):
        names = settings.onewire_extra[extra].names
        return names[mapping.reading] if mapping.reading < len(names) else ""
    reading = find_reading(settings, mapping)
    return reading.name if reading else ""
