"""The run-time state of one rule, and which part of it survives a change of settings.

An unchanged rule keeps everything, also when it moves to another place because one before it was
deleted. An edited one is still the same rule, as long as it switches the same target to the same
value: if the edit alone makes its condition start or stop, it acts on that. Lowering the reference
of a heating rule therefore switches the heating off.
"""

from collections import deque
from collections.abc import Callable, Iterable
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from leverframe.engine.actions import OVERRIDING, REVERSE
from leverframe.engine.conditions import COMBINE, Condition
from leverframe.engine.journal import Cause
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.engine.machine import Value
from leverframe.engine.settings import MAX_RULES, Rule, RulePlaces, rule_numbered
from leverframe.engine.timers import Key

#: Actions that have a value and delays; all others act immediately.
SWITCHED = frozenset((*OUTPUTS, *PWMS, *EVENT_VARIABLES))
#: Actions with a lasting result, which a permanent rule can keep; a message is sent once.
LASTING = SWITCHED.union(OVERRIDING)
ACTIVATE, DEACTIVATE = "activate", "deactivate"
#: Modes of a rule.
BOTH_WAYS, ONLY_WHEN_IT_STARTS, ONLY_WHEN_IT_STOPS = 0, 1, 2
KEPT_FIRINGS = 20


def dependence(rule: Rule) -> tuple[int, bool]:
    """Return the number of the rule it depends on, 0 for none, and whether that must be met."""
    if rule.depends > MAX_RULES:
        return rule.depends - MAX_RULES, True
    return rule.depends, False


class Firing(Struct, frozen=True):
    """One time that a rule acted."""

    #: Wall time.
    time: float
    #: True if it began, False if it ceased.
    active: bool


class LiveRule:
    __slots__ = (
        "acted",
        "cause",
        "combined",
        "dependents",
        "firings",
        "first",
        "held",
        "key",
        "met",
        "needed",
        "number",
        "pending",
        "rule",
        "second",
        "switches",
        "unconfirmed",
    )

    def __init__(self, rule: Rule, key: Key, number: int) -> None:
        self.rule = rule
        #: Key of its deadline: numbered by rule, not by place, so that a rule that moves keeps it.
        self.key = key
        #: From 1, as people count and as dependences do.
        self.number = number
        self.cause = Cause("rule")
        self.first = Condition(rule.source, rule.compare, rule.reference, rule.hysteresis)
        self.second = (
            Condition(rule.source2, rule.compare2, rule.reference2, rule.hysteresis2)
            if rule.operator in COMBINE
            else None
        )
        self.switches = rule.action in SWITCHED
        #: The result of the conditions; stays false while the rule is disabled.
        self.combined = False
        #: The combined result holds, and the dependence agrees.
        self.met = False
        #: What happens when the delay is over.
        self.pending: str | None = None
        #: What the activation set the target to; a permanent rule keeps it there.
        self.held: int | None = None
        #: Number of its last activation among those of all rules.
        self.acted = 0
        #: True from a start that restored its result until its sources are known.
        self.unconfirmed = False
        #: The newest times it acted, oldest first.
        self.firings: deque[Firing] = deque(maxlen=KEPT_FIRINGS)
        self.needed: LiveRule | None = None
        #: Enabled rules that depend on this one.
        self.dependents: tuple[LiveRule, ...] = ()

    def conditions(self) -> tuple[Condition, ...]:
        return (self.first,) if self.second is None else (self.first, self.second)

    def deciding(self, values: dict[str, Value]) -> tuple[Condition, ...]:
        """Return the conditions that gave the result: each that does so alone, or else both."""
        if self.second is None:
            return (self.first,)
        combine = COMBINE[self.rule.operator]
        both = (self.first, self.second)
        alone = tuple(
            one
            for one in both
            if values.get(one.label) is not None and combine(one.result, None) is not None
        )
        return alone or both

    def judge(self, values: dict[str, Value]) -> bool:
        """Judge the conditions and return True if the combined result changed.

        Settings come from files, too: an unknown source counts as absent.
        """
        first, second = self.first, self.second
        result = first.judge(values.get(first.label))
        if second is not None:
            result = COMBINE[self.rule.operator](result, second.judge(values.get(second.label)))
        if result is None:
            return False
        self.unconfirmed = False
        if result is self.combined:
            return False
        self.combined = result
        return True

    def dependence_agrees(self) -> bool:
        number, must_be_met = dependence(self.rule)
        if not number:
            return True
        return (self.needed is not None and self.needed.combined) is must_be_met

    def turn(self) -> bool:
        """Decide whether the rule is met and return True if that changed."""
        met = self.combined and self.dependence_agrees()
        if met is self.met:
            return False
        self.met = met
        return True

    def holds(self) -> bool:
        """Return True if this is a permanent rule that keeps its target in a state now."""
        return self.rule.permanent and self.met and self.held is not None

    def decides(self) -> bool:
        """Return True if what becomes of the target is up to this rule, should another one end.

        One that acts both ways will undo what it keeps the other from undoing; one that acts at a
        single moment would not. Reversing says nothing about the state that is wanted.
        """
        if self.holds():
            return True
        if not self.met or self.rule.mode != BOTH_WAYS:
            return False
        if not self.switches:
            return True
        has_acted = self.held is not None or not self.rule.on_delay
        return has_acted and self.rule.value != REVERSE

    @property
    def wanted(self) -> int:
        """The state that it set its target to, or is about to in this instant."""
        return self.rule.value if self.held is None else self.held

    def rank(self) -> tuple[bool, float, int]:
        """Return what orders rules that decide: permanent ones first, then the newest."""
        if self.holds():
            return True, 0, self.number
        return False, inf if self.held is None else self.acted, self.number

    def resume(self, held: int) -> None:
        """Resume as the rule that set its target to this state before the power went."""
        self.held = held
        self.met = self.combined = self.unconfirmed = True
        if self.second is None or self.rule.operator == "AND":
            # Otherwise it is unknown which of the two held.
            for condition in self.conditions():
                condition.result = True

    def give_up(self) -> None:
        """Count as not met, as a rule whose sources were never seen."""
        self.combined = self.unconfirmed = False
        for condition in self.conditions():
            condition.result = None

    def continue_from(self, former: "LiveRule") -> None:
        """Copy the results of the rule that this one is an edit of, but not its delay."""
        for old, new in zip(former.conditions(), self.conditions(), strict=False):
            if (old.label, old.compare) == (new.label, new.compare):
                new.result = old.result
        self.combined = former.combined
        # While a delay runs, the action lags behind the condition.
        self.met = former.met is not (former.pending is not None)
        self.held = former.held
        self.acted = former.acted
        self.unconfirmed = former.unconfirmed
        self.firings = former.firings


