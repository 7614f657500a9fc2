"""The first password of controllers that nobody could sign in to: adopted, or open until now.

A controller that was open on a loopback address has no account. Where strangers can reach the node,
it gets an administrator before it is served, as a single controller does at its first start.
"""

from collections.abc import Callable, Sequence
from typing import Self

from leverframe.process.administrator import ADMINISTRATOR, password_change, random_password
from leverframe.process.json_lines import print_json
from leverframe.servers.accounts.passwords import Passwords
from leverframe.storage.store import Store, Stored

#: Shows a password, and whose it is, to the people who started the node.
ShowPassword = Callable[[Sequence[str], str], None]


def print_password(names: Sequence[str], password: str, *, as_json: bool = False) -> None:
    if as_json:
        print_json({"event": "controllers", "names": names, "password": password})
        return
    have = "administrators of {} have" if len(names) > 1 else "administrator of {} has"
    print(
        f"The {have.format(', '.join(names))} the password {password}\n"
        "There was none yet; this one is shown only this once.",
        flush=True,
    )


class FirstPasswords:
    """One password for all that need one in a start; told in the end, whatever happens."""

    def __init__(self, passwords: Passwords, show: ShowPassword) -> None:
        self._passwords = passwords
        self._show = show
        self._made: tuple[str, str] | None = None
        self._names: list[str] = []

    async def ensure(self, name: str, store: Store, stored: Stored) -> bool:
        """Give a controller an administrator if it has none; return whether it has a new one."""
        if stored.settings.get(ADMINISTRATOR):
            return False
        if self._made is None:
            password = random_password()
            self._made = password, await self._passwords.hash(password)
        await store.commit(password_change(stored, ADMINISTRATOR, self._made[1]))
        self._names.append(name)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._made is not None and self._names:
            self._show(self._names, self._made[0])
