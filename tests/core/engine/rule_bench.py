"""What the tests of rules share: a rule on DS1 that is easily met, and a bench that runs rules."""

import msgspec

from leverframe.core.engine.calls import Notify
from leverframe.core.settings import Rule

from .bench import Bench

WARM, COOL = 25.0, 15.0


def rule(**fields: object) -> Rule:
    """Enabled, and met while DS1 is at least 20."""
    return msgspec.convert(
        {"source": "DS1", "reference": 20.0, "enabled": True, **fields}, Rule, strict=False
    )


def bench_with(*rules: Rule, **readings: float | None) -> Bench:
    bench = Bench({"rules": rules})
    bench.sense(**readings)
    bench.effects()
    return bench


def notifications(bench: Bench) -> list[tuple[str, int, bool]]:
    effects = bench.effects(Notify)
    return [(e.channel, e.slot, e.active) for e in effects if isinstance(e, Notify)]
