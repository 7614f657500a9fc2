"""A controller that becomes another version, and perhaps the old one again."""

from random import Random

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, Settings
from leverframe.core.tree import defaults, is_secret, leaves, with_value
from leverframe.interface.version_change.conversion import change_version
from tests.boundary_profiles import PROFILES
from tests.effort import some_of
from tests.random_settings import random_settings

NEW = Profile("3.9", "1.75")
OLD = Profile("3.0", "1.58a")
ELDER = Profile("3.5", "1.40")


def there_and_back(tree: Settings, source: Profile, *stops: Profile) -> Settings:
    """Variables do not count: some of their positions follow the page settings."""
    variables = tree.variables
    profile, earlier = source, None
    for stop in (*stops, source):
        there = change_version(tree, profile, stop, earlier)
        tree, earlier = there.settings, there.earlier
        profile = stop
    assert earlier is None
    return with_value(tree, "variables", variables)


@pytest.mark.parametrize("source", some_of(PROFILES[::9]), ids=str)
def test_going_back_to_a_version_loses_nothing(source: Profile) -> None:
    random = Random(str(source))
    for stop in random.sample(PROFILES, 3):
        tree = random_settings(source, random, 100)
        assert there_and_back(tree, source, stop) == tree, stop
    tree = random_settings(source, random, 100)
    assert there_and_back(tree, source, *random.sample(PROFILES, 3)) == tree


def test_changes_between_two_version_changes_stay() -> None:
    tree = with_value(defaults(NEW), "differentials.5.name", "Delta")
    tree = with_value(tree, "outputs.0.name", "Pump")
    there = change_version(tree, NEW, OLD)
    assert [lost.path for lost in there.not_carried_over] == ["differentials.5.name"]
    changed = with_value(there.settings, "outputs.0.name", "Lamp")
    back = change_version(changed, OLD, NEW, there.earlier)
    assert back.settings == with_value(tree, "outputs.0.name", "Lamp")
    assert back.not_carried_over == ()
    assert back.earlier is None


def test_password_goes_back_with_its_server_that_a_version_could_not_have() -> None:
    # SW 1.36 has other codes of readings in texts, so that it gets no address.
    tree = with_value(defaults(NEW), "http.0.url", "example.org/set?t=%141")
    tree = with_value(tree, "http.0.password", "hunter2")
    other = Profile("3.5", "1.36")
    there = change_version(tree, NEW, other)
    assert there.settings.http[0].url == ""
    back = change_version(there.settings, other, NEW, there.earlier)
    assert back.settings.http[0] == tree.http[0]
    assert back.not_carried_over == ()


def test_event_entries_that_were_changed_in_between_stay_as_they_are_then() -> None:
    known = Rule(source="DS1", action="OUT3", value=1)
    newer = Rule(source="DIFF6", action="OUT1", value=1)
    there = change_version(with_value(defaults(NEW), "rules", (newer, known)), NEW, OLD)
    assert there.settings.rules == (known,)
    changed = with_value(there.settings, "rules", (known, known))
    back = change_version(changed, OLD, NEW, there.earlier)
    assert back.settings.rules == (known, known)


def test_lost_settings_are_listed_until_a_version_supports_them() -> None:
    tree = with_value(defaults(NEW), "differentials.5.name", "Delta")
    there = change_version(tree, NEW, OLD)
    further = change_version(there.settings, OLD, ELDER, there.earlier)
    assert [lost.path for lost in further.not_carried_over] == ["differentials.5.name"]
    assert change_version(further.settings, ELDER, NEW, further.earlier).settings == tree


def test_secrets_come_along_and_are_not_kept_a_second_time() -> None:
    tree = with_value(defaults(NEW), "email.password", "hunter2")
    tree = with_value(tree, "access.admin.password", "$argon2id$hash")
    tree = with_value(tree, "differentials.5.name", "Delta")
    there = change_version(tree, NEW, OLD)
    for path, value in leaves(tree):
        if is_secret(path):
            assert dict(leaves(there.settings))[path] == value
    assert there.earlier is not None
    assert b"hunter2" not in there.earlier
    assert b"argon2" not in there.earlier
    # One that was removed in between does not come back.
    removed = with_value(there.settings, "email.password", "")
    assert change_version(removed, OLD, NEW, there.earlier).settings.email.password == ""
