"""Rules as a line of text: `when DS1 >= 25 until 23 then OUT2 on`.

A line consists of one or two conditions, an action, and options after commas:

    when INPD1 is on and DS1 < 18 then "Heater" on, starts after 1min, only at the start, permanent

A name in double quotes stands for the label that has it. `until` is the value at which the
condition is no longer met, which the interface writes as a hysteresis. Reading a written rule
returns the same rule.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from leverframe.core.durations import BadDuration, seconds_from_text, text_from_seconds
from leverframe.core.engine.live_rule import (
    BOTH_WAYS,
    ONLY_WHEN_IT_STARTS,
    ONLY_WHEN_IT_STOPS,
    SWITCHED,
    dependence,
    digital_level,
)
from leverframe.core.labels import DIGITAL, shorten_labels
from leverframe.core.profile import Profile
from leverframe.core.settings import MAX_RULES, Rule
from leverframe.interface.table.codes import RULE_OPERATORS
from leverframe.interface.table.params import has_field
from leverframe.interface.table.refusals import BadValue, Malformed, NotOffered
from leverframe.interface.table.rules import EVENT_ROW, SETTINGS, actions_of, sources_of

EXAMPLE = "when DS1 >= 25 until 23 then OUT2 on"
#: The values of an action that switches.
VALUES = {"off": 0, "on": 1, "reverse": 2}
_MODES = {"only at the start": ONLY_WHEN_IT_STARTS, "only at the end": ONLY_WHEN_IT_STOPS}
_COMPARISONS = {">=": ">=", "at least": ">=", "<": "<", "below": "<"}
_NUMBER = r"-?[0-9]{1,9}(?:\.[0-9]{1,2})?"
_LINE = re.compile(r"\s*when\s+(.+?)\s+then\s+(.+?)\s*", re.IGNORECASE | re.DOTALL)
#: A part in quotes, or one separator outside of quotes.
_OPERATOR = re.compile(r'"[^"]*"|\s+(and|or|nand|nor|xor)\s+', re.IGNORECASE)
_COMMA = re.compile(r'"[^"]*"|(,)')
_STATE = re.compile(r'("[^"]+"|[^\s=]+)(?:\s+is\s+(on|off)|\s*=\s*([01]))', re.IGNORECASE)
_READING = re.compile(
    rf'("[^"]+"|\S+)\s*(>=|<|\bat least\b|\bbelow\b)\s*({_NUMBER})(?:\s+until\s+({_NUMBER}))?',
    re.IGNORECASE,
)
#: By field: the options that older versions do not have.
_SINCE_LATER = {
    "N": "starts after",
    "O": "unless rule or while rule",
    "P": "only at the start or only at the end",
}
_OPTIONS = (
    "starts after TIME, ends after TIME, only at the start, only at the end, unless rule N, "
    "while rule N, permanent"
)


class Names(NamedTuple):
    """The words that a rule of this controller may use."""

    profile: Profile
    #: The labels to which the user has given a name, by that name.
    labels: Mapping[str, list[str]]


class _Condition(NamedTuple):
    source: str
    compare: str
    reference: float
    hysteresis: float


def read_rule(text: str, names: Names) -> Rule:
    """Return the rule that a line describes, enabled; raise a refusal that says what is wrong."""
    found = _LINE.fullmatch(text)
    if found is None:
        raise Malformed(f"{text.strip()[:80]!r} is not a rule.", allowed=f"a line like {EXAMPLE}")
    conditions, operators = _split(_OPERATOR, found[1])
    if len(conditions) > 2:
        raise Malformed("A rule has at most two conditions.", allowed="one operator, such as and")
    action, *options = _split(_COMMA, found[2])[0]
    rule = _with_action(Rule(enabled=True), action, names)
    first = _read_condition(conditions[0], names)
    rule = replace(
        rule,
        source=first.source,
        compare=first.compare,
        reference=first.reference,
        hysteresis=first.hysteresis,
    )
    if operators:
        second = _read_condition(conditions[1], names)
        rule = replace(
            rule,
            operator=operators[0].strip().upper(),
            source2=second.source,
            compare2=second.compare,
            reference2=second.reference,
            hysteresis2=second.hysteresis,
        )
    for option in options:
        rule = _with_option(rule, option.strip())
    _check_options(rule, names.profile)
    return rule


def _split(pattern: re.Pattern[str], text: str) -> tuple[list[str], list[str]]:
    """Split a text at the group of a pattern; return the parts and the separators."""
    parts, separators, start = [], [], 0
    for found in pattern.finditer(text):
        if found[1] is not None:
            parts.append(text[start : found.start()].strip())
            separators.append(found[1])
            start = found.end()
    return [*parts, text[start:].strip()], separators


def _read_condition(text: str, names: Names) -> _Condition:
    if found := _STATE.fullmatch(text):
        source = _read_source(found[1], names)
        if source not in DIGITAL:
            raise BadValue(f"{found[1]} is not on or off.", allowed=f"a number: {found[1]} >= 20")
        is_on = found[3] == "1" if found[2] is None else found[2].lower() == "on"
        return _Condition(source, ">=", float(is_on), 0.0)
    found = _READING.fullmatch(text)
    if found is None:
        raise Malformed(
            f"{text[:80]!r} is not a condition.",
            allowed="SOURCE >= NUMBER or SOURCE < NUMBER, each with until NUMBER if you like, or"
            " SOURCE is on or SOURCE is off; numbers have at most two decimals",
        )
    source, compare = _read_source(found[1], names), _COMPARISONS[found[2].lower()]
    if source in DIGITAL:
        raise BadValue(f"{found[1]} has no numbers.", allowed=f"{found[1]} is on or is off")
    reference = float(found[3])
    until = reference if found[4] is None else float(found[4])
    hysteresis = round(reference - until if compare == ">=" else until - reference, 2)
    if hysteresis < 0:
        raise BadValue(
            f"{source} {compare} {found[3]} cannot end at {found[4]}.",
            allowed=f"at most {found[3]}" if compare == ">=" else f"at least {found[3]}",
        )
    return _Condition(source, compare, reference, hysteresis)


def _read_source(word: str, names: Names) -> str:
    return _label(word, sources_of(names.profile), names)


def _label(word: str, known: Iterable[str], names: Names) -> str:
    """Return the label that a word or a name in quotes stands for."""
    allowed = sorted(known)
    if word.startswith('"'):
        named = [one for one in names.labels.get(word[1:-1], ()) if one in allowed]
        if len(named) != 1:
            text = f"Several have the name {word}." if named else f"Nothing has the name {word}."
            raise BadValue(text, value=word, allowed=", ".join(named) or "a name, or a label")
        return named[0]
    for label in allowed:
        if label.lower() == word.lower():
            return label
    raise BadValue(
        f"{word[:40]} is not available to rules of {names.profile}.",
        value=word,
        allowed=", ".join(shorten_labels(allowed)),
    )


def _with_action(rule: Rule, text: str, names: Names) -> Rule:
    known = actions_of(names.profile)
    word, _, value = text.rpartition(" ")
    if value.lower() not in VALUES:
        action = _label(text, known, names)
        if action in SWITCHED:
            raise Malformed(f"{text} needs a state.", allowed=f"{text} on, off or reverse")
        return replace(rule, action=action)
    action = _label(word.strip(), known, names)
    if action not in SWITCHED:
        raise BadValue(f"{word} is not switched on or off.", allowed=word)
    return replace(rule, action=action, value=VALUES[value.lower()])


def _with_option(rule: Rule, option: str) -> Rule:
    words = option.lower()
    if words == "permanent":
        return replace(rule, permanent=True)
    if words in _MODES:
        return replace(rule, mode=_MODES[words])
    if found := re.fullmatch(r"(starts|ends)\s+after\s+(.+)", words):
        seconds = _read_delay(found[2])
        return replace(rule, **{"on_delay" if found[1] == "starts" else "off_delay": seconds})
    found = re.fullmatch(r"(unless|while)\s+rule\s+([0-9]{1,2})", words)
    if found is None or not 1 <= (number := int(found[2])) <= MAX_RULES:
        raise BadValue(f"{option[:40]!r} is not an option of a rule.", allowed=_OPTIONS)
    return replace(rule, depends=number + (MAX_RULES if found[1] == "while" else 0))


def _check_options(rule: Rule, profile: Profile) -> None:
    """Refuse options that this version has no field for: its command would leave them out."""
    for letter, words in _SINCE_LATER.items():
        name = SETTINGS[letter]
        is_set = getattr(rule, name) != getattr(Rule(), name)
        if is_set and not has_field(EVENT_ROW.params[letter], profile):
            raise NotOffered(f"Rules of {profile} do not have {words}.", allowed="leave it out")


def _read_delay(text: str) -> int:
    try:
        seconds = seconds_from_text(text)
    except BadDuration as error:
        raise BadValue(str(error), value=text) from None
    if seconds != int(seconds):
        raise BadValue(f"{text} is not a number of whole seconds.", value=text)
    return int(seconds)


def write_rule(rule: Rule) -> str:
    """Return the line of a rule, with labels instead of names."""
    parts = [_write_condition(rule.source, rule.compare, rule.reference, rule.hysteresis)]
    if rule.operator in {code.word for code in RULE_OPERATORS.codes} - {"-"}:
        second = _write_condition(rule.source2, rule.compare2, rule.reference2, rule.hysteresis2)
        parts += [rule.operator.lower(), second]
    action = rule.action
    if action in SWITCHED:
        action += f" {next(word for word, value in VALUES.items() if value == rule.value)}"
    return ", ".join([f"when {' '.join(parts)} then {action}", *_write_options(rule)])


def _write_condition(source: str, compare: str, reference: float, hysteresis: float) -> str:
    if source in DIGITAL:
        return f"{source} is {'on' if digital_level(compare, reference) else 'off'}"
    until = reference - hysteresis if compare == ">=" else reference + hysteresis
    ends = f" until {_write_number(until)}" if hysteresis else ""
    return f"{source} {compare} {_write_number(reference)}{ends}"


def _write_number(number: float) -> str:
    return f"{round(number, 2):.12g}"


def _write_options(rule: Rule) -> Iterable[str]:
    if rule.on_delay:
        yield f"starts after {text_from_seconds(rule.on_delay)}"
    if rule.off_delay:
        yield f"ends after {text_from_seconds(rule.off_delay)}"
    if rule.mode != BOTH_WAYS:
        yield next(words for words, mode in _MODES.items() if mode == rule.mode)
    number, must_be_met = dependence(rule)
    if number:
        yield f"{'while' if must_be_met else 'unless'} rule {number}"
    if rule.permanent:
        yield "permanent"
