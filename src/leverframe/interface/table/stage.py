"""The stage of a request: its changes and actions, until all commands are known to be valid.

Commands run one after the other on the stage, and each command sees the changes of earlier ones, so
that `sensor=01&igain=03` works in one request. Nothing outside the stage changes until the complete
request has been accepted; after a refusal the stage is discarded.
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

#: Types of leaves that are not lists.
_PLAIN = frozenset((str, int, float, bool))
NO_HASHES: Mapping[str, str] = MappingProxyType({})


class Stage(Struct, eq=False):
    profile: Profile
    settings: Settings
    #: The sensor that currently answers on the I2C bus.
    i2c_found: str | None = None
    #: Password hashes known so far; the caller computes them, because hashing is slow and random.
    hashes: Mapping[str, str] = NO_HASHES
    #: Whether forms that no version of the document has are accepted if they are unambiguous.
    lenient: bool = False
    #: Paths that commands set, even if their values stay the same.
    given: list[str] = []
    actions: list[Action] = []
    #: Uploaded files by name; None removes one.
    blobs: dict[str, bytes | None] = {}
    #: True if all settings are replaced; settings kept from an earlier version are then discarded.
    replaces_all: bool = False
    #: Paths of secrets that were deleted together with the server to which they belong.
    forgotten: tuple[str, ...] = ()
    #: Passwords without a known hash; the request must be staged again with their hashes.
    unhashed: frozenset[str] = frozenset()
    _before: Any = None
    #: All changed leaves by path, and the settings to which these changes lead. They are recorded
    #: only while plain leaves are set, which saves the 6 us of comparing the trees.
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
        """Delete secrets that would be sent to another server, unless the request sets them again.

        Called after all commands are staged, because their order does not matter.
        """
        paths = secrets_to_forget(self._before, self.settings)
        # The code of a restore decides which secrets are deleted.
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
        """Add a switching action that a client requests; refuse it while the outputs are locked."""
        if self.settings.output_flags.lock:
            raise _refuse_locked(label)
        self.actions.append(Switch(label, value))

    def check_unlocked(self, label: str) -> None:
        """Refuse a client's change that could switch an output while the outputs are locked."""
        if self.settings.output_flags.lock:
            raise _refuse_locked(label)


def _refuse_locked(label: str) -> Locked:
    return Locked(
        f"{label} cannot be switched from outside while the outputs are locked; only rules, the"
        f" schedule and the watchdog can switch it. Unlock with /stm.cgi?outblock=0.",
        value=label,
    )
