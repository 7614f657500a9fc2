"""When a session ends."""

import pytest

from leverframe.core.settings import Settings
from leverframe.core.tree import with_value
from leverframe.interface.table.lookup import Account
from leverframe.interface.table.row import ADMIN
from leverframe.server.sessions import Proof, Sessions, accounts_of
from tests.server.signing_up import (
    HandMoved,
)

SETTINGS = with_value(Settings(), "access.admin.password", "$argon2id$one")
HASHED = accounts_of(SETTINGS.access)
PROOF = Proof(HASHED["admin"], HASHED)
CHIEF = Account("admin", ADMIN, "access.admin.password", joins_commands=True)


def test_session_ends_when_it_was_idle_for_half_an_hour() -> None:
    clock = HandMoved()
    sessions = Sessions("s", clock)
    cookie = f"s={sessions.open(PROOF)}"
    for _ in range(3):
        clock.now += 1799
        assert sessions.account(cookie, HASHED) == CHIEF
    clock.now += 1800
    assert sessions.account(cookie, HASHED) is None


def test_session_ends_after_twelve_hours_however_busy_it_is() -> None:
    clock = HandMoved()
    sessions = Sessions("s", clock)
    cookie = f"s={sessions.open(PROOF)}"
    for _ in range(12 * 4 - 1):
        clock.now += 900
        assert sessions.account(cookie, HASHED) == CHIEF
    clock.now += 900
    assert sessions.account(cookie, HASHED) is None


def test_account_has_at_most_sixteen_sessions_and_the_idlest_goes() -> None:
    clock = HandMoved()
    sessions = Sessions("s", clock)
    cookies = []
    for _ in range(16):
        clock.now += 1
        cookies.append(f"s={sessions.open(PROOF)}")
    assert sessions.account(cookies[0], HASHED) == CHIEF
    cookies.append(f"s={sessions.open(PROOF)}")
    alive = [sessions.account(cookie, HASHED) is not None for cookie in cookies]
    assert alive == [True, False] + [True] * 15


@pytest.mark.parametrize(
    ("path", "value"),
    [("access.admin.password", "$argon2id$two"), ("access.admin.name", "other")],
)
def test_session_ends_with_the_password_and_the_name_it_was_opened_with(
    path: str, value: str
) -> None:
    sessions = Sessions("s", HandMoved())
    cookie = f"s={sessions.open(PROOF)}"
    assert (
        sessions.account(cookie, accounts_of(with_value(SETTINGS, "access.required", True).access))
        == CHIEF
    )
    assert sessions.account(cookie, accounts_of(with_value(SETTINGS, path, value).access)) is None
    assert sessions.account(cookie, HASHED) is None
