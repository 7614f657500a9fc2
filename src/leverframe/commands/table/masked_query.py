"""A query as others may see it: without the values of commands that may hold a secret.

Beside a secret nothing of a query is shown: one that was sent with a bare `&` in it continues in
the next item.
"""

import re

from leverframe.commands.table.matching import TABLE, may_hold_secret, without_value
from leverframe.engine.tree import MASK

#: Names of values that are secret, wherever they stand: also in answers, and of other programs.
_SECRET_NAME = (
    r"pass(?!ed|ive)|pwd|secret|token|credential|cookie|authorization"
    r"|api_?key|community|authentication_key|privacy_key"
    r"|^(em4|gsmapn|gsmcode|httpauth\d?|httppost\d?|http\d|mqtt|snmp\w*)$"
)
#: Commands of one item each.
_SINGLE_ROWS = tuple(row for row in TABLE if len(row.form.items) == 1)
_NAME = r"[A-Za-z_]{1,20}\d?"


def names_secret(name: str) -> bool:
    """Return whether a name stands for a secret."""
    return re.search(_SECRET_NAME, name, re.IGNORECASE) is not None


def mask_query(query: str) -> tuple[str, list[str]]:
    """Return a query, or a form, with its values masked if one may be a secret; and what is."""
    items = query.split("&")
    if not any(map(_may_hold_secret, items)):
        return query, []
    shown = [_mask_item(item) for item in items]
    return "&".join(shown), [item for item, mask in zip(items, shown, strict=True) if item != mask]


def _may_hold_secret(item: str) -> bool:
    name, equals, _ = item.partition("=")
    name = name.lower()
    if not (name.startswith("sms") or may_hold_secret(name) or names_secret(name)):
        return False
    if not equals and without_value(name) is not None:
        # A command with a body, such as `signin`, or one that only asks.
        return False
    return not _is_open_command(name)


def _is_open_command(name: str) -> bool:
    """Return whether a name is that of a command without a secret, such as `em1` beside `em4`."""
    rows = [row for row in _SINGLE_ROWS if row.form.items[0].match_name(name) is not None]
    return bool(rows) and not any(row.secret for row in rows)


def _mask_item(item: str) -> str:
    name, equals, _ = item.partition("=")
    shown = without_value(item)
    if shown is not None:
        return f"{shown.partition('=')[0]}={MASK}" if equals else item
    if equals and re.fullmatch(_NAME, name):
        return f"{name}={MASK}"
    return MASK if item else ""
