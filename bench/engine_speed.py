"""The engine: reading changes per second, simulated time, reaction time, memory per controller.

Everything runs in this process on one core, without servers and disk. Reading changes are also
reported as a ratio to a reference that runs in alternation with them (a dict update and twenty
comparisons written as functions), because the machine's speed drifts; the best of several rounds
counts. Simulated time and reaction time are measured through the controller, as in the product.
"""

import asyncio
import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC
from functools import partial

from bench.figure import Figure, Reference, format_amount, format_number, progress
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.timers import Moment
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.settings import Rule
from leverframe.core.tree import defaults, with_value
from leverframe.devices.simulated.simulated_board import SimulatedBoard
from leverframe.host.assembly import ControllerHost, build
from leverframe.server.http.messages import Reply, Request
from leverframe.storage.store import MemoryStore

NEWEST = Profile()
RULES = 20
#: The reference for the machine's speed.
REFERENCE = f"a dict and {RULES} comparisons"
#: Number of changes in a measurement of the reference as a unit.
REFERENCE_ROUNDS = 3_000
HOUR_S, YEAR_S = 3600.0, 365 * 86400.0
#: Changes per second as a share of those of the reference.
GOAL_CHANGES = 0.4
#: The rounds in a second on the machine of `RESULTS.md` at bda7a976, where 2.05 s were 242,000
#: rounds of 8.47 us.
GOAL_DAY_ROUNDS = 118_000
GOAL_REACTION_MS = 0.02


# --- reading changes ------------------------------------------------------------------------------


def rules_on(sources: list[str]) -> tuple[Rule, ...]:
    """Return twenty rules whose thresholds the test values cross now and then."""
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
    """Return readings that change a little each time and cross the thresholds now and then."""
    return [
        {labels[step % len(labels)]: round(5.0 + (step * 7 % 400) / 10 + step % 3 / 100, 2)}
        for step in range(count)
    ]


def sense_all(engine: Engine, readings: list[dict[str, float]]) -> float:
    """Return the changes per second."""
    moments = [Moment(0.001 * step, VirtualClock.START) for step in range(len(readings))]
    sense = engine.sense
    began = time.perf_counter()
    for reading, at in zip(readings, moments, strict=True):
        sense(reading, at)
    return len(readings) / (time.perf_counter() - began)


def _reaches(label: str, limit: float, values: dict[str, float]) -> bool:
    return values.get(label, 0.0) >= limit


def reference_all(readings: list[dict[str, float]]) -> float:
    """Process the changes with only a dict and twenty comparisons; return changes per second."""
    values: dict[str, float] = {}
    labels = list(dict.fromkeys(label for reading in readings for label in reading))
    checks: list[Callable[[dict[str, float]], bool]] = [
        partial(_reaches, labels[n % len(labels)], 10.0 + n) for n in range(RULES)
    ]
    results = [False] * RULES
    began = time.perf_counter()
    for reading in readings:
        values.update(reading)
        for number, check in enumerate(checks):
            results[number] = check(values)
    return len(readings) / (time.perf_counter() - began)


def reference_round_s() -> float:
    """Return the processor time of one change of the reference: the unit of other figures."""
    readings = walk([f"DS{number}" for number in range(1, 9)], REFERENCE_ROUNDS)
    began = time.process_time()
    reference_all(readings)
    return (time.process_time() - began) / REFERENCE_ROUNDS


def measure_changes(kind: str, labels: list[str], count: int, rounds: int) -> Figure:
    readings = walk(labels, count)
    changes, references = [], []
    for _ in range(rounds):
        references.append(reference_all(readings))
        changes.append(sense_all(engine_with_rules(labels), readings))
        progress()
    rate = statistics.median(changes)
    ratio = statistics.median(c / r for c, r in zip(changes, references, strict=True))
    return Figure(
        f"{kind} changes, {RULES} rules on them",
        rate,
        "/s",
        reference=Reference(REFERENCE, statistics.median(references), "/s", ratio),
        goal=f">= {GOAL_CHANGES:g} of it",
        met=ratio >= GOAL_CHANGES,
        rounds={"/s": changes, "reference /s": references},
    )


# --- simulated time -------------------------------------------------------------------------------


class Subject:
    """A controller in virtual time, which is configured by requests."""

    def __init__(self, built: ControllerHost) -> None:
        self.controller = built.controller
        self._web = built.web
        board = built.controller.board
        assert isinstance(board, SimulatedBoard)
        self.board = board

    @classmethod
    async def start(cls) -> "Subject":
        return cls(await build(NEWEST, MemoryStore(), VirtualClock(), UTC))

    async def ask(self, target: str, body: str = "") -> None:
        path, _, query = target.partition("?")
        reply = self._web.handle(Request("POST", path, query, {}, body.encode(), "bench"))
        if not isinstance(reply, Reply):
            reply = await reply
        if reply.status != 200:
            raise SystemExit(f"{target}: {reply.body.decode()}")


def rule_commands(source_codes: list[int]) -> str:
    """Return the rules of `rules_on` as commands; actions 10-17 are EVENT1-EVENT8."""
    return "&".join(
        f"event={n}*{source_codes[n % len(source_codes)]}*0*{1000 + 100 * n}*100"
        f"*{int(n % 4 == 0)}*{10 + n % 8}*{source_codes[(n + 1) % len(source_codes)]}*0"
        f"*{1000 + 100 * (n + 1)}*100*0&eventon={n}*1"
        for n in range(RULES)
    )


