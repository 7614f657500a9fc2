"""Measure the memory that one more idle controller needs, by part and by type of object.

    python -m tools.controller_memory [--real] [--sqlite] [--lines COUNT] [--after SECONDS]

Bytes count if they are allocated while controllers are added and are still in use afterwards; the
line that allocated them determines the part. The table by type contains only objects that the
collector tracks, which are those that refer to other objects.
"""

import argparse
import asyncio
import gc
import sys
import tempfile
import tracemalloc
from collections import Counter
from pathlib import Path

from bench.fleet import Node
from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.lanes.sqlite_lane import SqliteLane

FEW, MANY = 100, 1_100
SHOWN_TYPES = 16
#: The parts by the beginning of the path of a file in the package; the first match counts.
PARTS = {
    "engine: values and causes, samples": ("core/engine/machine.py", "core/engine/journal.py"),
    "engine: features": ("core/engine/", "core/labels.py"),
    "settings": ("core/settings.py", "core/tree.py"),
    "board and faults": ("devices/", "host/controller/faults.py", "server/faults.py"),
    "controller and its hooks": ("host/controller/",),
    "MQTT": ("server/mqtt.py", "server/home_assistant.py", "notify/mqtt.py"),
    "outbox and channels": ("notify/", "core/runtime/outgoing.py", "server/sms_commands.py"),
    "web": ("server/",),
    "history": ("storage/history/",),
    "store": ("storage/",),
    "assembly: closures and lists": ("host/",),
    "clock, log, turns": ("core/runtime/",),
}
OTHER = "other"

Place = tuple[str, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--real", action="store_true", help="on real instead of virtual time")
    parser.add_argument("--sqlite", action="store_true", help="on SQLite instead of in memory")
    parser.add_argument("--lines", type=int, default=0, help="also show the largest lines")
    parser.add_argument("--after", type=float, default=0.2, help="seconds until it is measured")
    options = parser.parse_args()
    asyncio.run(_measure(options))
    return 0


async def _measure(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "fleet.db", Path(folder) / "key"
        lane = SqliteLane(*files) if options.sqlite else MemoryLane()
        node = Node(lane, SystemClock if options.real else VirtualClock)
        await node.add(FEW)
        await asyncio.sleep(options.after)
        before_types = _sizes_by_type()
        tracemalloc.start()
        await node.add(MANY - FEW)
        await asyncio.sleep(options.after)
        types = _sizes_by_type()
        types.subtract(before_types)
        snapshot = tracemalloc.take_snapshot()
        tracemalloc.stop()
        _show(snapshot, types, MANY - FEW, options.lines)
        await node.close()


def _sizes_by_type() -> Counter[str]:
    gc.unfreeze()
    gc.collect()
    sizes: Counter[str] = Counter()
    for one in gc.get_objects():
        sizes[type(one).__name__] += sys.getsizeof(one)
    return sizes


def _show(
    snapshot: tracemalloc.Snapshot, types: Counter[str], count: int, shown_lines: int
) -> None:
    lines: Counter[Place] = Counter()
    for statistic in snapshot.statistics("lineno"):
        frame = statistic.traceback[0]
        lines[(frame.filename.rpartition("/leverframe/")[2], frame.lineno)] += statistic.size
    parts: Counter[str] = Counter()
    for (file, _), size in lines.items():
        parts[_part_of(file)] += size
    print("| part | bytes each |\n|---|---|")
    for part, size in parts.most_common():
        print(f"| {part} | {size / count:,.0f} |")
    print(f"| all | {parts.total() / count:,.0f} |")
    print("\n| type | bytes each |\n|---|---|")
    for name, size in types.most_common(SHOWN_TYPES):
        print(f"| {name} | {size / count:,.0f} |")
    for (file, line), size in lines.most_common(shown_lines):
        print(f"{size / count:8,.0f}  {file}:{line}")


def _part_of(file: str) -> str:
    for part, beginnings in PARTS.items():
        if file.startswith(beginnings):
            return part
    return OTHER


if __name__ == "__main__":
    sys.exit(main())
