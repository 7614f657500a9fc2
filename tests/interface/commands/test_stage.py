"""The stage: commands see what the ones before them set, and nothing outside it changes."""

import pytest

from leverframe.core.engine.calls import REVERSE, SetEnergy, Switch
from leverframe.core.profile import Profile
from leverframe.core.settings import ControlUser, Rule
from leverframe.core.tree import defaults, with_value
from leverframe.interface.table.lookup import Call, find
from leverframe.interface.table.refusals import BadValue, Conflict, Locked, Refusal
from leverframe.interface.table.stage import Stage
from leverframe.interface.uploads.site import pack_site
from tests.cases import for_each

NEWEST = Profile()


def stage(profile: Profile = NEWEST, **changes: object) -> Stage:
    """A stage on default settings; paths of changes with two underscores."""
    settings = defaults(profile)
    for path, value in changes.items():
        settings = with_value(settings, path.replace("__", "."), value)
    return Stage(profile, settings)


def perform(on: Stage, target: str, body: bytes = b"") -> None:
    path, _, query = target.partition("?")
    for call in find("POST" if body else "GET", path, query.split("&"), on.profile):
        if isinstance(call, Refusal):
            raise call
        assert isinstance(call, Call)
        reader = call.row.body
        call.perform(on, reader and reader.read(body, "", on.profile))


def test_nothing_outside_the_stage_changes() -> None:
    before = defaults(NEWEST)
    on = stage()
    perform(on, "/stm.cgi?oname=0Pump")
    assert on.settings.outputs[0].name == "Pump"
    assert before.outputs[0].name == ""
    assert defaults(NEWEST) is before


def test_command_sees_what_the_one_before_it_set() -> None:
    on = stage()
    perform(on, "/inpa.cgi?sensor=01&igain=03")
    assert (on.settings.analog_inputs[0].sensor, on.settings.analog_inputs[0].gain) == (
        "vin=3.3V/5V",
        50,
    )


@for_each(
    ("target", "body", "left_out"),
    [
        ("/stm.cgi?mod_custom_set0=D*0*0*1", b"", "*9"),
        ("/post.cgi?mod_custom_save", b"&m00=A*C*3*1*3*1", "*2&&"),
        ("/inpa.cgi?event=0*10*0*2150*50*0*3*0*0*0*0*5", b"", "*2*30*22*1"),
        ("/inpa.cgi?event=0*10*0*2150*50*0*3*0*0*0*0*5*2", b"", "*30*22*1"),
    ],
)
def test_omitted_fields_keep_their_value(target: str, body: bytes, left_out: str) -> None:
    on = stage(rules=(Rule(),))
    perform(on, target if body else target + left_out, body and body + left_out.encode())
    before = on.settings
    perform(on, target, body and body + b"&&")
    assert on.settings == before


def test_omitted_fields_of_a_new_event_entry_have_their_defaults() -> None:
    on = stage()
    perform(on, "/inpa.cgi?event=0*10*0*2150*50*0*3*0*0*0*0*5")
    (rule,) = on.settings.rules
    assert (rule.value, rule.on_delay, rule.depends, rule.mode) == (1, 0, 0, 0)


def test_older_dialect_says_the_value_with_the_action() -> None:
    """An action without one has none of an entry that was there before."""
    on = stage(Profile("3.5", "1.40"), rules=(Rule(value=0),))
    perform(on, "/inpa.cgi?event=0*10*0*2150*50*0*20*0*0*0*0*5")
    (rule,) = on.settings.rules
    assert (rule.action, rule.value) == ("HTTP1", 1)


def test_gain_without_its_sensor_contradicts_the_state() -> None:
    on = stage()
    with pytest.raises(Conflict, match=r"INPA3 has the sensor 'off'.*sensor=21"):
        perform(on, "/inpa.cgi?igain=23")
    assert on.settings is defaults(NEWEST)


@for_each(
    "target",
    [
        "/outs.cgi?out=out1",
        "/outs.cgi?out1=1",
        "/outs.cgi?out=013",
        "/outs.cgi?pwm=pwm1",
        "/outs.cgi?pwm1=0",
        "/stm.cgi?pwm1=0",
    ],
)
def test_locked_outputs_refuse_to_be_switched(target: str) -> None:
    on = stage(output_flags__lock=True)
    with pytest.raises(Locked, match="outblock=0"):
        perform(on, target)
    assert on.actions == []


