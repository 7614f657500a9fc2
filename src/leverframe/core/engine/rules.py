"""Rules: actions that depend on readings and states ("Events" in the interface document).

Rules are evaluated only when one of their sources has changed. All rules of a call are evaluated
with the same values; then their actions are performed in the order of the rules. Changes by these
actions are evaluated in the next call.

A rule is *met* when its combined condition is true and the rule on which it depends permits acting.
A rule that becomes met is activated after the on delay; one that is no longer met is deactivated
after the off delay. If the rule changes back before the delay ends, the delay is cancelled and no
action is performed.

If several rules have the same target, a met rule that acts at both begin and end determines its
state, and another rule that ends does not override it. If no such rule is met, the rule that ended
last determines the state. `LiveRule.decides` defines which rules count.

After a start, rules that had switched an output with a remembered state resume (see
`live_rule.py`). If such a rule is no longer met, it ends as usual. If its sources have no value
within `CONFIRMED_WITHIN_S` and its end switches the output off, it ends at that time.

Gap: a dependence uses only the two conditions of the other rule, not that rule's own dependence, so
there are no chains and no cycles. A disabled or missing rule counts as not met.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from math import nan
from operator import attrgetter

from msgspec.structs import replace

from leverframe.core.engine.actuator import DONE_ONCE, Actuator
from leverframe.core.engine.calls import (
    OFF,
    ON,
    OVERRIDING,
    PULSES,
    REVERSE,
    after_switching,
    pulse_seconds,
)
from leverframe.core.engine.journal import Cause, Decided, Fact
from leverframe.core.engine.live_rule import (
    ACTIVATE,
    DEACTIVATE,
    LASTING,
    ONLY_WHEN_IT_STARTS,
    ONLY_WHEN_IT_STOPS,
    Condition,
    Firing,
    LiveRule,
    RuleMemory,
    carry_over,
    dependence,
    list_moved_places,
)
from leverframe.core.engine.machine import ANOTHER_RULE, RULE_TRACES, Machine
from leverframe.core.engine.rule_explanation import (
    RuleExplanation,
    absent_source,
    explain_rule,
    judge_disabled,
)
from leverframe.core.engine.timers import Key
from leverframe.core.engine.wishes import Wish
from leverframe.core.settings import Rule, RulePlaces, Settings, number_rules, without_trailing_gaps

#: How many seconds a restored result stays valid while its sources are absent.
CONFIRMED_WITHIN_S = 60
#: The deadline at which resting labels are evaluated again.
RESTED: Key = ("rules", "rested")
_UNCONFIRMED: Key = ("rules", "unconfirmed")


def rules_without(rules: RulePlaces, index: int) -> tuple[Rule | None, ...]:
    """Return the rules without one of them: later rules move down, and dependences are adapted."""
    deleted = index + 1
    return without_trailing_gaps(
        [rule and _after_deletion(rule, deleted) for rule in (*rules[:index], *rules[index + 1 :])]
    )


def _after_deletion(rule: Rule, deleted: int) -> Rule:
    number, _ = dependence(rule)
    if number < deleted:
        return rule
    return replace(rule, depends=0 if number == deleted else rule.depends - 1)


def rules_moved(rules: RulePlaces, index: int, to: int) -> tuple[Rule | None, ...]:
    """Return the rules with one rule moved, and with dependences adapted."""
    order = [place for place in range(len(rules)) if place != index]
    order.insert(to, index)
    numbers = {old + 1: new + 1 for new, old in enumerate(order)}
    moved = (rules[place] for place in order)
    return without_trailing_gaps([rule and _with_number(rule, numbers) for rule in moved])


def _with_number(rule: Rule, numbers: dict[int, int]) -> Rule:
    number, _ = dependence(rule)
    moved_by = numbers.get(number, number) - number
    return replace(rule, depends=rule.depends + moved_by) if moved_by else rule


class Rules:
    __slots__ = (
        "_activations",
        "_actuator",
        "_by_source",
        "_by_target",
        "_holders",
        "_live",
        "_machine",
        "_memory",
        "_serial",
        "_waiting",
    )

    def __init__(self, machine: Machine, actuator: Actuator) -> None:
        self._machine = machine
        self._actuator = actuator
        self._live: list[LiveRule] = []
        #: Enabled rules by watched label, each with the condition that watches it.
        self._by_source: dict[str, list[tuple[Condition, LiveRule]]] = {}
        #: Enabled permanent rules by action, for actions with a lasting result.
        self._holders: dict[str, list[LiveRule]] = {}
        #: Rules whose delay is running, by the key of their deadline.
        self._waiting: dict[Key, LiveRule] = {}
        #: Enabled rules with a lasting result, by target.
        self._by_target: dict[str, list[LiveRule]] = {}
        self._memory = RuleMemory(machine)
        self._serial = 0
        self._activations = 0

    def start(self) -> None:
        """Start all rules as not met: a rule whose condition is true acts as if it had just become
        met.

        Rules that had switched an output with a remembered state resume as met.
        """
        rules = number_rules(self._machine.settings.rules)
        self._live = [self._fresh(number, rule) for number, rule in rules]
        self._memory.restore(self._live)
        self._begin()
        self._memory.keep_all(self._live)
        if any(live.unconfirmed for live in self._live):
            self._machine.timers.set(_UNCONFIRMED, self._machine.at.now + CONFIRMED_WITHIN_S)

    def adopt(self, old: Settings) -> None:
        rules = self._machine.settings.rules
        if old.rules is not rules:
            self._live, gone = carry_over(self._live, number_rules(rules), self._fresh)
            for live in gone:
                self._drop_delay(live)
            self._trace_moved(old.rules)
            # The new rules may be without a loop, so no label rests any longer.
            self._machine.changed.update(self._machine.resting)
            self._machine.resting = {}
            self._begin()
            self.trace()
        # New settings may have changed a state that a permanent rule keeps, such as periodic
        # switching.
        for action in self._holders:
            self._hold(action)
        if old.rules is not rules or old.outputs is not self._machine.settings.outputs:
            self._memory.keep_all(self._live)

    def on_timer(self, key: Key) -> None:
        if key == RESTED:
            self._machine.changed.update(self._machine.resting)
            self._machine.mark("rules")
            return
        if key == _UNCONFIRMED:
            self._end_unconfirmed()
            return
        live = self._waiting.pop(key)
        what, live.pending = live.pending, None
        self._perform(live, activate=what == ACTIVATE)
        self._memory.keep([live])

    def trace(self) -> None:
        """Record which rules are met."""
        self._trace(self._live)

    def listens_to(self) -> Iterable[str]:
        """Return the labels that `evaluate` uses."""
        return (*self._by_source, *self._holders)

    def evaluate(self, changed: set[str]) -> None:
        """Evaluate the rules that watch changed labels, and restore states that permanent rules
        keep.
        """
        machine = self._machine
        values, by_source = machine.values, self._by_source
        moved: list[LiveRule] = []
        for label in changed:
            if label not in by_source:
                continue
            value = values[label]
            if value is None or machine.resting:
                # NaN is in no range, so all conditions are evaluated: resting labels may have
                # changed without an evaluation.
                value = nan
            for condition, live in by_source[label]:
                if condition.steady_from <= value < condition.steady_below:
                    continue
                if live.judge(values):
                    moved.append(live)
                    moved += live.dependents
        if moved:
            self._turn(_in_order(moved))
        for action in self._holders:
            if action in changed:
                self._hold(action)

    def keeps(self, action: str) -> bool:
        """Return True if a permanent rule currently maintains the result of this action."""
        return self._holder(action) is not None

    def explain(self, now: float | None = None) -> list[RuleExplanation]:
        """Explain all rules that exist; delays count from `now`, by default the last call."""
        counted_from = self._machine.at.now if now is None else now
        return [
            explain_rule(live, self._machine, self._holder(live.rule.action), counted_from)
            for live in self._live
        ]

    def results(self) -> dict[int, tuple[bool | None, ...]]:
        """Return the last results of the conditions of all rules, by their numbers."""
        shown = (judge_disabled(live, self._machine) for live in self._live)
        return {
            live.number: tuple(condition.result for condition in live.conditions())
            for live in shown
        }

    @property
    def is_waiting(self) -> bool:
        """Whether the delay of a rule is running."""
        return bool(self._waiting)

    def absent_sources(self) -> dict[int, str]:
        """Return the first absent source of each rule that waits for one, by rule number."""
        if None not in map(self._machine.values.get, self._by_source):
            # The usual case, checked first because the search below takes ten times as long.
            return {}
        return {
            live.number: absent
            for live in self._live
            if live.rule.enabled and (absent := absent_source(live, self._machine)) is not None
        }

    def find_contradictions(self) -> Iterator[str]:
        """Yield the targets that are in another state than a met rule has set."""
        values = self._machine.values
        for label, lives in self._by_target.items():
            if any(live.met and live.held not in (None, values.get(label)) for live in lives):
                yield label

    def wish_for(self, label: str) -> Wish | None:
        """Return the state that the deciding rule has set for a target; None if no rule decides."""
        deciding = (live for live in self._by_target.get(label, ()) if live.decides())
        first = max(deciding, key=LiveRule.rank, default=None)
        if first is None or first.held is None or not first.switches:
            return None
        return Wish(first.held, first.cause, rule=first.number)

    def firings(self) -> list[list[Firing]]:
        """List the recent firings of each rule that exists, oldest first."""
        return [list(live.firings) for live in self._live]

    def results_of(self, index: int) -> tuple[bool | None, ...]:
        """Return the last results of a rule's conditions."""
        return tuple(condition.result for condition in self._at(index).conditions())

    def firings_of(self, index: int) -> deque[Firing]:
        """Return the deque of a rule's newest firings; a caller that needs all may empty it."""
        return self._at(index).firings

    def _at(self, index: int) -> LiveRule:
        return next(live for live in self._live if live.number == index + 1)

    def _fresh(self, number: int, rule: Rule) -> LiveRule:
        self._serial += 1
        return LiveRule(rule, ("rules", self._serial), number)

    def _begin(self) -> None:
        self._link()
        enabled = [live for live in self._live if live.rule.enabled]
        for live in enabled:
            live.judge(self._machine.values)
        self._turn(enabled)

    def _end_unconfirmed(self) -> None:
        """End rules whose sources did not return, if that switches something off."""
        ended = [live for live in self._live if live.unconfirmed and live.held == ON]
        for live in ended:
            live.give_up()
            missing = ", ".join(condition.label for condition in live.conditions())
            figures = {"labels": missing, "seconds": CONFIRMED_WITHIN_S}
            self._machine.log(live.cause, Fact("rule_unconfirmed", figures=figures))
            self._machine.mark("rules")
        self._turn(_in_order([*ended, *(other for live in ended for other in live.dependents)]))

    def _link(self) -> None:
        """Assign the rules their numbers and build the indexes."""
        self._by_source.clear()
        self._holders.clear()
        self._by_target.clear()
        rules = number_rules(self._machine.settings.rules)
        by_number = {number: live for (number, _), live in zip(rules, self._live, strict=True)}
        for number, rule in rules:
            live = by_number[number]
            live.rule = rule
            live.number = number
            live.cause = Cause("rule", rule.name or str(number), number=number, name=rule.name)
            live.needed = by_number.get(dependence(rule)[0])
            if rule.enabled:
                self._index(live)
        for live in self._live:
            live.dependents = tuple(
                other for other in self._live if other.needed is live and other.rule.enabled
            )

    def _index(self, live: LiveRule) -> None:
        for condition in live.conditions():
            self._by_source.setdefault(condition.label, []).append((condition, live))
        if live.rule.action not in LASTING:
            return
        self._by_target.setdefault(live.target, []).append(live)
        if live.rule.permanent:
            self._holders.setdefault(live.rule.action, []).append(live)

    def _turn(self, lives: list[LiveRule]) -> None:
        """Determine which rules change, then act: no action affects a decision of this call."""
        turned: list[LiveRule] = []
        for live in lives:
            if live.turn():
                live.cause = self._cause_of(live)
                turned.append(live)
        for live in turned:
            if live.met:
                self._became_met(live)
            else:
                self._end_rule(live)
        self._trace(turned)
        self._memory.keep(turned)

    def _trace(self, lives: Iterable[LiveRule]) -> None:
        machine = self._machine
        if machine.samples is not None:
            for live in lives:
                trace = RULE_TRACES[live.number - 1]
                machine.samples.append((machine.at.wall, trace, int(live.met)))

    def _trace_moved(self, former: RulePlaces) -> None:
        """Record the places whose former rule was moved or deleted."""
        machine = self._machine
        if machine.samples is not None:
            wall = machine.at.wall
            machine.samples += [
                (wall, RULE_TRACES[place], ANOTHER_RULE)
                for place in list_moved_places(former, machine.settings.rules)
            ]

    def _cause_of(self, live: LiveRule) -> Cause:
        """Return the rule as a cause, with the values of its decision."""
        values, entry_of = self._machine.values, self._machine.entry_of
        decided: tuple[Decided, ...] = ()
        after = 0
        for condition in live.deciding(values):
            entry = entry_of(condition.label)
            decided += (condition.describe_outcome(values.get(condition.label), entry),)
            if entry > after:
                after = entry
        rule = live.cause
        # Positional arguments, because `replace` would add 0.2 us to the 9 us that a reading takes
        # when it triggers a rule.
        return Cause(
            rule.kind, rule.detail, "", "", rule.number, rule.name, decided, rule.seconds, after
        )

    def _became_met(self, live: LiveRule) -> None:
        if live.pending:
            self._drop_delay(live)
            self._hold(live.rule.action)
        elif live.rule.mode != ONLY_WHEN_IT_STOPS:
            live.held = None
            self._act_after(live, ACTIVATE, live.rule.on_delay)

    def _end_rule(self, live: LiveRule) -> None:
        if live.pending:
            self._drop_delay(live)
        elif live.rule.mode != ONLY_WHEN_IT_STARTS:
            self._act_after(live, DEACTIVATE, live.rule.off_delay)
        if live.pending or live.rule.mode == ONLY_WHEN_IT_STARTS:
            # This rule undoes nothing now, but an earlier permanent rule may restore its own state.
            self._hold(live.rule.action)

    def _act_after(self, live: LiveRule, what: str, delay_s: int) -> None:
        if not delay_s or not live.switches:
            self._perform(live, activate=what == ACTIVATE)
            return
        live.pending = what
        self._waiting[live.key] = live
        self._machine.timers.set(live.key, self._machine.at.now + delay_s)
        waits = "rule_waits" if live.met else "rule_waits_to_end"
        fact = Fact(waits, live.rule.action, figures={"seconds": delay_s})
        # Later journal entries are shown as consequences of this entry.
        live.cause = replace(live.cause, after=self._machine.log(live.cause, fact))

    def _drop_delay(self, live: LiveRule) -> None:
        if live.pending:
            live.pending = None
            del self._waiting[live.key]
            self._machine.timers.cancel(live.key)
            self._machine.log(live.cause, Fact("rule_delay_dropped", live.rule.action))

    def _perform(self, live: LiveRule, *, activate: bool) -> None:
        if activate:
            self._activate(live)
        else:
            self._deactivate(live)
        live.firings.append(Firing(self._machine.at.wall, activate))

    def _activate(self, live: LiveRule) -> None:
        action, value = live.rule.action, live.rule.value
        self._carry_out(live, value, True)
        # The state after a reversal is known only when it has been performed.
        reversed_now = value == REVERSE and live.switches
        live.held = self._actuator.current(action) if reversed_now else value
        self._activations += 1
        live.acted = self._activations

    def _deactivate(self, live: LiveRule) -> None:
        live.held = None
        decider = self._decider(live)
        left_in = self._end_value(live, decider)
        if left_in is not None:
            self._carry_out(live, left_in, False)
        elif decider is not None:
            fact = Fact("rule_leaves", live.target, figures={"rule": decider.cause.detail})
            self._machine.log(live.cause, fact)

    def _decider(self, ended: LiveRule) -> LiveRule | None:
        """Find the rule that decides about the target of a rule that has ended."""
        decider: LiveRule | None = None
        for live in self._by_target.get(ended.target, ()):
            if live.met and live is not ended and live.decides():
                decider = live if decider is None else max(decider, live, key=LiveRule.rank)
        return decider

    def _end_value(self, live: LiveRule, decider: LiveRule | None) -> int | None:
        """Return the value with which a rule ends; None if it must not change its target."""
        if not live.switches and live.rule.action in OVERRIDING:
            if decider is None:
                return OFF
            return decider.wanted if decider.switches else None
        value = self._actuator.opposite(live.rule.value)
        if decider is None:
            return value
        after = after_switching(value, bool(self._actuator.current(live.rule.action)))
        return value if decider.switches and decider.wanted == after else None

    def _carry_out(self, live: LiveRule, value: int, activate: bool) -> None:
        action = live.rule.action
        if live.switches:
            self._actuator.switch(action, value, live.cause)
            return
        source = live.first.label
        measured = self._machine.values.get(source)
        if action in PULSES:
            value = pulse_seconds(live.rule.off_delay)
        # In the mode "only when it stops", `DONE_ONCE` actions are performed when the rule ends.
        done_now = activate or (live.rule.mode == ONLY_WHEN_IT_STOPS and action in DONE_ONCE)
        self._actuator.perform(action, value, done_now, live.cause, source, measured)

    def _holder(self, action: str) -> LiveRule | None:
        """Find the rule that maintains the result of an action; if there are several, the last."""
        for live in reversed(self._holders.get(action, ())):
            if live.holds():
                return live
        return None

    def _hold(self, action: str) -> None:
        live = self._holder(action)
        if live is None or live.held is None:
            return
        if not live.switches or self._actuator.current(action) != live.held:
            self._carry_out(live, live.held, True)


_NUMBER = attrgetter("number")


def _in_order(lives: list[LiveRule]) -> list[LiveRule]:
    """List each rule once, in entry order."""
    return lives if len(lives) == 1 else sorted(set(lives), key=_NUMBER)
