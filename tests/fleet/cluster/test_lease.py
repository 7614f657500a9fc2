"""What a lease forbids a node: while it is in doubt, and when it is over."""

from leverframe.fleet.cluster.lease import NodeLease
from leverframe.host.controller.hooks import Hindrance


class Hours:
    def __init__(self) -> None:
        self.now_s = 100.0

    def read(self) -> float:
        return self.now_s


def test_expired_lease_is_in_doubt_and_ended_lease_is_not() -> None:
    time = Hours()
    lease = NodeLease(time.read, 3.0)
    lease.renew(time.now_s)
    assert lease.hindrance() is None
    time.now_s += 3.0
    doubt = lease.hindrance()
    assert doubt is not None
    assert doubt.store_is_away
    assert doubt.reason == lease.why_not()
    lease.renew(time.now_s)
    lease.lapse("Another one has it.")
    assert lease.hindrance() == Hindrance("Another one has it.")
    # The next life is another one.
    time.now_s += 1.0
    lease.renew(time.now_s)
    assert lease.hindrance() is None
    lease.ended = "It went back."
    assert lease.hindrance() == Hindrance("It went back.")
