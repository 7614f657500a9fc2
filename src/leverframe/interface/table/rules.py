"""Rows: event entries, which the program calls rules."""

from typing import Any

from msgspec.structs import replace

from leverframe.core.engine.rules import rules_moved, rules_without
from leverframe.core.labels import DIGITAL, READINGS
from leverframe.core.profile import Profile, is_offered
from leverframe.core.settings import MAX_RULES, Rule, number_rules, rule_numbered, with_rule
from leverframe.interface.table import codes
from leverframe.interface.table.codes import HW35_SW
from leverframe.interface.table.params import (
    INT32,
    Depends,
    EqualsComparison,
    Flag,
    Int,
    Scaled,
    Text,
    Trailing,
    Word,
    has_field,
)
from leverframe.interface.table.refusals import Conflict, Malformed
from leverframe.interface.table.row import row
from leverframe.interface.table.stage import Stage

ENTRY = Int(0, MAX_RULES - 1)
NAME = Text(31)
SECONDS = Int(0, INT32)
SOURCE = Word(codes.RULE_SOURCES)
HYSTERESIS = Scaled(100, 0, INT32)
#: The versions with a field for the value that an action sets, and the value in all other versions.
HAS_VALUE = HW35_SW["1.45"]
DEFAULT_VALUE = 1
#: By field: the setting of a rule that it sets.
SETTINGS = {
    "B": "source",
    "C": "compare",
    "D": "reference",
    "E": "hysteresis",
    "F": "operator",
    "G": "action",
    "H": "source2",
    "I": "compare2",
    "J": "reference2",
    "K": "hysteresis2",
    "L": "off_delay",
    "M": "value",
    "N": "on_delay",
    "O": "depends",
    "P": "mode",
}


def _comparison(source: str) -> Depends:
    return Depends(source, ((DIGITAL, EqualsComparison()), (READINGS, Word(codes.COMPARISONS))))


def _reference(source: str) -> Depends:
    return Depends(source, ((DIGITAL, Scaled(1, 0, 1)), (READINGS, Scaled(100))))


def set_rule(stage: Stage, A: int, **fields: Any) -> None:
    """Set entry A, or add it if it does not exist; entries before it need not exist."""
    if "N" in fields and "P" not in fields and not stage.lenient:
        count = 1 + len(fields)
        raise Malformed(
            f"No version has event entries with {count} fields.",
            allowed="11, 12, 13 or 16 fields",
        )
    rules = stage.settings.rules
    old = rule_numbered(rules, A + 1) or Rule()
    action, _, value = fields["G"].partition("=")
    fields["G"] = action
    fields["M"] = int(value) if value else fields.get("M", _value_left_out(old, stage.profile))
    rule = replace(old, **{SETTINGS[letter]: field for letter, field in fields.items()})
    stage.set("rules", with_rule(rules, A, rule))


#: Codes of sources on HW 3.0 that have no meaning on newer hardware, with the codes of these
#: sources on newer hardware. 50-53 (INPD1-INPD4) are missing, because they are POWER and ENERGY on
#: newer hardware.
_HW30_SOURCES = {
    str(old + offset): str(new + offset)
    for old, new, count in ((54, 104, 4), (58, 112, 6), (64, 108, 4), (68, 118, 1), (73, 123, 4))
    for offset in range(count)
}
#: The positions of the sources among the fields of an event entry: B and H.
_SOURCE_FIELDS = (1, 7)


def with_sources_of_hw_30(item: str) -> str | None:
    """Rewrite an `event` item whose sources have codes of HW 3.0; None if it has no such code."""
    name, _, value = item.partition("=")
    fields = value.split("*")
    if name != "event" or len(fields) <= _SOURCE_FIELDS[-1]:
        return None
    for place in _SOURCE_FIELDS:
        fields[place] = _HW30_SOURCES.get(fields[place], fields[place])
    written = f"{name}={'*'.join(fields)}"
    return None if written == item else written


def _value_left_out(old: Rule, profile: Profile) -> int:
    """Keep the value if the version has a field for it; older dialects have it in the action."""
    return old.value if is_offered(HAS_VALUE, profile) else DEFAULT_VALUE


def event_query(index: int, rule: Rule, profile: Profile) -> str | None:
    """Return the command that sets an entry to this rule; None if the version cannot express it."""
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


def enabling_commands(index: int, rule: Rule) -> list[str]:
    """Return the commands that enable an entry, and make it permanent if the rule is."""
    permanent = [f"eventper={index}*1"] if rule.permanent else []
    return [*permanent, f"eventon={index}*1"]


