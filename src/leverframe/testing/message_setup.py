"""What a message of a rule needs and a new twin does not have: a server, a recipient, a text.

Nothing is sent: whatever is set here only makes the message complete.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

MAIL_SERVER = "mail.example"
RECIPIENT, SENDER = "keeper@example.org", "twin@example.org"
NUMBER = "+48600000000"
SERVER = "hook.example"


def missing_setup(action: str, text: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the commands that set what is missing for a message with that text."""
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
