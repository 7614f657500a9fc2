"""Commands as text without HTTP around them: `out0=1`, `/outs.cgi?out0=1`, several joined by `&`.

Where no path is given, the commands are looked for on every path: all together first, because some
forms have several items, then each alone.
"""

from leverframe.commands.table.matching import (
    COMMAND_PATHS,
    MAX_COMMANDS,
    Call,
    find,
    items_of,
    may_hold_secret,
)
from leverframe.commands.table.refusals import Malformed, Refusal, UnknownCommand
from leverframe.profile import Profile

#: Switching comes first: the most frequent, and the shortest names.
_PATHS = tuple(sorted(COMMAND_PATHS, key=lambda path: (path != "/outs.cgi", path)))


def calls_in(text: str, profile: Profile) -> list[Call]:
    """Find the calls of a text; raise the refusal of the first command that is none."""
    text = text.strip()
    path, mark, query = text.partition("?")
    named = "/" + path.lstrip("/")
    if mark and named in COMMAND_PATHS:
        return _calls_on(named, query, profile)
    items = items_of(text)
    refusal: Refusal | None = None
    for path in _PATHS:
        try:
            return _calls_on(path, text, profile)
        except UnknownCommand as unknown:
            refusal = refusal or unknown
        except Refusal as telling:
            # A path that knows the command and refuses it says more than one that does not.
            refusal = telling
    assert refusal is not None
    if len(items) < 2 or not isinstance(refusal, UnknownCommand):
        raise refusal
    try:
        return [call for item in items for call in calls_in(item, profile)]
    except Refusal as refused:
        # What follows a secret may be the rest of it.
        if any(map(may_hold_secret, items)):
            refused.without_value()
        raise


def _calls_on(path: str, query: str, profile: Profile) -> list[Call]:
    items = [item for item in items_of(query) if item]
    if not items:
        raise Malformed("The text has no command.", allowed=f"1 to {MAX_COMMANDS} commands")
    calls = []
    for call in find("GET", path, items, profile):
        if isinstance(call, Refusal):
            raise call
        calls.append(call)
    return calls
