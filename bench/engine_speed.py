"""The engine: reading changes per second, simulated time, reaction time, memory per controller.

Everything runs in this process on one core, without servers and disk. Reading changes are also
given as a ratio to a reference that runs in alternation with them (a dict update and twenty
comparisons written as functions), because the machine's speed drifts; the best of several rounds
counts. Simulated time and reaction go through the controller, as they do in the product.

    python bench/engine_speed.py [--quick]
"""

import argparse
import asyncio
import gc
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC

from leverframe.app import build
from leverframe.clock import VirtualClock
from leverframe.controller import Controller
from leverframe.engine.engine import Engine
from leverframe.engine.moment import Moment
from leverframe.engine.settings import Rule, ScheduleEntry, Settings, defaults
from leverframe.engine.tree import with_value
from leverframe.hardware.simulated import SimulatedBoard
from leverframe.profile import Profile
from leverframe.storage.store import MemoryStore

NEWEST = Profile()
RULES = 20
DAY_S, YEAR_S = 86400.0, 365 * 86400.0


@dataclass(frozen=True)
class Figure:
    name: str
    measured: str
    goal: str
    met: bool


# --- reading changes ------------------------------------------------------------------------------


def rules_on(sources: list[str]) -> tuple[Rule, ...]:
    """Twenty rules whose thresholds the test values cross now and then."""
    return tuple(
        Rule(
            source=sources[number % len(sources)],
            reference=10.0 + number,
            hysteresis=1.0,
            operator="AND" if number % 4 == 0 else "-",
            source2=sources[(number + 1) % len(sources)],
            action=f"EVENT{number % 8 + 1}",
            enabled=True,
        )
        for number in range(RULES)
    )


def engine_with_rules(labels: list[str]) -> Engine:
    settings = with_value(defaults(NEWEST), "rules", rules_on(labels))
    for index in range(6):
        settings = with_value(settings, f"analog_inputs.{index}.sensor", "vin=33V/55V")
    engine = Engine(NEWEST, settings, UTC)
    engine.start(Moment(0.0, VirtualClock.START))
    return engine


def walk(labels: list[str], count: int) -> list[dict[str, float]]:
    """Readings that change a little each time and wander through the thresholds."""
    return [
        {labels[step % len(labels)]: round(5.0 + (step * 7 % 400) / 10 + step % 3 / 100, 2)}
        for step in range(count)
    ]


def sense_all(engine: Engine, readings: list[dict[str, float]]) -> float:
    """Changes per second."""
    moments = [Moment(0.001 * step, VirtualClock.START) for step in range(len(readings))]
    sense = engine.sense
    began = time.perf_counter()
    for reading, at in zip(readings, moments, strict=True):
        sense(reading, at)
    return len(readings) / (time.perf_counter() - began)


def reference_all(readings: list[dict[str, float]]) -> float:
    """The same changes with nothing but a dict and twenty comparisons."""
    values: dict[str, float] = {}
    labels = list(dict.fromkeys(label for reading in readings for label in reading))
    checks: list[Callable[[dict[str, float]], bool]] = [
        lambda known, label=labels[n % len(labels)], limit=10.0 + n: known.get(label, 0.0) >= limit  # type: ignore[misc]
        for n in range(RULES)
    ]
    results = [False] * RULES
    began = time.perf_counter()
    for reading in readings:
        values.update(reading)
        for number, check in enumerate(checks):
            results[number] = check(values)
    return len(readings) / (time.perf_counter() - began)


def measure_changes(kind: str, labels: list[str], count: int, rounds: int) -> list[Figure]:
    readings = walk(labels, count)
    changes, references = [], []
    for _ in range(rounds):
        references.append(reference_all(readings))
        changes.append(sense_all(engine_with_rules(labels), readings))
    best = max(changes)
    ratio = statistics.median(c / r for c, r in zip(changes, references, strict=True))
    name = f"{kind} changes, {RULES} rules on them"
    return [
        Figure(f"{name}", f"{best:,.0f}/s", ">= 50,000/s", best >= 50_000),
        Figure(f"{name}, to the reference", f"{ratio:.2f}", "-", True),
    ]


# --- simulated time -------------------------------------------------------------------------------


def busy_settings() -> Settings:
    """20 rules, 6 periodic outputs, the regulator, 10 schedule entries, ramps of 10 minutes."""
    changes: dict[str, object] = {
        "rules": rules_on(["DS1", "DS2", "VCC"]),
        "pid.enabled": True,
        "pid.source": "DS1",
        "pid.target": 21.0,
        "pid.kp": 1000,
        "pid.ki": 10,
        "pid.pwm": 0,
    }
    for index in range(6):
        changes[f"outputs.{index}.on_time"] = 10 + index
        changes[f"outputs.{index}.off_time"] = 20 + index
        changes[f"outputs.{index}.periodic"] = True
    for index in range(4):
        changes[f"pwm.{index}.change_time"] = 600
        changes[f"pwm.{index}.duty"] = 0
    settings = defaults(NEWEST)
    entries = [
        ScheduleEntry(
            name=f"entry {n}",
            action=f"EVENT{n % 8 + 1}",
            value=n % 2,
            time=n * 8000,
            days=("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
            active=True,
        )
        for n in range(10)
    ]
    changes["schedule"] = (*entries, *settings.schedule[len(entries) :])
    for path, value in changes.items():
        settings = with_value(settings, path, value)
    return settings


async def controller_with(settings: Settings) -> tuple[Controller, SimulatedBoard]:
    built = await build(NEWEST, MemoryStore(), VirtualClock(), UTC)
    controller = built.controller
    board = controller.board
    assert isinstance(board, SimulatedBoard)
    await adopt(controller, settings)
    return controller, board


async def adopt(controller: Controller, settings: Settings) -> None:
    stage = controller._stage({})
    stage.settings = settings
    done = controller._accept(stage, BY_BENCH)
    if done is not None:
        await done


from leverframe.engine.journal import Cause  # noqa: E402

BY_BENCH = Cause("command", "bench")


async def live_busy_day() -> float:
    """Seconds for a day in which ramps go up and down and a room warms and cools every hour."""
    settings = busy_settings()
    controller, board = await controller_with(settings)
    board.feel({"DS1": 18.0, "DS2": 12.0})
    began = time.perf_counter()
    for hour in range(24):
        board.feel({"DS1": 18.0 + hour % 7, "DS2": 12.0 + hour})
        for index in range(4):
            settings = with_value(settings, f"pwm.{index}.duty", 0 if hour % 2 else 100)
        await adopt(controller, settings)
        await controller.advance(DAY_S / 24)
    return time.perf_counter() - began


async def live_idle_year() -> float:
    controller, _ = await controller_with(defaults(NEWEST))
    began = time.perf_counter()
    await controller.advance(YEAR_S)
    return time.perf_counter() - began
