"""The settings tree: access by path, comparison, and the factory settings of each version."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import compress, repeat, zip_longest
from operator import attrgetter, is_not
from typing import Any, get_args

import msgspec
from msgspec.structs import astuple, replace

from leverframe.core import settings as tree_classes
from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import HW30, HW35, Profile
from leverframe.core.settings import (
    CONFIDENTIAL,
    MAX_RULES,
    SECRETS,
    ControlUser,
    Identity,
    Layout,
    Node,
    Oled,
    Rule,
    ScheduleEntry,
    Settings,
    without_trailing_gaps,
)

# The factory settings of each version: the tree of `settings.py` with lists of the version's
# lengths.
#
# A list whose length is the same in all versions needs no entry here.


def differential_count(profile: Profile) -> int:
    return 6 if profile.since("1.49", HW35) else 3


def power_count(profile: Profile) -> int:
    return 6 if profile.since("1.49", HW35) else 4


def modbus_device_count(profile: Profile) -> int:
    if profile.since("1.57", HW35):
        return 5
    return 3 if profile.since("1.36", HW35) else 0


def offset_count(profile: Profile) -> int:
    """Return the number of elements on the Status for user page."""
    if profile.since("1.49"):
        return 79
    return 78 if profile.since("1.44") else 43


def visibility_count(profile: Profile) -> int:
    if profile.since("1.49"):
        return 132
    return 118 if profile.since("1.44") else 87


def screen_count(profile: Profile) -> int:
    return 4 if profile.since("1.44") else 1


@lru_cache(maxsize=64)
def defaults(profile: Profile) -> Settings:
    """Build the factory settings of a profile; their lists have the profile's lengths."""
    full = Settings()
    offsets = offset_count(profile)
    return Settings(
        profile=Identity(profile.hw, profile.sw),
        differentials=full.differentials[: differential_count(profile)],
        power=full.power[: power_count(profile)],
        onewire_extra=full.onewire_extra if profile.since("1.57", HW35) else (),
        modbus_slots=full.modbus_slots[: 1 if profile.hw in HW30 else 3],
        modbus_devices=full.modbus_devices[: modbus_device_count(profile)],
        modbus_mapping=full.modbus_mapping if profile.since("1.36", HW35) else (),
        oled=Oled(screens=full.oled.screens[: screen_count(profile)]),
        layout=Layout(
            top=full.layout.top[:offsets],
            left=full.layout.left[:offsets],
            visible=full.layout.visible[: visibility_count(profile)],
        ),
    )


# Reading, changing and comparing the immutable settings tree by path.
#
# A path consists of field names and list positions joined by dots. Branches are nodes and lists of
# nodes (with possibly empty places); everything else is a leaf: a number, a text, a flag, or a list
# of these. Changing a leaf rebuilds only the branches above it, so that trees can be compared by
# identity: `difference` visits only changed branches.

#: The value of a leaf that does not exist.
MISSING = msgspec.UNSET

#: Replaces a secret when settings are shown.
MASK = "***"

#: The entry that is created at an empty place of these lists when one of its leaves is set.
_FILLS_EMPTY_PLACE = {"rules": Rule(), "schedule": ScheduleEntry(), "users": ControlUser()}


class UnfitSettings(ErrorForPeople, ValueError):
    """The stored values do not form a settings tree."""


def branch_of(hint: Any) -> tuple[type[Node] | None, bool]:
    """Return the node class of a field or of its list items, and whether it is a list."""
    is_list = getattr(hint, "__origin__", None) is tuple
    items = get_args(hint)[:1] if is_list else (hint,)
    kinds = [kind for item in items for kind in (get_args(item) or (item,))]
    nodes = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Node)]
    return (nodes[0] if nodes else None), is_list


