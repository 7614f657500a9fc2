"""DIFF1-DIFF6: operators, absent operands, chains and loops."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.machine import Value
from leverframe.core.labels import DIFFERENTIALS
from leverframe.core.profile import Profile
from leverframe.core.settings import Differential
from tests.cases import for_each

from .measuring import Measuring


@for_each(("operator", "result"), [("-", 17.5), ("+", 22.5), ("*", 50.0), ("/", 8.0)])
def test_differential_is_first_operator_second(operator: str, result: float) -> None:
    bench = Measuring(
        {"differentials.0": Differential(first="DS1", operator=operator, second="T1")}
    )
    bench.sense({"DS1": 20.0, "T1": 2.5})
    assert bench.values["DIFF1"] == result


def test_differential_of_two_decimal_numbers_is_exact_to_a_rule() -> None:
    bench = Measuring({"differentials.0": Differential(first="DS1", second="DS2")})
    bench.sense({"DS1": 0.3, "DS2": 0.1})
    assert bench.values["DIFF1"] == 0.2


def test_missing_operand_makes_it_absent() -> None:
    bench = Measuring({"differentials.0": Differential(first="DS1", second="DS2")})
    bench.sense({"DS1": 20.0, "DS2": 5.0})
    bench.sense({"DS2": None})
    assert bench.values["DIFF1"] is None
    bench.sense({"DS2": 6.0})
    assert bench.values["DIFF1"] == 14.0


def test_division_by_zero_makes_it_absent() -> None:
    bench = Measuring({"differentials.0": Differential(first="DS1", operator="/", second="DS2")})
    bench.sense({"DS1": 20.0, "DS2": 0.0})
    assert bench.values["DIFF1"] is None


def test_result_that_is_not_finite_is_absent() -> None:
    bench = Measuring(
        {"differentials.0": Differential(first="POWER1", operator="/", second="T1")}
        | {"power.0.current": "m1"}
    )
    bench.sense({"m1": 3e38, "T1": 5e-324})
    assert bench.values["DIFF1"] is None


def test_differentials_may_use_each_other_in_any_order() -> None:
    bench = Measuring(
        {
            "differentials.0": Differential(first="DIFF6", operator="*", second="VCC"),
            "differentials.5": Differential(first="DIFF3", operator="+", second="DEWPOINT"),
            "differentials.2": Differential(first="T1", operator="-", second="DS1"),
        }
    )
    bench.sense({"T1": 20.0, "H1": 100.0, "DS1": 5.0, "VCC": 2.0})
    assert bench.values["DIFF1"] == pytest.approx((20 - 5 + 20) * 2)
    bench.sense({"DS1": 6.0})
    assert bench.values["DIFF1"] == pytest.approx((20 - 6 + 20) * 2)


def test_power_and_energy_are_sources() -> None:
    bench = Measuring(
        {
            "power.0.current": "m1",
            "differentials.0": Differential(first="POWER1", operator="+", second="ENERGY1"),
        }
    )
    bench.sense({"m1": 2.0})
    bench.wait(3600)
    assert bench.values["DIFF1"] == pytest.approx(4.0)


def test_differential_of_itself_is_absent() -> None:
    bench = Measuring({"differentials.0": Differential(first="DIFF1", second="T1")})
    bench.sense({"T1": 20.0})
    assert bench.values["DIFF1"] is None


def test_all_members_of_a_loop_and_what_uses_them_are_absent() -> None:
    bench = Measuring()
    bench.sense({"T1": 20.0, "VCC": 12.0})
    bench.set(
        {
            "differentials.0": Differential(first="VCC", second="T1"),
            "differentials.1": Differential(first="VCC", second="T1"),
            "differentials.2": Differential(first="DIFF1", second="T1"),
            "differentials.3": Differential(first="VCC", second="T1"),
        }
    )
    assert bench.values["DIFF3"] == -28.0
    bench.set({"differentials.0.second": "DIFF2", "differentials.1.first": "DIFF1"})
    assert [bench.values[label] for label in DIFFERENTIALS[:4]] == [None, None, None, -8.0]
    bench.set({"differentials.1.first": "VCC"})
    assert bench.values["DIFF3"] == (12 - (12 - 20)) - 20


def test_older_profile_has_three() -> None:
    bench = Measuring(
        {"differentials.0": Differential(first="DIFF4", second="T1")},
        profile=Profile("3.0", "1.58a"),
    )
    bench.sense({"T1": 20.0})
    assert [bench.values[label] for label in DIFFERENTIALS] == [None] * 6


def test_reading_that_no_differential_uses_changes_none() -> None:
    bench = Measuring({"differentials.0": Differential(first="DS1", second="DS2")})
    bench.sense({"DS1": 20.0, "DS2": 5.0})
    bench.machine.values["DS2"] = 6.0
    bench.differentials.derive({"VCC", "DIFF1"})
    assert bench.values["DIFF1"] == 15.0


SOURCES = ("DS1", "DS2", "T1", "VCC", *DIFFERENTIALS)
differentials = st.builds(
    Differential,
    first=st.sampled_from(SOURCES),
    operator=st.sampled_from("-+*/"),
    second=st.sampled_from(SOURCES),
)
reports = st.dictionaries(
    st.sampled_from(["DS1", "DS2", "T1", "VCC"]), st.none() | st.sampled_from([0.0, 0.5, 3.0, 40.0])
)


def by_recursion(label: str, bench: Measuring, visiting: tuple[str, ...] = ()) -> Value:
    """What a source is worth, looked up without any order or memory."""
    if label not in DIFFERENTIALS:
        return bench.values[label]
    if label in visiting:
        return None
    setting = bench.machine.settings.differentials[DIFFERENTIALS.index(label)]
    first = by_recursion(setting.first, bench, (*visiting, label))
    second = by_recursion(setting.second, bench, (*visiting, label))
    if first is None or second is None:
        return None
    try:
        result = {
            "-": lambda: first - second,
            "+": lambda: first + second,
            "*": lambda: first * second,
            "/": lambda: first / second,
        }[setting.operator]()
    except ZeroDivisionError:
        return None
    return round(result, 9) if math.isfinite(result) else None


@given(st.tuples(*[differentials] * 6), st.lists(reports | differentials, max_size=12))
def test_differentials_equal_a_recursive_model(
    settings: tuple[Differential, ...], story: list[dict[str, float | None] | Differential]
) -> None:
    bench = Measuring({"differentials": settings})
    for number, happening in enumerate(story):
        if isinstance(happening, Differential):
            bench.set({f"differentials.{number % 6}": happening})
        else:
            bench.sense(happening)
        assert [bench.values[label] for label in DIFFERENTIALS] == [
            by_recursion(label, bench) for label in DIFFERENTIALS
        ]
