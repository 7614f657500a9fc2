"""Planned requests that are shown: no secret stands in them, and everything else does."""

from base64 import b64encode
from urllib.parse import quote

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import CONFIDENTIAL, ControlUser, Settings
from leverframe.core.tree import defaults, leaves, pattern_of, with_value
from leverframe.interface.plan.plan_builder import PlannedRequest
from leverframe.interface.plan.planner import Plan, mask_request, plan_between
from leverframe.interface.table.bodies import FormBody
from leverframe.interface.table.lookup import TABLE
from tests.effort import some_of

PROFILES = [Profile("3.0", "1.58a"), Profile("3.5", "1.49"), Profile("3.8", "1.60a"), Profile()]
OPEN = {
    "email.host": "mail.example",
    "email.username": "postman",
    "mqtt.host": "broker.example",
    "mqtt.username": "publisher",
    "http.0.username": "caller",
    "snmp.more_traps.0.host": "traps.example",
    "outputs.0.name": "Pump",
}


def hush(path: str) -> str:
    """A value for a secret that is allowed and found again."""
    if path.endswith(".url"):
        return f"http://hook.example/hush-{path}"
    return "4711" if path == "gsm.code" else f"hush-{path} &*%"[:31]


def all_secrets_set(profile: Profile) -> Settings:
    settings = defaults(profile)
    if any(path.startswith("access.users.") for path in CONFIDENTIAL):
        users = (ControlUser("gardener", "", True), *settings.access.users[1:])
        settings = with_value(settings, "access.users", users)
    for path, _ in leaves(settings):
        if pattern_of(path) in CONFIDENTIAL and not path.startswith("access.users.1"):
            settings = with_value(settings, path, hush(path))
        elif path in OPEN:
            settings = with_value(settings, path, OPEN[path])
    return settings


def show_plan(plan: Plan, profile: Profile) -> str:
    requests = [mask_request(step.request, profile) for step in plan.steps]
    return "\n".join(f"{one.target} {one.body}" for one in requests)


@pytest.mark.parametrize("profile", some_of(PROFILES), ids=str)
def test_no_secret_of_a_planned_request_is_shown(profile: Profile) -> None:
    wanted = all_secrets_set(profile)
    plan = plan_between(profile, defaults(profile), wanted, rows=TABLE)
    sent = "\n".join(f"{step.request.target} {step.request.body}" for step in plan.steps)
    said, hidden = show_plan(plan, profile), 0
    for path, value in leaves(wanted):
        if pattern_of(path) not in CONFIDENTIAL or not value:
            continue
        for text in (value, quote(value, safe=""), b64encode(value.encode()).decode()):
            written = quote(text, safe="") if text.endswith("=") else text
            hidden += written in sent
            assert written not in said, path
    assert hidden > 2


def test_everything_but_secrets_is_shown() -> None:
    profile = Profile()
    said = show_plan(
        plan_between(profile, defaults(profile), all_secrets_set(profile), rows=TABLE), profile
    )
    assert "em1=mail.example&em2=25&em3=postman&em4=***&em5=&" in said
    assert "mqtt=0*broker.example*1883*publisher*****leverframe*0" in said
    assert "http1=***&httpauth1=caller****" in said
    assert "snmptrap2=0*traps.example*162****" in said
    assert "&u0=gardener*****1&&" in said
    assert "oname=0Pump" in said


def test_secret_is_named_where_the_caller_wants_it() -> None:
    request = PlannedRequest("GET", "/stm.cgi?mqtt=1*broker.example*1883*joe*hush*home*0")
    named = mask_request(request, Profile(), lambda path: f"<{path}>")
    assert named.target == "/stm.cgi?mqtt=1*broker.example*1883*joe*<mqtt.password>*home*0"


@pytest.mark.parametrize(
    "target",
    [
        # The name of the account is the password, too; a command that is none; a modem's command.
        "/stm.cgi?mqtt=1*broker.example*1883*hush*hush*home*0",
        "/stm.cgi?mqtt=1*hush",
        "/stm.cgi?gsmcmd=AT%2BCPIN%3Dhush",
    ],
)
def test_possible_secret_is_not_shown(target: str) -> None:
    assert "hush" not in mask_request(PlannedRequest("GET", target), Profile()).target


def test_open_command_beside_a_secret_one_is_shown() -> None:
    request = PlannedRequest("GET", "/stm.cgi?oname=0Pump&em4=hush")
    assert mask_request(request, Profile()).target == "/stm.cgi?oname=0Pump&em4=***"


@pytest.mark.parametrize("target", ["/post.cgi?signin", "/post.cgi?passwd"])
def test_form_with_passwords_shows_only_its_fields(target: str) -> None:
    fields = next(
        row.body.fields
        for row in TABLE
        if target.removeprefix("/post.cgi?") in row.line and isinstance(row.body, FormBody)
    )
    body = "&".join(f"{name}=hush hush {name}" for name in fields)
    said = mask_request(PlannedRequest("POST", target, body), Profile())
    assert "hush" not in said.target + said.body
    assert [item.partition("=")[0] for item in said.body.split("&")] == [*fields]
