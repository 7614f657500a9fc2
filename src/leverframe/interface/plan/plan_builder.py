"""A plan under construction: its requests, and the settings after each of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import MISSING, is_same, value_at
from leverframe.interface.table.bodies import FormBody, ListBody
from leverframe.interface.table.lookup import Call, find, items_of
from leverframe.interface.table.params import Param, has_field
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import Row
from leverframe.interface.table.shape import Item
from leverframe.interface.table.stage import Stage

# Requests as they are sent: created from rows and field values, and tried on settings.

#: The exceptions raised when a type cannot represent the value to format.
_NO_TEXT = (StopIteration, ValueError, OverflowError, TypeError, AttributeError)


class PlannedRequest(Struct, frozen=True):
    """A request of the command interface, as it is transmitted."""

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
    """Replaces the hashes of passwords by the passwords, because only the unit hashes them."""

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
    #: The path, old value and new value of every leaf that changes.
    leaves: list[tuple[str, Any, Any]]
    #: Paths that the request sets, even if their values stay the same.
    given: list[str]


def write_request(row: Row, values: Mapping[str, Any], profile: Profile) -> PlannedRequest | None:
    """Write the request of a row without a body; None if a value cannot be expressed in it."""
    texts = texts_of(row.form.holes, row.params, values, profile)
    return None if texts is None else PlannedRequest("GET", row.form.write(texts))


def write_item(
    item: Item, params: Mapping[str, Param], values: Mapping[str, Any], profile: Profile
) -> dict[str, str] | None:
    """Return the texts of one item of a list body; None if a value cannot be expressed in it."""
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
    """Perform a request on settings as the unit would; raise the refusal of the unit."""
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
    """Return a leaf of settings; MISSING if the settings have no such entry."""
    try:
        return value_at(settings, path)
    except (AttributeError, IndexError):
        return MISSING


def parts(old: Any, new: Any, aim: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Split changes of lists of equal length into items, which commands set individually."""
    lists = isinstance(old, tuple) and isinstance(new, tuple) and isinstance(aim, tuple)
    if lists and len(old) == len(new) == len(aim):
        yield from zip(old, new, aim, strict=True)
    else:
        yield old, new, aim


def is_within(path: str, branches: Collection[str]) -> bool:
    """Return whether a path equals one of these paths, or is below or above one of them."""
    return any(
        path == branch or path.startswith(f"{branch}.") or branch.startswith(f"{path}.")
        for branch in branches
    )


def count_gains(tried_leaves: list[tuple[str, Any, Any]], wanted: Settings) -> tuple[int, int]:
    """Count the leaves that reach their desired value, and those that lose it."""
    gain = loss = 0
    for path, old, new in tried_leaves:
        for before, after, aim in parts(old, new, leaf_or_missing(wanted, path)):
            was, is_now = is_same(before, aim), is_same(after, aim)
            gain += is_now and not was
            loss += was and not is_now
    return gain, loss


# A plan under construction: its steps so far, and the settings after them.


class PlannedStep(NamedTuple):
    """A request, with the path, old value and new value of every leaf that it changes."""

    request: PlannedRequest
    changes: tuple[tuple[str, Any, Any], ...]


class HelpfulRequest(NamedTuple):
    """A request that reduces the difference to the desired settings."""

    request: PlannedRequest
    effect: Tried
    #: The number of leaves that reach their desired value.
    gain: int


