"""`leverframe` with shorter times of a cluster, so that tests of faults are faster.

python -m tests.fleet.faults.quick_node 0.33 fleet run ...
"""

import sys

from leverframe.fleet.cluster import lease
from leverframe.storage.lanes import postgres_connection


def shorten(factor: float) -> None:
    """Shorten leases, beats and patience before any other module imports them."""
    lease.LEASE_S *= factor
    lease.BEAT_S *= factor
    postgres_connection.PATIENCE_S *= factor
    # The classes have taken the default over already.
    watched = (lease.LEASE_S, lease.refuses_connections)
    setattr(lease.PeerWatch.__init__, "__defaults__", watched)  # noqa: B010
    setattr(lease.NodeLease.__init__, "__defaults__", (lease.boot_time, lease.LEASE_S))  # noqa: B010


if __name__ == "__main__":
    shorten(float(sys.argv.pop(1)))
    from leverframe.__main__ import main

    sys.exit(main())