def _fields(rule: Rule, profile: Profile) -> dict[str, Any]:
    """Return the fields of a rule for `set_rule`; older dialects have the value in the action."""
    fields = {letter: getattr(rule, name) for letter, name in SETTINGS.items()}
    if codes.RULE_ACTIONS.number(rule.action, profile) is None:
        fields["G"] = f"{rule.action}={rule.value}"
    return fields


def actions_of(profile: Profile) -> frozenset[str]:
    """Return the actions of rules in a version, without values: `OUT0`, not `OUT0=1`."""
    return frozenset(code.word.partition("=")[0] for code in codes.RULE_ACTIONS.of(profile))


def sources_of(profile: Profile) -> frozenset[str]:
    return frozenset(code.word for code in codes.RULE_SOURCES.of(profile))


def set_permanent(stage: Stage, A: int, B: bool) -> None:
    _must_exist(stage, A)
    stage.set(f"rules.{A}.permanent", B)


def set_enabled(stage: Stage, A: int, B: bool) -> None:
    _must_exist(stage, A)
    stage.set(f"rules.{A}.enabled", B)


def set_name(stage: Stage, A: int, B: str) -> None:
    _must_exist(stage, A)
    stage.set(f"rules.{A}.name", B)


def move(stage: Stage, A: int, B: int) -> None:
    _must_exist(stage, A)
    rules = stage.settings.rules
    last = len(rules) - 1
    if last < B:
        raise Conflict(
            f"Position {B} is after the last event entry, {last}.",
            field="B",
            value=str(B),
            allowed=f"0 to {last}",
        )
    stage.set("rules", rules_moved(rules, A, B))


def delete(stage: Stage, A: int) -> None:
    _must_exist(stage, A)
    stage.set("rules", rules_without(stage.settings.rules, A))


def _must_exist(stage: Stage, index: int) -> None:
    rules = stage.settings.rules
    if rule_numbered(rules, index + 1) is None:
        existing = ", ".join(str(number - 1) for number, _ in number_rules(rules))
        raise Conflict(
            f"There is no event entry {index}. Add it with /inpa.cgi?event=....",
            field="A",
            value=str(index),
            allowed=existing or None,
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
    # Clients of HW 3.0 send no fields after K.
    L=Trailing(SECONDS, 0),
    M=Trailing(Int(0, 2), DEFAULT_VALUE, HAS_VALUE),
    N=Trailing(SECONDS, 0, HW35_SW["1.57"]),
    O=Trailing(Int(0, 40), 0, HW35_SW["1.57"]),
    P=Trailing(Int(0, 2), 0, HW35_SW["1.57"]),
    run=set_rule,
    example={
        **dict.fromkeys("AFGHIJKLNOP", "0"),
        "B": "10",
        "C": "1",
        "D": "2150",
        "E": "50",
        "M": "1",
    },
    doc="Add or set an event entry: condition 1 (source, comparison, reference, hysteresis), "
    "operator, action, condition 2, off delay, value, on delay, dependence, action mode. "
    "A new entry is disabled; entries before it need not exist.",
)
ROWS = (
    EVENT_ROW,
    row(
        "GET /inpa.cgi?eventper=<A>*<B>",
        A=ENTRY,
        B=Flag(),
        run=set_permanent,
        example={"A": "0"},
        doc="Make an entry permanent: its action is held while its condition is met.",
    ),
    row(
        "GET /inpa.cgi?eventon=<A>*<B>",
        A=ENTRY,
        B=Flag(),
        run=set_enabled,
        example={"A": "0"},
        doc="Enable or disable an entry.",
    ),
    row(
        "GET /inpa.cgi?eventdel=<A>",
        A=ENTRY,
        run=delete,
        example={"A": "0"},
        doc="Delete an entry; later entries move down by one.",
    ),
)

#: Our own rows: the document identifies entries only by their place.
NAME_AND_ORDER_ROWS = (
    row(
        "GET /inpa.cgi?rulename=<A>*<B>",
        A=ENTRY,
        B=NAME,
        run=set_name,
        limits={"rules.*.name": NAME},
        example={"A": "0", "B": "Greenhouse%20heating"},
        doc="Name an entry. Pages and messages show the name.",
    ),
    row(
        "GET /inpa.cgi?rulemove=<A>*<B>",
        A=ENTRY,
        B=ENTRY,
        run=move,
        example={"A": "0", "B": "0"},
        doc="Move an entry to another position. The entries in between move by one, and "
        "dependences follow their entry. Entries that act in the same instant act in this "
        "order.",
    ),
)
