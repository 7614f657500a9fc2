"""A request being prepared: what would be set and done if every command of it is good.

Commands run one after the other on the stage, each seeing what the ones before it set, so that
`sensor=01&igain=03` works in one request. Nothing outside the stage changes until the whole request
has been accepted; a refusal throws the stage away.
"""

from collections.abc import Mapping

from leverframe.commands.table.refusals import Locked
from leverframe.engine.actions import Action, Switch
from leverframe.engine.settings import Settings
from leverframe.engine.tree import with_value
from leverframe.profile import Profile

NO_HASHES: Mapping[str, str] = {}


class Stage:
    __slots__ = (
        "actions",
        "blobs",
        "hashes",
        "i2c_found",
        "profile",
        "settings",
        "replaces_all",
        "unhashed",
    )

    def __init__(
        self,
        profile: Profile,
        settings: Settings,
        i2c_found: str | None = None,
        hashes: Mapping[str, str] = NO_HASHES,
    ) -> None:
        self.profile = profile
        self.settings = settings
        #: The sensor that answers on the I2C bus at this moment.
        self.i2c_found = i2c_found
        self.actions: list[Action] = []
        #: Uploaded files by name; None removes one.
        self.blobs: dict[str, bytes | None] = {}
        #: All settings are replaced: those of an earlier version do not come back any more.
        self.replaces_all = False
        #: Hashes of passwords known so far; hashing is slow and random, so it is done outside.
        self.hashes = hashes
        #: Passwords that must be hashed before this stage can be used: stage again with them.
        self.unhashed: set[str] = set()

    def set(self, path: str, value: object) -> None:
        self.settings = with_value(self.settings, path, value)

    def set_password(self, path: str, password: str) -> None:
        """Store the hash of a password, never the password."""
        if password not in self.hashes:
            self.unhashed.add(password)
        self.set(path, self.hashes.get(password, "not hashed yet"))

    def do(self, action: Action) -> None:
        self.actions.append(action)

    def switch_output(self, label: str, value: int) -> None:
        """Switch from outside, which the lock forbids."""
        self.check_unlocked(label)
        self.do(Switch(label, value))

    def check_unlocked(self, label: str) -> None:
        """Refuse what could switch an output from outside while the outputs are locked."""
        if self.settings.output_flags.lock:
            raise Locked(
                f"{label} cannot be switched from outside while the outputs are locked; only "
                "schedule, rules and watchdog can. Unlock with /stm.cgi?outblock=0.",
                value=label,
            )
