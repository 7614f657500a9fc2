"""A recording is read line by line, and its answers are given again in their order."""

from datetime import UTC, datetime

import pytest

from leverframe.host.recordings import RecordedAnswers
from leverframe.interface.exchange import (
    FORMAT,
    Exchange,
    NoRecording,
    RecordedAnswer,
    RecordedBody,
    RecordingHead,
    exchanges_in,
    head_in,
    line_of,
)
from tests.cases import for_each

AT = datetime(2026, 1, 5, tzinfo=UTC)


def exchange(path: str, text: str, query: str | None = None, **others: object) -> Exchange:
    answer = RecordedAnswer(200, {"content-type": "text/plain"}, RecordedBody(text))
    return Exchange(AT, 0.1, "GET", path, query, **{"answer": answer, **others})  # type: ignore[arg-type]


def test_line_reads_back_as_what_was_written() -> None:
    one = exchange("/a", "é\n", "b=1", headers={"accept": "*/*"}, masked=True)
    assert list(exchanges_in([line_of(one)], "x")) == [one]
    assert one.request == "GET /a?b=1"


def test_last_line_that_was_cut_is_left_out() -> None:
    one = exchange("/a", "x")
    assert list(exchanges_in([line_of(one), line_of(one)[:-1]], "x")) == [one]
    assert list(exchanges_in([line_of(one), line_of(one)[:20]], "x")) == [one]


def test_damaged_line_is_refused_by_its_number() -> None:
    with pytest.raises(NoRecording, match=r"Line 3 of x\.jsonl"):
        list(exchanges_in([line_of(exchange("/a", "x")), b"{}\n"], "x.jsonl"))
    without_zone = line_of(exchange("/a", "x")).replace(b"00:00:00Z", b"00:00:00")
    with pytest.raises(NoRecording, match="Line 2"):
        list(exchanges_in([without_zone], "x.jsonl"))
    with pytest.raises(NoRecording, match="Line 2"):
        list(exchanges_in([b"[" * 5000 + b"\n"], "x.jsonl"))


@for_each("line", [b"", b"{}\n", b"\xff\n", b'{"format":"other","unit":"","began":'])
def test_file_that_is_no_recording_is_refused(line: bytes) -> None:
    with pytest.raises(NoRecording, match=r"x\.jsonl is not a recording"):
        head_in(line, "x.jsonl")
    head = RecordingHead(FORMAT, "http://u", AT)
    assert head_in(line_of(head), "x") == head
    with pytest.raises(NoRecording):
        head_in(line_of(RecordingHead("leverframe recording 99", "http://u", AT)), "x")


def test_answers_come_in_their_order_and_the_last_one_stays() -> None:
    answers = RecordedAnswers([exchange("/a", "1"), exchange("/a", "1"), exchange("/a", "2")])
    given = [answers.answer("GET", "/a", None, "", b"") for _ in range(5)]
    assert [one.body.text for one in given if one] == ["1", "1", "2", "2", "2"]
    assert len(answers) == 1


def test_only_the_same_request_gets_an_answer() -> None:
    answers = RecordedAnswers(
        [exchange("/a", "1", "b=1"), exchange("/c", "2", body=RecordedBody("x=1"))]
    )
    assert answers.answer("GET", "/a", "b=2", "", b"") is None
    assert answers.answer("POST", "/a", "b=1", "", b"") is None
    assert answers.answer("HEAD", "/a", "b=1", "", b"") is not None
    assert answers.answer("GET", "/c", None, "", b"x=2") is None
    assert answers.answer("GET", "/c", None, "", b"x=1") is not None


def test_request_with_a_secret_is_known_by_the_rest_of_it() -> None:
    answers = RecordedAnswers([exchange("/a", "1", "password=***", masked=True)])
    assert answers.answer("GET", "/a", "password=anything", "", b"") is not None


def test_omitted_or_missing_answer_cannot_be_replayed() -> None:
    silent = exchange("/a", "", answer=RecordedAnswer(0, problem="off"))
    large = exchange("/b", "", answer=RecordedAnswer(200, body=RecordedBody(left_out="large")))
    assert len(RecordedAnswers([silent, large])) == 0
