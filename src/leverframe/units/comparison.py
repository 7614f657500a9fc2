"""Compare two units by meaning, also across versions.

Settings of one version are converted to the other as in a restore, in the direction that loses
less; losses are reported. Parts of rules that have no effect, and the positions of schedule
entries, are ignored. Settings that a side does not have or mention are not differences.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.live_rule import digital_level
from leverframe.core.errors import ErrorForPeople
from leverframe.core.labels import DIGITAL
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, RulePlaces, ScheduleEntry, Settings
from leverframe.core.tree import MISSING, defaults, difference, is_confidential, leaves, value_at
from leverframe.interface.table.refusals import NotCarriedOver, Refusal
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.entries import idle_parts
from leverframe.interface.version_change.limits import ENTRIES, Content, is_allowed
from leverframe.units.file_keys import key_of, path_of
from leverframe.units.pulled_unit import PulledUnit, reason_at
from leverframe.units.rule_sentences import sentence_about
from leverframe.units.unit_file import UnitFile, with_part_of
from leverframe.units.unit_text import toml_value, words_of_entry, words_of_path, words_of_value

_ABSENT = "nothing"
_SECRET = "(secret)"
#: Number of differing list items that are shown.
MAX_ITEMS = 8


class NotComparable(ErrorForPeople, ValueError):
    """Two sides cannot be compared; the message is one sentence."""


class ComparedUnit(Struct, frozen=True):
    """One side of a comparison."""

    #: Its title: an address or a file.
    title: str
    profile: Profile
    settings: Settings
    #: Path -> why this side does not show it; a branch includes everything below it.
    unread: Mapping[str, str] = {}
    #: Path -> what may be incomplete.
    lossy: Mapping[str, str] = {}
    #: Whether this side mentions a path at all.
    speaks: Callable[[str], bool] = lambda path: True


class SettingDifference(Struct, frozen=True, omit_defaults=True):
    """A difference between the two sides; secrets are named but never shown."""

    #: As in a unit file.
    key: str
    words: str
    first: str
    second: str
    #: Why it may not be a difference, or why it remains.
    note: str = ""

    def __str__(self) -> str:
        return f"{self.words}: {self.first} -> {self.second}" + (
            f" ({self.note})" if self.note else ""
        )


class CannotHold(Struct, frozen=True):
    """A setting of one side that the version of the other side does not support."""

    version: str
    key: str
    words: str
    #: As a text; empty for a secret.
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.words}{f' ({self.value})' if self.value else ''}: {self.reason}"


class NotShown(Struct, frozen=True):
    """A setting that one side does not show."""

    side: str
    keys: tuple[str, ...]
    reason: str


class UnitDifference(Struct, frozen=True):
    """The result of a comparison."""

    first: str
    first_version: str
    second: str
    second_version: str
    differences: tuple[SettingDifference, ...]
    cannot_hold: tuple[CannotHold, ...]
    cannot_tell: tuple[NotShown, ...]

    @property
    def is_same(self) -> bool:
        return not self.differences and not self.cannot_hold


def compare_units(first: ComparedUnit, second: ComparedUnit) -> UnitDifference:
    """Compare two units; differences are reported as first and second."""
    pair = _same_version(first, second)
    one, other = _with_unknown_alike(*pair.settings, first, second)
    return UnitDifference(
        first=first.title,
        first_version=str(first.profile),
        second=second.title,
        second_version=str(second.profile),
        differences=tuple(_differences(one, other, first, second)),
        cannot_hold=tuple(
            _cannot_hold(lost, pair.version)
            for lost in pair.lost
            if not _is_unknown(lost.path, first, second)
        ),
        cannot_tell=(*_find_unknown(first, second), *_find_unknown(second, first)),
    )


def _cannot_hold(lost: NotCarriedOver, version: Profile) -> CannotHold:
    value = "" if lost.value is None else toml_value(lost.value)
    return CannotHold(str(version), key_of(lost.path), words_of_path(lost.path), value, lost.reason)


class _Pair(Struct):
    """The settings of both sides in one version, and the settings that this version lacks."""

    settings: tuple[Settings, Settings]
    version: Profile
    lost: tuple[NotCarriedOver, ...] = ()


def _same_version(first: ComparedUnit, second: ComparedUnit) -> _Pair:
    if first.profile == second.profile:
        return _Pair((first.settings, second.settings), first.profile)
    there, lost = _carry_over(first, second.profile)
    back, lost_back = _carry_over(second, first.profile)
    if len(lost) <= len(lost_back):
        return _Pair((there, second.settings), second.profile, lost)
    return _Pair((first.settings, back), first.profile, lost_back)


def _carry_over(side: ComparedUnit, target: Profile) -> tuple[Settings, tuple[NotCarriedOver, ...]]:
    content = Content(side.profile, dict(leaves(side.settings)), with_secrets=True)
    try:
        carried = carry_over(content, target, defaults(target))
    except Refusal as refusal:
        raise NotComparable(f"{side.title}: {refusal.detail}") from None
    return carried.settings, carried.not_carried_over


def _is_unknown(path: str, *sides: ComparedUnit) -> bool:
    return any(reason_at(side.unread, path) is not None or not side.speaks(path) for side in sides)


def _with_unknown_alike(
    left: Settings, right: Settings, first: ComparedUnit, second: ComparedUnit
) -> tuple[Settings, Settings]:
    """Copy unknown parts of rules and schedule entries from the other side.

    Each rule and entry is compared as a whole, so one unknown part would make the whole differ.
    """
    for path in (path for path in first.unread if path.startswith(ENTRIES)):
        left = with_part_of(right, left, path)
    for path in (path for path in second.unread if path.startswith(ENTRIES)):
        right = with_part_of(left, right, path)
    return left, right


def _differences(
    left: Settings, right: Settings, first: ComparedUnit, second: ComparedUnit
) -> Iterator[SettingDifference]:
    for path, before, after in difference(left, right):
        if path.startswith(("profile.", "rules.", "schedule.")):
            continue
        if not _is_unknown(path, first, second) and not _are_hashes(path, before, after):
            yield _leaf_difference(path, before, after, first, second)
    if not _is_unknown("rules", first, second):
        yield from _rule_differences(left.rules, right.rules)
    if not _is_unknown("schedule", first, second):
        yield from _schedule_differences(left.schedule, right.schedule)


def _are_hashes(path: str, before: Any, after: Any) -> bool:
    """Return whether only hashes are known, which differ even for equal passwords."""
    return path.startswith("access.") and path.endswith(".password") and before and after


def _leaf_difference(
    path: str, before: Any, after: Any, first: ComparedUnit, second: ComparedUnit
) -> SettingDifference:
    shown = _show(path, before), _show(path, after)
    if isinstance(before, tuple) and isinstance(after, tuple) and not is_confidential(path):
        shown = _items_that_differ(path, before, after)
    note = _note(path, before, after, first, second)
    return SettingDifference(key_of(path), words_of_path(path), *shown, note)


def _show(path: str, value: Any) -> str:
    if value is MISSING:
        return _ABSENT
    if is_confidential(path):
        return _SECRET if value else _ABSENT
    return words_of_value(path, value)


def _items_that_differ(
    path: str, before: tuple[Any, ...], after: tuple[Any, ...]
) -> tuple[str, str]:
    """Return the differing items of two long lists, with positions counted from 1."""
    if max(len(before), len(after)) <= MAX_ITEMS:
        return words_of_value(path, before), words_of_value(path, after)
    pairs = zip(before, after, strict=False)
    places = [place for place, (old, new) in enumerate(pairs) if old != new]
    more = f" and {len(places) - MAX_ITEMS} more" if len(places) > MAX_ITEMS else ""

    def list_items(items: tuple[Any, ...]) -> str:
        shown = (f"{place + 1}: {toml_value(items[place])}" for place in places[:MAX_ITEMS])
        return ", ".join(shown) + more

    return list_items(before), list_items(after)


def _note(path: str, before: Any, after: Any, first: ComparedUnit, second: ComparedUnit) -> str:
    for side in (first, second):
        lossy = reason_at(side.lossy, path)
        if lossy:
            return f"{side.title} shows this setting incompletely: {lossy}"
    if first.profile != second.profile:
        for side, value in ((first, after), (second, before)):
            standard = _standard(path, side.profile)
            if value is not MISSING and not is_allowed(path, value, standard, side.profile):
                return f"{side.profile} does not support the other value"
    return ""


def _standard(path: str, profile: Profile) -> Any:
    try:
        return value_at(defaults(profile), path)
    except (IndexError, AttributeError):
        return None


def _rule_differences(left: RulePlaces, right: RulePlaces) -> Iterator[SettingDifference]:
    """Pair the rules, so that a new rule at the beginning does not make all later ones differ."""
    befores = [rule and _meaning(rule) for rule in left]
    afters = [rule and _meaning(rule) for rule in right]
    matcher = SequenceMatcher(None, befores, afters, autojunk=False)
    for kind, begin, end, begin_other, end_other in matcher.get_opcodes():
        if kind == "equal":
            continue
        for offset in range(max(end - begin, end_other - begin_other)):
            old, new = begin + offset, begin_other + offset
            number = (old if old < end else new) + 1
            there = befores[old] if old < end else None
            here = afters[new] if new < end_other else None
            if there is None and here is None:
                continue
            yield SettingDifference(
                f"rules.{number}",
                f"rule {number}",
                _ABSENT if there is None else sentence_about(there),
                _ABSENT if here is None else sentence_about(here),
            )


def _meaning(rule: Rule) -> Rule:
    """Return the rule without parts that have no effect."""
    rule = replace(rule, **{name: getattr(Rule(), name) for name in idle_parts(rule)})
    # A digital source has only two states, so different comparisons may be equal; use one form.
    if rule.source in DIGITAL:
        level = digital_level(rule.compare, rule.reference)
        rule = replace(rule, compare=Rule().compare, reference=level)
    if rule.source2 in DIGITAL:
        level = digital_level(rule.compare2, rule.reference2)
        rule = replace(rule, compare2=Rule().compare2, reference2=level)
    return rule


def _schedule_differences(
    befores: tuple[ScheduleEntry | None, ...], afters: tuple[ScheduleEntry | None, ...]
) -> Iterator[SettingDifference]:
    left = {place: entry for place, entry in enumerate(befores) if entry is not None}
    right = {place: entry for place, entry in enumerate(afters) if entry is not None}
    for place, entry in list(left.items()):
        twin = next((there for there, one_there in right.items() if one_there == entry), None)
        if twin is not None:
            del left[place], right[twin]
    for place in sorted(left.keys() | right.keys()):
        before, after = left.get(place), right.get(place)
        yield SettingDifference(
            f"schedule.{place + 1}",
            f"schedule entry {place + 1}",
            _ABSENT if before is None else words_of_entry(before),
            _ABSENT if after is None else words_of_entry(after),
        )


def _find_unknown(side: ComparedUnit, other: ComparedUnit) -> Iterator[NotShown]:
    """Yield settings of the other side that this side does not show, by reason."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in side.unread.items():
        if reason_at(other.unread, path) is None and other.speaks(path):
            by_reason.setdefault(reason, []).append(key_of(path))
    for reason, keys in by_reason.items():
        yield NotShown(side.title, tuple(keys), reason)


# Differences between a unit and its file: only settings in the file that the unit shows.


class DriftedSetting(Struct, frozen=True):
    """A setting that differs from the file, with values as a unit file writes them."""

    path: str
    unit: str
    file: str

    def __str__(self) -> str:
        """Describe the difference in the terms of the file.

        The text has no full stop and is independent of language.
        """
        return f"{key_of(self.path)} is {self.unit}, not {self.file}"


def drift_from(file: UnitFile, pulled: PulledUnit) -> list[DriftedSetting]:
    return [
        DriftedSetting(path_of(one.key) or one.key, one.first, one.second)
        for one in compare_with_file(file, pulled).differences
    ]


def compare_with_file(file: UnitFile, pulled: PulledUnit) -> UnitDifference:
    """Compare a unit (the first side) with its file (the second side)."""
    for_unit, _ = file.for_version(pulled.profile)
    present = ComparedUnit(
        "the unit",
        pulled.profile,
        pulled.settings,
        # A possible difference does not raise an alarm.
        unread={**pulled.lossy, **pulled.unread},
    )
    wanted = ComparedUnit(
        "its file", pulled.profile, for_unit.over(pulled.settings), speaks=for_unit.names
    )
    return compare_units(present, wanted)
