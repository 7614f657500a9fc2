"""The login of whoever changes the account that he is signed in with."""

from leverframe.recording.replayer import UnitLogin
from leverframe.units.client import PacedClient
from leverframe.units.unit_plan import UnitPlan, UnitStep


def follow_accounts(client: PacedClient, step: UnitStep, plan: UnitPlan) -> None:
    """Continue with the name and password that a step gave to the account of the client."""
    login = client.login
    changed = {change.path: change for change in step.changes}
    if login is None or not any(path.startswith("access.") for path in changed):
        return
    access = plan.settings_before().access
    for role, account in (("admin", access.admin), ("user", access.user)):
        name = changed.get(f"access.{role}.name")
        if login.name != (account.name if name is None else name.old):
            continue
        password = changed.get(f"access.{role}.password")
        client.sign_in_as(
            UnitLogin(
                login.name if name is None else str(name.new),
                login.password if password is None else str(password.new),
            )
        )
        return
