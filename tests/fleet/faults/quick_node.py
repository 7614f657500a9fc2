"""`leverframe` with the times of a cluster made shorter, so that a fault takes a test less long.

python -m tests.fleet.faults.quick_node 0.33 fleet run ...
"""

import sys

from leverframe.fleet.cluster import lease
from leverframe.storage.lanes import postgres_connection


def shorten(factor: float) -> None:
    """Make leases, beats and patience shorter; before anything else has taken them over."""
    lease.LEASE_S *= factor
    lease.BEAT_S *= factor
    postgres_connection.PATIENCE_S *= factor
    # The default was taken over where the class was made.
    setattr(lease.PeerWatch.__init__, "__defaults__", (lease.LEASE_S,))  # noqa: B010


if __name__ == "__main__":
    shorten(float(sys.argv.pop(1)))
    from leverframe.__main__ import main

    sys.exit(main())