#: (class, field) of each list of nodes.
_BRANCH_LISTS = frozenset(
    (node, name)
    for node in vars(tree_classes).values()
    if isinstance(node, type) and issubclass(node, Node)
    # Annotations are used unresolved, because resolving them would take 1 % of a controller's
    # startup time.
    for name, hint in node.__annotations__.items()
    if getattr(hint, "__origin__", None) is tuple and branch_of(hint)[0] is not None
)


def value_at(tree: Any, path: str) -> Any:
    for step in path.split("."):
        tree = tree[int(step)] if isinstance(tree, tuple) else getattr(tree, step)
    return tree


def with_value(settings: Settings, path: str, value: object) -> Settings:
    """Return a tree with one value changed; the same object if the value is unchanged."""
    return exchange_value(settings, path, value)[0]


def exchange_value(settings: Settings, path: str, value: object) -> tuple[Settings, Any]:
    """Return a tree with one value changed, like `with_value`, and the previous value.

    The previous value is MISSING if the path is a place in a list.
    """
    return _exchange(settings, path.split("."), 0, value)


def _exchange(branch: Any, steps: list[str], depth: int, value: object) -> tuple[Any, Any]:
    step = steps[depth]
    depth += 1
    is_list = type(branch) is tuple
    old = branch[int(step)] if is_list else getattr(branch, step)
    if depth < len(steps):
        new, replaced = _exchange(old, steps, depth, value)
    else:
        new, replaced = old if is_same(old, value) else value, MISSING if is_list else old
    if new is old:
        return branch, replaced
    if is_list:
        items = list(branch)
        items[int(step)] = new
        return tuple(items), replaced
    return replace(branch, **{step: new}), replaced


def is_same(old: object, new: object) -> bool:
    return old is new or (type(old) is type(new) and old == new)


