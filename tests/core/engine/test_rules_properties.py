"""Rules against a naive model that looks at everything at every step, and deletion.

The model knows nothing of indexes, keys or settings trees: its rules are objects that point at each
other, and it judges all of them whenever anything happens. The real ones run in a whole engine.
Rules only look at event variables before the one they set; the few that run in circles over a
dependence are left out.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

from hypothesis import given, reject
from hypothesis import strategies as st
from msgspec.structs import replace

from leverframe.core.engine.live_rule import Condition
from leverframe.core.engine.rules import rules_moved, rules_without
from leverframe.core.settings import MAX_RULES, Rule, RulePlaces, rule_numbered
from tests.effort import examples

from .bench import Bench

READINGS = ("TEMP", "DS1")
VARIABLES = ("EVENT1", "EVENT2")
OUTPUTS = ("OUT0",)
DEGREES = st.sampled_from([18.0, 19.0, 20.0, 21.0, 22.0])
FEW_STEPS = 10
DELAYS = st.sampled_from([0, 0, 0, 1, 3, 10])


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    step = draw(st.integers(0, len(VARIABLES)))
    sources = st.sampled_from([*READINGS, *VARIABLES[:step]])
    source, source2 = draw(sources), draw(sources)
    return Rule(
        source=source,
        compare=draw(st.sampled_from([">=", "<"])),
        reference=draw(DEGREES if source in READINGS else st.sampled_from([0.0, 1.0])),
        hysteresis=draw(st.sampled_from([0.0, 1.0, 2.0])),
        operator=draw(st.sampled_from(["-", "AND", "OR", "NAND", "NOR", "XOR"])),
        action=draw(st.sampled_from([*VARIABLES[step:], *OUTPUTS])),
        source2=source2,
        compare2=draw(st.sampled_from([">=", "<"])),
        reference2=draw(DEGREES if source2 in READINGS else st.sampled_from([0.0, 1.0])),
        off_delay=draw(DELAYS),
        value=draw(st.sampled_from([0, 1, 2])),
        on_delay=draw(DELAYS),
        depends=draw(st.sampled_from([0, 0, 0, 0, 1, 2, 3, 21, 22, 23, 26])),
        mode=draw(st.sampled_from([0, 0, 1, 2])),
        enabled=draw(st.sampled_from([True, True, True, False])),
        permanent=draw(st.booleans()),
    )


@st.composite
def rivals(draw: st.DrawFn) -> Rule:
    """Rules that have one output in common, and are often met."""
    return Rule(
        source=draw(st.sampled_from(READINGS)),
        compare=draw(st.sampled_from([">=", "<"])),
        reference=draw(DEGREES),
        hysteresis=draw(st.sampled_from([0.0, 2.0])),
        operator=draw(st.sampled_from(["-", "-", "AND", "OR"])),
        source2="TEMP",
        reference2=draw(DEGREES),
        action="OUT0",
        off_delay=draw(DELAYS),
        value=draw(st.sampled_from([0, 1, 1, 2])),
        on_delay=draw(DELAYS),
        mode=draw(st.sampled_from([0, 0, 0, 1, 2])),
        enabled=True,
        permanent=draw(st.sampled_from([False, False, False, True])),
    )


STEPS = st.one_of(
    st.tuples(st.sampled_from(READINGS), st.one_of(st.none(), DEGREES)),
    st.tuples(st.just("both"), DEGREES),
    st.tuples(st.just("reverse"), st.sampled_from([*VARIABLES, *OUTPUTS])),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 1.0, 2.0, 5.0, 20.0])),
    st.tuples(st.just("delete"), st.integers(0, 4)),
    st.tuples(st.just("enable"), st.integers(0, 4)),
    st.tuples(st.just("hold"), st.integers(0, 4)),
)
#: Of rivals: readings, a person, and power cuts; a minute may pass without readings.
RIVAL_STEPS = st.one_of(
    st.tuples(st.sampled_from(READINGS), st.one_of(st.none(), DEGREES)),
    st.tuples(st.just("both"), DEGREES),
    st.tuples(st.just("both"), DEGREES),
    st.tuples(st.just("reverse"), st.just("OUT0")),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 3.0, 20.0, 70.0])),
    st.tuples(st.just("cut"), st.none()),
)


@dataclass(eq=False)
class ModelRule:
    rule: Rule
    other: "ModelRule | None" = None
    enabled: bool = False
    permanent: bool = False
    results: list[bool | None] = field(default_factory=lambda: [None, None])
    combined: bool = False
    met: bool = False
    due: float | None = None
    held: int | None = None
    #: Its place among all activations so far.
    acted: int = 0
    #: Restored, and its sources were not seen since.
    unconfirmed: bool = False

    def forget(self) -> None:
        self.results, self.combined, self.met = [None, None], False, False
        self.due, self.held, self.acted, self.unconfirmed = None, None, 0, False

    def resume(self) -> None:
        held = self.held
        self.forget()
        self.held, self.combined, self.met, self.unconfirmed = held, True, True, True
        if self.rule.operator in ("-", "AND"):
            self.results = [True, True]

    def claim(self) -> int | None:
        """The state that its target has to keep while it is met, or none."""
        if not (self.enabled and self.met):
            return None
        if self.permanent and self.held is not None:
            return self.held
        if self.rule.mode != 0 or self.rule.value == 2:
            return None
        acts_now = self.held is None and self.rule.on_delay == 0
        return self.rule.value if acts_now or self.held is not None else None

    def newness(self, place: int) -> tuple[bool, float, int]:
        permanent = self.permanent and self.held is not None
        return permanent, 0 if permanent else (inf if self.held is None else self.acted), place


class Model:
    def __init__(self, rules: RulePlaces) -> None:
        self.now = 0.0
        self.activations = 0
        self.values: dict[str, float | int | None] = dict.fromkeys(READINGS)
        self.values |= dict.fromkeys((*VARIABLES, *OUTPUTS), 0)
        #: Rules in the order in which their last delays began.
        self.order: list[ModelRule] = []
        self.places = [r and ModelRule(r, None, r.enabled, r.permanent) for r in rules]
        for rule in self.rules:
            number = (rule.rule.depends - 1) % MAX_RULES
            if rule.rule.depends and number < len(self.places):
                rule.other = self.places[number]
        self.confirmed_by = -1.0
        self.settle()

    @property
    def rules(self) -> list[ModelRule]:
        return [rule for rule in self.places if rule is not None]

    def cut(self) -> None:
        """A power cut, with an output that remembers its state."""
        self.values |= dict.fromkeys(READINGS) | dict.fromkeys(VARIABLES, 0)
        self.activations, self.order = 0, []
        for rule in self.rules:
            has_set = (rule.met or rule.due is not None) and rule.held == self.values["OUT0"]
            if rule.enabled and has_set:
                rule.resume()
            else:
                rule.forget()
        self.confirmed_by = self.now + 60

    def end_unconfirmed(self) -> None:
        for rule in self.rules:
            if rule.unconfirmed and rule.held == 1:
                rule.combined, rule.unconfirmed, rule.results = False, False, [None, None]
        self.settle()

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        if self.now < self.confirmed_by <= end:
            self.serve(self.confirmed_by - 0.25)
            self.now = self.confirmed_by
            self.end_unconfirmed()
        self.serve(end)

    def serve(self, end: float) -> None:
        while due := [r for r in self.rules if r.due is not None and r.due <= end]:
            # Deadlines of one instant come in the order in which the conditions changed.
            first = min(due, key=lambda r: (r.due, self.order.index(r)))
            self.now, first.due = first.due, None
            self.act(first)
            self.settle()
        self.now = end

    def delete(self, rule: ModelRule) -> None:
        self.places.remove(rule)
        for dependent in self.rules:
            if dependent.other is rule:
                dependent.other = None
                dependent.rule = replace(dependent.rule, depends=0)

    def settle(self) -> None:
        for _ in range(FEW_STEPS):
            before = dict(self.values)
            self.step()
            if before == self.values:
                return
        reject()

    def step(self) -> None:
        for rule in self.rules:
            if rule.enabled:
                self.judge(rule)
        turned = []
        for rule in self.rules:
            met = rule.enabled and rule.combined and self.agrees(rule)
            if met != rule.met and rule.enabled:
                turned.append(rule)
                rule.met = met
        for rule in turned:
            self.turn(rule)
        self.hold()

    def hold(self) -> None:
        for target in (*VARIABLES, *OUTPUTS):
            holding = [
                r
                for r in self.rules
                if r.rule.action == target and r.enabled and r.permanent and r.met
            ]
            holding = [r for r in holding if r.held is not None]
            if holding:
                self.values[target] = holding[-1].held

    def judge(self, rule: ModelRule) -> None:
        r = rule.rule
        now = [
            self.condition(rule, 0, r.source, r.compare, r.reference, r.hysteresis),
            self.condition(rule, 1, r.source2, r.compare2, r.reference2, r.hysteresis2),
        ]
        # Unknown conditions may be either: the result counts if it is the same for both.
        choices = [[True, False] if result is None else [result] for result in now]
        results = {combine(r.operator, a, b) for a in choices[0] for b in choices[1]}
        if len(results) == 1:
            rule.combined = results.pop()
            rule.unconfirmed = False

    def condition(
        self, rule: ModelRule, which: int, label: str, compare: str, ref: float, hysteresis: float
    ) -> bool | None:
        value = self.values[label]
        if value is None:
            return None
        was = rule.results[which]
        if label in VARIABLES:
            # `< 1` is 0, and so is reference 0 with any comparison.
            result = value == (ref if compare == ">=" else 0)
        elif compare == ">=":
            result = value >= ref or bool(was and value >= ref - hysteresis)
        else:
            result = value < ref or bool(was and value < ref + hysteresis)
        rule.results[which] = result
        return result

    def agrees(self, rule: ModelRule) -> bool:
        if not rule.rule.depends:
            return True
        other_met = rule.other is not None and rule.other.enabled and rule.other.combined
        return other_met == (rule.rule.depends > MAX_RULES)

    def turn(self, rule: ModelRule) -> None:
        if rule.due is not None:
            rule.due = None
            return
        if rule.rule.mode == (2 if rule.met else 1):
            return
        if rule.met:
            rule.held = None
        rule.due = self.now + (rule.rule.on_delay if rule.met else rule.rule.off_delay)
        if rule.due == self.now:
            rule.due = None
            self.act(rule)
        else:
            self.order = [r for r in self.order if r is not rule] + [rule]

    def act(self, rule: ModelRule) -> None:
        target, value = rule.rule.action, rule.rule.value
        after = 1 - int(self.values[target] or 0)
        if value != 2:
            after = value if rule.met else 1 - value
        if rule.met:
            self.activations += 1
            rule.acted, rule.held = self.activations, after
        else:
            rule.held = None
            claims = [
                (other.newness(place), other.claim())
                for place, other in enumerate(self.rules)
                if other is not rule and other.rule.action == target and other.claim() is not None
            ]
            if claims and max(claims)[1] != after:
                return
        self.values[target] = after


def combine(operator: str, a: bool, b: bool) -> bool:
    return {
        "-": a,
        "AND": a and b,
        "OR": a or b,
        "NAND": not (a and b),
        "NOR": not (a or b),
        "XOR": a != b,
    }[operator]


def take_step(bench: Bench, model: Model, step: tuple[str, object]) -> None:
    kind, what = step
    if kind in READINGS:
        bench.sense(**{kind: what})
        model.values[kind] = what
    elif kind == "both":
        bench.sense(**dict.fromkeys(READINGS, what))
        model.values.update(dict.fromkeys(READINGS, what))
    elif kind == "reverse":
        bench.reverse(str(what))
        model.values[str(what)] = 1 - int(model.values[str(what)] or 0)
    elif kind == "cut":
        bench.restart()
        model.cut()
    elif kind == "wait":
        bench.wait(float(str(what)))
        model.wait(float(str(what)))
    else:
        change_rule(bench, model, kind, int(str(what)))
    model.settle()


def change_rule(bench: Bench, model: Model, kind: str, index: int) -> None:
    rule = model.places[index] if index < len(model.places) else None
    if rule is None:
        return
    if kind == "delete":
        bench.set(rules=rules_without(bench.settings.rules, index))
        model.delete(rule)
    elif kind == "enable":
        rule.enabled = not rule.enabled
        rule.forget()
        bench.set(**{f"rules__{index}__enabled": rule.enabled})
    else:
        rule.permanent = not rule.permanent
        bench.set(**{f"rules__{index}__permanent": rule.permanent})


@st.composite
def places(draw: st.DrawFn, each: st.SearchStrategy[Rule], most: int) -> tuple[Rule | None, ...]:
    """Rules with empty places in between, and none behind the last one."""
    made = draw(st.lists(each, min_size=2, max_size=most))
    gaps = st.sampled_from([0, 0, 0, 1, 2])
    return tuple(one for rule in made for one in (*(None,) * draw(gaps), rule))


@examples(400)
@given(places(rules(), 5), st.lists(STEPS, min_size=5, max_size=30))
def test_rules_do_what_a_naive_model_does(
    rules: tuple[Rule | None, ...], steps: list[tuple[str, object]]
) -> None:
    bench, model = Bench({"rules": rules}), Model(rules)
    for step in [("wait", 0.0), *steps]:
        take_step(bench, model, step)
        assert {label: bench.values[label] for label in model.values} == model.values
        explained = bench.engine.rules.explain()
        assert [e.met for e in explained] == [r.met for r in model.rules]
        due = [None if r.due is None else r.due - model.now for r in model.rules]
        assert [e.pending for e in explained] == due


@examples(400)
@given(places(rivals(), 4), st.lists(RIVAL_STEPS, min_size=5, max_size=20))
def test_rules_of_one_remembered_output_do_what_a_naive_model_does(
    rules: tuple[Rule | None, ...], steps: list[tuple[str, object]]
) -> None:
    bench = Bench({"rules": rules, "outputs.0.remember": True})
    model = Model(rules)
    for step in steps:
        take_step(bench, model, step)
        assert bench.values["OUT0"] == model.values["OUT0"]
        assert [e.met for e in bench.engine.rules.explain()] == [r.met for r in model.rules]


@given(places(rules(), 7), st.data())
def test_deleting_a_rule_keeps_the_others_in_order_and_their_dependences(
    rules: tuple[Rule | None, ...], data: st.DataObject
) -> None:
    depends = st.integers(0, 2 * MAX_RULES)
    before = tuple(rule and replace(rule, depends=data.draw(depends)) for rule in rules)
    index = data.draw(st.sampled_from([n for n, rule in enumerate(before) if rule]))
    after = rules_without(before, index)
    kept = [place for place in range(len(before)) if place != index]
    assert after[-1] is not None
    for new_place, old_place in enumerate(kept):
        old, new = before[old_place], rule_numbered(after, new_place + 1)
        assert (old is None) is (new is None)
        if old and new:
            assert replace(old, depends=0) == replace(new, depends=0)
            assert meant(new.depends, after) == meant_before(old.depends, before, index)


@examples(200)
@given(places(rules(), 7), st.data())
def test_moving_a_rule_keeps_what_each_rule_depends_on(
    rules: tuple[Rule | None, ...], data: st.DataObject
) -> None:
    depends = st.integers(0, 2 * MAX_RULES)
    before = tuple(rule and replace(rule, depends=data.draw(depends)) for rule in rules)
    index = data.draw(st.sampled_from([n for n, rule in enumerate(before) if rule]))
    to = data.draw(st.integers(0, len(before) - 1))
    after = rules_moved(before, index, to)
    order = list(range(len(before)))
    order.insert(to, order.pop(index))
    assert after[-1] is not None
    for new_place, old_place in enumerate(order):
        old, new = before[old_place], rule_numbered(after, new_place + 1)
        assert (old is None) is (new is None)
        if old and new:
            assert replace(old, depends=0) == replace(new, depends=0)
            assert meant(new.depends, after) == meant(old.depends, before)


def meant(depends: int, rules: RulePlaces) -> tuple[str, Rule | int | None]:
    """Which rule a dependence is on, without its own dependence, and of which kind it is."""
    if not depends:
        return "none", None
    kind = "met" if depends > MAX_RULES else "not met"
    number = (depends - 1) % MAX_RULES
    rule = rule_numbered(rules, number + 1)
    return kind, rule and replace(rule, depends=0)


def meant_before(depends: int, rules: RulePlaces, deleted: int) -> tuple[str, Rule | int | None]:
    if depends and (depends - 1) % MAX_RULES == deleted:
        return "none", None
    return meant(depends, rules)


def test_deleting_shares_every_rule_that_stays_as_it_is() -> None:
    rules = tuple(Rule(reference=float(n)) for n in range(4))
    after = rules_without(rules, 1)
    assert all(new is old for new, old in zip(after, (rules[0], *rules[2:]), strict=True))


@given(st.lists(st.floats(0, 40), min_size=2, max_size=40), st.floats(0, 5))
def test_condition_with_hysteresis_never_turns_by_less_than_it(
    readings: list[float], hysteresis: float
) -> None:
    rule = Rule(source="TEMP", reference=20.0, hysteresis=hysteresis, enabled=True)
    bench = Bench({"rules": (rule,)})
    turned = []
    for reading in readings:
        before = bench.values["OUT0"]
        bench.sense(TEMP=reading)
        if bench.values["OUT0"] != before:
            turned.append(reading)
    assert all(abs(one - other) >= hysteresis - 1e-6 for one, other in pairwise(turned))


@given(
    st.sampled_from([">=", "<"]),
    st.floats(0, 5),
    st.lists(st.floats(10, 30), min_size=1, max_size=10),
)
def test_comparison_of_a_condition_explains_its_result(
    compare: str, hysteresis: float, readings: list[float]
) -> None:
    condition = Condition("TEMP", compare, 20.0, hysteresis)
    for reading in readings:
        condition.judge(reading)
        outcome = condition.describe_outcome(reading, 0)
        assert outcome.threshold in {20.0, round(20.0 - hysteresis, 6), round(20.0 + hysteresis, 6)}
        assert outcome.is_met is (
            reading >= outcome.threshold if compare == ">=" else reading < outcome.threshold
        )


@given(
    st.sampled_from(["TEMP", "OUT0"]),
    st.sampled_from([">=", "<"]),
    st.sampled_from([0.0, 1.0, 20.0]),
    st.floats(0, 5),
    st.lists(st.none() | st.sampled_from([0.0, 1.0]) | st.floats(10, 30), max_size=10),
    st.floats(0, 30),
)
def test_value_in_the_steady_range_of_a_condition_leaves_its_result(
    label: str,
    compare: str,
    reference: float,
    hysteresis: float,
    readings: list[float | None],
    following: float,
) -> None:
    condition = Condition(label, compare, reference, hysteresis)
    known = None
    for reading in readings:
        known = condition.judge(reading)
    if condition.steady_from <= following < condition.steady_below:
        assert condition.judge(following) is known
        assert known is not None
