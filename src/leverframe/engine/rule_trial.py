"""The trial of a rule with values of the past.

The rule runs on an engine of its own, together with the one that it depends on, and sees its
sources as they were recorded. What it switches has no consequences: a heater that it would have
switched on does not change the recorded temperature.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.engine.engine import Engine
from leverframe.engine.factory_settings import defaults
from leverframe.engine.live_rule import Firing, dependence
from leverframe.engine.machine import Value
from leverframe.engine.moment import Moment
from leverframe.engine.rule_courses import conditions_of, turns_of
from leverframe.engine.schedule_windows import course_of_window, windows_of
from leverframe.engine.settings import Rule, RulePlaces, Settings, rule_numbered
from leverframe.engine.timeline import Course, RecordedPiece, changes_by_time, courses_from
from leverframe.profile import Profile

#: More than this is never read, and a rule that chatters would fill the reply.
MAX_FIRINGS = 500


class RuleTrial(Struct, frozen=True):
    """The actions that a rule would have taken between two moments, in seconds since 1970."""

    first: float
    last: float
    #: Since when its sources are known; None if nothing of them is.
    since: float | None
    #: Oldest first; if there were more than `MAX_FIRINGS`, the first of them.
    firings: list[Firing]
    #: When each condition began and ceased to hold.
    conditions: list[list[Firing]] = []


def sources_of_trial(rules: RulePlaces, index: int) -> set[str]:
    """Return the labels whose past values the trial of a rule needs."""
    involved = _rules_of_trial(rules, index)
    own = {condition.label for one in involved for condition in conditions_of(one)}
    return own - {involved[0].action}


def try_rule(
    rules: RulePlaces,
    index: int,
    courses: Mapping[str, Course],
    span: tuple[float, float],
    profile: Profile,
) -> tuple[list[Firing], list[list[Firing]]]:
    """List when the rule at a place would have begun and ceased, and when its conditions."""
    first, last = span
    engine = Engine(profile, _only(rules, index, profile))
    engine.start(Moment(first, first))
    firings = engine.rules.firings_of(index)
    found: list[Firing] = []
    turns: list[list[Firing]] = [[] for _ in conditions_of(_rule_under_trial(rules, index))]
    for moment in _run_courses(engine, courses, last):
        found += (firing for firing in firings if firing.time <= moment)
        firings.clear()
        for course, result in zip(turns, engine.rules.results_of(index), strict=True):
            if bool(result) is not (bool(course) and course[-1].active):
                course.append(Firing(moment, bool(result)))
        if len(found) >= MAX_FIRINGS:
            break
    return found[:MAX_FIRINGS], [course[:MAX_FIRINGS] for course in turns]


def encode_rule_trial(
    settings: Settings,
    index: int,
    profile: Profile,
    timezone: tzinfo,
    span: tuple[float, float],
    recorded: Iterable[Iterable[RecordedPiece]],
) -> bytes:
    """Try the rule at a place of the settings on recorded values, as JSON."""
    rules, windows = settings.rules, windows_of(settings)
    first, last = span
    courses: dict[str, Course] = {
        label: turning(course, turns_of_trial(rules, index, label))
        for label, course in courses_from(recorded).items()
    }
    begins = [next(iter(course))[0] for course in courses.values() if course]
    for label in sources_of_trial(rules, index) & windows.keys():
        courses[label] = list(course_of_window(windows[label], first, last, timezone))
        begins = begins or ([first] if len(courses) == 1 else [])
    firings, turns = try_rule(rules, index, courses, span, profile)
    return msgspec.json.encode(RuleTrial(first, last, min(begins, default=None), firings, turns))


def find_sources(settings: Settings, index: int) -> set[str]:
    """Return the labels whose recorded values the trial of a rule needs."""
    return sources_of_trial(settings.rules, index) - windows_of(settings).keys()


def _rule_under_trial(rules: RulePlaces, index: int) -> Rule:
    rule = rules[index]
    if rule is None:
        raise LookupError(f"there is no rule at position {index}")
    return rule


def _rules_of_trial(rules: RulePlaces, index: int) -> list[Rule]:
    """Return the rule under trial, and the rule that it depends on if that is enabled."""
    rule = _rule_under_trial(rules, index)
    needed = rule_numbered(rules, dependence(rule)[0])
    return [rule] if needed is None or not needed.enabled else [rule, needed]


def _only(rules: RulePlaces, index: int, profile: Profile) -> Settings:
    """Enable only the rule and the rule that it depends on, at their places."""
    number, _ = dependence(_rule_under_trial(rules, index))
    kept = (
        rule and replace(rule, enabled=place == index or (rule.enabled and place == number - 1))
        for place, rule in enumerate(rules)
    )
    return replace(defaults(profile), rules=tuple(kept))


def _run_courses(engine: Engine, courses: Mapping[str, Course], last: float) -> Iterator[float]:
    """Run the engine through all changes and the deadlines between them; yield each moment."""
    for time, changes in changes_by_time(courses):
        if time > last:
            break
        yield from _serve_deadlines(engine, time)
        for label, value in changes:
            if label in engine.values:
                engine.machine.put(label, value)
        engine.sense({}, Moment(time, time))
        yield time
    yield from _serve_deadlines(engine, last)


def _serve_deadlines(engine: Engine, until: float) -> Iterator[float]:
    while (deadline := engine.next_deadline()) is not None and deadline <= until:
        engine.tick(Moment(deadline, deadline))
        yield deadline


def turning(course: Iterable[tuple[float, Value]], turns: Sequence[float]) -> Course:
    """Keep only values that can make a condition turn: those that cross one of the numbers.

    A day of a reading has many values, and nearly all of them change nothing.
    """
    kept: list[tuple[float, Value]] = []
    last: int | None = None
    for time, value in course:
        piece = None if value is None else bisect_right(turns, value)
        if not kept or piece != last:
            kept.append((time, value))
            last = piece
    return kept


def turns_of_trial(rules: RulePlaces, index: int, label: str) -> list[float]:
    """List the numbers at which conditions on a label turn, ascending."""
    conditions = (one for rule in _rules_of_trial(rules, index) for one in conditions_of(rule))
    return sorted({turn for one in conditions if one.label == label for turn in turns_of(one)})
