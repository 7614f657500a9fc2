"""Rules in the words of the pages: `DS1 >= 30 and OUT0 = 1`, then `eMail 1`.

A condition has a source, a comparison (`>=`, `<`, or `=` for states of 0 or 1) and a number; two
conditions are joined by `and`, `or`, `nand`, `nor` or `xor`. An action is one that the Rules page
offers: `OUT0`, `PWM1`, `EVENT2`, `AutoSwitch OUT0`, `HTTP1`, `eMail 1`, `SMS1`, `SNMP trap`, `MQTT`
and so on; a switching action may end with `on`, `off` or `reverse`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from leverframe.core.errors import ErrorForPeople
from leverframe.core.labels import DIGITAL
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule
from leverframe.interface.table import codes
from leverframe.interface.table.params import has_field
from leverframe.interface.table.rules import EVENT_ROW, actions_of, sources_of

_CONDITION = re.compile(r"\s*([A-Za-z][\w.]*)\s*(>=|<|=)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*")
_OPERATORS = tuple(code.word for code in codes.RULE_OPERATORS.of(Profile()))[1:]
_JOINED = re.compile(rf"\s({'|'.join(_OPERATORS)})\s", re.IGNORECASE)
#: The rules count values in hundredths of a unit.
PARTS = 100
#: Nothing is sent: these values only make a message complete.
MAIL_SERVER = "mail.example"
RECIPIENT, SENDER = "keeper@example.org", "twin@example.org"
NUMBER = "+48600000000"
SERVER = "hook.example"
_SETTING = {"off": 0, "on": 1, "reverse": 2}


class BadRule(ErrorForPeople, ValueError):
    """An error about a rule, in one sentence: what is wrong, what is allowed."""


def rule_from_words(
    when: str, then: str, profile: Profile, hysteresis: float, on_delay: float, off_delay: float
) -> Rule:
    """Parse a rule from words; reject anything that this version does not have."""
    first, operator, second = _parts(when)
    action, value = _action(then, profile)
    fields: dict[str, Any] = dict(zip(("source", "compare", "reference"), first, strict=True))
    if second is not None:
        fields |= zip(("source2", "compare2", "reference2"), second, strict=True)
        fields |= {"operator": operator, "hysteresis2": hysteresis}
    for name in ("source", "source2"):
        if name in fields:
            fields[name] = _one_of(fields[name], sources_of(profile), "source", profile)
            is_state = fields[name] in DIGITAL
            compare = fields[name.replace("source", "compare")]
            if is_state is not (compare == "="):
                allowed = "=" if is_state else ">= or <"
                raise BadRule(
                    f"{fields[name]} can be compared only with {allowed}, not with {compare}."
                )
    for number in (hysteresis, fields["reference"], fields.get("reference2", 0.0)):
        if round(number * PARTS) / PARTS != number:
            raise BadRule(f"{number:g} has too many decimals; rules allow at most two.")
    for letter, what, seconds in (("N", "on delay", on_delay), ("L", "off delay", off_delay)):
        if seconds % 1:
            raise BadRule(f"{seconds:g} s is not possible; delays of rules are whole seconds.")
        if seconds and not has_field(EVENT_ROW.params[letter], profile):
            raise BadRule(
                f"Rules of {profile} have no {what}; leave it out, or choose a version that has it."
            )
    fields = {name: ">=" if value == "=" else value for name, value in fields.items()}
    return Rule(
        **fields,
        hysteresis=hysteresis,
        action=action,
        value=value,
        on_delay=round(on_delay),
        off_delay=round(off_delay),
    )


Comparison = tuple[str, str, float]


def _parts(when: str) -> tuple[Comparison, str, Comparison | None]:
    parts = _JOINED.split(when, 1)
    first = condition_from_words(parts[0])
    if len(parts) == 1:
        return first, "-", None
    return first, parts[1].upper(), condition_from_words(parts[2])


def condition_from_words(text: str) -> Comparison:
    """Return source, comparison and number of a condition."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        joined = ", ".join(word.lower() for word in _OPERATORS)
        raise BadRule(
            f"{text.strip()!r} is not a condition; write it like DS1 >= 30, DS1 < 20 or OUT0 = 1,"
            " and"
            f" join two of them with {joined}."
        )
    return found[1], found[2], float(found[3])


def _action(then: str, profile: Profile) -> tuple[str, int]:
    words = then.strip()
    name, _, last = words.rpartition(" ")
    value = 1
    if last.lower() in _SETTING and name:
        words, value = name, _SETTING[last.lower()]
    return _one_of(words, actions_of(profile), "action", profile), value


def _one_of(word: str, allowed: Iterable[str], what: str, profile: Profile) -> str:
    by_key = {name.lower(): name for name in allowed}
    found = by_key.get(word.lower())
    if found is None:
        known = ", ".join(sorted(by_key.values()))
        raise BadRule(f"{profile} has no {what} {word!r}; known: {known}.")
    return found


def missing_setup(action: str, text: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the commands that set the missing settings of a message with this text."""
    kind = action.rstrip("1234 ").lower()
    slot = int(action[-1]) if action[-1].isdecimal() else 1
    match kind:
        case "email":
            return _email(slot, text, settings["email"])
        case "sms":
            return _sms(slot, text, settings["gsm"])
        case "http":
            url = settings["http"][slot - 1]["url"]
            return [] if url else [f"stm.cgi?http{slot}={quote(f'http://{SERVER}/{slot}', '')}"]
        case "mqtt" if not settings["mqtt"]["enabled"]:
            return [f"stm.cgi?mqtt=1*{SERVER}*1883***twin*0"]
        case "snmp trap" if not settings["snmp"]["trap"]["enabled"]:
            return [f"stm.cgi?snmptrap=1*{SERVER}*162*public"]
    return []


def _email(slot: int, text: str, email: Mapping[str, Any]) -> list[str]:
    texts = [*email["on_texts"], *email["off_texts"]]
    is_whole = email["host"] and email["recipient"] and (email["sender"] or email["username"])
    if is_whole and texts[slot - 1]:
        return []
    texts[slot - 1] = texts[slot - 1] or text
    fields = (
        email["host"] or MAIL_SERVER,
        str(email["port"]),
        email["username"],
        "",
        email["recipient"] or RECIPIENT,
        email["sender"] or SENDER,
        email["subject"],
    )
    items = [f"em{number}={quote(field, '')}" for number, field in enumerate(fields, start=1)]
    items.append(f"em8={'*'.join(quote(one, '') for one in texts)}")
    return [f"stm.cgi?{'&'.join(items)}&em9={int(email['tls'])}"]


def _sms(slot: int, text: str, gsm: Mapping[str, Any]) -> list[str]:
    sms = gsm["sms"][slot - 1]
    commands = []
    if not sms["numbers"]:
        commands.append(f"stm.cgi?gsmnumber{slot}={quote(NUMBER, '')}")
    if not sms["on_text"]:
        off = quote(sms["off_text"], "")
        commands.append(f"stm.cgi?gsmsms{slot}={quote(text, '')}*{off}")
    return commands