async def make_busy(subject: Subject) -> None:
    """Set up 20 rules, 6 periodic outputs, the regulator, 4 ramps, 10 schedule entries."""
    await subject.ask(f"/inpa.cgi?{rule_commands([10, 11, 0])}")
    times = (f"atout={n}*{10 + n}&atout={n + 6}*{20 + n}&aout={n}1" for n in range(6))
    await subject.ask(f"/outs.cgi?{'&'.join(times)}&pwm0=1&pwm1=1&pwm2=1&pwm3=1")
    await subject.ask("/stm.cgi?pwmt=0600&pwmt=1600&pwmt=2600&pwmt=3600")
    await subject.ask("/stm.cgi?pidvalue=1*10*210*1000*10*0*0")
    entries = (f"&s{n}=entry{n}*{10 + n % 8}*{n % 2}*{n * 8000}*0*127*1" for n in range(10))
    await subject.ask("/post.cgi?sched_save", "".join(entries) + "&&")


async def measure_busy_day() -> Figure:
    """Simulate a day in which readings and set duties change every hour."""
    subject = await Subject.start()
    await make_busy(subject)
    rounds_s = [reference_round_s()]
    began, ran = time.perf_counter(), time.process_time()
    for hour in range(24):
        subject.board.set_readings({"DS1": 18.0 + hour % 7, "DS2": 12.0 + hour})
        duty = 0 if hour % 2 else 100
        await subject.ask(f"/stm.cgi?pwmd=1{duty}&pwmd=2{duty}&pwmd=3{duty}")
        await subject.controller.advance(HOUR_S)
    took_s, ran_s = time.perf_counter() - began, time.process_time() - ran
    rounds_s.append(reference_round_s())
    rounds = ran_s / statistics.mean(rounds_s)
    return Figure(
        "a day of a busy controller",
        took_s,
        "s",
        f"{times_real_time(24 * HOUR_S, took_s)}, {rounds:,.0f} rounds of the reference",
        goal=f"< {GOAL_DAY_ROUNDS:,} rounds",
        met=rounds < GOAL_DAY_ROUNDS,
    )


async def measure_idle_year() -> Figure:
    """Simulate a year in which a lamp is switched on and off once per day."""
    subject = await Subject.start()
    await subject.ask("/post.cgi?sched_save", "&s0=on*0*1*64800*0*127*1&s1=off*0*0*0*0*127*1&&")
    began = time.perf_counter()
    await subject.controller.advance(YEAR_S)
    took_s = time.perf_counter() - began
    times = times_real_time(YEAR_S, took_s)
    return Figure("a year of an idle controller", took_s, "s", times, goal="< 5 s", met=took_s < 5)


def times_real_time(span_s: float, took_s: float) -> str:
    return f"{format_number(span_s / took_s)} times real time"


# --- reaction -------------------------------------------------------------------------------------


async def measure_reaction(count: int) -> Figure:
    """Measure the time from a change of an input to the pin of a rule, in a busy controller."""
    subject = await Subject.start()
    await make_busy(subject)
    await subject.ask("/outs.cgi?aout=50")
    # The last rule: if INPD1 is 0, switch OUT5.
    await subject.ask("/inpa.cgi?event=19*100*0*0*0*0*5*0*0*0*0*0&eventon=19*1")
    taken_ms = []
    for number in range(count):
        level = number % 2
        began = time.perf_counter()
        subject.controller.sense({"INPD1": level})
        taken_ms.append((time.perf_counter() - began) * 1000)
        assert subject.board.outputs[5] is (level == 0), "the pin did not follow"
    cuts = statistics.quantiles(taken_ms, n=100)
    p50_ms, p99_ms = cuts[49], cuts[98]
    p99 = f"p99 {format_amount(p99_ms, 'ms')}"
    what = "INPD change to driven pin"
    is_met = p50_ms < GOAL_REACTION_MS and p99_ms < 1
    goal = f"p50 < {GOAL_REACTION_MS:g} ms, p99 < 1 ms"
    return Figure(what, p50_ms, "ms", p99, goal=goal, met=is_met)


# --- memory ---------------------------------------------------------------------------------------


async def measure_memory(few: int, many: int) -> Figure:
    """Measure the memory of another idle controller with its board, store and request function."""
    kept = [await Subject.start() for _ in range(10)]
    tracemalloc.start()
    sizes = {}
    for count in (few, many):
        kept += [await Subject.start() for _ in range(count - len(kept))]
        gc.collect()
        sizes[count] = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    each_kb = (sizes[many] - sizes[few]) / (many - few) / 1024
    what = f"memory of one more idle controller ({few} to {many})"
    return Figure(what, each_kb, "KB", goal="<= 30 KB", met=each_kb <= 30)


# --- all ------------------------------------------------------------------------------------------


def measure(quick: bool) -> list[Figure]:
    return asyncio.run(_measure(quick))


async def _measure(quick: bool) -> list[Figure]:
    count, rounds = (20_000, 3) if quick else (100_000, 5)
    onewire = [f"DS{n}" for n in range(1, 9)]
    analog = [f"INPA{n}" for n in range(1, 7)]
    return [
        measure_changes("1-Wire", onewire, count, rounds),
        measure_changes("analog", analog, count, rounds),
        await measure_busy_day(),
        await measure_idle_year(),
        await measure_reaction(2_000 if quick else 20_000),
        await measure_memory(100, 300 if quick else 1000),
    ]
