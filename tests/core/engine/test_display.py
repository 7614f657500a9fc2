"""The display: which screen it shows, how actions lead it on, and when it goes dark."""

from leverframe.core.engine.calls import ShowScreen
from leverframe.core.profile import Profile

from .bench import BY_TEST, Bench

TWO_SCREENS = {"oled.enabled": True, "oled.screens.2.active": True}


def test_enabled_display_shows_its_first_active_screen_after_the_start() -> None:
    bench = Bench({"oled.enabled": True})
    assert bench.engine.display.shown == 0
    assert bench.effects(ShowScreen) == [ShowScreen(0)]


def test_disabled_display_is_dark_and_stays_dark() -> None:
    bench = Bench()
    assert bench.effects(ShowScreen) == [ShowScreen(None)]
    bench.engine.display.next_screen(BY_TEST)
    bench.engine.display.set_screen(2, BY_TEST)
    bench.wait(0)
    assert bench.engine.display.shown is None
    assert bench.effects() == []


def test_display_without_active_screens_is_dark() -> None:
    bench = Bench({"oled.enabled": True, "oled.screens.0.active": False})
    bench.engine.display.next_screen(BY_TEST)
    assert bench.engine.display.shown is None


def test_next_screen_goes_round_the_active_screens() -> None:
    bench = Bench(TWO_SCREENS)
    bench.effects()
    shown = []
    for _ in range(3):
        bench.engine.display.next_screen(BY_TEST)
        shown.append(bench.engine.display.shown)
    assert shown == [2, 0, 2]
    bench.wait(0)
    assert bench.effects() == [ShowScreen(2), ShowScreen(0), ShowScreen(2)]


def test_next_screen_on_a_single_screen_only_restarts_the_time() -> None:
    bench = Bench({"oled.enabled": True, "oled.display_time": 10})
    bench.effects()
    bench.wait(9)
    bench.engine.display.next_screen(BY_TEST)
    assert bench.due_in() == 10
    bench.wait(0)
    assert bench.effects() == []


def test_display_goes_dark_after_the_display_time() -> None:
    bench = Bench({"oled.enabled": True, "oled.display_time": 10})
    bench.effects()
    bench.wait(9.9)
    assert bench.engine.display.shown == 0
    bench.wait(0.1)
    assert bench.engine.display.shown is None
    assert bench.effects() == [ShowScreen(None)]
    assert bench.due_in() is None


def test_display_time_0_stays_on() -> None:
    assert Bench({"oled.enabled": True}).due_in() is None


def test_next_screen_lights_a_dark_display_with_its_first_active_screen() -> None:
    bench = Bench({**TWO_SCREENS, "oled.display_time": 10})
    bench.engine.display.next_screen(BY_TEST)
    assert bench.engine.display.shown == 2
    bench.wait(10)
    assert bench.engine.display.shown is None
    bench.engine.display.next_screen(BY_TEST)
    assert bench.engine.display.shown == 0
    assert bench.due_in() == 10


def test_set_screen_shows_a_screen_even_if_it_is_not_active() -> None:
    bench = Bench(TWO_SCREENS)
    bench.engine.display.set_screen(3, BY_TEST)
    assert bench.engine.display.shown == 3
    bench.engine.display.next_screen(BY_TEST)
    assert bench.engine.display.shown == 0
    assert bench.history() == [
        "command test: display shows screen 4",
        "command test: display shows screen 1",
    ]


def test_screen_that_the_profile_does_not_have_is_not_shown() -> None:
    bench = Bench({"oled.enabled": True}, profile=Profile("3.5", "1.40"))
    bench.engine.display.set_screen(3, BY_TEST)
    assert bench.engine.display.shown == 0


def test_enabling_lights_and_disabling_darkens_the_display() -> None:
    bench = Bench({"oled.display_time": 10})
    bench.effects()
    bench.set(oled__enabled=True)
    assert bench.effects() == [ShowScreen(0)]
    assert bench.due_in() == 10
    bench.set(oled__enabled=False)
    assert bench.effects() == [ShowScreen(None)]
    assert bench.due_in() is None


def test_new_display_time_counts_from_the_last_action() -> None:
    bench = Bench({"oled.enabled": True, "oled.display_time": 10})
    bench.wait(4)
    bench.set(oled__display_time=7)
    assert bench.due_in() == 3
    bench.set(oled__display_time=2)
    assert bench.engine.display.shown is None
    bench.set(oled__display_time=0)
    assert bench.engine.display.shown == 0
    assert bench.due_in() is None


def test_withdrawn_screen_is_replaced_by_the_first_active_one() -> None:
    bench = Bench(TWO_SCREENS)
    bench.engine.display.next_screen(BY_TEST)
    bench.set(oled__screens__2__active=False)
    assert bench.engine.display.shown == 0
    bench.set(oled__screens__0__active=False)
    assert bench.engine.display.shown is None


def test_new_texts_leave_the_display_alone() -> None:
    bench = Bench({"oled.enabled": True, "oled.display_time": 10})
    bench.wait(4)
    bench.effects()
    bench.set(oled__screens__0__lines=("a", "b", "c", "d"))
    assert bench.effects() == []
    assert bench.due_in() == 6
