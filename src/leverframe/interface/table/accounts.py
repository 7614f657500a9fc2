"""Rows: accounts and sign-in in the form that real units accept.

An empty password in a command leaves the password unchanged. Passwords are never shown, so clients
send back an empty text for a password that they do not want to change.
"""

from collections.abc import Iterator
from typing import Any

from leverframe.core.settings import (
    CONTROL_USERS,
    AccessSettings,
    ControlUser,
    Settings,
    StoredAccount,
)
from leverframe.interface.table.bodies import SMALL_BODY_LIMIT, FormBody, ListBody
from leverframe.interface.table.params import Base64Text, Flag, Int, Param, Text
from leverframe.interface.table.refusals import BadValue, Conflict
from leverframe.interface.table.row import ACCOUNT, ANYONE, row
from leverframe.interface.table.shape import Item
from leverframe.interface.table.stage import Stage

MAX_LETTERS = 31
MAX_PASSWORD_LETTERS = 128
#: Minimum length of new passwords in Leverframe's own commands; the commands of real units have
#: none.
MIN_PASSWORD_LETTERS = 12
ACCOUNT_NAME = Base64Text(MAX_LETTERS, 1)
PASSWORD = Base64Text(MAX_PASSWORD_LETTERS)
PLAIN_PASSWORD = Text(MAX_PASSWORD_LETTERS)
NEW_PASSWORD = Text(
    MAX_PASSWORD_LETTERS,
    MIN_PASSWORD_LETTERS,
    pattern=r".*\S.*",
    form="not only spaces",
    fitting=("a longer secret", "Ogród *&=+%\"'"),
    unfitting=("too short", " " * MIN_PASSWORD_LETTERS),
)
#: The prefix of a stored hash; a text with another prefix is a password.
HASH_PREFIX = "$argon2id$"
#: The hash that is stored instead of a password; empty for an empty password.
HASH = Text(255, pattern=r"|\$argon2id\$[!-~]+", form="an Argon2id hash")
USER_FIELDS: dict[str, Param] = {
    "A": Int(0, CONTROL_USERS - 1),
    "B": Text(MAX_LETTERS, 1),
    "C": PLAIN_PASSWORD,
    "D": Flag(),
}


def password_path(settings: Settings, name: str) -> str | None:
    """Return the path of the password of this account; None if there is no such account."""
    paths = (path for path, stored in list_stored_accounts(settings.access) if stored.name == name)
    return next(paths, None)


def list_stored_accounts(
    access: AccessSettings,
) -> Iterator[tuple[str, StoredAccount | ControlUser]]:
    """List the accounts that can sign in, each with the setting path of its password."""
    yield "access.admin.password", access.admin
    yield "access.user.password", access.user
    for place, user in enumerate(access.users):
        if user is not None and user.active:
            yield f"access.users.{place}.password", user


def set_accounts(stage: Stage, A: bool, B: bool, C: str, D: str, E: str, F: str) -> None:
    check_names(C, E)
    stage.set("access.updates_allowed", B)
    _set_account(stage, "access.admin", C, D)
    _set_account(stage, "access.user", E, F)
    if A and not stage.settings.access.admin.password:
        raise BadValue(
            "The administrator has no password yet; set one to switch sign-in on.",
            field="D",
            allowed="a password",
        )
    stage.set("access.required", A)


def _set_account(stage: Stage, path: str, name: str, password: str) -> None:
    stage.set(f"{path}.name", name)
    if password:
        stage.set_password(f"{path}.password", password)


def save_users(stage: Stage, items: list[dict[str, Any]]) -> None:
    """Replace all control users by those sent."""
    access = stage.settings.access
    check_names(access.admin.name, access.user.name, *(item["B"] for item in items))
    known = {user.name: user.password for user in access.users if user is not None}
    users: list[ControlUser | None] = [None] * CONTROL_USERS
    for item in items:
        users[item["A"]] = ControlUser(item["B"], known.get(item["B"], ""), item["D"])
    stage.set("access.users", tuple(users))
    for item in items:
        if item["C"]:
            stage.set_password(f"access.users.{item['A']}.password", item["C"])


def change_password(stage: Stage, fields: dict[str, str]) -> None:
    """Store a new password; the server has checked that it comes from the account's owner."""
    path = password_path(stage.settings, fields["username"])
    if path is None:
        raise Conflict("This account no longer exists.")
    stage.set_password(path, fields["new"])


def check_names(*names: str) -> None:
    if len(set(names)) < len(names):
        raise BadValue("Two accounts have the same name.", allowed="different names")
    for name in names:
        if ":" in name:
            raise BadValue(
                f"The account name {name!r} contains a colon.",
                value=name,
                allowed="names without a colon",
            )


SIGN_IN = row(
    "POST /post.cgi?signin",
    body=FormBody(
        {"username": Text(MAX_LETTERS), "password": PLAIN_PASSWORD}, max_bytes=SMALL_BODY_LIMIT
    ),
    role=ANYONE,
    secret=True,
    example={"username": "keeper", "password": "secret"},
    doc="Check a user name and password and open a session; the response sets a cookie. A "
    "request that changes something with this cookie must send the controller's address "
    "as `Origin` or `Referer`.",
)
SIGN_OUT = row(
    "POST /post.cgi?signout",
    role=ANYONE,
    doc="End the session of the cookie in the request.",
)
CHANGE_PASSWORD = row(
    "POST /post.cgi?passwd",
    body=FormBody(
        {
            "username": Text(MAX_LETTERS, 1),
            "password": PLAIN_PASSWORD,
            "new": NEW_PASSWORD,
        },
        max_bytes=SMALL_BODY_LIMIT,
        whole=True,
    ),
    run=change_password,
    role=ACCOUNT,
    secret=True,
    example={"username": "admin", "password": "secret", "new": "a+longer+secret"},
    doc="Change the password of an account; requires the current password. Ends all sessions "
    "of the account, except the session of the request: that one continues until the new password "
    "is used to sign in.",
)
ROWS = (
    row(
        "GET /stm.cgi?auth=<A><B><C>*<D>*<E>*<F>",
        A=Flag(),
        B=Flag(),
        C=ACCOUNT_NAME,
        D=PASSWORD,
        E=ACCOUNT_NAME,
        F=PASSWORD,
        run=set_accounts,
        limits={
            "access.required": Flag(),
            "access.updates_allowed": Flag(),
            "access.admin.name": ACCOUNT_NAME,
            "access.admin.password": HASH,
            "access.user.name": ACCOUNT_NAME,
            "access.user.password": HASH,
        },
        example={"D": "c2VjcmV0", "E": "dXNlcg==", "F": "c2VjcmV0"},
        secret=True,
        doc="Set up sign-in: required, firmware updates allowed, administrator's name and "
        "password, user's name and password, each in Base64; an empty password keeps the "
        "stored one.",
    ),
    row(
        "POST /post.cgi?users_save",
        body=ListBody(Item("u<A>=<B>*<C>*<D>"), USER_FIELDS, CONTROL_USERS),
        run=save_users,
        limits={
            "access.users.*.name": USER_FIELDS["B"],
            "access.users.*.password": HASH,
            "access.users.*.active": USER_FIELDS["D"],
        },
        example={"B": "keeper", "C": "secret"},
        secret=True,
        doc="Replace the control users: name, password, active; an empty password keeps the "
        "stored one.",
    ),
    SIGN_IN,
    SIGN_OUT,
    CHANGE_PASSWORD,
)
