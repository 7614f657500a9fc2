"""`/metrics` of `unit watch`: values and health of every unit, in the format of Prometheus.

A unit that did not answer has no values: an unknown metric is left out.
"""

from collections.abc import Callable, Iterable, Iterator

from leverframe.engine.labels import ENERGIES, READINGS, STATES
from leverframe.engine.pwm import DUTIES
from leverframe.units.unit_health import UnitHealth
from leverframe.wire.prometheus import COUNTER, GAUGE, Family, Labels, Sample

_READINGS = tuple(label for label in READINGS if label not in ENERGIES)


#: By name: its description, and the value for a unit; None is left out.
_Figures = dict[str, tuple[str, Callable[[UnitHealth], float | None]]]
_GAUGES: _Figures = {
    "up": ("Whether the last poll of the unit was complete.", lambda unit: int(unit.is_up)),
    "seen_timestamp_seconds": (
        "Time of the last correct answer of the unit.",
        lambda unit: unit.seen,
    ),
    "uptime_seconds": (
        "Time since the unit started.",
        lambda unit: unit.uptime_s if unit.is_up else None,
    ),
    "drift": (
        "Differences from the unit's file; omitted while unknown.",
        lambda unit: None if unit.differences is None else len(unit.differences),
    ),
}
_COUNTERS: _Figures = {
    "restarts": ("Restarts of the unit since the start of the watch.", lambda unit: unit.restarts),
    "looks": ("Polls of the unit.", lambda unit: unit.looks),
    "failed_looks": ("Failed polls of the unit.", lambda unit: unit.failures),
}


def unit_families(units: Iterable[UnitHealth]) -> Iterator[Family]:
    """Return the families of all units; the label `name` is the name in the inventory."""
    known = list(units)
    yield Family(
        "leverframe_unit_info",
        GAUGE,
        "Identity of the unit.",
        [(_identity(unit), 1) for unit in known if unit.hardware],
    )
    for name, (text, figure) in _GAUGES.items():
        samples = [({"name": unit.name}, figure(unit)) for unit in known]
        yield Family(f"leverframe_unit_{name}", GAUGE, text, samples)
    for name, (text, figure) in _COUNTERS.items():
        samples = [({"name": unit.name}, figure(unit)) for unit in known]
        yield Family(f"leverframe_unit_{name}_total", COUNTER, text, samples)
    yield Family(
        "leverframe_unit_trouble",
        GAUGE,
        "Problems of the unit: 1 for each problem; a lost sensor is `lost` and its label, a"
        " finding of the unit `finding` and its identifier.",
        [
            ({"name": unit.name, "kind": kind, "severity": problem.severity}, 1)
            for unit in known
            for kind, problem in unit.problems.items()
        ],
    )
    yield Family(
        "leverframe_unit_reading",
        GAUGE,
        "Measured or computed value of the unit, in its unit of measurement.",
        list(_of(known, _READINGS)),
    )
    yield Family(
        "leverframe_unit_energy_total",
        COUNTER,
        "Meter count of the unit.",
        list(_of(known, ENERGIES)),
    )
    yield Family(
        "leverframe_unit_state",
        GAUGE,
        "Outputs, inputs, event variables and the MQTT connection of the unit: 1 or 0.",
        list(_of(known, STATES)),
    )
    yield Family(
        "leverframe_unit_pwm_duty_percent",
        GAUGE,
        "The duty of a PWM output of the unit.",
        list(_of(known, DUTIES)),
    )


def _identity(unit: UnitHealth) -> Labels:
    return {
        "name": unit.name,
        "address": unit.address,
        "mac": unit.mac,
        "hw": unit.hardware,
        "sw": unit.software,
    }


def _of(units: Iterable[UnitHealth], labels: tuple[str, ...]) -> Iterator[Sample]:
    for unit in units:
        for label in labels:
            if (value := unit.values.get(label)) is not None:
                yield {"name": unit.name, "label": label.partition(".duty")[0]}, value
