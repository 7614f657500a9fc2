"""Rules as a line of text, and what is said of lines that are not one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leverframe.core.engine.live_rule import SWITCHED
from leverframe.core.labels import DIGITAL
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule
from leverframe.interface.rule_words import Names, read_rule, write_rule
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.rules import actions_of, event_query, sources_of
from tests.cases import for_each

NEWEST = Profile()
NAMES = Names(NEWEST, {"Greenhouse": ["DS1"], "Fan": ["OUT2"], "Door": ["INPD1", "INPD2"]})
HUNDREDTHS = st.integers(-100_000, 100_000).map(lambda number: number / 100)
GAPS = st.integers(0, 10_000).map(lambda number: number / 100)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Draw a rule that commands of the newest version can set."""
    conditions = {}
    for end in ("", "2"):
        source = draw(st.sampled_from(sorted(sources_of(NEWEST))))
        is_state = source in DIGITAL
        conditions |= {
            f"source{end}": source,
            f"compare{end}": ">=" if is_state else draw(st.sampled_from([">=", "<"])),
            f"reference{end}": float(draw(st.booleans())) if is_state else draw(HUNDREDTHS),
            f"hysteresis{end}": 0.0 if is_state else draw(GAPS),
        }
    operator = draw(st.sampled_from(["-", "AND", "OR", "NAND", "NOR", "XOR"]))
    action = draw(st.sampled_from(sorted(actions_of(NEWEST))))
    rule = Rule(
        **conditions,
        operator=operator,
        action=action,
        value=draw(st.integers(0, 2)) if action in SWITCHED else 1,
        on_delay=draw(st.integers(0, 100_000)),
        off_delay=draw(st.integers(0, 100_000)),
        depends=draw(st.integers(0, 40)),
        mode=draw(st.integers(0, 2)),
        permanent=draw(st.booleans()),
        enabled=True,
    )
    if operator != "-":
        return rule
    unused = Rule()
    return replace(
        rule,
        source2=unused.source2,
        compare2=unused.compare2,
        reference2=unused.reference2,
        hysteresis2=unused.hysteresis2,
    )


@given(rules())
def test_written_rule_is_read_as_the_same_rule(rule: Rule) -> None:
    again = read_rule(write_rule(rule), NAMES)
    assert event_query(0, again, NEWEST) == event_query(0, rule, NEWEST)
    assert (again.permanent, again.enabled) == (rule.permanent, True)


@for_each(
    ("line", "query"),
    [
        ("when DS1 >= 25 until 23 then OUT2 on", "event=0*10*0*2500*200*0*2*0*0*0*0*0*1*0*0*0"),
        (
            'WHEN "Greenhouse" at least 25 THEN "Fan" off',
            "event=0*10*0*2500*0*0*2*0*0*0*0*0*0*0*0*0",
        ),
        (
            "when DS2 below 3 until 3.5 and INPD1 is off then eMail 1, starts after 1min,"
            " while rule 3",
            "event=0*11*1*300*50*1*28*100*0*0*0*0*1*60*23*0",
        ),
    ],
)
def test_line_gives_the_command_of_its_rule(line: str, query: str) -> None:
    assert event_query(0, read_rule(line, NAMES), NEWEST) == query


@for_each(
    ("line", "detail"),
    [
        ("DS1 >= 25", "is not a rule"),
        ("when DS1 > 25 then OUT1 on", "'DS1 > 25' is not a condition"),
        ("when DS9 >= 25 then OUT1 on", "DS9 is not available to rules of HW 3.9"),
        ("when DS1 is on then OUT1 on", "DS1 is not on or off"),
        ("when INPD1 >= 1 then OUT1 on", "INPD1 has no numbers"),
        ("when DS1 >= 25 until 26 then OUT1 on", "DS1 >= 25 cannot end at 26"),
        ("when DS1 >= 25 then OUT1", "OUT1 needs a state"),
        ("when DS1 >= 25 then HTTP1 on", "HTTP1 is not switched on or off"),
        ("when DS1 >= 25 then OUT9 on", "OUT9 is not available to rules"),
        ('when "Door" is on then OUT1 on', 'Several have the name "Door"'),
        ('when "Attic" >= 1 then OUT1 on', 'Nothing has the name "Attic"'),
        ("when DS1 >= 1 and DS2 >= 1 or DS3 >= 1 then OUT1 on", "at most two conditions"),
        ("when DS1 >= 25 then OUT1 on, soon", "'soon' is not an option of a rule"),
        ("when DS1 >= 25 then OUT1 on, starts after soon", "'soon' is not a duration"),
        ("when DS1 >= 25 then OUT1 on, unless rule 21", "is not an option of a rule"),
    ],
)
def test_mistake_in_a_line_is_refused_with_its_words(line: str, detail: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_rule(line, NAMES)
    assert detail in refused.value.detail
    assert refused.value.allowed or "duration" in detail


@for_each(
    ("option", "words"),
    [
        ("starts after 5s", "starts after"),
        ("while rule 3", "unless rule or while rule"),
        ("only at the end", "only at the start or only at the end"),
    ],
)
def test_option_that_the_version_lacks_is_refused(option: str, words: str) -> None:
    older = Names(Profile("3.5", "1.49"), {})
    with pytest.raises(Refusal, match=f"Rules of HW 3.5 SW 1.49 do not have {words}."):
        read_rule(f"when DS1 >= 25 then OUT1 on, {option}", older)


def test_state_is_also_written_with_an_equals_sign() -> None:
    lines = (
        "when INPD1 = 1 and OUT2=0 then OUT1 on",
        "when INPD1 is on and OUT2 is off then OUT1 on",
    )
    first, second = (read_rule(line, NAMES) for line in lines)
    assert first == second
