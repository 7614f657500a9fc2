"""The period of HTTP1."""

from leverframe.core.engine.calls import Notify

from .bench import Bench

URL = {"http.0.url": "example.org/a", "http_period": 60}
REQUEST = Notify("http", 1, True, "period", text="example.org/a")


def test_http1_is_requested_every_period_from_the_start_on() -> None:
    bench = Bench(URL)
    bench.wait(59.9)
    assert bench.effects(Notify) == []
    bench.wait(0.1)
    assert bench.effects(Notify) == [REQUEST]
    bench.wait(180)
    assert bench.effects(Notify) == [REQUEST] * 3


def test_new_period_counts_from_when_it_is_set() -> None:
    bench = Bench(URL)
    bench.wait(50)
    bench.set(http_period=100)
    bench.wait(99)
    assert bench.effects(Notify) == []
    bench.wait(1)
    assert bench.effects(Notify) == [REQUEST]


def test_new_address_does_not_move_the_period() -> None:
    bench = Bench(URL)
    bench.wait(50)
    bench.set(http__0__url="example.org/b")
    bench.wait(10)
    assert [effect.text for effect in bench.effects(Notify)] == ["example.org/b"]


def test_without_a_period_or_an_address_nothing_is_due() -> None:
    bench = Bench(URL)
    bench.set(http_period=0)
    assert bench.due_in() is None
    bench.set(http_period=60)
    bench.set(http__0__url="")
    assert bench.due_in() is None