def leaves(node: Node, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of every leaf below a node."""
    kind = type(node)
    for name, value in zip(kind.__struct_fields__, astuple(node), strict=True):
        field_path = f"{path}.{name}" if path else name
        if (kind, name) in _BRANCH_LISTS:
            for index, item in enumerate(value):
                if item is not None:
                    yield from leaves(item, f"{field_path}.{index}")
        elif isinstance(value, Node):
            yield from leaves(value, field_path)
        else:
            yield field_path, value


def difference(
    old: Node | None, new: Node | None, path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, old and new value of every leaf that differs; `MISSING` for a missing leaf."""
    one = new if old is None else old
    if one is None:
        return
    kind = type(one)
    befores = repeat(MISSING) if old is None else astuple(old)
    afters = repeat(MISSING) if new is None else astuple(new)
    for name in compress(kind.__struct_fields__, map(is_not, befores, afters)):
        before = MISSING if old is None else getattr(old, name)
        after = MISSING if new is None else getattr(new, name)
        field_path = f"{path}.{name}" if path else name
        if (kind, name) in _BRANCH_LISTS:
            yield from _list_difference(before, after, field_path)
        elif isinstance(before, Node) or isinstance(after, Node):
            yield from difference(_node(before), _node(after), field_path)
        elif not is_same(before, after):
            yield field_path, before, after


def _list_difference(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    pairs = zip_longest(before or (), after or ())
    for index, (old, new) in enumerate(pairs):
        if old is not new:
            yield from difference(old, new, f"{path}.{index}")


def _node(value: Any) -> Node | None:
    return None if value is MISSING else value


def secret_paths(settings: Settings) -> Iterator[str]:
    """Yield the path of every secret leaf in the tree."""
    for pattern in sorted(SECRETS):
        branch, mark, leaf = pattern.partition(".*.")
        if not mark:
            yield pattern
            continue
        for index, node in enumerate(value_at(settings, branch)):
            if node is not None:
                yield f"{branch}.{index}.{leaf}"


def secrets_differ(old: Settings, new: Settings) -> bool:
    """Return True if a secret leaf was changed, added or removed."""
    befores, afters = _secret_branches(old), _secret_branches(new)
    if all(before is after for before, after in zip(befores, afters, strict=True)):
        # In the usual case none of the branches with secrets differs.
        return False
    return any(is_secret(path) for path, *_ in difference(old, new))


#: The branches that contain secrets.
_secret_branches: Callable[[Settings], tuple[Any, ...]] = attrgetter(
    *sorted({pattern.partition(".")[0] for pattern in SECRETS})
)


def mask_secret(secret: Any) -> str | None:
    """Return `MASK` for a secret that is set, otherwise None."""
    return MASK if secret else None


@lru_cache(maxsize=8192)
def is_secret(path: str) -> bool:
    """Return whether the value of a leaf is never output."""
    return pattern_of(path) in SECRETS


@lru_cache(maxsize=8192)
def is_confidential(path: str) -> bool:
    """Return whether only the administrator may see a leaf, but no backup, log or audit trail."""
    return pattern_of(path) in CONFIDENTIAL


def pattern_of(path: str) -> str:
    """Return a path with its indices replaced by `*`."""
    return ".".join("*" if step.isdigit() else step for step in path.split("."))


def settings_from_leaves(profile: Profile, stored: dict[str, Any]) -> tuple[Settings, list[str]]:
    """Build a tree from the profile's defaults and stored leaves; return it with the unfit paths.

    A leaf is unfit if the profile's lists are too short for it, or if this program does not know
    the setting. A value of the wrong type means a damaged store and raises `UnfitSettings`.
    """
    factory = defaults(profile)
    # Build only branches with stored leaves: most controllers store few.
    names = {path.partition(".")[0] for path in stored}.intersection(Settings.__struct_fields__)
    tree = {name: _plain(getattr(factory, name)) for name in names}
    if "rules" in tree:
        tree["rules"] = [None] * MAX_RULES
    unfit = [path for path, value in stored.items() if not _overlay(tree, path, value)]
    # The stored profile may differ from `profile`, which determines this tree.
    tree.pop("profile", None)
    if "rules" in tree:
        tree["rules"] = without_trailing_gaps(tree["rules"])
    try:
        built = msgspec.convert(tree, Settings)
    except msgspec.ValidationError as error:
        raise UnfitSettings(f"The stored settings cannot be read: {error}.") from error
    settings = replace(factory, **{name: getattr(built, name) for name in tree})
    shared: Settings = _sharing(factory, settings)
    return shared, unfit


def _sharing(like: Any, value: Any) -> Any:
    """Replace branches of a value by equal ones of `like`, which saves memory."""
    if value == like:
        return like
    if isinstance(value, tuple) and isinstance(like, tuple):
        return (
            tuple(_sharing(*pair) for pair in zip(like, value, strict=False)) + value[len(like) :]
        )
    if isinstance(value, Node) and type(value) is type(like):
        fields = type(value).__struct_fields__
        return type(value)(*(_sharing(getattr(like, f), getattr(value, f)) for f in fields))
    return value


def _overlay(tree: Any, path: str, value: Any) -> bool:
    """Put a stored leaf into a tree of dicts and lists; return False if it has no such leaf."""
    *branches, last = path.split(".")
    name = ""
    for step in branches:
        if isinstance(tree, list):
            if not step.isdecimal() or int(step) >= len(tree):
                return False
            if tree[int(step)] is None:
                tree[int(step)] = _plain(_FILLS_EMPTY_PLACE[name])
            tree = tree[int(step)]
        elif isinstance(tree, dict) and step in tree:
            name, tree = step, tree[step]
        else:
            return False
    if not isinstance(tree, dict) or last not in tree:
        return False
    tree[last] = _fit_length(value, tree[last])
    return True


def _plain(branch: Any) -> Any:
    """Convert a branch to dicts and lists, which can be changed in place."""
    return msgspec.json.decode(msgspec.json.encode(branch))


def _fit_length(value: Any, like: Any) -> Any:
    """Cut a list to the length of `like`, or extend it by items of `like`, if `like` has any."""
    if not like or not isinstance(like, list) or not isinstance(value, list | tuple):
        return value
    return [*value[: len(like)], *like[len(value) :]]
