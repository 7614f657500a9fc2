"""The steps that lead from rules to other rules.

A rule that changes is disabled first, before anything else of the plan changes, and enabled last.
One that is no longer wanted is deleted where that leaves the others in their places. A place that
is to be empty is reached by deleting all rules from there on and writing the later ones again,
because a deletion moves them. A rule that
the version cannot hold is not touched; where there is none yet, a disabled one keeps its place, so
that the numbers of the others stay right.
"""

from msgspec.structs import replace

from leverframe.commands.plan.plan_builder import PlanBuilder
from leverframe.commands.plan.written import PlannedRequest
from leverframe.commands.table.params import encoded
from leverframe.commands.table.rules import event_query
from leverframe.commands.version_change.limits import missing_of_rule
from leverframe.engine.actions import MODBUS_WRITES, PULSES
from leverframe.engine.rules import rules_without
from leverframe.engine.settings import Rule, RulePlaces, numbered_rules, rule_numbered
from leverframe.profile import Profile

_RULE_PATH = "/inpa.cgi"
#: Ours alone.
_OWN_ACTIONS = frozenset((*MODBUS_WRITES, *PULSES))


def _said(rule: Rule | None) -> Rule | None:
    """Return what `event` says of a rule."""
    return rule and replace(rule, enabled=False, permanent=False, name="")


def _can_be_said(rule: Rule, profile: Profile, with_own: bool) -> bool:
    if rule.action in _OWN_ACTIONS and not with_own:
        return False
    return not missing_of_rule(rule, profile)


def _deletions(now: RulePlaces, wanted: RulePlaces) -> list[int]:
    """Choose what to delete, one after the other, so that most of the others stay in place."""
    found: list[int] = []
    while len(now) > len(wanted):
        kept = {
            number - 1: sum(
                new is not None and _said(old) == _said(new)
                for old, new in zip(rules_without(now, number - 1), wanted, strict=False)
            )
            for number, _ in numbered_rules(now)
        }
        best = max(kept, key=lambda index: (kept[index], index))
        found.append(best)
        now = rules_without(now, best)
    return found + _emptied(now, wanted)


def _emptied(now: RulePlaces, wanted: RulePlaces) -> list[int]:
    """List the rules from the first place on that is to be empty, the last one first."""
    places = [number - 1 for number, _ in numbered_rules(now)]
    first = min((place for place in places if wanted[place] is None), default=len(now))
    return [place for place in reversed(places) if place >= first]


def _request(query: str) -> PlannedRequest:
    return PlannedRequest("GET", f"{_RULE_PATH}?{query}")


def disable_changing(making: PlanBuilder, with_own: bool) -> None:
    """Disable the rules that will change, go, or are wanted disabled."""
    rules, wanted = making.now.rules, making.wanted.rules
    left = list(range(len(rules)))
    after = rules
    for index in _deletions(rules, wanted):
        _disable(making, left.pop(index))
        after = rules_without(after, index)
    # A deletion also ends the empty places before it.
    for place, (index, rule) in enumerate(zip(left, after, strict=False)):
        aim = wanted[place]
        if rule is None or aim is None:
            continue
        changes = _said(aim) != _said(rule) and _can_be_said(aim, making.profile, with_own)
        if changes or (_said(aim) == _said(rule) and not aim.enabled):
            _disable(making, index)


def _disable(making: PlanBuilder, index: int) -> None:
    rule = making.now.rules[index]
    if rule is not None and rule.enabled:
        making.take(_request(f"eventon={index}*0"))


def set_rules(making: PlanBuilder, with_own: bool) -> None:
    """Delete, write and enable rules, in this order."""
    wanted, profile = making.wanted.rules, making.profile
    for index in _deletions(making.now.rules, wanted):
        making.take(_request(f"eventdel={index}"))
    touched = []
    for number, aim in numbered_rules(wanted):
        present = rule_numbered(making.now.rules, number)
        if _can_be_said(aim, profile, with_own):
            touched.append((number - 1, aim))
            if _said(present) != _said(aim):
                _write(making, number - 1, aim)
        elif present is None:
            _write(making, number - 1, Rule())
    if with_own:
        _name(making)
    for index, aim in touched:
        if _present(making, index).permanent != aim.permanent:
            making.take(_request(f"eventper={index}*{int(aim.permanent)}"))
    for index, aim in touched:
        if _present(making, index).enabled != aim.enabled:
            making.take(_request(f"eventon={index}*{int(aim.enabled)}"))


def _present(making: PlanBuilder, index: int) -> Rule:
    rule = making.now.rules[index]
    assert rule is not None
    return rule


def _name(making: PlanBuilder) -> None:
    """Name rules; a name that was not read and is not wanted stays as it is."""
    for number, aim in numbered_rules(making.wanted.rules):
        index = number - 1
        path = f"rules.{index}.name"
        is_wanted = _present(making, index).name != aim.name and path not in making.hidden
        if is_wanted or path in making.unknown:
            making.take(_request(f"rulename={index}*{encoded(aim.name)}"))


def _write(making: PlanBuilder, index: int, rule: Rule) -> None:
    query = event_query(index, rule, making.profile)
    assert query is not None
    making.take(_request(query))
