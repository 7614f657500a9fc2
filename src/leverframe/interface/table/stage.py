"""A request being prepared: what would be set and done if every command of it is good.

Commands run one after the other on the stage, each seeing what the ones before it set, so that
`sensor=01&igain=03` works in one request. Nothing outside the stage changes until the whole request
has been accepted; a refusal throws the stage away.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from leverframe.core.engine.calls import Action, Switch
from leverframe.core.engine.secret_servers import secrets_to_forget
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import difference, exchange_value, is_same, value_at
from leverframe.interface.table.refusals import Locked

#: Types of leaves that are no lists.
_PLAIN = frozenset((str, int, float, bool))
NO_HASHES: Mapping[str, str] = MappingProxyType({})


class Stage(Struct, eq=False):
    profile: Profile
    settings: Settings
    #: The sensor that answers on the I2C bus at this moment.
    i2c_found: str | None = None
    #: Hashes of passwords known so far; hashing is slow and random, so it is done outside.
    hashes: Mapping[str, str] = NO_HASHES
    #: Forms that no version printed are taken where they cannot mean anything else.
    lenient: bool = False
    #: Paths that commands set, even to their present value.
    given: list[str] = []
    actions: list[Action] = []
    #: Uploaded files by name; None removes one.
    blobs: dict[str, bytes | None] = {}
    #: All settings are replaced: those kept for an earlier version are not restored any more.
    replaces_all: bool = False
    #: Paths of secrets that are gone with the server that they were given for.
    forgotten: tuple[str, ...] = ()
    #: Passwords that must be hashed before this stage can be used: stage again with them.
    unhashed: frozenset[str] = frozenset()
    _before: Any = None
    #: Every leaf that differs by path, while nothing but plain ones was set; and the settings up to
    #: which that is true. Comparing the trees instead takes 6 us longer.
    _noted: dict[str, tuple[str, Any, Any]] = {}
    _noted_up_to: Settings | None = None

    def __post_init__(self) -> None:
        self._before = self._noted_up_to = self.settings

    def set(self, path: str, value: object) -> None:
        self.given.append(path)
        before = self.settings
        self.settings, old = exchange_value(before, path, value)
        if self.settings is not before and self._noted_up_to is before:
            self._note(path, old, value)

    def _note(self, path: str, old: Any, value: object) -> None:
        if type(old) not in _PLAIN or type(value) not in _PLAIN:
            self._noted_up_to = None
            return
        if path in self._noted:
            old = self._noted.pop(path)[1]
        if not is_same(old, value):
            self._noted[path] = (path, old, value)
        self._noted_up_to = self.settings

    def leaves(self) -> list[tuple[str, Any, Any]]:
        """List (path, old value, new value) of every leaf that differs, as `difference` does."""
        if self._noted_up_to is not self.settings:
            return list(difference(self._before, self.settings))
        return list(self._noted.values())

    def set_password(self, path: str, password: str) -> None:
        """Store the hash of a password, never the password."""
        if password not in self.hashes:
            self.unhashed |= {password}
        self.set(path, self.hashes.get(password, "not hashed yet"))

    def forget_redirected(self) -> None:
        """Remove secrets that would go to another server, unless they were given again.

        Called when all commands are staged: their order does not matter.
        """
        paths = secrets_to_forget(self._before, self.settings)
        # A restore decides for itself.
        if not paths or self.replaces_all:
            return
        self.forgotten = tuple(
            path for path in paths if path not in self.given and value_at(self.settings, path)
        )
        for path in self.forgotten:
            self.set(path, "")

    def do(self, action: Action) -> None:
        self.actions.append(action)

    def switch_output(self, label: str, value: int) -> None:
        """Switch from outside, which the lock forbids."""
        if self.settings.output_flags.lock:
            raise _refuse_locked(label)
        self.actions.append(Switch(label, value))

    def check_unlocked(self, label: str) -> None:
        """Refuse what could move an output or its pin from outside while the outputs are locked."""
        if self.settings.output_flags.lock:
            raise _refuse_locked(label)


def _refuse_locked(label: str) -> Locked:
    return Locked(
        f"{label} cannot be switched from outside while the outputs are locked; only "
        "schedule, rules and watchdog can. Unlock with /stm.cgi?outblock=0.",
        value=label,
    )
