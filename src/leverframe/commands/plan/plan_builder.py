"""A plan in the making: the settings as they will be, and the steps that were taken so far."""

from collections.abc import Collection
from typing import Any, NamedTuple

from leverframe.commands.plan.written import (
    PlannedRequest,
    Tried,
    count_gains,
    is_within,
    leaf_or_missing,
    parts,
    try_request,
)
from leverframe.commands.table.refusals import Refusal
from leverframe.engine.settings import Settings
from leverframe.engine.tree import MISSING, is_same, value_at
from leverframe.profile import Profile


class PlannedStep(NamedTuple):
    """A request with what it changes: path, old and new value of every leaf."""

    request: PlannedRequest
    changes: tuple[tuple[str, Any, Any], ...]


class HelpfulRequest(NamedTuple):
    """A request that brings the settings nearer to the wanted ones."""

    request: PlannedRequest
    effect: Tried
    #: How many leaves become as wanted.
    gain: int


class PlanBuilder:
    """Takes requests that lead nearer to the wanted settings, and records why others do not.

    `hidden` are leaves that could not be read and are not wanted: no request may set them.
    `unknown` are leaves that could not be read and are wanted: they are set whatever they are.
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
        """Take a request that is known to be right.

        `sets` are the leaves that it writes, where it does not write the whole branch that it
        names; `removed` are unread leaves that it removes.
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
                # What it was is not known.
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
        """Try a request; None if it is not allowed, does not help, or does harm."""
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
                f"Its command also sets {unreadable[0]}, which could not be read; add that "
                "setting to the file.",
            )
            return None
        if loss:
            self._note(effect, f"Its command would also change {self._first_harm(effect)}.")
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
        """Return whether nothing of a branch is left that is wanted and could not be read."""
        return not any(path == branch or path.startswith(f"{branch}.") for path in self.unknown)

    def is_locked(self) -> bool:
        return bool(value_at(self.now, "output_flags.lock"))


def _within(paths: Collection[str], branches: Collection[str]) -> list[str]:
    """Return the paths that are one of these branches, below or above one, in order."""
    if not paths:
        return []
    roots = {branch.partition(".")[0] for branch in branches}
    return sorted(
        path for path in paths if path.partition(".")[0] in roots and is_within(path, branches)
    )
