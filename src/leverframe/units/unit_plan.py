"""The plan of one unit: the requests, their changes, and the state from which it was made.

A plan file contains the plans of several units. It is readable only by its owner, because requests
may contain passwords.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import (
    MASK,
    is_confidential,
    is_secret,
    leaves,
    pattern_of,
    settings_from_leaves,
    with_value,
)
from leverframe.interface.plan.plan_builder import PlannedRequest, try_request
from leverframe.interface.plan.planner import mask_request
from leverframe.interface.table.lookup import Call, find, items_of
from leverframe.storage.private_files import write_private
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.units.client import PacedClient
from leverframe.units.file_keys import DURATIONS, is_part_of, key_of, value_for_file

FORMAT = 1
#: Commands whose repetition would affect another rule.
_NOT_TWICE = ("eventdel=", "rulemove=")
#: Placeholder for a value; texts in unit files always have quotes.
NOTHING = "nothing"


class BadPlan(ErrorForPeople):
    """A plan cannot be made, read or carried out; the message is one sentence."""


class SettingChange(Struct, frozen=True, omit_defaults=True):
    """One setting that a step changes; a missing value belongs to a missing entry."""

    path: str
    old: Any | UnsetType = UNSET
    new: Any | UnsetType = UNSET

    def show(self, value: Any) -> str:
        """Return a value with secrets masked."""
        if value is UNSET:
            return NOTHING
        return MASK if is_confidential(self.path) else msgspec.json.encode(value).decode()

    def __str__(self) -> str:
        if self.old == self.new:
            # The old value could not be read.
            return f"{self.key}: set to {self.show(self.new)}"
        return f"{self.key}: {self.show(self.old)} -> {self.show(self.new)}"

    @property
    def key(self) -> str:
        """Return the key of the setting in unit files."""
        return key_of(self.path)


class UnitStep(Struct, frozen=True):
    """One request, with the settings that it changes."""

    request: PlannedRequest
    changes: tuple[SettingChange, ...]

    @property
    def is_repeatable(self) -> bool:
        """Return whether sending the step twice has the same effect as sending it once."""
        return not any(item.startswith(_NOT_TWICE) for item in items_of(self.request.query))

    def mask_request(self, profile: Profile) -> PlannedRequest:
        """Return the request with secrets masked."""
        return mask_request(self.request, profile)

    def doc(self, profile: Profile) -> str:
        """Return the description of the command from the reference."""
        found = find(self.request.method, self.request.path, items_of(self.request.query), profile)
        return next((call.row.doc for call in found if isinstance(call, Call)), "")

    def words(self, profile: Profile) -> str:
        """Return the first sentence of the description, without its full stop."""
        return self.doc(profile).partition(". ")[0].rstrip(".")


class LeftOutSetting(Struct, frozen=True):
    """A wanted setting that the plan does not reach, and why, as a sentence."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{key_of(self.path)}: {self.reason}"


class UnreadableSetting(Struct, frozen=True, omit_defaults=True):
    """A setting that a plan touches and the unit hides, so that its value is unknown."""

    path: str
    #: Why it cannot be read, without a full stop.
    reason: str
    #: Kept as it is, set to `becomes`, or removed with its entry.
    fate: Literal["kept", "set", "removed"]
    becomes: Any | UnsetType = UNSET
    #: Whether the unit may have a value there now.
    was_there: bool = True

    def __str__(self) -> str:
        return f"{key_of(self.path)}; {self.fate_in_words}"

    @property
    def fate_in_words(self) -> str:
        if self.fate == "set":
            return f"will be set to {self._shown}"
        return "kept as it is" if self.fate == "kept" else "removed with its entry"

    @property
    def _shown(self) -> str:
        if pattern_of(self.path) in DURATIONS:
            return str(value_for_file(self.path, self.becomes))
        return SettingChange(self.path).show(self.becomes)


