"""`/metrics` of `unit watch`: every unit's values and health, in the format of Prometheus.

A unit that did not answer has no values: a figure that is not known is left out.
"""

from collections.abc import Iterable, Iterator

from leverframe.engine.labels import ENERGIES, READINGS, STATES
from leverframe.engine.pwm import DUTIES
from leverframe.units.unit_health import UnitHealth
from leverframe.wire.prometheus import COUNTER, GAUGE, Family, Labels, Sample

_READINGS = tuple(label for label in READINGS if label not in ENERGIES)


def unit_families(units: Iterable[UnitHealth]) -> Iterator[Family]:
    """Return the families of all units; their label `name` is that of the inventory."""
    known = list(units)
    yield Family(
        "leverframe_unit_up",
        GAUGE,
        "Whether the last look at the unit came to its end.",
        [(_named(unit), int(unit.is_up)) for unit in known],
    )
    yield Family(
        "leverframe_unit_info",
        GAUGE,
        "Which unit this is.",
        [(_identity(unit), 1) for unit in known if unit.hardware],
    )
    yield Family(
        "leverframe_unit_seen_timestamp_seconds",
        GAUGE,
        "When the unit last answered as it should.",
        [(_named(unit), unit.seen) for unit in known],
    )
    yield Family(
        "leverframe_unit_uptime_seconds",
        GAUGE,
        "Since the unit started.",
        [(_named(unit), unit.uptime_s) for unit in known if unit.is_up],
    )
    yield Family(
        "leverframe_unit_restarts_total",
        COUNTER,
        "Restarts of the unit since the watch began.",
        [(_named(unit), unit.restarts) for unit in known],
    )
    yield Family(
        "leverframe_unit_looks_total",
        COUNTER,
        "Looks at the unit.",
        [(_named(unit), unit.looks) for unit in known],
    )
    yield Family(
        "leverframe_unit_failed_looks_total",
        COUNTER,
        "Looks that came to nothing.",
        [(_named(unit), unit.failures) for unit in known],
    )
    yield Family(
        "leverframe_unit_trouble",
        GAUGE,
        "What is wrong with the unit: 1 for each trouble; a lost sensor is `lost` and its label.",
        [({**_named(unit), "kind": kind}, 1) for unit in known for kind in unit.troubles],
    )
    yield Family(
        "leverframe_unit_drift",
        GAUGE,
        "Differences from the unit's file; left out where they are not known.",
        [(_named(unit), len(unit.drift)) for unit in known if unit.drift is not None],
    )
    yield Family(
        "leverframe_unit_reading",
        GAUGE,
        "What the unit measures or computes, in its unit of measurement.",
        list(_of(known, _READINGS)),
    )
    yield Family(
        "leverframe_unit_energy_total",
        COUNTER,
        "What a meter of the unit has counted.",
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


def _named(unit: UnitHealth) -> Labels:
    return {"name": unit.name}


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