@pytest.mark.parametrize(
    "target", ["/outs.cgi?aout=11", "/outs.cgi?ortime=15", "/outs.cgi?atout=1*5&aout=11"]
)
def test_locked_outputs_refuse_what_would_switch_them_immediately(target: str) -> None:
    on = stage(output_flags__lock=True)
    with pytest.raises(Locked, match="OUT1 cannot be switched"):
        perform(on, target)


@pytest.mark.parametrize("times", ["atout=1*5", "atout=7*5"])
def test_locked_outputs_that_switch_periodically_keep_their_times(times: str) -> None:
    on = stage(output_flags__lock=True, outputs__1__periodic=True)
    with pytest.raises(Locked, match="OUT1 cannot be switched"):
        perform(on, f"/outs.cgi?{times}")
    perform(on, "/outs.cgi?atout=2*5")


def test_lock_does_not_stop_the_end_of_periodic_switching_and_return_time() -> None:
    on = stage(output_flags__lock=True, outputs__1__periodic=True, outputs__1__return_time=9)
    perform(on, "/outs.cgi?aout=10&ortime=10")
    assert not on.settings.outputs[1].periodic
    assert on.settings.outputs[1].return_time == 0


@for_each(
    "target",
    [
        "pwmd=020",
        "pwmp=255",
        "pwmp=0",
        "pwmf=120000",
        "pwmt=00",
        "pidvalue=1*10*215*500*10*0*0",
        "pidtarget=215",
    ],
)
def test_locked_outputs_refuse_what_moves_the_pin_of_a_pwm_output(target: str) -> None:
    on = stage(output_flags__lock=True)
    with pytest.raises(Locked, match="outblock=0"):
        perform(on, f"/stm.cgi?{target}")
    assert on.actions == []


def test_lock_leaves_event_variables_and_what_counts_from_a_start_alone() -> None:
    on = stage(output_flags__lock=True)
    perform(on, "/outs.cgi?vout3=1")
    perform(on, "/outs.cgi?oafs=11&ouet=15&roafs=11")
    assert on.actions == [Switch("EVENT4", 1)]
    assert on.settings.outputs[1].on_after_start


def test_lock_counts_from_the_command_on_that_sets_it() -> None:
    on = stage()
    perform(on, "/stm.cgi?pwm0=1&outblock=1")
    assert on.actions == [Switch("PWM0", 1)]
    with pytest.raises(Locked):
        perform(stage(), "/stm.cgi?outblock=1&pwm0=1")


def test_actions_keep_their_order() -> None:
    on = stage()
    perform(on, "/outs.cgi?out0=1&out=out1&out0=0&out=20")
    assert on.actions == [
        Switch("OUT0", 1),
        Switch("OUT1", REVERSE),
        Switch("OUT0", 0),
        Switch("OUT2", REVERSE),
        Switch("OUT0", REVERSE),
    ]


def test_energy_is_set_in_real_units() -> None:
    on = stage()
    perform(on, "/inpa.cgi?powset=51234&eclear=2")
    assert on.actions == [SetEnergy(5, 1.234), SetEnergy(2, 0.0)]


def test_new_rule_gets_its_place_also_before_others_exist_and_is_disabled() -> None:
    on = stage()
    perform(on, "/inpa.cgi?event=7*10*1*2150*50*0*0*0*0*0*0*0")
    (*before, rule) = on.settings.rules
    assert before == [None] * 7
    assert rule is not None
    assert (rule.source, rule.compare, rule.reference, rule.hysteresis) == ("DS1", "<", 21.5, 0.5)
    assert (rule.action, rule.value, rule.enabled) == ("OUT0", 1, False)


def test_rule_that_is_set_again_stays_enabled_and_permanent() -> None:
    on = stage(rules=(Rule(), Rule(enabled=True, permanent=True)))
    perform(on, "/inpa.cgi?event=1*0*0*100*0*0*5*0*0*0*0*3*2*4*21*1")
    assert on.settings.rules[0] == Rule()
    changed = on.settings.rules[1]
    assert (changed.enabled, changed.permanent) == (True, True)
    assert (changed.action, changed.off_delay, changed.value) == ("OUT5", 3, 2)
    assert (changed.on_delay, changed.depends, changed.mode) == (4, 21, 1)


