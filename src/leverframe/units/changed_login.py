"""The login of an operator while a plan changes the accounts of the unit."""

from collections.abc import Sequence

from leverframe.errors import ErrorForPeople
from leverframe.recording.replayer import UnitLogin
from leverframe.units.client import PacedClient
from leverframe.units.unit_plan import SettingChange, UnitPlan, UnitStep

#: Accounts that can read all settings of a unit, and the one that can on every unit.
_ROLES = ("admin", "user")
_ADMIN = "admin"
_PASSWORD = "access.admin.password"


class LoginUnknown(ErrorForPeople):
    """The plan switches sign-in on, after which the unit could not be read: one sentence."""


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

    A client without a login uses the administrator's account as soon as a step sets its password:
    the unit was open, and may require a login from now on.
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
