"""Convert a rule to one sentence, and back.

    when DS1 >= 30 (hysteresis 0.5) and OUT0 = 1, unless rule 3 is met, then OUT1 off,
    on delay 5s, off delay 1m, only when it begins, permanent

A sentence may begin with `disabled:` and with the name of the rule: `Too warm: when ...`.
Conditions are joined by and, or, nand, nor or xor; the switched label is followed by on, off or
reverse. A rule that has parts without effect, such as a second condition without an operator, has
no sentence.
"""

import re
from typing import Any

from leverframe.core.durations import BadDuration, seconds_from_text, text_from_seconds
from leverframe.core.engine.live_rule import SWITCHED
from leverframe.core.labels import DIGITAL
from leverframe.core.settings import MAX_RULES, Rule
from leverframe.host.configuration.keys import nearest
from leverframe.interface.table import codes
from leverframe.interface.table.rules import actions_of, sources_of
from leverframe.interface.table.versions import all_profiles
from leverframe.units.file_keys import SWITCH_WORDS, BadEntry

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_CONDITION = re.compile(
    rf"([A-Za-z][\w.]*)\s*(>=|<|=)\s*({_NUMBER})(?:\s*\(hysteresis ({_NUMBER})\))?"
)
_OPERATORS = tuple(code.word for code in codes.RULE_OPERATORS.codes)[1:]
_JOINED = re.compile(rf"\s+({'|'.join(_OPERATORS)})\s+", re.IGNORECASE)
_SENTENCE = re.compile(
    r"(?P<disabled>disabled:\s*)?(?:(?P<name>.+?):\s*)?when (?P<when>.+?)"
    r"(?:,\s*(?P<depends>if|unless) rule (?P<rule>[0-9]{1,2}) is met)?"
    r",\s*then (?P<then>[^,]+)(?P<more>(?:,[^,]+)*)",
    re.IGNORECASE,
)
_MODES = {"only when it begins": 1, "only when it ceases": 2}
_EXAMPLE = "write it like: when DS1 >= 30 (hysteresis 0.5), then OUT0 on"


def sentence_of(rule: Rule) -> str | None:
    """Return the rule as a sentence; None if no sentence expresses all of it."""
    try:
        said = sentence_about(rule)
        return said if rule_from_sentence(said) == rule else None
    except (BadEntry, IndexError):
        # Values that no version allows, such as a value outside 0 to 2.
        return None


def sentence_about(rule: Rule) -> str:
    """Describe a rule; parts without effect are left out."""
    words = [f"when {_condition_words(rule.source, rule.compare, rule.reference, rule.hysteresis)}"]
    if rule.operator != Rule().operator:
        second = _condition_words(rule.source2, rule.compare2, rule.reference2, rule.hysteresis2)
        words[0] += f" {rule.operator.lower()} {second}"
    if rule.depends:
        number, word = rule.depends, "unless"
        if number > MAX_RULES:
            number, word = number - MAX_RULES, "if"
        words.append(f"{word} rule {number} is met")
    does = rule.action
    if rule.action in SWITCHED or rule.value != Rule().value:
        does += f" {SWITCH_WORDS[rule.value]}"
    words.append(f"then {does}")
    words += (
        f"{word} delay {text_from_seconds(seconds)}"
        for word, seconds in (("on", rule.on_delay), ("off", rule.off_delay))
        if seconds
    )
    words += (word for word, mode in _MODES.items() if mode == rule.mode)
    words += ["permanent"] if rule.permanent else []
    name = f"{rule.name}: " if rule.name else ""
    return ("" if rule.enabled else "disabled: ") + name + ", ".join(words)


def rule_from_sentence(text: str) -> Rule:
    """Parse the rule in a sentence; raise `BadEntry`."""
    found = _SENTENCE.fullmatch(text.strip())
    if found is None:
        raise BadEntry(f"is not a rule; {_EXAMPLE}")
    fields: dict[str, Any] = {"enabled": not found["disabled"], "name": found["name"] or ""}
    first, *rest = _JOINED.split(found["when"], maxsplit=1)
    fields |= _condition(first, "")
    if rest:
        fields |= {"operator": rest[0].upper(), **_condition(rest[1], "2")}
    if found["rule"]:
        number = int(found["rule"])
        if not 1 <= number <= MAX_RULES:
            raise BadEntry(f"depends on rule {number}; rules are 1 to {MAX_RULES}")
        fields["depends"] = number + (MAX_RULES if found["depends"].lower() == "if" else 0)
    fields |= _action(found["then"].strip())
    for part in found["more"].split(",")[1:]:
        fields |= _addition(part.strip())
    return Rule(**fields)


def _condition_words(source: str, compare: str, reference: float, hysteresis: float) -> str:
    sign = "=" if source in DIGITAL and compare == Rule().compare else compare
    said = f"{source} {sign} {_number(reference)}"
    return f"{said} (hysteresis {_number(hysteresis)})" if hysteresis else said


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _condition(text: str, suffix: str) -> dict[str, Any]:
    found = _CONDITION.fullmatch(text.strip())
    if found is None:
        raise BadEntry(
            f"has no condition in {text.strip()[:60]!r}; write it like DS1 >= 30, DS1 < 20 or"
            " OUT0 = 1"
        )
    source = _look_up(found[1], _SOURCES, "source")
    if found[2] == "=" and source not in DIGITAL:
        raise BadEntry(f"compares {source} with =; use >= or <")
    return {
        f"source{suffix}": source,
        f"compare{suffix}": ">=" if found[2] == "=" else found[2],
        f"reference{suffix}": float(found[3]),
        f"hysteresis{suffix}": float(found[4] or 0),
    }


def _action(words: str) -> dict[str, Any]:
    name, _, last = words.rpartition(" ")
    if name and last.lower() in SWITCH_WORDS:
        return {
            "action": _look_up(name, _ACTIONS, "action"),
            "value": SWITCH_WORDS.index(last.lower()),
        }
    return {"action": _look_up(words, _ACTIONS, "action")}


def _addition(words: str) -> dict[str, Any]:
    if words.lower() == "permanent":
        return {"permanent": True}
    if words.lower() in _MODES:
        return {"mode": _MODES[words.lower()]}
    for name in ("on", "off"):
        head = f"{name} delay "
        if words.lower().startswith(head):
            return {f"{name}_delay": _whole_seconds(words[len(head) :])}
    raise BadEntry(
        f"contains {words[:60]!r}; after the action, only on delay 5s, off delay 5s,"
        f" {', '.join(_MODES)} and permanent are allowed"
    )


def _whole_seconds(text: str) -> int:
    try:
        seconds = seconds_from_text(text)
    except BadDuration as error:
        raise BadEntry(f"has an invalid delay: {error}") from None
    if seconds != int(seconds):
        raise BadEntry("has a delay that is not in whole seconds")
    return int(seconds)


#: Names of all versions; the version is checked later.
_SOURCES = {word.lower(): word for profile in all_profiles() for word in sources_of(profile)}
_ACTIONS = {word.lower(): word for profile in all_profiles() for word in actions_of(profile)}


def _look_up(word: str, words: dict[str, str], what: str) -> str:
    found = words.get(word.strip().lower())
    if found is None:
        meant = nearest(word.lower(), words)
        advice = f"did you mean {words[meant]}?" if meant else "no version has this name"
        raise BadEntry(f"contains the unknown {what} {word.strip()[:40]!r}; {advice}")
    return found