@pytest.mark.parametrize("profile", [Profile("3.0", "1.40"), Profile("3.5", "1.40")])
def test_rule_may_end_before_its_off_delay(profile: Profile) -> None:
    """The form that clients of HW 3.0 send; what they do not know stays as it is."""
    on = stage(profile, rules=(Rule(), Rule(), Rule(), Rule(off_delay=7)))
    perform(on, "/inpa.cgi?event=3*11*0*100*0*0*31*27*0*1*100")
    perform(on, "/inpa.cgi?event=4*11*0*100*0*0*31*27*0*1*100")
    assert [rule.off_delay for rule in on.settings.rules] == [0, 0, 0, 7, 0]
    assert (on.settings.rules[4].source, on.settings.rules[4].action) == ("DS2", "EVENT5")


def test_older_mail_form_leaves_tls_and_the_other_texts_alone() -> None:
    on = stage(email__tls=True, email__off_texts=("a", "b", "c", "d"))
    perform(on, "/stm.cgi?em1=host&em2=25&em3=u&em4=p&em5=to&em6=from&em7=Hello&em8=text")
    assert (on.settings.email.host, on.settings.email.on_texts[0]) == ("host", "text")
    assert on.settings.email.tls
    assert on.settings.email.off_texts == ("a", "b", "c", "d")


def test_two_positions_of_the_homepage_show_the_same_one() -> None:
    on = stage(Profile("3.5", "1.45a"))
    for command, shown in (
        ("byte0=3", (3, 0, "Modbus")),
        ("bit2=0", (0, 0, "Status")),
        ("bit2=1", (1, 1, "Status for user")),
        ("byte0=2", (2, 0, "Serial Port")),
        ("byte0=1", (1, 1, "Status for user")),
    ):
        perform(on, f"/eeprom.cgi?{command}")
        variables = on.settings.variables
        assert (variables.bytes[0], variables.bits[2], on.settings.ui.homepage) == shown


@pytest.mark.parametrize(
    ("profile", "command", "other"),
    [
        (Profile("3.5", "1.43e"), "bit2=1", "byte0=-5"),
        (Profile("3.5", "1.45b"), "byte0=1", "bit2=0"),
    ],
)
def test_position_that_is_a_variable_does_not_follow_the_homepage(
    profile: Profile, command: str, other: str
) -> None:
    on = stage(profile)
    perform(on, f"/eeprom.cgi?{other}")
    before = on.settings.variables
    perform(on, f"/eeprom.cgi?{command}")
    after = on.settings.variables
    assert on.settings.ui.homepage == "Status for user"
    if "bit2" in command:
        assert after.bytes == before.bytes
    else:
        assert after.bits == before.bits


def test_action_with_its_value_is_taken_apart() -> None:
    on = stage(Profile("3.0", "1.40"))
    perform(on, "/inpa.cgi?event=0*50*0*1*0*0*2*0*0*0*0*0")
    assert (on.settings.rules[0].action, on.settings.rules[0].value) == ("OUT1", 0)
    assert (on.settings.rules[0].source, on.settings.rules[0].reference) == ("INPD1", 1.0)


@pytest.mark.parametrize("command", ["eventon=1*1", "eventper=1*1", "eventdel=1"])
def test_rule_that_is_not_there_contradicts_the_state(command: str) -> None:
    with pytest.raises(Conflict, match="no event entry 1") as refusal:
        perform(stage(rules=(Rule(), None, Rule())), f"/inpa.cgi?{command}")
    assert (refusal.value.field, refusal.value.value) == ("A", "1")
    assert refusal.value.allowed == "0, 2"
    with pytest.raises(Conflict, match="no event entry 1"):
        perform(stage(), f"/inpa.cgi?{command}")


def test_deleting_a_rule_moves_the_later_ones_down() -> None:
    on = stage(rules=tuple(Rule(source=f"DS{n}") for n in (1, 2, 3)))
    perform(on, "/inpa.cgi?eventdel=1")
    assert [rule and rule.source for rule in on.settings.rules] == ["DS1", "DS3"]


def test_deleting_a_rule_moves_empty_places_down_with_the_later_rules() -> None:
    on = stage()
    for entry in (5, 3, 9):
        perform(on, f"/inpa.cgi?event={entry}*{10 + entry}*0*100*0*0*0*0*0*0*0")
    perform(on, "/inpa.cgi?eventdel=3")
    there = {place: rule.source for place, rule in enumerate(on.settings.rules) if rule}
    assert there == {4: "DS6", 8: "CO2"}
    perform(on, "/inpa.cgi?eventdel=8")
    assert len(on.settings.rules) == 5, "no empty place is kept behind the last rule"


