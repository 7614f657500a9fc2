"""Which controllers of a node another one shall have: those wanted there, or above the share."""

from collections.abc import Mapping, Sequence

from leverframe.fleet.cluster.fair_share import fair_shares
from leverframe.fleet.cluster.membership import Placed
from leverframe.fleet.member import Member


def leaving_members(
    me: str, members: Sequence[Member], placed: Sequence[Placed], capacities: Mapping[str, int]
) -> list[Member]:
    """Choose from the controllers that run here, by where all are and what the nodes carry."""
    others = {name for name in capacities if name != me}
    if not others:
        return []
    wanted = {one.number: one.wanted for one in placed}
    leaving = [one for one in members if wanted.get(one.number) in others]
    share = fair_shares(len(placed), capacities).get(me, 0)
    # A controller that nobody has yet is on its way to somebody.
    if all(one.node is not None for one in placed):
        above = len(members) - len(leaving) - share
        movable = [one for one in members if wanted.get(one.number) is None or me not in capacities]
        leaving += movable[len(movable) - max(0, above) :] if above > 0 else []
    return list(dict.fromkeys(leaving))
