"""`/api/history`: what a controller has recorded, by label, span and number of points."""

import csv
import io
from math import isfinite
from typing import Any

import msgspec
import pytest

from leverframe.core.labels import OUTPUTS
from leverframe.core.runtime.clock import VirtualClock
from leverframe.server.http.messages import StreamCut, StreamReply
from leverframe.storage.history.queries import RECORDED
from leverframe.storage.history.worker import MemoryHistory
from leverframe.storage.store import StoreUnavailable
from leverframe.testing import LoopTwin
from tests.cases import for_each

START = VirtualClock.START
DAY_S = 86400


async def history(twin: LoopTwin, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode((await twin.ok(f"/api/history?{query}")).body)
    return found


async def table(twin: LoopTwin, query: str) -> list[list[str]]:
    reply = await twin.ask(f"/api/history.csv?{query}")
    assert isinstance(reply, StreamReply)
    assert reply.content_type == "text/csv; charset=utf-8"
    text = b"".join([chunk async for chunk in reply.chunks]).decode()
    return list(csv.reader(io.StringIO(text)))


async def measure() -> LoopTwin:
    """DS1 is 20 for 100 s, 22 for 100 s, absent for 100 s, and 21 for 100 s."""
    twin = await LoopTwin.start()
    for text in ("20", "22", "none", "21"):
        await twin.ok(f"/sim.cgi?DS1={text}&advance=100")
    return twin


async def test_raw_values_hold_until_the_next_and_absence_is_null() -> None:
    found = await history(await measure(), f"labels=DS1&from={START}")
    assert (found["step"], found["times"]) == (0, [])
    assert found["series"] == {
        "DS1": {
            "times": [START, START + 100, START + 200, START + 300],
            "values": [20, 22, None, 21],
        }
    }
    assert (found["since"], found["now"], found["to"]) == (START, START + 400, START + 400)


async def test_value_that_held_before_the_span_comes_first() -> None:
    found = await history(await measure(), f"labels=DS1&from={START + 150}&to={START + 190}")
    assert found["series"]["DS1"] == {"times": [START + 150], "values": [22]}


async def test_few_points_are_intervals_with_lowest_mean_and_highest() -> None:
    found = await history(await measure(), f"labels=DS1&from={START}&to={START + 400}&points=3")
    assert found["step"] == 300
    assert found["times"] == [START, START + 300]
    assert found["series"]["DS1"] == {"min": [20, 21], "mean": [21, 21], "max": [22, 21]}


async def test_intervals_in_which_a_reading_is_absent_are_null() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?DS1=20&advance=60")
    await twin.ok("/sim.cgi?DS1=none&advance=120")
    for text in ("21", "22", "23", "24", "25"):
        await twin.ok(f"/sim.cgi?DS1={text}&advance=12")
    found = await history(twin, f"labels=DS1&from={START}&points=4")
    assert found["series"]["DS1"]["mean"] == [20, None, None, 23]


async def test_states_and_duties_are_recorded() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?INPD1=1&advance=1")
    await twin.ok("/outs.cgi?out3=1&vout0=1")
    await twin.ok("/stm.cgi?pwmd=025")
    await twin.ok("/sim.cgi?advance=1")
    found = (await history(twin, "labels=OUT3,INPD1,EVENT1,PWM0.duty"))["series"]
    assert found["OUT3"]["values"] == found["EVENT1"]["values"] == [0, 1]
    assert found["PWM0.duty"]["values"][-1] == 25
    state = await twin.state()
    for label, series in found.items():
        assert series["values"][-1] == state[label]


async def test_output_that_is_on_for_an_instant_is_recorded() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?advance=10")
    await twin.ok("/outs.cgi?out0=1&out0=0&out0=1&out0=0")
    series = (await history(twin, "labels=OUT0"))["series"]["OUT0"]
    assert series["values"] == [0, 1, 0, 1, 0]


async def test_without_labels_all_recorded_labels_are_returned() -> None:
    twin = await measure()
    series = (await history(twin, "points=60"))["series"]
    present = {label for label, value in (await twin.state()).items() if label in series}
    assert {"DS1", *OUTPUTS, "PWM0.duty"} <= set(series) == present
    assert "DS2" not in series


async def test_label_that_was_never_there_has_no_values() -> None:
    twin = await measure()
    assert (await history(twin, "labels=DS7"))["series"]["DS7"] == {"times": [], "values": []}


async def test_history_has_no_future_values() -> None:
    twin = await measure()
    found = await history(twin, f"labels=DS1&from={START}&to={START + DAY_S}&points=100")
    assert found["step"] == 0
    found = await history(twin, f"labels=DS1&from={START}&to={START + DAY_S}&points=3")
    assert found["times"] == [START]
    later = await history(twin, f"labels=DS1&from={START + 500}&to={START + DAY_S}")
    assert later["series"]["DS1"] == {"times": [], "values": []}


async def test_restart_is_no_change_of_what_is_as_before() -> None:
    twin = await measure()
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/stm.cgi?devrestart=1")
    await twin.ok("/sim.cgi?advance=5")
    series = (await history(twin, f"labels=DS1,OUT0&from={START}"))["series"]
    assert series["DS1"]["values"][:4] == [20, 22, None, 21]
    assert series["OUT0"]["values"] == [0, 1, 0]


async def test_years_pass_quickly_and_the_clock_may_be_set_back() -> None:
    twin = await measure()
    for _ in range(10):
        await twin.ok(f"/sim.cgi?advance={300 * DAY_S}")
    await twin.ok("/sim.cgi?DS1=25&advance=60")
    await twin.ok("/stm.cgi?t_man=1767571260")
    await twin.ok("/sim.cgi?DS1=26&advance=60")
    found = await history(twin, f"labels=DS1&from={START}&to={START + 400}&points=100")
    times = found["series"]["DS1"]["times"]
    assert times == sorted(times)
    assert 26 in found["series"]["DS1"]["values"]


async def test_csv_has_a_column_for_each_label() -> None:
    lines = await table(await measure(), f"labels=DS1,OUT0&from={START}")
    assert lines == [
        ["time", "DS1", "OUT0"],
        ["2026-01-05T00:00:00.000Z", "20", "0"],
        ["2026-01-05T00:01:40.000Z", "22", "0"],
        ["2026-01-05T00:03:20.000Z", "", "0"],
        ["2026-01-05T00:05:00.000Z", "21", "0"],
    ]


async def test_csv_holds_labels_times_and_numbers_whatever_names_people_give() -> None:
    """A spreadsheet would run a name that begins like a formula."""
    twin = await measure()
    await twin.ok("/stm.cgi?oname=0%3D1%2B1")
    await twin.ok("/sim.cgi?DS1=-5.5&advance=100")
    header, *rows = await table(twin, f"from={START}")
    assert set(header) <= {"time", *RECORDED}
    assert "-5.5" in {cell for row in rows for cell in row}
    for _, *cells in rows:
        assert all(cell == "" or isfinite(float(cell)) for cell in cells)


async def test_csv_with_a_zone_has_names_units_local_times_and_a_descriptive_file_name() -> None:
    twin = await measure()
    await twin.ok("/stm.cgi?sname=Gew%C3%A4chshaus%202")
    await twin.ok("/stm.cgi?oname=0%3DPump%2C%20%22old%22")
    zone = f"from={START}&zone=Europe/Berlin"
    lines = await table(twin, f"labels=DS1,OUT0&{zone}")
    assert lines[0][0] == "time (Europe/Berlin)"
    assert lines[0][1].endswith("(°C)")
    # What begins like a formula is text for every spreadsheet.
    assert lines[0][2] == '\'=Pump, "old"'
    assert lines[1] == ["2026-01-05 01:00:00.000", "20", "0"]
    few = await table(twin, f"labels=DS1&{zone}&points=3")
    assert few[1][0] == "2026-01-05 01:00:00"
    reply = await twin.ask(f"/api/history.csv?labels=DS1,OUT0,OUT1,OUT2,T1&{zone}")
    (name,) = (value for key, value in reply.headers if key == "Content-Disposition")
    assert name == (
        'attachment; filename="Gewachshaus-2_DS1_Pump-old_OUT1_and-2-more_'
        '2026-01-05-0100_to_2026-01-05-0106.csv"'
    )


async def test_csv_with_a_zone_takes_missing_names_from_the_query() -> None:
    twin = await measure()
    await twin.ok("/stm.cgi?oname=0Pump")
    query = f"labels=DS1,OUT0&names=Thermometer%201,Output%200&from={START}&zone=UTC"
    assert (await table(twin, query))[0] == ["time (UTC)", "Thermometer 1 (°C)", "Pump"]
    reply = await twin.ask(f"/api/history.csv?{query}")
    (name,) = (value for key, value in reply.headers if key == "Content-Disposition")
    assert "Thermometer-1_Pump_" in name
    problem = await twin.refused("/api/history.csv?labels=DS1,OUT0&names=One&zone=UTC", 400)
    assert problem["field"] == "names"


@for_each("zone", ["Mars/Olympus", "../../etc/passwd", "", "x" * 500])
async def test_csv_of_an_unknown_time_zone_is_refused(zone: str) -> None:
    async with await LoopTwin.start() as twin:
        problem = await twin.refused(f"/api/history.csv?zone={zone}", 400)
        assert problem["field"] == "zone"
        assert (await twin.ask("/api/history?zone=UTC")).status == 400


async def test_csv_that_cannot_be_read_to_its_end_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twin = await measure()
    reply = await twin.ask(f"/api/history.csv?labels=DS1&from={START}")
    assert isinstance(reply, StreamReply)

    def refuse(*_arguments: object, **_others: object) -> None:
        raise StoreUnavailable("The disk reported an error.")

    monkeypatch.setattr(MemoryHistory, "ask", refuse)
    assert await anext(reply.chunks) == b"time,DS1\r\n"
    with pytest.raises(StreamCut, match="disk reported an error"):
        await anext(reply.chunks)


async def test_csv_of_few_points_has_three_columns_for_each_label() -> None:
    lines = await table(await measure(), f"labels=DS1&from={START}&points=3")
    assert lines == [
        ["time", "DS1 min", "DS1 mean", "DS1 max"],
        ["2026-01-05T00:00:00.000Z", "20", "21", "22"],
        ["2026-01-05T00:05:00.000Z", "21", "21", "21"],
    ]


@for_each("path", ["/api/history", "/api/history.csv"])
@for_each(
    ("query", "says"),
    [
        ("labels=DS9", "no label 'DS9'"),
        ("labels=", "no label ''"),
        ("labels=DS1,", "no label ''"),
        ("from=yesterday", "is not a time"),
        ("to=nan", "is not a time"),
        ("to=1e99", "seconds since 1970"),
        ("from=-1", "is not a time"),
        ("from=20&to=10", "later than"),
        ("points=0", "1 to 100000"),
        ("points=100001", "1 to 100000"),
        ("points=many", "not a number of points"),
        ("points=5&points=6", "twice"),
        ("label=DS1", "no field label"),
        ("DS1", "name=value"),
    ],
)
async def test_query_that_makes_no_sense_is_refused(path: str, query: str, says: str) -> None:
    twin = await LoopTwin.start()
    assert says in (await twin.refused(f"{path}?{query}", 400))["detail"]


async def test_history_is_read_with_get_only() -> None:
    twin = await LoopTwin.start()
    await twin.refused("/api/history", 405, "POST")


async def test_idle_controller_hands_nothing_over() -> None:
    twin = await LoopTwin.start()
    recorder = twin.controller.history
    assert recorder is not None
    recorder.flush()
    await twin.ok(f"/sim.cgi?advance={DAY_S}")
    assert recorder.samples == []


async def test_metrics_count_what_is_kept() -> None:
    twin = await measure()
    kept = len((await history(twin, f"labels=DS1&from={START}"))["series"]["DS1"]["times"])
    text = (await twin.ok("/metrics")).body.decode()
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if "_history_" in line)
    assert float(figures["leverframe_history_points"]) > kept
    assert float(figures["leverframe_history_bytes"]) > 0
    assert float(figures["leverframe_history_dropped_total"]) == 0