class UnitPlan(Struct, frozen=True, kw_only=True):
    """The steps that bring one unit to its wanted settings."""

    #: Its name for users: the name in the inventory, or its address.
    unit: str
    address: str
    #: MAC address of the unit that was read; empty if it shows none.
    mac: str = ""
    hw: str
    sw: str
    #: Whether the unit is Leverframe, which has additional commands.
    is_leverframe: bool
    #: Digest of all settings that were read; it must be the same when the plan is used.
    digest: str
    #: Settings that were read and differ from the factory settings.
    before: dict[str, Any]
    unread: tuple[str, ...]
    #: Settings that were read inexactly: they are not compared.
    lossy: tuple[str, ...]
    steps: tuple[UnitStep, ...]
    left_out: tuple[LeftOutSetting, ...] = ()
    #: Settings that the plan touches and the unit hides.
    unreadable: tuple[UnreadableSetting, ...] = ()
    #: Changes that no command can revert.
    irreversible: tuple[str, ...] = ()
    #: File names of the journals whose changes the plan reverts.
    undoes: tuple[str, ...] = ()

    @property
    def cannot_be_undone(self) -> tuple[UnreadableSetting, ...]:
        """Return the unread settings that the plan overwrites or removes.

        No rollback can restore them.
        """
        return tuple(one for one in self.unreadable if one.was_there and one.fate != "kept")

    @property
    def not_journaled(self) -> list[str]:
        """Return the secrets that were read and that no journal stores."""
        return [path for path in self.before if is_confidential(path)]

    @property
    def not_restorable(self) -> dict[str, int]:
        """Return the settings that no rollback can restore, with the step that overwrites each."""
        hidden = (one.path for one in self.cannot_be_undone)
        unknown = {*hidden, *self.not_journaled, *self.irreversible}
        found: dict[str, int] = {}
        for number, step in enumerate(self.steps, start=1):
            for change in step.changes:
                if change.path in unknown:
                    found.setdefault(change.path, number)
        return found

    @property
    def profile(self) -> Profile:
        return Profile(self.hw, self.sw)

    def settings_before(self) -> Settings:
        settings, _ = settings_from_leaves(self.profile, self.before)
        return settings

    def walk(self) -> Iterator[tuple["UnitStep", Settings, Settings]]:
        """Yield every step with the settings before and after it."""
        settings = self.settings_before()
        if not settings.access.admin.password:
            # A password may exist even though it is never read.
            settings = with_value(settings, "access.admin.password", MASK)
        for step in self.steps:
            after = try_request(step.request, settings, self.profile).settings
            yield step, settings, after
            settings = after

    def settings_after(self) -> Settings:
        settings = self.settings_before()
        for _, _, after in self.walk():
            settings = after
        return settings

    def all_before(self) -> dict[str, Any]:
        """Return every setting that was read, by path."""
        return {
            path: value
            for path, value in store_leaves(leaves(self.settings_before())).items()
            if self.is_compared(path)
        }

    def is_compared(self, path: str) -> bool:
        """Return whether a setting can be read from the unit exactly."""
        # A unit shows at most that a secret is not set.
        return not is_secret(path) and not is_part_of(path, (*self.unread, *self.lossy))


class _PlanFile(Struct, frozen=True):
    format: int
    plans: tuple[UnitPlan, ...]


def write_plans(path: Path, plans: Iterable[UnitPlan]) -> None:
    content = msgspec.json.encode(_PlanFile(FORMAT, tuple(plans)))
    write_private(path, msgspec.json.format(content, indent=1))


def read_plans(path: Path) -> tuple[UnitPlan, ...]:
    """Read a plan file, or reject it with a sentence."""
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_PlanFile)
        for plan in file.plans:
            plan.settings_before()
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise BadPlan(
            f"{path} is not a plan of this version ({error}); write a new plan"
            " with `leverframe unit plan --out`."
        ) from None
    if file.format != FORMAT:
        raise BadPlan(f"{path} has the format {file.format}; this version writes {FORMAT}.")
    return file.plans


def as_stored(value: Any) -> Any:
    """Convert a value to its form in a plan file, to compare it with a value of a unit."""
    return [as_stored(one) for one in value] if isinstance(value, tuple | list) else value


def store_leaves(found: Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    return {path: as_stored(value) for path, value in found}


# The login of an operator while a plan changes the accounts of the unit.

#: Accounts that can read all settings of some units, and the account that can on every unit.
_ROLES = ("admin", "user")
_ADMIN = "admin"
_PASSWORD = "access.admin.password"


class LoginUnknown(ErrorForPeople):
    """The plan switches sign-in on, but no login is known; the message is one sentence."""


def refuse_unknown_login(client: PacedClient, plan: UnitPlan) -> None:
    """Raise `LoginUnknown` if a plan would lock out a client without a login."""
    changes = [change for step in plan.steps for change in step.changes]
    switches_on = any(one.path == "access.required" and one.new is True for one in changes)
    if client.login is None and switches_on and not any(one.path == _PASSWORD for one in changes):
        name = plan.settings_after().access.admin.name
        raise LoginUnknown(
            f"{plan.unit}: the plan switches sign-in on, and without the password of {name} no"
            f" setting could be read back; add --user {name}."
        )


def follow_accounts(client: PacedClient, step: UnitStep, plan: UnitPlan) -> None:
    """Continue with the name and password that a step set for the account of the client.

    A client without a login uses the administrator's account as soon as a step sets the password of
    that account: the unit was open, and may require a login from now on.
    """
    changed = {change.path: change for change in step.changes}
    if not any(path.startswith("access.") for path in changed):
        return
    login = client.login
    names = _names_before(plan, step)
    role = _ADMIN
    if login is not None:
        role = next((one for one in _ROLES if names[one] == login.name), "")
    password = _new_text(changed.get(f"access.{role}.password"))
    if password is None and login is not None:
        password = login.password
    if role and password is not None:
        name = _new_text(changed.get(f"access.{role}.name")) or names[role]
        client.sign_in_as(UnitLogin(name, password))


def _new_text(change: SettingChange | None) -> str | None:
    return None if change is None else str(change.new)


def _names_before(plan: UnitPlan, step: UnitStep) -> dict[str, str]:
    """Return the account names by role at the time when a step of the plan is sent."""
    access = plan.settings_before().access
    names = {"admin": access.admin.name, "user": access.user.name}
    for change in _changes_before(plan.steps, step):
        for role in _ROLES:
            if change.path == f"access.{role}.name":
                names[role] = str(change.new)
    return names


def _changes_before(steps: Sequence[UnitStep], step: UnitStep) -> list[SettingChange]:
    place = next((at for at, one in enumerate(steps) if one is step), len(steps))
    return [change for one in steps[:place] for change in one.changes]
