"""The settings of a Leverframe unit from its `/api/settings`.

Another release may have settings unknown to this one, which are listed, or lack some, which are
unread.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from leverframe.engine.settings import CONFIDENTIAL, Identity, Settings
from leverframe.engine.tree import MASK, UnfitSettings, leaves, settings_from_leaves
from leverframe.foreign_documents import BadDocument, read_json_object
from leverframe.status_files.reading_back import list_names, without_unfit
from leverframe.units.client import UnitAnswer, UnusableAnswer
from leverframe.units.nearest_profile import nearest_profile
from leverframe.units.pulled_unit import PulledUnit, UnitIdentity

SECRET = "it is a secret, which never leaves the unit"
_PROFILE = "profile."
UNTOLD = "this release of Leverframe does not show it"


def own_document(answer: UnitAnswer) -> dict[str, Any] | None:
    """Return the settings in an answer; None if it is not from Leverframe."""
    if not answer.is_ok or not answer.content_type.startswith("application/json"):
        return None
    try:
        document = read_json_object(answer.body)
        msgspec.convert(document["profile"], Identity)
    except (BadDocument, msgspec.MsgspecError, KeyError):
        return None
    return document


def pull_from_own(document: dict[str, Any], identity: UnitIdentity) -> PulledUnit:
    """Return the settings of a Leverframe unit."""
    try:
        secrets = _take_out_secrets(document)
        tree = msgspec.convert(document, Settings)
        nearest = nearest_profile(tree.profile.hw, tree.profile.sw)
        found = {path: value for path, value in leaves(tree) if not path.startswith(_PROFILE)}
        settings, foreign = settings_from_leaves(nearest.profile, found)
    except (msgspec.MsgspecError, UnfitSettings) as error:
        raise UnusableAnswer(
            f"{identity.address} is a Leverframe controller, but its settings cannot be read:"
            f" {error}"
        ) from None
    settings, unfit = without_unfit(settings, nearest.profile)
    whole = msgspec.json.decode(msgspec.json.encode(tree))
    untold = (path for path, _ in leaves(settings) if path not in found)
    missing = {
        path: UNTOLD
        for path in (*_paths_beyond(whole, document), *untold)
        if not path.startswith(_PROFILE)
    }
    unknown = [*_paths_beyond(document, whole), *foreign]
    remarks = [nearest.remark] if nearest.remark else []
    if unknown:
        remarks.append(f"Settings unknown to this program: {list_names(unknown)}.")
    return PulledUnit(
        nearest.profile,
        settings,
        identity,
        dict.fromkeys(secrets, SECRET) | missing | unfit,
        remarks=tuple(remarks),
    )


def _take_out_secrets(document: dict[str, Any]) -> list[str]:
    """Clear masked values in a document; return their paths. A recording masks more than a unit."""
    found: list[str] = []
    for pattern in sorted(CONFIDENTIAL):
        for path, node, name in _at(document, pattern.split(".")):
            if node[name] == MASK:
                found.append(path)
            if node[name] in (MASK, None):
                node[name] = ""
    return found


def _at(node: Any, steps: list[str], path: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield path, node and name of every leaf of a document that matches a pattern."""
    step, rest = steps[0], steps[1:]
    if step == "*" and isinstance(node, list):
        for place, item in enumerate(node):
            yield from _at(item, rest, f"{path}{place}.")
    elif isinstance(node, dict) and step in node:
        if rest:
            yield from _at(node[step], rest, f"{path}{step}.")
        else:
            yield f"{path}{step}", node, step


def _paths_beyond(first: Any, second: Any, path: str = "") -> Iterator[str]:
    """Yield the paths that the first document has and the second has not."""
    if isinstance(first, dict) and isinstance(second, dict):
        for name, value in first.items():
            inner = f"{path}.{name}" if path else name
            if name in second:
                yield from _paths_beyond(value, second[name], inner)
            else:
                yield inner
    elif isinstance(first, list) and isinstance(second, list):
        for place, (value, counterpart) in enumerate(zip(first, second, strict=False)):
            yield from _paths_beyond(value, counterpart, f"{path}.{place}")
