"""How much one request may hold: the same for every way in, and read in linear time."""

from collections.abc import Callable
from typing import Any, SupportsIndex

import pytest

from leverframe.interface.table.bodies import ON_LOOP_BODY_LIMIT
from leverframe.interface.table.command_text import (
    MAX_TEXT_BYTES,
    calls_in,
    calls_of,
    parse_commands,
)
from leverframe.interface.table.lookup import MAX_COMMANDS, MAX_QUERY_BYTES, Call, find, items_of
from leverframe.interface.table.refusals import TooManyCommands
from leverframe.server.http.limits import HttpLimits
from tests.boundary_profiles import NEWEST
from tests.cases import for_each
from tests.stopwatch import within

ON = "out0=1"


def count_of_query(query: str) -> int:
    return len(list(find("GET", "/outs.cgi", items_of(query), NEWEST)))


def count_of_text(query: str) -> int:
    return len(calls_in(query, NEWEST))


def count_of_line(query: str) -> int:
    (command,) = parse_commands(f"outs.cgi?{query}")
    return len(list(calls_of(command, NEWEST)))


def count_of_lines(query: str) -> int:
    text = "\n".join(f"outs.cgi?{item}" for item in query.split("&"))
    return sum(len(list(calls_of(one, NEWEST))) for one in parse_commands(text))


@for_each("count_commands", [count_of_query, count_of_text, count_of_line, count_of_lines])
def test_every_reader_of_commands_has_the_same_limit(count_commands: Callable[[str], int]) -> None:
    assert count_commands("&".join([ON] * MAX_COMMANDS)) == MAX_COMMANDS
    with pytest.raises(TooManyCommands) as refused:
        count_commands("&".join([ON] * (MAX_COMMANDS + 1)))
    assert f"up to {MAX_COMMANDS} commands" in refused.value.at_its_place


@for_each("count_commands", [count_of_query, count_of_text, count_of_line])
def test_every_reader_refuses_a_query_that_http_refuses(
    count_commands: Callable[[str], int],
) -> None:
    assert HttpLimits().query_bytes == MAX_QUERY_BYTES
    with pytest.raises(TooManyCommands, match="8193 bytes"):
        count_commands("x" * (MAX_QUERY_BYTES + 1))


def test_letters_of_several_bytes_count_as_those() -> None:
    with pytest.raises(TooManyCommands, match=f"{2 * MAX_QUERY_BYTES} bytes"):
        items_of("\N{GREEK SMALL LETTER OMEGA}" * MAX_QUERY_BYTES)


def test_run_together_commands_are_counted_one_by_one() -> None:
    with pytest.raises(TooManyCommands, match="102 commands"):
        items_of("&".join(["sensor=1calibration=10multiplier=1"] * 34))


@for_each(
    ("text", "reason"),
    [
        ("#" * (MAX_TEXT_BYTES + 1), "The text with the commands has"),
        (f"post.cgi?mail {'x' * (ON_LOOP_BODY_LIMIT + 1)}", "The body of the command in line 1"),
        ("\n".join([f"outs.cgi?{ON}"] * (MAX_COMMANDS + 1)), "101 commands"),
    ],
)
def test_text_of_commands_is_refused_beyond_its_limits(text: str, reason: str) -> None:
    with pytest.raises(TooManyCommands, match=reason):
        parse_commands(text)


class CountedItems(list[str]):
    """Items of a query that count how many of them are copied."""

    copied = 0

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        found = super().__getitem__(place)
        if isinstance(place, slice):
            self.copied += len(found)
        return found


def test_matching_copies_a_bounded_number_of_items_for_each_command() -> None:
    items = CountedItems([ON] * 1000)
    calls = list(find("GET", "/outs.cgi", items, NEWEST))
    assert len(calls) == 1000
    assert all(isinstance(call, Call) for call in calls)
    assert items.copied <= 10 * len(items)


def test_large_texts_are_refused_in_no_time() -> None:
    large = "&".join([ON] * 100_000)
    with within(0.5):
        for count_commands in (count_of_query, count_of_text, count_of_line):
            with pytest.raises(TooManyCommands):
                count_commands(large)
