"""Texts of settings are kept while their branch of the tree is the same, and no longer."""

from leverframe.core.profile import Profile
from leverframe.interface.status_files import PATHS, build
from leverframe.interface.status_files.catalogue import keys_of
from tests.cases import for_each
from tests.interface.status_files.files_bench import PROFILES, FilesBench


def test_controllers_asked_in_turn_show_their_own_settings() -> None:
    benches = [FilesBench(), FilesBench(), *(FilesBench(profile=one) for one in PROFILES[1:])]
    benches[1].send("/stm.cgi?oname=0Pump&pwmf=02000")
    for path in PATHS:
        alone = []
        for bench in benches:
            alone.append((build(path, bench.view), build(path, bench.view)))
        assert all(first == second for first, second in alone)
        assert [build(path, bench.view) for bench in benches] == [first for first, _ in alone]


def test_changed_setting_is_shown_immediately_and_so_is_its_way_back() -> None:
    bench = FilesBench()
    before = bench.json("/json/outputs.json")
    bench.send("/stm.cgi?oname=0Pump")
    assert "Pump" in bench.json("/json/outputs.json").values()
    bench.send("/stm.cgi?oname=0")
    assert bench.json("/json/outputs.json") == before


@for_each("profile", PROFILES, ids=str)
def test_every_key_of_a_group_has_its_text(profile: Profile) -> None:
    view = FilesBench(profile=profile).view
    groups = {keys for path in PATHS for keys in keys_of(path, profile) or ()}
    assert {keys.names for keys in groups if len(keys.show(view)) != len(keys.names)} == set()
