"""Rules as sentences: sentences are read back, and those not understood are refused."""

from random import Random

import pytest

from leverframe.core.settings import Rule, number_rules
from leverframe.interface.table.versions import all_profiles
from leverframe.units.file_keys import BadEntry
from leverframe.units.rule_sentences import rule_from_sentence, sentence_of
from tests.cases import for_each
from tests.random_settings import random_settings


@for_each(
    ("sentence", "rule"),
    [
        (
            "when DS1 >= 30 (hysteresis 0.5), then OUT0 on",
            Rule(source="DS1", reference=30.0, hysteresis=0.5, action="OUT0", enabled=True),
        ),
        (
            "disabled: Too warm: at noon: when DS1 >= 30, then OUT0 on",
            Rule(source="DS1", reference=30.0, action="OUT0", name="Too warm: at noon"),
        ),
        (
            "when DS1 < -2.5 nand OUT0 = 1, unless rule 3 is met, then PWM1 reverse",
            Rule(
                source="DS1",
                compare="<",
                reference=-2.5,
                operator="NAND",
                source2="OUT0",
                reference2=1.0,
                action="PWM1",
                value=2,
                depends=3,
                enabled=True,
            ),
        ),
        (
            "disabled: when INPD1 = 0, if rule 20 is met, then OUT5 off, on delay 5s,"
            " off delay 1h30m, only when it ceases, permanent",
            Rule(
                source="INPD1",
                action="OUT5",
                value=0,
                on_delay=5,
                off_delay=5400,
                depends=40,
                mode=2,
                permanent=True,
            ),
        ),
        ("when VCC >= 0, then eMail 1", Rule(action="eMail 1", enabled=True)),
        ("when VCC >= 0, then eMail 1 off", Rule(action="eMail 1", value=0, enabled=True)),
    ],
)
def test_sentence_says_a_rule_both_ways(sentence: str, rule: Rule) -> None:
    assert sentence_of(rule) == sentence
    assert rule_from_sentence(sentence) == rule


def test_case_and_spaces_do_not_matter() -> None:
    loose = "When ds1>=30  AND out0 = 1,then snmp TRAP,  only when it BEGINS"
    strict = "when DS1 >= 30 and OUT0 = 1, then SNMP trap, only when it begins"
    assert rule_from_sentence(loose) == rule_from_sentence(strict)


def test_every_rule_that_has_a_sentence_is_read_back_from_it() -> None:
    spoken = 0
    for profile in all_profiles()[::8]:
        rules = random_settings(profile, Random(str(profile)), 200).rules
        for _, rule in number_rules(rules):
            sentence = sentence_of(rule)
            spoken += sentence is not None
            assert sentence is None or rule_from_sentence(sentence) == rule
    assert spoken


def test_rule_with_an_idle_second_condition_has_no_sentence() -> None:
    assert sentence_of(Rule(source2="DS1")) is None


def test_rule_that_no_version_allows_has_no_sentence() -> None:
    assert sentence_of(Rule(source="nothing")) is None
    assert sentence_of(Rule(value=7)) is None


@for_each(
    ("sentence", "reason"),
    [
        ("DS1 >= 30: OUT0", "is not a rule; write it like"),
        ("when DS1 > 30, then OUT0 on", "write it like DS1 >= 30"),
        ("when DS1 = 30, then OUT0 on", "compares DS1 with ="),
        ("when DS99 >= 1, then OUT0 on", "'DS99'; no version has this name"),
        ("when DS1 >= 1, then OUT00 on", "'OUT00'; did you mean OUT0"),
        ("when ENERGI1 >= 1, then OUT0", "'ENERGI1'; did you mean ENERGY1"),
        ("when DS1 >= 1, if rule 21 is met, then OUT0 on", "rules are 1 to 20"),
        ("when DS1 >= 1, then OUT0 on, later", "only on delay 5s"),
        ("when DS1 >= 1, then OUT0 on, on delay soon", "has an invalid delay"),
        ("when DS1 >= 1, then OUT0 on, on delay 1.5s", "not in whole seconds"),
    ],
)
def test_sentence_that_is_not_understood_is_refused_with_the_reason(
    sentence: str, reason: str
) -> None:
    with pytest.raises(BadEntry, match=".*") as error:
        rule_from_sentence(sentence)
    assert reason in str(error.value)