def carry_over(
    former: list[LiveRule], rules: list[tuple[int, Rule]], fresh: Callable[[int, Rule], LiveRule]
) -> tuple[list[LiveRule], list[LiveRule]]:
    """Return the live rules for new settings, and the former ones that are no longer used.

    `rules` are the new ones with their numbers. Of a rule that is kept, the number is the former.
    """
    spare = list(former)
    same = [_take(spare, [live.rule is rule for live in spare]) for _, rule in rules]
    kept = [
        live or _take(spare, [_can_resume(live.rule, rule) for live in spare])
        for live, (_, rule) in zip(same, rules, strict=True)
    ]
    edited = {live.number: live for live in spare}
    lives = []
    for live, (number, rule) in zip(kept, rules, strict=True):
        new = live or fresh(number, rule)
        old = edited.get(number)
        if live is None and old is not None and _is_edit(old.rule, rule):
            new.continue_from(old)
        lives.append(new)
    return lives, spare


def _take(lives: list[LiveRule], matches: Iterable[bool]) -> LiveRule | None:
    """Remove and return the first one that matches."""
    for place, match in enumerate(matches):
        if match:
            return lives.pop(place)
    return None


def _can_resume(old: Rule, new: Rule) -> bool:
    """Return True if the rules differ only in what affects neither results nor delays."""
    return old == replace(new, depends=old.depends, permanent=old.permanent, name=old.name)


def list_moved_places(former: RulePlaces, rules: RulePlaces) -> list[int]:
    """List the places at which there is another rule now: it was moved there, or none is left."""
    return [
        place
        for place, old in enumerate(former)
        if old is not None and _has_left(old, rule_numbered(rules, place + 1), former, rules)
    ]


def _has_left(old: Rule, new: Rule | None, former: RulePlaces, rules: RulePlaces) -> bool:
    """Return True if the rule at a place is not the former one, nor an edit of it."""
    if new is None:
        return True
    return not _can_resume(old, new) and (_is_among(new, former) or _is_among(old, rules))


def _is_among(rule: Rule, others: RulePlaces) -> bool:
    return any(other is not None and _can_resume(other, rule) for other in others)


def _is_edit(old: Rule, new: Rule) -> bool:
    return old.enabled and new.enabled and (old.action, old.value) == (new.action, new.value)
