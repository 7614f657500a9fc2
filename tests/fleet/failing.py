"""Controllers that failed to start, as a node has them after an attempt."""

from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.roster import Roster


def fail(at: FleetNode | Roster, record: MemberRecord, number: int, reason: str) -> None:
    """Have a controller fail to start; it must not run."""
    roster = at if isinstance(at, Roster) else at.roster
    member = roster.expect(record, number)
    member.start()
    roster.note_failed(member, reason)
