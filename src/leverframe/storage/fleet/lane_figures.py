"""What a lane has written since startup, for `/metrics` and the report of a node."""

import time
from collections.abc import Collection

from msgspec import Struct, field

#: Batches are counted by how many changes they hold, up to each of these.
SIZES = {1: "1", 8: "2-8", 64: "9-64"}
LARGEST = "65 and more"


class LaneFigures(Struct):
    """Changes by reported outcome, and batches by size class."""

    durable: int = 0
    refused: int = 0
    in_doubt: int = 0
    #: Wall time at which it was last not known whether something is stored.
    last_doubt: float | None = None
    batches: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((*SIZES.values(), LARGEST), 0)
    )

    def count(self, changes: int, faults: Collection[BaseException]) -> None:
        """Count a batch of changes, some of which met with a fault."""
        size = next((word for most, word in SIZES.items() if changes <= most), LARGEST)
        self.batches[size] += 1
        in_doubt = sum(getattr(fault, "is_in_doubt", False) for fault in faults)
        self.durable += changes - len(faults)
        self.refused += len(faults) - in_doubt
        self.in_doubt += in_doubt
        if in_doubt:
            self.last_doubt = time.time()
