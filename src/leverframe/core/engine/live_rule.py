"""The runtime state of a rule, and the part of it that survives a change of settings.

An unchanged rule keeps its complete state, even if it moves to another place because a rule before
it was deleted. An edited rule counts as the same rule if it still switches the same target to the
same value. If an edit changes the result of the condition, the rule acts accordingly. For example,
lowering the reference of a heating rule can switch the heating off.
"""

from collections import deque
from collections.abc import Callable, Iterable
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.calls import OVERRIDING, REVERSE, Persist, target_of
from leverframe.core.engine.journal import Cause, Decided
from leverframe.core.engine.machine import Machine, Value
from leverframe.core.engine.timers import Key
from leverframe.core.labels import DIGITAL, EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.core.settings import MAX_RULES, Rule, RulePlaces, rule_numbered

# The two conditions of a rule, and how their results are combined.
#
# A `Condition` stores its last result, because with hysteresis the next result depends on it. An
# absent value does not change that result. When the two conditions of a rule are combined, a
# condition with an absent source counts as unknown: unless the other condition alone decides, the
# rule keeps its last result. So a broken sensor never triggers a rule, and a rule with a second,
# working sensor can still act.
#
# A digital source is 0 or 1, so its condition requires one of these states (`digital_level`) and
# has no hysteresis.

#: Decimal places of a threshold: without rounding, 20.1 - 0.2 would be more than 19.9.
_DIGITS = 6
#: An empty range.
_NO_RANGE = (inf, -inf)


def digital_level(compare: str, reference: float) -> float:
    """Return the state that a condition requires of a digital source.

    `< 1` requires 0. A reference of 0 requires 0 with any comparison: literally, the condition
    would be true always (`>= 0`) or never (`< 0`), which is useless. `=` is stored as `>=`.
    """
    return 0.0 if compare == "<" else reference


class Condition:
    __slots__ = (
        "_above",
        "_at_least",
        "_below",
        "_digital",
        "_ranges",
        "_result",
        "compare",
        "hysteresis",
        "label",
        "reference",
        "steady_below",
        "steady_from",
    )

    def __init__(self, label: str, compare: str, reference: float, hysteresis: float) -> None:
        self.label = label
        self._digital = label in DIGITAL
        self.reference = digital_level(compare, reference) if self._digital else reference
        self._at_least = compare == ">="
        self.compare = "=" if self._digital else compare if self._at_least else "<"
        self.hysteresis = 0.0 if self._digital else hysteresis
        self._below = round(reference - hysteresis, _DIGITS)
        self._above = round(reference + hysteresis, _DIGITS)
        #: For the results false and true: the range of values that do not change the result, from
        #: the first number up to, but excluding, the second.
        self._ranges = (_NO_RANGE, _NO_RANGE)
        if not self._digital:
            self._ranges = (
                ((-inf, reference), (self._below, inf))
                if self._at_least
                else ((reference, inf), (-inf, self._above))
            )
        #: The range that applies to the last result. A value within it need not be evaluated. Most
        #: readings cross no threshold, so an analog change with twenty rules takes 9.4 us instead
        #: of 13.6 us.
        self.steady_from, self.steady_below = _NO_RANGE
        self.result = None

    @property
    def result(self) -> bool | None:
        """The last result; None until the source has had a value."""
        return self._result

    @result.setter
    def result(self, result: bool | None) -> None:
        self._result = result
        self.steady_from, self.steady_below = _NO_RANGE

    @property
    def threshold(self) -> float:
        """The threshold of the next comparison; hysteresis shifts it while the result is true."""
        if self._digital or not self.result:
            return self.reference
        return self._below if self._at_least else self._above

    def describe_outcome(self, value: Value, after: int) -> Decided:
        """Return the last evaluation for the journal; `after` is the entry that set the value."""
        threshold, result = self.reference, self._result
        if value is not None and not self._digital:
            # With hysteresis there are two thresholds; report the one that explains the result.
            moved = self._below if self._at_least else self._above
            first, other = (threshold, moved) if result else (moved, threshold)
            wanted = self._at_least is bool(result)
            threshold = first if (value >= first) is wanted else other
        return Decided(self.label, value, self.compare, threshold, result, after)

    def judge(self, value: Value) -> bool | None:
        """Evaluate a new value and return the result; None if the value is absent."""
        if value is None:
            self.steady_from, self.steady_below = _NO_RANGE
            return None
        if self._digital:
            result = value == self.reference
        elif self._at_least:
            result = value >= (self._below if self._result else self.reference)
        else:
            result = value < (self._above if self._result else self.reference)
        self._result = result
        self.steady_from, self.steady_below = self._ranges[result]
        return result


