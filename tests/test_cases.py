"""Cases of `for_each`: all run, each failure is reported, and none are too few."""

import pytest

from tests.cases import for_each


def test_every_case_runs_and_each_failure_is_named() -> None:
    seen: list[tuple[int, str]] = []

    @for_each("letter", ["a", pytest.param("b", id="second")])
    @for_each("number", range(3), ids=lambda number: f"n{number}")
    def test(number: int, letter: str) -> None:
        seen.append((number, letter))
        assert (number, letter) not in [(1, "a"), (2, "b")]

    with pytest.raises(ExceptionGroup, match="2 of 2 cases") as report:
        test()
    assert sorted(seen) == [(number, letter) for number in range(3) for letter in "ab"]
    notes = [[*each.__notes__, *each.exceptions[0].__notes__] for each in report.value.exceptions]  # type: ignore[attr-defined]
    assert notes == [
        ["in the case 'a'", "in the case n1"],
        ["in the case second", "in the case n2"],
    ]


async def test_coroutines_are_awaited_with_the_fixtures_that_are_left() -> None:
    seen = []

    @for_each(("first", "second"), [(1, 2), (3, 4)], ids=["one", "two"])
    async def test(first: int, second: int, fixture: str) -> None:
        seen.append((first, second, fixture))
        assert first == 1

    with pytest.raises(ExceptionGroup) as report:
        await test(fixture="given")
    assert seen == [(1, 2, "given"), (3, 4, "given")]
    assert report.value.exceptions[0].__notes__ == ["in the case two"]


def test_fixtures_of_cases_are_in_the_signature(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from tests.cases import for_each

        @for_each("number", [1, 2])
        def test_number(number, tmp_path):
            assert number == 1 and tmp_path.exists()
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*in the case 2*"])


def test_no_case_at_all_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no case of row"):
        for_each("row", [])
