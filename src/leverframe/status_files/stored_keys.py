"""Keys that show settings: where those stand in the tree, and the form that they have there."""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from leverframe.profile import ALWAYS, Profile, Spans
from leverframe.status_files.forms import ENCODED_STAR, STAR_LOSS, KeyForm, NotReadable, as_text
from leverframe.status_files.keys import Keys
from leverframe.status_files.setting_parsing import (
    ReadSetting,
    SettingParser,
    UnreadSetting,
    is_place,
    part_of,
    places,
)
from leverframe.status_files.view import View


def setting(name: str, path: str, form: KeyForm, meaning: str, when: Spans = ALWAYS) -> Keys:
    return settings((name,), path, form, meaning, when)


def settings(
    names: tuple[str, ...], patterns: str, form: KeyForm, meaning: str, when: Spans = ALWAYS
) -> Keys:
    """Return keys that show one setting each; patterns are separated by spaces."""
    parts = tuple(patterns.split())

    def write(values: Sequence[Any], profile: Profile) -> Sequence[str]:
        return [form.write(value, profile) for value in values]

    def read(texts: Sequence[object], profile: Profile) -> Iterator[ReadSetting | UnreadSetting]:
        for path, text in zip(places(parts, profile), texts, strict=True):
            try:
                yield ReadSetting(path, form.read(as_text(text), profile))
            except NotReadable as problem:
                yield UnreadSetting(path, str(problem))

    show = _show_cached(patterns, write)
    return Keys(names, show, meaning, form.scale, when, None, SettingParser(parts, read))


def joint_settings(
    name: str, patterns: str, form: KeyForm, meaning: str, when: Spans = ALWAYS
) -> Keys:
    """Return a key that shows several settings in one text."""
    parts = tuple(patterns.split())

    def write(values: Sequence[Any], profile: Profile) -> Sequence[str]:
        return (form.write(values, profile),)

    def read(texts: Sequence[object], profile: Profile) -> Iterator[ReadSetting | UnreadSetting]:
        paths = places(parts, profile)
        try:
            text = as_text(texts[0])
            found = form.read(text, profile)
        except NotReadable as problem:
            yield from (UnreadSetting(path, str(problem)) for path in paths)
            return
        is_lossy = ENCODED_STAR in text
        for path, value in zip(paths, found, strict=True):
            loss = STAR_LOSS if is_lossy and isinstance(value, str) and "*" in value else ""
            yield ReadSetting(path, value, loss)

    show = _show_cached(patterns, write)
    return Keys((name,), show, meaning, form.scale, when, None, SettingParser(parts, read))


def _show_cached(
    patterns: str, write: Callable[[Sequence[Any], Profile], Sequence[str]]
) -> Callable[[View], Sequence[str]]:
    """Return a function that shows settings; it keeps the texts until their branch of the tree
    changes.

    Values change far more often than settings, and a changed setting is in one branch.
    """
    values = _values_at(patterns)
    tops = {pattern.partition(".")[0] for pattern in patterns.split()}
    branch_of: Callable[[Any], Any] = attrgetter(*tops) if len(tops) == 1 else lambda tree: tree
    kept: tuple[Any, Profile | None, Sequence[str]] = (None, None, ())

    def show(view: View) -> Sequence[str]:
        nonlocal kept
        machine = view.engine.machine
        branch, profile, texts = branch_of(machine.settings), machine.profile, kept[2]
        if kept[0] is not branch or kept[1] != profile:
            texts = write(values(machine.settings), profile)
            kept = (branch, profile, texts)
        return texts

    return show


def _values_at(patterns: str) -> Callable[[Any], Sequence[Any]]:
    """Return a function that gets the values of patterns from a tree; a file has hundreds of
    patterns.
    """
    first, *others = (_values_of(pattern) for pattern in patterns.split())
    if not others:
        return first
    getters = (first, *others)
    return lambda tree: [value for get in getters for value in get(tree)]


def _values_of(pattern: str) -> Callable[[Any], Sequence[Any]]:
    steps = pattern.split(".")
    place = next((at for at, step in enumerate(steps) if is_place(step)), None)
    if place is None:
        get = attrgetter(pattern)
        return lambda tree: (get(tree),)
    branch, part, rest = (
        attrgetter(".".join(steps[:place])),
        part_of(steps[place]),
        steps[place + 1 :],
    )
    if not rest:
        return lambda tree: branch(tree)[part]
    inner = _values_of(".".join(rest))
    if any(map(is_place, rest)):
        return lambda tree: [value for one in branch(tree)[part] for value in inner(one)]
    leaf = attrgetter(".".join(rest))
    return lambda tree: [leaf(one) for one in branch(tree)[part]]