def _and(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return True if first and second else None


def _or(first: bool | None, second: bool | None) -> bool | None:
    if first or second:
        return True
    return None if first is None or second is None else False


def _not(result: bool | None) -> bool | None:
    return None if result is None else not result


def _xor(first: bool | None, second: bool | None) -> bool | None:
    return None if first is None or second is None else first is not second


def _nand(first: bool | None, second: bool | None) -> bool | None:
    return _not(_and(first, second))


def _nor(first: bool | None, second: bool | None) -> bool | None:
    return _not(_or(first, second))


#: The operators between two conditions; None is unknown. The operator "-" is not included because
#: it has no second condition.
COMBINE: dict[str, Callable[[bool | None, bool | None], bool | None]] = {
    "AND": _and,
    "OR": _or,
    "NAND": _nand,
    "NOR": _nor,
    "XOR": _xor,
}


#: Actions with a value and delays; all other actions are performed immediately.
SWITCHED = frozenset((*OUTPUTS, *PWMS, *EVENT_VARIABLES))
#: Actions with a lasting result, which a permanent rule can maintain (unlike messages).
LASTING = SWITCHED.union(OVERRIDING)
ACTIVATE, DEACTIVATE = "activate", "deactivate"
#: Modes of a rule.
BOTH_WAYS, ONLY_WHEN_IT_STARTS, ONLY_WHEN_IT_STOPS = 0, 1, 2
KEPT_FIRINGS = 20


def dependence(rule: Rule) -> tuple[int, bool]:
    """Return the number of the rule it depends on (or 0), and whether that rule must be met."""
    if rule.depends > MAX_RULES:
        return rule.depends - MAX_RULES, True
    return rule.depends, False


class Firing(Struct, frozen=True, gc=False):
    """A moment at which a rule acted."""

    #: Wall time.
    time: float
    #: True if the rule began, False if it ended.
    active: bool


class LiveRule:
    __slots__ = (
        "acted",
        "cause",
        "combine",
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
        "target",
        "unconfirmed",
    )

    def __init__(self, rule: Rule, key: Key, number: int) -> None:
        self.rule = rule
        #: The key of its deadline; a rule keeps it when it moves to another place.
        self.key = key
        #: Counted from 1, as in the numbers that users see and in `Rule.depends`.
        self.number = number
        self.cause = Cause("rule")
        self.first = Condition(rule.source, rule.compare, rule.reference, rule.hysteresis)
        self.combine = COMBINE.get(rule.operator)
        self.second = (
            Condition(rule.source2, rule.compare2, rule.reference2, rule.hysteresis2)
            if self.combine is not None
            else None
        )
        self.switches = rule.action in SWITCHED
        #: The target of its action.
        self.target = target_of(rule.action)
        #: The result of the conditions; always false while the rule is disabled.
        self.combined = False
        #: Whether the combined result is true and the rule on which it depends permits acting.
        self.met = False
        #: The action to perform at the end of the delay.
        self.pending: str | None = None
        #: The state to which the activation set the target; a permanent rule maintains it.
        self.held: int | None = None
        #: The sequence number of its last activation; all rules are numbered together.
        self.acted = 0
        #: Whether its result was restored at startup while its sources still have no value.
        self.unconfirmed = False
        #: The most recent moments at which it acted, oldest first.
        self.firings: deque[Firing] = deque(maxlen=KEPT_FIRINGS)
        self.needed: LiveRule | None = None
        #: Enabled rules that depend on this one.
        self.dependents: tuple[LiveRule, ...] = ()

    def conditions(self) -> tuple[Condition, ...]:
        return (self.first,) if self.second is None else (self.first, self.second)

    def deciding(self, values: dict[str, Value]) -> tuple[Condition, ...]:
        """Return the conditions that explain the result: those that decide alone, or else both."""
        combine = self.combine
        if self.second is None or combine is None:
            return (self.first,)
        both = (self.first, self.second)
        alone = [
            one
            for one in both
            if values.get(one.label) is not None and combine(one.result, None) is not None
        ]
        return tuple(alone) or both

    def judge(self, values: dict[str, Value]) -> bool:
        """Evaluate the conditions; return True if the combined result changed.

        A settings file may contain an unknown source, which counts as absent.
        """
        first, second, combine = self.first, self.second, self.combine
        result = first.judge(values.get(first.label))
        if second is not None and combine is not None:
            result = combine(result, second.judge(values.get(second.label)))
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
        """Determine whether the rule is met; return True if that changed."""
        met = self.combined and (not self.rule.depends or self.dependence_agrees())
        if met is self.met:
            return False
        self.met = met
        return True

    def holds(self) -> bool:
        """Return True if this is a permanent rule that now maintains the state of its target."""
        return self.rule.permanent and self.met and self.held is not None

    def decides(self) -> bool:
        """Return True if this rule determines the state of its target when another rule ends.

        A rule that acts at both moments will later undo the state that it maintains now; a rule
        that acts at only one of them would not. A rule that reverses its target requires no
        particular state.
        """
        if not self.met:
            return False
        if self.holds():
            return True
        if self.rule.mode != BOTH_WAYS:
            return False
        if not self.switches:
            return True
        has_acted = self.held is not None or not self.rule.on_delay
        return has_acted and self.rule.value != REVERSE

    @property
    def wanted(self) -> int:
        """The state to which it has set its target, or will set it in this call."""
        return self.rule.value if self.held is None else self.held

    def rank(self) -> tuple[bool, float, int]:
        """Return a key to find the rule that decides: permanent rules win, then the last to act."""
        if self.holds():
            return True, 0, self.number
        return False, inf if self.held is None else self.acted, self.number

    def resume(self, held: int) -> None:
        """Resume as a rule that set its target to this state before the power failure."""
        self.held = held
        self.met = self.combined = self.unconfirmed = True
        if self.second is None or self.rule.operator == "AND":
            # With other operators it is unknown which condition was true.
            for condition in self.conditions():
                condition.result = True

    def give_up(self) -> None:
        """Set this rule to not met, as if its sources had never had a value."""
        self.combined = self.unconfirmed = False
        for condition in self.conditions():
            condition.result = None

    def continue_from(self, former: "LiveRule") -> None:
        """Copy the results of the rule as it was before the edit, but not its delay."""
        for old, new in zip(former.conditions(), self.conditions(), strict=False):
            if (old.label, old.compare) == (new.label, new.compare):
                new.result = old.result
        self.combined = former.combined
        # While a delay is running, the action is still that of the former condition.
        self.met = former.met is not (former.pending is not None)
        self.held = former.held
        self.acted = former.acted
        self.unconfirmed = former.unconfirmed
        self.firings = former.firings


def carry_over(
    former: list[LiveRule], rules: list[tuple[int, Rule]], fresh: Callable[[int, Rule], LiveRule]
) -> tuple[list[LiveRule], list[LiveRule]]:
    """Return the live rules for new settings, and the former live rules that are no longer used.

    `rules` are the new rules with their numbers. Live rules that are kept still have their former
    numbers.
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
    """Remove and return the first live rule that matches."""
    for place, match in enumerate(matches):
        if match:
            return lives.pop(place)
    return None


def _can_resume(old: Rule, new: Rule) -> bool:
    """Return True if the rules differ only in parts that affect neither results nor delays."""
    return old == replace(new, depends=old.depends, permanent=old.permanent, name=old.name)


def list_moved_places(former: RulePlaces, rules: RulePlaces) -> list[int]:
    """List the places at which the former rule was deleted, or replaced by a moved rule."""
    return [
        place
        for place, old in enumerate(former)
        if old is not None and _has_left(old, rule_numbered(rules, place + 1), former, rules)
    ]


def _has_left(old: Rule, new: Rule | None, former: RulePlaces, rules: RulePlaces) -> bool:
    """Return True if the rule at a place is neither the former rule nor an edited version of it."""
    if new is None:
        return True
    return not _can_resume(old, new) and (_is_among(new, former) or _is_among(old, rules))


def _is_among(rule: Rule, others: RulePlaces) -> bool:
    return any(other is not None and _can_resume(other, rule) for other in others)


def _is_edit(old: Rule, new: Rule) -> bool:
    return old.enabled and new.enabled and (old.action, old.value) == (new.action, new.value)


# Rules that have switched outputs with remembered states, which must survive a power failure.
#
# Such an output returns in its former state. The rule that switched it must resume, too, or nothing
# would switch the output off: normally a rule starts as not met, and a rule that was not activated
# is never deactivated. Therefore the store has the state to which a rule has set its output, until
# the rule undoes it.

_NAMES = tuple(f"rule.{place}" for place in range(MAX_RULES))
_OUTPUT_INDEX = {label: index for index, label in enumerate(OUTPUTS)}


class RuleMemory:
    __slots__ = ("_machine", "_stored")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        #: The stored states, by place.
        self._stored = [machine.persisted.get(name) for name in _NAMES]

    def restore(self, lives: Iterable[LiveRule]) -> None:
        """Resume the rules whose output still has the state to which they set it."""
        for live in lives:
            held = self._stored[live.number - 1]
            if held is None or not live.rule.enabled or not self._remembers(live):
                continue
            if held == self._machine.values[live.rule.action]:
                live.resume(int(held))

    def keep(self, lives: list[LiveRule]) -> None:
        """Store the states that rules have set, if they differ from the stored ones."""
        for live in lives:
            held = self._state_to_restore(live)
            if held != self._stored[live.number - 1]:
                self._store(live.number - 1, held)

    def keep_all(self, lives: list[LiveRule]) -> None:
        held: list[int | None] = [None] * MAX_RULES
        for live in lives:
            held[live.number - 1] = self._state_to_restore(live)
        if held == self._stored:
            return
        for place, state in enumerate(held):
            if state != self._stored[place]:
                self._store(place, state)

    def _state_to_restore(self, live: LiveRule) -> int | None:
        """Return the state of a remembered output that this rule has set and not yet undone."""
        return live.held if (live.met or live.pending) and self._remembers(live) else None

    def _store(self, place: int, held: int | None) -> None:
        self._stored[place] = held
        self._machine.emit(Persist(_NAMES[place], held))

    def _remembers(self, live: LiveRule) -> bool:
        index = _OUTPUT_INDEX.get(live.rule.action)
        return index is not None and self._machine.settings.outputs[index].remember
