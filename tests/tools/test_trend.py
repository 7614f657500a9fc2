"""The history of the benchmarks: runs are kept as they were, and compare between machines."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import run as bench_run
from bench import trend
from bench.figure import Figure, Reference, format_amount
from bench.gate import Worse, find_worse
from bench.noise import Noise
from bench.trend import DamagedLine, Machine, Run, compare
from docs._ext.benchmarks_page import benchmarks_page
from tests.cases import for_each

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=8)
references = st.builds(Reference, texts, st.none() | numbers, texts, st.none() | numbers, texts)
figures = st.builds(
    Figure,
    *(texts, st.none() | numbers, texts, texts, st.none() | references, texts),
    st.none() | st.booleans(),
)
runs = st.builds(
    Run,
    texts,
    st.datetimes(timezones=st.just(UTC)),
    st.builds(Machine, st.integers(1, 128), *[texts] * 4),
    st.booleans(),
    st.dictionaries(texts, numbers, max_size=2),
    st.dictionaries(texts, st.lists(figures, max_size=2), max_size=2),
)
MACHINE = Machine(2, "any", "Python 3.11.7", "Linux 6", "x86_64")


def run_of(commit: str, figure: Figure, round_us: float = 4.0) -> Run:
    day = datetime(2026, 11, 19, tzinfo=UTC)
    return Run(commit, day, MACHINE, True, {"engine": round_us}, {"engine": [figure]})


def cells(*measured: Run) -> list[str]:
    """Return the cells of the only figure in the page of these runs."""
    (row,) = (line for line in benchmarks_page(measured).splitlines() if line.startswith("| a day"))
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


@given(st.lists(runs, max_size=3))
def test_history_returns_the_appended_runs_and_only_grows(appended: list[Run]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        path.touch()
        for count, run in enumerate(appended, start=1):
            before = path.read_bytes()
            trend.append(run, path)
            assert path.read_bytes().startswith(before)
            assert path.read_bytes().count(b"\n") == count
        assert trend.read(path) == appended


@given(runs, st.data())
def test_damaged_line_is_named_with_its_number(run: Run, data: st.DataObject) -> None:
    line = trend.encode(run)
    cut = line[: data.draw(st.integers(0, len(line) - 2))]
    with pytest.raises(DamagedLine, match="^line 2: "):
        trend.decode([line, cut, line])


@pytest.mark.parametrize(
    ("field", "value"), [("unknown", 1), ("is_quiet", "yes"), ("date", "2026-11-19T00:00:00")]
)
def test_line_with_an_unknown_field_or_a_wrong_type_is_damaged(
    tmp_path: Path, field: str, value: object
) -> None:
    fields = msgspec.to_builtins(run_of("a", Figure("a day", 2.0, "s")))
    path = tmp_path / "history.jsonl"
    path.write_bytes(msgspec.json.encode(fields | {field: value}))
    with pytest.raises(DamagedLine, match=f"^history.jsonl, line 1: .*{field}"):
        trend.read(path)


def test_line_has_the_median_without_its_rounds() -> None:
    line = trend.encode(run_of("a", Figure("a day", 2.0, "s", rounds={"s": [1.0, 2.0, 4.0]})))
    (decoded,) = trend.decode([line])
    assert decoded.figures == {"engine": [Figure("a day", 2.0, "s")]}


def test_history_in_the_repository_can_be_read() -> None:
    assert len(trend.read()) >= 7


@given(st.sampled_from(["us", "ms", "s"]), st.floats(1e-3, 1e6), st.floats(0.1, 10.0))
def test_time_on_a_machine_of_any_speed_compares_as_the_same(
    unit: str, value: float, slower: float
) -> None:
    here = compare(Figure("a day", value, unit), 4.0)
    there = compare(Figure("a day", value * slower, unit), 4.0 * slower)
    assert there == (pytest.approx(here[0]), "rounds")
    here = compare(Figure("a rate", value, "/s"), 4.0)
    there = compare(Figure("a rate", value / slower, "/s"), 4.0 * slower)
    assert there == (pytest.approx(here[0]), "per round")


def test_page_shows_ratios_to_a_reference_and_marks_missed_goals() -> None:
    missed = Figure("a day", 30.0, "us", reference=Reference("bare", 3.0, "us", 0.1), met=False)
    met = Figure(
        "a day", 9.0, "us", "p99 1 ms", Reference("bare", 3.0, "us", 0.333), ">= 0.2", True
    )
    assert cells(run_of("a", missed), run_of("b", met)) == [
        *("**0.1**", "0.333", "of bare", "9 us", r"\>= 0.2"),
    ]


def test_page_leaves_out_what_was_measured_otherwise_than_the_newest() -> None:
    rate = Figure("a day", 5000.0, "/s", reference=Reference("bare", 9000.0, "/s", 0.5))
    time = Figure("a day", 30.0, "us", reference=Reference("bare", 3.0, "us", 0.1))
    assert cells(run_of("a", rate), run_of("b", time), run_of("c", Figure("other", 1.0))) == [
        *("", "0.1", "", "of bare", "30 us", ""),
    ]


def test_page_has_the_last_commits_only() -> None:
    page = benchmarks_page([run_of(f"c{number}", Figure("a day", 2.0, "s")) for number in range(9)])
    assert [f"c{number}" for number in range(9) if f"| c{number} |" in page] == [
        f"c{number}" for number in range(3, 9)
    ]


def test_results_have_the_same_columns_as_the_stored_table() -> None:
    figure = Figure(
        *("a day", 4228.4, "/s", "230 us of a core", Reference("bare", 6871.0, "/s", 0.615)),
        *("over 0.66", False, {"/s": [4100.0, 4228.4], "bare ms": [0.0123]}),
    )
    quiet = Noise(0.1, 0.0, 0.0, 0.0)
    text = bench_run.report(run_of("a", figure), quiet, quiet)
    stored = bench_run.RESULTS.read_text(encoding="utf-8")
    head = next(line for line in stored.splitlines() if line.startswith("| part"))
    row = "| engine | a day | 4,228/s, 230 us of a core | 0.615 of bare (6,871/s) | over 0.66 |"
    assert f"{head}\n|---|---|---|---|---|---|\n{row} **no** |\n" in text
    assert text.endswith("- engine, a day: /s 4,100 4,228; bare ms 0.0123\n")


@pytest.mark.parametrize(("arguments", "count"), [([], 1), (["--quick"], 0)])
def test_only_a_whole_run_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], count: int
) -> None:
    stored: list[Run] = []
    monkeypatch.setattr(bench_run, "BENCHMARKS", {})
    monkeypatch.setattr(bench_run, "listen", lambda span_s: Noise(0.1, 0.0, 0.0, 0.0))
    monkeypatch.setattr(bench_run, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr(trend, "append", stored.append)
    monkeypatch.setattr("sys.argv", ["bench", *arguments])
    bench_run.main()
    assert len(stored) == count
    assert (tmp_path / "RESULTS.md").exists() is bool(count)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        *((4228.4, "/s", "4,228/s"), (99.96, "ms", "100 ms"), (0.0245, "ms", "0.0245 ms")),
        *((132710, "", "132,710"), (2.0, "s", "2 s"), (0.0, "% of a core", "0 % of a core")),
    ],
)
def test_amount_has_three_digits_or_all_of_a_whole_number(
    value: float, unit: str, text: str
) -> None:
    assert format_amount(value, unit) == text


def ratio(value: float, goal: str = ">= 0.2") -> Figure:
    return Figure("a day", 30.0, "us", reference=Reference("bare", 3.0, "us", value), goal=goal)


@for_each(
    ("now", "before", "is_worse"),
    [
        (ratio(0.30), [0.40, 0.41], True),
        # Within the tolerance, or an earlier run was as bad.
        (ratio(0.36), [0.40, 0.41], False),
        (ratio(0.30), [0.40, 0.41, 0.29], False),
        (ratio(0.50), [0.40, 0.41], False),
        # Smaller is better.
        (ratio(0.50, "< 1"), [0.40, 0.41], True),
        (ratio(0.30, "< 1"), [0.40, 0.41], False),
        # Without a goal, the direction of a ratio is not known.
        (ratio(0.30, ""), [0.40, 0.41], False),
        (ratio(0.30), [], False),
    ],
)
def test_gate_reports_a_figure_that_is_worse_than_ever(
    now: Figure, before: list[float], is_worse: bool
) -> None:
    earlier = [run_of("a", ratio(value, now.goal)) for value in before]
    assert bool(find_worse(run_of("b", now), earlier)) is is_worse


def test_gate_compares_times_in_rounds_and_ignores_other_machines() -> None:
    before, now = run_of("a", Figure("a day", 2.0, "s")), run_of("b", Figure("a day", 3.0, "s"))
    (worse,) = find_worse(now, [before])
    assert str(worse) == "engine, a day: 750,000 instead of 500,000 rounds"
    slower = msgspec.structs.replace(now, reference_us={"engine": 6.0})
    assert find_worse(slower, [before]) == []
    elsewhere = msgspec.structs.replace(before, machine=Machine(4, "other", "3.11", "6", "x86_64"))
    assert find_worse(now, [elsewhere]) == []


def test_whole_run_with_a_worse_figure_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_run, "BENCHMARKS", {})
    monkeypatch.setattr(bench_run, "listen", lambda span_s: Noise(0.1, 0.0, 0.0, 0.0))
    monkeypatch.setattr(bench_run, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr(trend, "append", lambda run: None)
    worse = Worse("engine", "a day", 3.0, 2.0, "rounds")
    monkeypatch.setattr(bench_run, "find_worse", lambda run, earlier: [worse])
    monkeypatch.setattr("sys.argv", ["bench"])
    with pytest.raises(SystemExit):
        bench_run.main()
    assert "engine, a day: 3 instead of 2 rounds" in capsys.readouterr().err
