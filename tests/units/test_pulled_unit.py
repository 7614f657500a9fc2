"""What was read from a unit: unknown is never taken for known, and equal reads as equal."""

from dataclasses import replace

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, with_value
from leverframe.units.pulled_unit import PulledUnit, UnitIdentity

PULLED = PulledUnit(
    Profile(),
    defaults(Profile()),
    UnitIdentity("http://192.168.1.10", "pump", "02:00:00:00:00:01", "3.9", "1.75"),
    unread={"email": "no file has it", "snmp.trap.host": "no file has it"},
    lossy={"rules.3": "rounded"},
)


def with_setting(path: str, value: object) -> PulledUnit:
    return replace(PULLED, settings=with_value(PULLED.settings, path, value))


def test_branch_stands_for_everything_below_it() -> None:
    assert PULLED.why_unread("email.host") == "no file has it"
    assert PULLED.why_unread("snmp.trap.port") is None
    assert PULLED.why_lossy("rules.3.reference") == "rounded"
    assert PULLED.why_lossy("rules.30") is None
    assert not {"email.host", "snmp.trap.host"} & dict(PULLED.read_leaves()).keys()


def test_digest_changes_with_what_was_read_and_with_nothing_else() -> None:
    assert with_setting("outputs.0.name", "Pump").digest != PULLED.digest
    assert with_setting("email.host", "mail.example").digest == PULLED.digest
    assert replace(PULLED, identity=replace(PULLED.identity, address="http://[::1]")).digest == (
        PULLED.digest
    )
    assert replace(PULLED, unread={}).digest != PULLED.digest