class PlanBuilder:
    """Collects requests that lead to the desired settings, and records why others cannot be used.

    `hidden` are unread leaves outside the desired settings: no request may set them. `unknown` are
    unread leaves within the desired settings: they are always set.
    """

    def __init__(
        self,
        profile: Profile,
        now: Settings,
        wanted: Settings,
        hidden: Collection[str] = (),
        unknown: Collection[str] = (),
    ) -> None:
        self.profile = profile
        self.now = now
        self.wanted = wanted
        self.hidden = frozenset(hidden)
        self.unknown = set(unknown)
        self.steps: list[PlannedStep] = []
        self.reasons: dict[str, str] = {}

    def take(
        self,
        request: PlannedRequest,
        sets: Collection[str] | None = None,
        removed: Collection[str] = (),
    ) -> None:
        """Add a request without checking whether it helps.

        `sets` are the leaves that the request writes, if it does not write the complete branch;
        `removed` are unread leaves that it removes.
        """
        effect = try_request(request, self.now, self.profile)
        if sets is None:
            self._add(request, effect)
            return
        unread = self.hidden | self.unknown
        moved = {path for path, old, new in effect.leaves if MISSING in (old, new)} - {*sets}
        leaves = [one for one in effect.leaves if one[0] not in unread & moved]
        leaves += [(path, leaf_or_missing(self.now, path), MISSING) for path in removed]
        self._add(request, effect._replace(leaves=leaves, given=[*sets]))

    def accept(self, offer: HelpfulRequest) -> None:
        self._add(offer.request, offer.effect)

    def _add(self, request: PlannedRequest, effect: Tried) -> None:
        changes = {path: (old, new) for path, old, new in effect.leaves}
        unread = self.hidden | self.unknown
        for path in _within(unread, effect.given):
            value = leaf_or_missing(effect.settings, path)
            if value is MISSING:
                continue
            if changes.get(path, (value,))[0] is not MISSING:
                # The previous value is unknown.
                changes[path] = (value, value)
        self.unknown.difference_update(self._newly_known(effect))
        self.now = effect.settings
        self.steps.append(
            PlannedStep(request, tuple((path, *both) for path, both in changes.items()))
        )

    def unshown_of_rules(self) -> list[str]:
        """List the parts of rules that were not read."""
        return sorted(path for path in self.hidden | self.unknown if path.startswith("rules."))

    def offer(self, request: PlannedRequest) -> HelpfulRequest | None:
        """Try a request; return None if it is not allowed, useless or harmful."""
        try:
            effect = try_request(request, self.now, self.profile)
        except Refusal:
            return None
        gain, loss = count_gains(effect.leaves, self.wanted)
        gain += len(self._newly_known(effect))
        if not gain:
            return None
        unreadable = _within(self.hidden, effect.given)
        if unreadable:
            self._note(
                effect,
                f"The command for this setting also sets {unreadable[0]}, which could not be"
                f" read; add that setting to the file.",
            )
            return None
        if loss:
            self._note(
                effect,
                f"The command for this setting would also change {self._first_harm(effect)}.",
            )
            return None
        return HelpfulRequest(request, effect, gain)

    def _newly_known(self, effect: Tried) -> list[str]:
        return [
            path
            for path in _within(self.unknown, effect.given)
            if is_same(leaf_or_missing(effect.settings, path), leaf_or_missing(self.wanted, path))
        ]

    def _first_harm(self, effect: Tried) -> str:
        return next(
            path
            for path, old, new in effect.leaves
            for before, after, aim in parts(old, new, leaf_or_missing(self.wanted, path))
            if is_same(before, aim) and not is_same(after, aim)
        )

    def _note(self, effect: Tried, reason: str) -> None:
        for path, *_ in effect.leaves:
            self.reasons.setdefault(path, reason)
        for path in self._newly_known(effect):
            self.reasons.setdefault(path, reason)

    def knows_all_of(self, branch: str) -> bool:
        """Return whether all desired leaves of a branch were read."""
        return not any(path == branch or path.startswith(f"{branch}.") for path in self.unknown)

    def is_locked(self) -> bool:
        return bool(value_at(self.now, "output_flags.lock"))


def _within(paths: Collection[str], branches: Collection[str]) -> list[str]:
    """Return the sorted paths that equal one of these branches, or are below or above one."""
    if not paths:
        return []
    roots = {branch.partition(".")[0] for branch in branches}
    return sorted(
        path for path in paths if path.partition(".")[0] in roots and is_within(path, branches)
    )