def test_switching_a_schedule_entry_that_is_not_there_contradicts_the_state() -> None:
    with pytest.raises(Conflict, match="no schedule entry 3"):
        perform(stage(), "/inpa.cgi?schedon=3*1")


def test_schedule_sent_is_the_whole_schedule() -> None:
    on = stage()
    perform(on, "/post.cgi?sched_save", b"&s3=Dawn*5*1*21600*0*31*1&&")
    perform(on, "/post.cgi?sched_save", b"&s0=Dusk*6*0*60*20454*256*0&&")
    assert [index for index, entry in enumerate(on.settings.schedule) if entry] == [0]
    entry = on.settings.schedule[0]
    assert entry is not None
    assert (entry.action, entry.periodic, entry.days, entry.date) == (
        "PWM0",
        True,
        (),
        "2026-01-01",
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [("86400*0*31", "not a second of the day"), ("86401*0*287", "outside 0 to 86400")],
)
def test_time_of_the_schedule_lies_within_the_day(fields: str, words: str) -> None:
    with pytest.raises(BadValue, match=words) as refusal:
        perform(stage(), "/post.cgi?sched_save", f"&s0=x*0*1*{fields}*1&&".encode())
    assert refusal.value.field == "E"


def test_password_is_stored_as_its_hash_only() -> None:
    # Base64 of admin, secret, user, and no password for the user.
    query = "/stm.cgi?auth=11YWRtaW4=*c2VjcmV0*dXNlcg==*"
    first = stage()
    perform(first, query)
    assert first.unhashed == {"secret"}
    again = Stage(NEWEST, defaults(NEWEST), hashes={"secret": "hashed"})
    perform(again, query)
    assert again.unhashed == set()
    assert again.settings.access.admin.password == "hashed"
    assert again.settings.access.user.password == ""
    assert again.settings.access.required


def test_sign_in_cannot_be_required_without_a_password_of_the_administrator() -> None:
    with pytest.raises(BadValue, match="has no password yet") as refusal:
        perform(stage(), "/stm.cgi?auth=11YWRtaW4=**dXNlcg==*")
    assert refusal.value.field == "D"


@for_each(
    ("target", "body", "reason"),
    [
        ("/stm.cgi?auth=01YWRtaW4=**YWRtaW4=*", b"", "same name"),
        ("/stm.cgi?auth=01YTpi**dXNlcg==*", b"", "contains a colon"),
        ("/post.cgi?users_save", b"&u0=admin**1&&", "same name"),
        ("/post.cgi?users_save", b"&u0=x**1&u1=x**1&&", "same name"),
        ("/post.cgi?users_save", b"&u0=a%3Ab**1&&", "contains a colon"),
    ],
)
def test_account_names_are_distinguished(target: str, body: bytes, reason: str) -> None:
    with pytest.raises(BadValue, match=reason):
        perform(stage(), target, body)


def test_control_user_sent_without_a_password_keeps_his() -> None:
    on = stage(access__users__4=ControlUser("gate", "hash of old", True))
    perform(on, "/post.cgi?users_save", b"&u0=gate**0&&")
    assert on.settings.access.users[0] == ControlUser("gate", "hash of old", False)
    assert on.settings.access.users[4] is None


@pytest.mark.parametrize(
    ("found", "primary"), [("BME280", "BME280"), (None, "NONE"), ("X", "NONE")]
)
def test_detection_takes_the_sensor_that_answers(found: str | None, primary: str) -> None:
    on = Stage(NEWEST, with_value(defaults(NEWEST), "i2c.primary", "AM2320"), found)
    perform(on, "/stm.cgi?bme280detect=1")
    assert on.settings.i2c.primary == primary


def test_reset_keeps_the_accounts_and_nothing_else() -> None:
    on = stage(access__required=True, outputs__0__name="Pump")
    perform(on, "/stm.cgi?eeprom_reset=1")
    assert on.settings == with_value(defaults(NEWEST), "access.required", True)


def test_uploads_are_laid_aside_by_name() -> None:
    on, site = stage(), pack_site({"index.html": b"<title>Cellar</title>"})
    perform(on, "/post.cgi?wwwfileupload", site)
    assert on.blobs == {"site": site}
    perform(on, "/stm.cgi?delpicture=0")
    assert on.blobs == {"site": site, "picture": None}
