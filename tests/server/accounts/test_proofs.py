"""The accounts with which clients can sign in, and how long a proof of one holds."""

import asyncio
from base64 import b64encode

from leverframe.core.settings import AccessSettings, ControlUser, Settings, StoredAccount
from leverframe.core.tree import with_value
from leverframe.interface.table.accounts import password_path
from leverframe.server.http.messages import Request
from leverframe.server.passwords import Passwords
from leverframe.server.sessions import (
    Access,
    Accounts,
    AccountsOfSettings,
    accounts_of,
    administrator_alone,
)

ACCESS = AccessSettings(
    admin=StoredAccount("chief", "one"),
    user=StoredAccount("twin", "two"),
    users=(None, ControlUser("twin", "three", True), ControlUser("off", "four")),
)


def test_first_account_of_a_name_counts_and_one_that_is_off_does_not() -> None:
    accounts = accounts_of(ACCESS)
    assert {name: known.password for name, known in accounts.items()} == {
        "chief": "one",
        "twin": "two",
    }
    settings = with_value(Settings(), "access", ACCESS)
    assert {name: known.account.path for name, known in accounts.items()} == {
        name: password_path(settings, name) for name in accounts
    }
    assert password_path(settings, "off") is None


def test_accounts_of_settings_are_the_same_until_the_settings_change() -> None:
    present = [ACCESS]
    accounts = AccountsOfSettings(lambda: present[0])
    before = accounts()
    assert accounts() is before
    present[0] = AccessSettings()
    assert "chief" not in accounts()


async def test_password_that_changes_during_its_check_proves_nothing_afterwards() -> None:
    turns = asyncio.Semaphore(1)
    passwords = Passwords(turns)
    old, new = [
        administrator_alone("admin", await passwords.hash(f"{age} secret"))
        for age in ("old", "new")
    ]
    present: list[Accounts] = [old]
    access = Access(lambda: present[0], passwords, lambda name, source: None, "s")
    credentials = "Basic " + b64encode(b"admin:old secret").decode()
    request = Request("GET", "/", None, {"authorization": credentials}, b"", "192.0.2.7")
    async with turns:
        first = asyncio.ensure_future(access.check("admin", "old secret", "192.0.2.7"))
        for _ in range(3):
            await asyncio.sleep(0)
        present[0] = new
        # It joins the check that is under way.
        second = asyncio.ensure_future(access.who(request))
        await asyncio.sleep(0)
    proof, account = await asyncio.gather(first, second)
    assert proof.account == account
    assert access.recognise(request) is None
    assert access.sessions.account(f"s={access.sessions.open(proof)}", new) is None
