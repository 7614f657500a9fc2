"""The settings tree: reading, changing, comparing, storing and rebuilding it.

Random trees are made by random changes to the defaults of a random profile: filled and emptied
places of the lists that have such, then leaves of any path with values of the leaf's kind.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.profile import Profile
from leverframe.core.settings import (
    CONTROL_USERS,
    MAX_RULES,
    SCHEDULE_ENTRIES,
    SECRETS,
    ControlUser,
    Rule,
    ScheduleEntry,
    Settings,
)
from leverframe.core.tree import (
    MISSING,
    UnfitSettings,
    defaults,
    difference,
    is_secret,
    leaves,
    secret_paths,
    settings_from_leaves,
    value_at,
    with_value,
)
from tests.boundary_profiles import ALL_HARDWARE, NEWEST
from tests.cases import for_each
from tests.effort import examples

# --- random trees --------------------------------------------------------------------------------

TEXTS = st.text(max_size=5)
KINDS: dict[type, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(2**31), 2**31 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: TEXTS,
    type(None): st.none() | TEXTS,
}
#: Leaves that are lists of any length; other lists keep their length.
ELASTIC = ("numbers", "days")


def values_like(path: str, value: Any) -> st.SearchStrategy[Any]:
    """Values that a leaf may take instead of the one it has."""
    if path.endswith(ELASTIC):
        return st.lists(TEXTS, max_size=3).map(tuple)
    if isinstance(value, tuple):
        return st.tuples(*(values_like("", item) for item in value))
    return KINDS[type(value)]


@st.composite
def change_tree(draw: st.DrawFn, tree: Settings, most: int = 6) -> Settings:
    """The tree after some random changes."""
    if draw(st.booleans()):
        tree = with_value(tree, "rules", (Rule(),) * draw(st.integers(0, MAX_RULES)))
    for _ in range(draw(st.integers(0, 2))):
        place, entry = draw(st.integers(0, SCHEDULE_ENTRIES - 1)), draw(st.booleans())
        tree = with_value(tree, f"schedule.{place}", ScheduleEntry() if entry else None)
        place, user = draw(st.integers(0, CONTROL_USERS - 1)), draw(st.booleans())
        tree = with_value(tree, f"access.users.{place}", ControlUser() if user else None)
    paths = [path for path, _ in leaves(tree) if not path.startswith("profile.")]
    for path in draw(st.lists(st.sampled_from(paths), max_size=most)):
        tree = with_value(tree, path, draw(values_like(path, value_at(tree, path))))
    return tree


trees = st.sampled_from(ALL_HARDWARE).flatmap(lambda profile: change_tree(defaults(profile)))
pairs = trees.flatmap(lambda tree: st.tuples(st.just(tree), change_tree(tree)))


def profile_of(tree: Settings) -> Profile:
    return Profile(tree.profile.hw, tree.profile.sw)


def through_json(stored: dict[str, Any]) -> dict[str, Any]:
    """As a store gives leaves back: lists where there were tuples."""
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(stored))
    return decoded


# --- reading and changing ------------------------------------------------------------------------


@examples(60)
@given(trees, st.data())
def test_value_that_was_set_is_read_back_and_nothing_else_changed(
    tree: Settings, data: st.DataObject
) -> None:
    before = dict(leaves(tree))
    path = data.draw(st.sampled_from(sorted(before)))
    value = data.draw(values_like(path, before[path]))
    after = with_value(tree, path, value)
    assert value_at(after, path) == value
    assert dict(leaves(after)) == before | {path: value}


@examples(60)
@given(trees, st.data())
def test_setting_the_value_that_is_there_gives_the_very_same_tree(
    tree: Settings, data: st.DataObject
) -> None:
    path, value = data.draw(st.sampled_from(list(leaves(tree))))
    assert with_value(tree, path, value) is tree


def test_change_shares_every_untouched_branch() -> None:
    old = defaults(NEWEST)
    new = with_value(old, "outputs.3.name", "Pump")
    assert new.outputs[3].name == "Pump"
    assert new.outputs[2] is old.outputs[2]
    assert all(
        getattr(new, name) is getattr(old, name)
        for name in old.__struct_fields__
        if name != "outputs"
    )


def test_number_of_another_kind_is_a_change() -> None:
    tree = defaults(NEWEST)
    assert with_value(tree, "pid.target", 0) is not tree
    assert with_value(tree, "output_flags.lock", 0) is not tree


def test_branches_can_be_read_and_set_whole() -> None:
    tree = with_value(defaults(NEWEST), "schedule.4", ScheduleEntry(name="Dawn"))
    assert value_at(tree, "schedule.4.name") == "Dawn"
    assert value_at(tree, "schedule.5") is None
    assert value_at(tree, "variables.words.0") == 3


@for_each("path", ["nothing", "outputs.6.name", "outputs.0.colour", "rules.0.mode"])
def test_path_that_does_not_exist_is_an_error(path: str) -> None:
    with pytest.raises((AttributeError, IndexError)):
        with_value(defaults(NEWEST), path, 1)


# --- comparing -----------------------------------------------------------------------------------


@examples(60)
@given(pairs)
def test_difference_applied_to_the_old_leaves_gives_the_new(
    pair: tuple[Settings, Settings],
) -> None:
    old, new = pair
    stored = dict(leaves(old))
    for path, before, after in difference(old, new):
        assert stored.get(path, MISSING) == before
        assert type(before) is not type(after) or before != after
        if after is MISSING:
            del stored[path]
        else:
            stored[path] = after
    assert stored == dict(leaves(new))
    assert settings_from_leaves(profile_of(new), through_json(stored)) == (new, [])


def test_difference_of_equal_trees_is_nothing() -> None:
    assert list(difference(defaults(NEWEST), defaults(NEWEST))) == []
    assert list(difference(Settings(), Settings())) == []
    assert list(difference(None, None)) == []


def test_removed_entry_is_reported_leaf_by_leaf() -> None:
    one = with_value(defaults(NEWEST), "rules", (Rule(), Rule(source="DS1")))
    gone = list(difference(one, with_value(one, "rules", (Rule(),))))
    assert [path for path, _, _ in gone] == [f"rules.1.{name}" for name in Rule.__struct_fields__]
    assert {after for _, _, after in gone} == {MISSING}


def test_lists_of_plain_values_are_one_leaf() -> None:
    paths = {path for path, _ in leaves(defaults(NEWEST))}
    assert {"layout.top", "variables.bits", "pwm_frequency", "oled.screens.3.lines"} <= paths
    assert {"layout.top.0", "variables", "outputs.0", "outputs"} & paths == set()


# --- storing and rebuilding ----------------------------------------------------------------------


@examples(150)
@given(trees)
def test_leaves_make_the_tree_again_on_every_profile(tree: Settings) -> None:
    assert settings_from_leaves(profile_of(tree), dict(leaves(tree))) == (tree, [])
    assert settings_from_leaves(profile_of(tree), through_json(dict(leaves(tree)))) == (tree, [])


@for_each("profile", ALL_HARDWARE, ids=str)
def test_nothing_stored_gives_the_defaults(profile: Profile) -> None:
    assert settings_from_leaves(profile, {}) == (defaults(profile), [])


def test_leaves_without_a_place_are_reported_and_left_out() -> None:
    small = Profile("3.0", "1.40")
    full = through_json(dict(leaves(defaults(NEWEST))))
    tree, unfit = settings_from_leaves(small, full)
    assert tree == defaults(small)
    assert {path.partition(".")[0] for path in unfit} == {
        *("differentials", "power", "onewire_extra"),
        *("modbus_slots", "modbus_devices", "modbus_mapping", "oled"),
    }
    strange = {"outputs.²0.name": "x", "outputs.x.name": "x", "colour": 1, "outputs.0": "x"}
    assert settings_from_leaves(NEWEST, strange) == (defaults(NEWEST), list(strange))


def test_profile_is_the_one_given_not_the_one_stored() -> None:
    tree, _ = settings_from_leaves(NEWEST, {"profile.hw": "3.0", "profile.sw": "1.36"})
    assert (tree.profile.hw, tree.profile.sw) == ("3.9", "1.75")


def test_lists_that_grew_with_the_version_keep_the_places_in_common() -> None:
    older, newer = Profile("3.5", "1.44"), NEWEST
    placed = with_value(defaults(older), "layout.top", tuple(range(1, 79)))
    tree, _ = settings_from_leaves(newer, through_json(dict(leaves(placed))))
    assert tree.layout.top == (*range(1, 79), 0)
    back, _ = settings_from_leaves(older, through_json(dict(leaves(tree))))
    assert back.layout.top == tuple(range(1, 79))


@pytest.mark.parametrize("path", ["variables.bits", "pwm_frequency", "email.on_texts"])
def test_list_of_the_wrong_length_cannot_get_into_the_tree(path: str) -> None:
    usual = value_at(defaults(NEWEST), path)
    for wrong in ([], [*usual, *usual]):
        tree, _ = settings_from_leaves(NEWEST, {path: wrong})
        assert value_at(tree, path) == usual


@for_each(
    ("path", "value"),
    [
        ("outputs.0.name", 5),
        ("outputs.0.periodic", "yes"),
        ("pid.target", "warm"),
        ("layout.top", 5),
        ("layout.top", ["x"]),
        ("gsm.sms.0.numbers", "112"),
        ("schedule.0.days", [1]),
        ("rules.0.reference", None),
    ],
)
def test_stored_value_of_the_wrong_kind_is_refused(path: str, value: object) -> None:
    with pytest.raises(UnfitSettings, match="cannot be read"):
        settings_from_leaves(NEWEST, {path: value})


# --- secrets and list lengths --------------------------------------------------------------------


def test_every_secret_is_a_leaf_of_the_tree() -> None:
    tree = with_value(defaults(NEWEST), "access.users.0", ControlUser())
    paths = {path for path, _ in leaves(tree)}
    assert {secret.replace("*", "0") for secret in SECRETS} <= paths


def test_every_leaf_named_like_a_secret_is_one() -> None:
    tree = with_value(defaults(NEWEST), "access.users.0", ControlUser())
    secret_endings = ("password", "community", "_key", "apn", "gsm.code")
    named = {path for path, _ in leaves(tree) if path.endswith(secret_endings)}
    assert named == {path for path, _ in leaves(tree) if is_secret(path)}


#: Path -> its length on HW 3.0 SW 1.40, HW 3.5 SW 1.36, 1.44 and 1.49, HW 3.9 SW 1.57.
LENGTHS = {
    "outputs": (6, 6, 6, 6, 6),
    "pwm": (4, 4, 4, 4, 4),
    "pwm_frequency": (2, 2, 2, 2, 2),
    "analog_inputs": (6, 6, 6, 6, 6),
    "digital_inputs": (4, 4, 4, 4, 4),
    "impulse_time": (2, 2, 2, 2, 2),
    "differentials": (3, 3, 3, 6, 6),
    "onewire": (8, 8, 8, 8, 8),
    "onewire_extra": (0, 0, 0, 0, 3),
    "gsm.sms": (4, 4, 4, 4, 4),
    "email.on_texts": (4, 4, 4, 4, 4),
    "email.off_texts": (4, 4, 4, 4, 4),
    "modbus_slots": (1, 3, 3, 3, 3),
    "modbus_devices": (0, 3, 3, 3, 5),
    "modbus_mapping": (0, 30, 30, 30, 30),
    "power": (4, 4, 4, 6, 6),
    "rules": (0, 0, 0, 0, 0),
    "event_variables": (8, 8, 8, 8, 8),
    "oled.screens": (1, 1, 4, 4, 4),
    "layout.top": (43, 43, 78, 79, 79),
    "layout.left": (43, 43, 78, 79, 79),
    "layout.visible": (87, 87, 118, 132, 132),
    "variables.bits": (8, 8, 8, 8, 8),
    "variables.bytes": (4, 4, 4, 4, 4),
    "variables.words": (4, 4, 4, 4, 4),
    "variables.dwords": (4, 4, 4, 4, 4),
    "variables.strings": (2, 2, 2, 2, 2),
    "schedule": (50, 50, 50, 50, 50),
    "watchdog": (6, 6, 6, 6, 6),
    "http": (4, 4, 4, 4, 4),
    "access.users": (50, 50, 50, 50, 50),
}
LENGTHS_ON = (
    Profile("3.0", "1.40"),
    Profile("3.5", "1.36"),
    Profile("3.5", "1.44"),
    Profile("3.5", "1.49"),
    Profile("3.9", "1.57"),
)


@for_each("path", LENGTHS)
def test_lists_have_the_length_of_the_profile(path: str) -> None:
    lengths = [len(value_at(defaults(profile), path)) for profile in LENGTHS_ON]
    assert lengths == list(LENGTHS[path])


@for_each(
    ("path", "older", "newer", "lengths"),
    [
        ("layout.top", Profile("3.0", "1.43e"), Profile("3.0", "1.44"), (43, 78)),
        ("layout.left", Profile("3.0", "1.45b"), Profile("3.0", "1.49"), (78, 79)),
        ("layout.visible", Profile("3.5", "1.43e"), Profile("3.5", "1.44"), (87, 118)),
        ("layout.visible", Profile("3.5", "1.45b"), Profile("3.5", "1.49"), (118, 132)),
        ("differentials", Profile("3.5", "1.45b"), Profile("3.5", "1.49"), (3, 6)),
        ("differentials", Profile("3.0", "1.45b"), Profile("3.0", "1.75"), (3, 3)),
        ("power", Profile("3.9", "1.45b"), Profile("3.9", "1.49"), (4, 6)),
        ("power", Profile("3.0", "1.45b"), Profile("3.0", "1.75"), (4, 4)),
        ("modbus_devices", Profile("3.5", "1.49e"), Profile("3.5", "1.57"), (3, 5)),
        ("modbus_devices", Profile("3.5", "1.32c"), Profile("3.5", "1.36"), (0, 3)),
        ("modbus_devices", Profile("3.0", "1.32c"), Profile("3.0", "1.75"), (0, 0)),
        ("modbus_mapping", Profile("3.5", "1.32c"), Profile("3.5", "1.36"), (0, 30)),
    ],
)
def test_lists_grow_exactly_with_the_version_that_says_so(
    path: str, older: Profile, newer: Profile, lengths: tuple[int, int]
) -> None:
    assert len(value_at(defaults(older), path)) == lengths[0]
    assert len(value_at(defaults(newer), path)) == lengths[1]


def test_each_custom_device_has_thirty_readings() -> None:
    assert [len(device.readings) for device in defaults(NEWEST).modbus_devices] == [30] * 5


def test_secret_leaves_of_a_tree_are_all_found() -> None:
    settings = with_value(defaults(Profile()), "access.users.3", ControlUser("panel"))
    assert set(secret_paths(settings)) == {path for path, _ in leaves(settings) if is_secret(path)}
    assert "access.users.3.password" in set(secret_paths(settings))
