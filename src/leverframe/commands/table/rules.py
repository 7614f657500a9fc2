"""Rows: event entries, which the program calls rules."""

from typing import Any

from leverframe.commands.table import codes
from leverframe.commands.table.codes import HW35_SW
from leverframe.commands.table.params import (
    INT32,
    Depends,
    EqualsComparison,
    Flag,
    Int,
    Scaled,
    Trailing,
    Word,
    has_field,
)
from leverframe.commands.table.refusals import Conflict
from leverframe.commands.table.row import row
from leverframe.commands.table.stage import Stage
from leverframe.engine.labels import DIGITAL, READINGS
from leverframe.engine.rules import rules_without
from leverframe.engine.settings import MAX_RULES, Rule
from leverframe.profile import Profile, offered

ENTRY = Int(0, MAX_RULES - 1)
SECONDS = Int(0, INT32)
SOURCE = Word(codes.RULE_SOURCES)
HYSTERESIS = Scaled(100, 0, INT32)
#: The versions with a field for what an action sets, and what it sets without one.
HAS_VALUE = HW35_SW["1.45"]
DEFAULT_VALUE = 1


def _comparison(source: str) -> Depends:
    return Depends(source, ((DIGITAL, EqualsComparison()), (READINGS, Word(codes.COMPARISONS))))


def _reference(source: str) -> Depends:
    return Depends(source, ((DIGITAL, Scaled(1, 0, 1)), (READINGS, Scaled(100))))


def set_rule(stage: Stage, A: int, **fields: Any) -> None:
    """Set entry A, or add one behind the last if there is no entry A."""
    rules = stage.settings.rules
    old = rules[A] if A in range(len(rules)) else Rule()
    action, _, value = fields["G"].partition("=")
    rule = Rule(
        source=fields["B"],
        compare=fields["C"],
        reference=fields["D"],
        hysteresis=fields["E"],
        operator=fields["F"],
        action=action,
        source2=fields["H"],
        compare2=fields["I"],
        reference2=fields["J"],
        hysteresis2=fields["K"],
        off_delay=fields.get("L", old.off_delay),
        value=int(value) if value else fields.get("M", _value_left_out(old, stage.profile)),
        on_delay=fields.get("N", old.on_delay),
        depends=fields.get("O", old.depends),
        mode=fields.get("P", old.mode),
        enabled=old.enabled,
        permanent=old.permanent,
    )
    stage.set("rules", (*rules[:A], rule, *rules[A + 1 :]))


def _value_left_out(old: Rule, profile: Profile) -> int:
    """Where the value is a field it stays; older dialects say it with the action."""
    return old.value if offered(HAS_VALUE, profile) else DEFAULT_VALUE


def event_query(index: int, rule: Rule, profile: Profile) -> str | None:
    """The command that sets an entry to this rule, or None if the version cannot say it."""
    fields = {"A": index, **_fields(rule, profile)}
    if fields["G"] not in {code.word for code in codes.RULE_ACTIONS.of(profile)}:
        return None
    if not {rule.source, rule.source2} <= sources_of(profile):
        return None
    texts = {
        letter: param.format(fields[letter], profile, fields)
        for letter, param in EVENT_ROW.params.items()
        if has_field(param, profile)
    }
    return EVENT_ROW.form.items[0].write(texts)


def _fields(rule: Rule, profile: Profile) -> dict[str, Any]:
    """The fields that `set_rule` makes a rule of; older dialects have the value in the action."""
    action = rule.action
    if codes.RULE_ACTIONS.number(action, profile) is None:
        action = f"{action}={rule.value}"
    return {
        "B": rule.source,
        "C": rule.compare,
        "D": rule.reference,
        "E": rule.hysteresis,
        "F": rule.operator,
        "G": action,
        "H": rule.source2,
        "I": rule.compare2,
        "J": rule.reference2,
        "K": rule.hysteresis2,
        "L": rule.off_delay,
        "M": rule.value,
        "N": rule.on_delay,
        "O": rule.depends,
        "P": rule.mode,
    }


def actions_of(profile: Profile) -> frozenset[str]:
    """What a rule can do in a version, without values: `OUT0`, not `OUT0=1`."""
    return frozenset(code.word.partition("=")[0] for code in codes.RULE_ACTIONS.of(profile))


def sources_of(profile: Profile) -> frozenset[str]:
    return frozenset(code.word for code in codes.RULE_SOURCES.of(profile))


def set_permanent(stage: Stage, A: int, B: bool) -> None:
    _must_exist(stage, A)
    stage.set(f"rules.{A}.permanent", B)


def set_enabled(stage: Stage, A: int, B: bool) -> None:
    _must_exist(stage, A)
    stage.set(f"rules.{A}.enabled", B)


def delete(stage: Stage, A: int) -> None:
    _must_exist(stage, A)
    stage.set("rules", rules_without(stage.settings.rules, A))


def _must_exist(stage: Stage, index: int) -> None:
    count = len(stage.settings.rules)
    if index >= count:
        there = f"the last one is {count - 1}" if count else "there is none yet"
        raise Conflict(
            f"There is no event entry {index}; {there}. Add one with /inpa.cgi?event=....",
            field="A",
            value=str(index),
        )


EVENT_ROW = row(
    "GET /inpa.cgi?event=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>*<I>*<J>*<K>*<L>*<M>*<N>*<O>*<P>",
    A=ENTRY,
    B=SOURCE,
    C=_comparison("B"),
    D=_reference("B"),
    E=HYSTERESIS,
    F=Word(codes.RULE_OPERATORS),
    G=Word(codes.RULE_ACTIONS),
    H=SOURCE,
    I=_comparison("H"),
    J=_reference("H"),
    K=HYSTERESIS,
    # Clients of HW 3.0 end with K.
    L=Trailing(SECONDS, 0),
    M=Trailing(Int(0, 2), DEFAULT_VALUE, HAS_VALUE),
    N=Trailing(SECONDS, 0, HW35_SW["1.57"]),
    O=Trailing(Int(0, 40), 0, HW35_SW["1.57"]),
    P=Trailing(Int(0, 2), 0, HW35_SW["1.57"]),
    run=set_rule,
    doc="Add or set an event entry: condition 1 (source, comparison, reference, hysteresis), "
    "operator, action, condition 2, off delay, value, on delay, dependence, action mode. "
    "A new entry is disabled.",
)
ROWS = (
    EVENT_ROW,
    row(
        "GET /inpa.cgi?eventper=<A>*<B>",
        A=ENTRY,
        B=Flag(),
        run=set_permanent,
        doc="Make an entry permanent: its action is held as long as its condition is met.",
    ),
    row(
        "GET /inpa.cgi?eventon=<A>*<B>",
        A=ENTRY,
        B=Flag(),
        run=set_enabled,
        doc="Enable or disable an entry.",
    ),
    row(
        "GET /inpa.cgi?eventdel=<A>",
        A=ENTRY,
        run=delete,
        doc="Delete an entry; later entries move down by one.",
    ),
)
