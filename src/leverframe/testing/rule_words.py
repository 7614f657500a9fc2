"""Rules of a twin, in the words that a controller reads, and the settings their messages need.

`interface/rule_words.py` reads the words; here an output without a state is switched on, and
hysteresis and delays may be numbers.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from leverframe.core.engine.live_rule import SWITCHED
from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule
from leverframe.interface.rule_words import Names, read_rule
from leverframe.interface.table.params import has_field
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.rules import EVENT_ROW, SETTINGS

#: The rules count values in hundredths of a unit.
PARTS = 100
#: Nothing is sent: these values only make a message complete.
MAIL_SERVER = "mail.example"
RECIPIENT, SENDER = "keeper@example.org", "twin@example.org"
NUMBER = "+48600000000"
SERVER = "hook.example"


class BadRule(ErrorForPeople, ValueError):
    """An invalid rule; the message says in one sentence what is wrong and what is allowed."""


def rule_from_words(
    when: str, then: str, profile: Profile, hysteresis: float, on_delay: float, off_delay: float
) -> Rule:
    """Read a rule; an output without a state is switched on."""
    if then.strip().upper() in SWITCHED:
        then = f"{then} on"
    try:
        rule = read_rule(f"when {when} then {then}", Names(profile, {}))
    except Refusal as refused:
        raise BadRule(refused.at_its_place) from None
    if round(hysteresis * PARTS) / PARTS != hysteresis:
        raise BadRule(f"{hysteresis:g} has too many decimals; rules allow at most two.")
    if hysteresis:
        rule = replace(rule, hysteresis=hysteresis)
        rule = replace(rule, hysteresis2=hysteresis) if rule.operator != "-" else rule
    for letter, what, seconds in (("N", "on delay", on_delay), ("L", "off delay", off_delay)):
        if seconds % 1:
            raise BadRule(f"{seconds:g} s is not possible; delays of rules are whole seconds.")
        if seconds and not has_field(EVENT_ROW.params[letter], profile):
            raise BadRule(
                f"Rules of {profile} have no {what}; leave it out, or choose a version that has it."
            )
        if seconds:
            rule = replace(rule, **{SETTINGS[letter]: round(seconds)})
    return rule


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
