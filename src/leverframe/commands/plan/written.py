"""Requests as they are sent, written from rows and the values of their fields, and tried."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from leverframe.commands.table.bodies import FormBody, ListBody
from leverframe.commands.table.matching import Call, find, items_of
from leverframe.commands.table.params import Param, has_field
from leverframe.commands.table.row import Row
from leverframe.commands.table.shape import Item
from leverframe.commands.table.stage import Stage
from leverframe.engine.settings import Settings
from leverframe.engine.tree import MISSING, is_same, value_at
from leverframe.profile import Profile

#: What formatting a value raises that its type does not have.
_NO_TEXT = (StopIteration, ValueError, OverflowError, TypeError, AttributeError)


class PlannedRequest(Struct, frozen=True):
    """One request of the command interface, as it goes over the wire."""

    method: str
    #: Path and query, percent-encoded.
    target: str
    body: str = ""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


class _PlainHashes(Mapping[str, str]):
    """Passwords stand for themselves: the unit hashes them."""

    def __getitem__(self, password: str) -> str:
        return password

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


PLAIN_HASHES = _PlainHashes()


class Tried(NamedTuple):
    """The effect of a request on settings."""

    settings: Settings
    #: Path, old and new value of every leaf that changes.
    leaves: list[tuple[str, Any, Any]]
    #: Paths that it sets, also to what they were.
    given: list[str]


def write_request(row: Row, values: Mapping[str, Any], profile: Profile) -> PlannedRequest | None:
    """Write the request of a row without a body; None where a value has no text in it."""
    texts = texts_of(row.form.holes, row.params, values, profile)
    return None if texts is None else PlannedRequest("GET", row.form.write(texts))


def write_item(
    item: Item, params: Mapping[str, Param], values: Mapping[str, Any], profile: Profile
) -> dict[str, str] | None:
    """Return the texts of one item of a list body; None where it cannot be said so."""
    texts = texts_of(item.holes, params, values, profile)
    if texts is None:
        return None
    seen: dict[str, Any] = {}
    for letter, text in texts.items():
        seen[letter] = params[letter].parse(text, profile, seen)
    return texts if all(seen[letter] == values[letter] for letter in texts) else None


def texts_of(
    letters: Iterable[str], params: Mapping[str, Param], values: Mapping[str, Any], profile: Profile
) -> dict[str, str] | None:
    """Return the wire text of every field that the version has."""
    try:
        return {
            letter: params[letter].format(values[letter], profile, values)
            for letter in letters
            if has_field(params[letter], profile)
        }
    except _NO_TEXT:
        return None


def list_request(row: Row, items: Sequence[Mapping[str, str]]) -> PlannedRequest:
    assert isinstance(row.body, ListBody)
    return PlannedRequest("POST", row.form.write({}), row.body.write([*items]).decode())


def form_request(row: Row, values: Mapping[str, Any], profile: Profile) -> PlannedRequest | None:
    assert isinstance(row.body, FormBody)
    texts = texts_of(row.body.fields, row.body.fields, values, profile)
    if texts is None:
        return None
    pairs = "&".join(f"{name}={text}" for name, text in texts.items())
    return PlannedRequest("POST", row.form.write({}), pairs)


def try_request(request: PlannedRequest, settings: Settings, profile: Profile) -> Tried:
    """Perform a request on settings as the unit would; raises its refusal."""
    stage = Stage(profile, settings, None, PLAIN_HASHES)
    for call in find(request.method, request.path, items_of(request.query), profile):
        if not isinstance(call, Call):
            raise call
        body = call.row.body
        content = None if body is None else body.read(request.body.encode(), "", profile)
        call.perform(stage, content)
    stage.forget_redirected()
    return Tried(stage.settings, stage.leaves(), stage.given)


def leaf_or_missing(settings: Settings, path: str) -> Any:
    """Return a leaf of settings; MISSING where they have no such entry."""
    try:
        return value_at(settings, path)
    except (AttributeError, IndexError):
        return MISSING


def parts(old: Any, new: Any, aim: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Take lists of one length apart, of which commands set one item at a time."""
    lists = isinstance(old, tuple) and isinstance(new, tuple) and isinstance(aim, tuple)
    if lists and len(old) == len(new) == len(aim):
        yield from zip(old, new, aim, strict=True)
    else:
        yield old, new, aim


def is_within(path: str, branches: Collection[str]) -> bool:
    """Return whether a path is one of these, below one of them, or above one."""
    return any(
        path == branch or path.startswith(f"{branch}.") or branch.startswith(f"{path}.")
        for branch in branches
    )


def count_gains(tried_leaves: list[tuple[str, Any, Any]], wanted: Settings) -> tuple[int, int]:
    """Count the leaves that become as wanted, and those that were and are not any more."""
    gain = loss = 0
    for path, old, new in tried_leaves:
        for before, after, aim in parts(old, new, leaf_or_missing(wanted, path)):
            was, is_now = is_same(before, aim), is_same(after, aim)
            gain += is_now and not was
            loss += was and not is_now
    return gain, loss
