"""A plan without steps, for what is about plans and not about what they do."""

from leverframe.units.unit_plan import UnitPlan


def empty_plan(unit: str) -> UnitPlan:
    return UnitPlan(
        unit=unit,
        address=f"http://{unit}",
        hw="3.9",
        sw="1.75",
        is_leverframe=True,
        digest="",
        before={},
        unread=(),
        lossy=(),
        steps=(),
    )
