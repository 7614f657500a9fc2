"""The messages that the rules of a unit send, by every channel, and when.

Nothing leaves a twin. `twin.outbox` has the complete messages.
"""

import pytest

from leverframe.testing import faults

OLD_AND_NEW = ["3.5/1.49", "3.9/1.75"]


@pytest.mark.parametrize(
    ("action", "channel"),
    [
        ("eMail 1", "emails"),
        ("SMS1", "sms"),
        ("HTTP1", "http"),
        ("MQTT", "mqtt"),
        ("SNMP trap", "traps"),
    ],
)
def test_alarm_is_sent_by_every_channel(twin, action, channel):
    twin.rule(when="DS1 >= 30", then=action)
    twin.sense(DS1=29)
    assert getattr(twin.outbox, channel) == []
    twin.sense(DS1=31)
    assert len(getattr(twin.outbox, channel)) == 1
    assert twin.outbox.problems == []


def test_siren_waits_for_its_delay(twin):
    twin.rule(when="DS1 >= 30", then="OUT3 on", on_delay="5min")
    twin.sense(DS1=31)
    twin.advance("4min 59s")
    assert twin.state["OUT3"] == 0
    twin.advance("1s")
    assert twin.state["OUT3"] == 1


def test_short_peak_sounds_no_siren(twin):
    twin.rule(when="DS1 >= 30", then="OUT3 on", on_delay="5min")
    twin.sense(DS1=31)
    twin.advance("2min")
    twin.sense(DS1=25)
    twin.advance("1h")
    assert twin.state["OUT3"] == 0


def test_alarm_needs_both_conditions(twin):
    twin.rule(when="DS1 < 5 and OUT0 = 1", then="SMS1")
    twin.sense(DS1=3)
    assert twin.outbox.sms == []
    twin.command("outs.cgi?out0=1")
    (sms,) = twin.outbox.sms
    assert sms.text == "DS1 < 5 and OUT0 = 1"


@pytest.mark.leverframe(versions=OLD_AND_NEW)
def test_fan_runs_while_it_is_warm(twin):
    twin.rule(when="DS1 >= 25", then="OUT1 on", hysteresis=3)
    seen = []
    for celsius in (20, 26, 23, 21):
        twin.sense(DS1=celsius)
        seen.append(twin.state["OUT1"])
    assert seen == [0, 1, 1, 0]


def test_unplugged_thermometer_is_not_frost(twin):
    twin.rule(when="DS1 < 5", then="eMail 1")
    twin.sense(DS1=20)
    twin.unplug("DS1")
    twin.advance("1h")
    assert twin.outbox.emails == []


def test_rules_act_while_the_unit_is_unreachable(twin):
    twin.rule(when="DS1 >= 30", then="OUT2 on")
    with twin.fault(faults.refuse()):
        twin.sense(DS1=31)
    assert twin.state["OUT2"] == 1


def test_each_unit_of_a_fleet_raises_its_own_alarm(fleet):
    units = fleet(3)
    for unit in units:
        unit.rule(when="DS1 >= 30", then="eMail 1")
    units[1].sense(DS1=31)
    units.advance("1min")
    assert [len(unit.outbox.emails) for unit in units] == [0, 1, 0]
