"""`leverframe` with the times of a cluster made shorter, so that a fault takes a test less long.

python -m tests.fleet.faults.quick_node 0.33 fleet run ...
"""

import sys

from leverframe.fleet.cluster import peer_watch
from leverframe.storage.fleet import postgres_connection


def shorten(factor: float) -> None:
    """Make leases, beats and patience shorter; before anything else has taken them over."""
    peer_watch.LEASE_S *= factor
    peer_watch.BEAT_S *= factor
    postgres_connection.PATIENCE_S *= factor
    # The default was taken over where the class was made.
    setattr(peer_watch.PeerWatch.__init__, "__defaults__", (peer_watch.LEASE_S,))  # noqa: B010


if __name__ == "__main__":
    shorten(float(sys.argv.pop(1)))
    from leverframe.__main__ import main

    sys.exit(main())
