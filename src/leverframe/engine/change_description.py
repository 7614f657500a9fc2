"""A change of settings in words, for the log. Secrets are named and never shown.

The addresses and bodies of HTTP1-HTTP4 are no secrets to the administrator, who has to see them to
change them. But whoever knows the address of a web hook may use it, and logs get around.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from leverframe.engine.tree import GONE, is_secret

#: How many changed settings of one request are named, and how much of a value is shown.
TOLD_CHANGES = 5
TOLD_LETTERS = 60

_UNTOLD = re.compile(r"http\.\d+\.(url|body)")


def describe_changes(
    leaves: Sequence[tuple[str, Any, Any]], blobs: Mapping[str, bytes | None]
) -> str:
    """What a request changed, in one line."""
    parts = [_told_leaf(*leaf) for leaf in leaves[:TOLD_CHANGES]]
    if len(leaves) > TOLD_CHANGES:
        parts.append(f"{len(leaves) - TOLD_CHANGES} more settings changed")
    parts += [f"{name} {'uploaded' if body else 'removed'}" for name, body in blobs.items()]
    return "; ".join(parts)


def _told_leaf(path: str, old: Any, new: Any) -> str:
    if is_secret(path) or _UNTOLD.fullmatch(path):
        return f"{path} changed"
    if new is GONE:
        return f"{path} removed"
    if old is GONE:
        return f"{path} set to {_shown(new)}"
    return f"{path} changed from {_shown(old)} to {_shown(new)}"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= TOLD_LETTERS else f"{text[:TOLD_LETTERS]}..."
