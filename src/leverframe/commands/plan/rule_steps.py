"""The steps that lead from rules to other rules.

A rule that changes is disabled first, before anything else of the plan changes, and enabled last.
One that is no longer wanted is deleted where that leaves the others in their places. A rule that
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
from leverframe.engine.settings import Rule
from leverframe.profile import Profile

_RULE_PATH = "/inpa.cgi"
#: Ours alone.
_OWN_ACTIONS = frozenset((*MODBUS_WRITES, *PULSES))


def _said(rule: Rule) -> Rule:
    """Return what `event` says of a rule."""
    return replace(rule, enabled=False, permanent=False, name="")


def _can_be_said(rule: Rule, profile: Profile, with_own: bool) -> bool:
    if rule.action in _OWN_ACTIONS and not with_own:
        return False
    return not missing_of_rule(rule, profile)


def _deletions(now: tuple[Rule, ...], wanted: tuple[Rule, ...]) -> list[int]:
    """Choose what to delete, one after the other, so that most of the others stay in place."""
    found: list[int] = []
    while len(now) > len(wanted):
        kept = {
            index: sum(
                _said(old) == _said(new)
                for old, new in zip(rules_without(now, index), wanted, strict=False)
            )
            for index in range(len(now))
        }
        best = max(kept, key=lambda index: (kept[index], index))
        found.append(best)
        now = rules_without(now, best)
    return found


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
    for place, (index, rule) in enumerate(zip(left, after, strict=True)):
        aim = wanted[place]
        changes = _said(aim) != _said(rule) and _can_be_said(aim, making.profile, with_own)
        if changes or (_said(aim) == _said(rule) and not aim.enabled):
            _disable(making, index)


def _disable(making: PlanBuilder, index: int) -> None:
    if making.now.rules[index].enabled:
        making.take(_request(f"eventon={index}*0"))


def set_rules(making: PlanBuilder, with_own: bool) -> None:
    """Delete, write and enable rules, in this order."""
    wanted, profile = making.wanted.rules, making.profile
    for index in _deletions(making.now.rules, wanted):
        making.take(_request(f"eventdel={index}"))
    touched = []
    for index, aim in enumerate(wanted):
        is_new = index >= len(making.now.rules)
        if _can_be_said(aim, profile, with_own):
            touched.append(index)
            if is_new or _said(making.now.rules[index]) != _said(aim):
                _write(making, index, aim)
        elif is_new:
            _write(making, index, Rule())
    if with_own:
        _name(making)
    for index in touched:
        if making.now.rules[index].permanent != wanted[index].permanent:
            making.take(_request(f"eventper={index}*{int(wanted[index].permanent)}"))
    for index in touched:
        if making.now.rules[index].enabled != wanted[index].enabled:
            making.take(_request(f"eventon={index}*{int(wanted[index].enabled)}"))


def _name(making: PlanBuilder) -> None:
    """Name rules; a name that was not read and is not wanted stays as it is."""
    for index, aim in enumerate(making.wanted.rules):
        path = f"rules.{index}.name"
        is_wanted = making.now.rules[index].name != aim.name and path not in making.hidden
        if is_wanted or path in making.unknown:
            making.take(_request(f"rulename={index}*{encoded(aim.name)}"))


def _write(making: PlanBuilder, index: int, rule: Rule) -> None:
    query = event_query(index, rule, making.profile)
    assert query is not None
    making.take(_request(query))
