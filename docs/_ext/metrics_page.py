"""The page of the metrics at `/metrics`, read from a controller."""

import asyncio
from collections.abc import Awaitable, Iterator
from datetime import UTC

from docs._ext.markdown import code, prose, table
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.devices.module_slot import SlotStatistics
from leverframe.devices.wire.prometheus import Family
from leverframe.fleet.cluster.directory import DoorFigures
from leverframe.fleet.jobs.job_state import JobWork
from leverframe.fleet.jobs.jobs import Requester, RolloutPolicy
from leverframe.fleet.member import NewController
from leverframe.fleet.metrics import MemberFigures, cluster_families, lane_families, node_families
from leverframe.fleet.other_nodes import ClusterReport, PeerReport
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.serve import node_of
from leverframe.host.assembly import build
from leverframe.host.configuration import Config
from leverframe.host.ports import http_limits
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.server.http.messages import Request
from leverframe.server.http.server import HttpServer
from leverframe.server.routes.metrics import families, modbus_families, server_families
from leverframe.storage.lanes.lane import LaneFigures, MemoryLane
from leverframe.storage.store import MemoryStore
from leverframe.units.unit_health import UnitHealth, UnitProblem
from leverframe.units.watch_web import unit_families

_OPENING = """\
# Metrics

`/metrics` returns every reading, state and counter in the text format of Prometheus, for the
administrator. Absent readings have no sample. To collect and plot them, see
[Prometheus and Grafana](../how-to/prometheus-grafana.md).
"""
_ANY_RULE = "event=0*0*0*0*0*0*0*0*0*0*0*0"


_HEADS = ("name", "kind", "labels", "")
_OF_UNITS = """\
## Units under watch

`leverframe unit watch` serves these metrics at its own `/metrics`, with the label `name` for the
unit's name in the inventory, in addition to those of the outbox, the history and the process. The
values of a unit have no samples while the unit does not answer correctly; see
[units](../how-to/units.md).
"""


_OF_NODE = """\
## A node with many controllers

`/metrics` of a [node](../how-to/fleet.md) contains sums over all its controllers. `?tag=critical`
adds the metrics above for at most 500 controllers with this tag; the label `controller` contains
the name of the controller.
"""


_OF_CLUSTER = """\
### Nodes that share a database

Nodes that [share a database](../how-to/several-machines.md) also have these metrics. Alarms and a
dashboard for them are in
[examples/prometheus](../../examples/prometheus/fleet-rules.yml) and
[examples/grafana](../../examples/grafana/leverframe-fleet.json).
"""


def metrics_page() -> str:
    rows, of_node = asyncio.run(_rows()), asyncio.run(_rows_of_node())
    of_units = [_row(family) for family in unit_families([_any_unit()])]
    names = {row[0] for row in rows}
    sums = [row for row in of_node if row[0] not in names]
    of_cluster = _rows_of_cluster()
    parts = (
        *(_OPENING, table(_HEADS, rows), _OF_NODE, table(_HEADS, sums)),
        *(_OF_CLUSTER, table(_HEADS, of_cluster)),
    )
    return "\n\n".join(part.strip() for part in parts) + (
        f"\n\n{_OF_UNITS}\n{table(_HEADS, of_units)}\n"
    )


async def _rows_of_node() -> list[tuple[str, str, str, str]]:
    web = await node_of(Config(), MemoryLane(), VirtualClock())
    (member,) = await web.node.add([NewController(MemberRecord("any"), Profile())])
    requester = Requester(UNRESTRICTED, "")
    job = await web.jobs.plan([member], JobWork(("outs.cgi?out0=1",)), requester, RolloutPolicy())
    families = await node_families(web.node, [job], ())
    await web.node.close()
    return [_row(family) for family in (*families, *lane_families(LaneFigures()))]


def _rows_of_cluster() -> list[tuple[str, str, str, str]]:
    report = ClusterReport(
        [PeerReport("any", True, "", 1, 1, 1, is_this=True, is_drained=False)], 0, 0, False, 0
    )
    families = cluster_families(report, MemberFigures(), DoorFigures(), 0.0)
    return [_row(family) for family in families]


def _any_unit() -> UnitHealth:
    """Return a unit with all values known, so that every family shows its labels."""
    unit = UnitHealth("cellar", "http://192.168.1.10", hardware="3.9", software="1.75")
    unit.is_up, unit.seen, unit.uptime_s, unit.compared = True, 0.0, 0.0, []
    unit.values = {"DS1": 20.0, "ENERGY1": 0.0, "OUT0": 0, "PWM0.duty": 0.0}
    unit.by_look = {"values": UnitProblem("fault", "")}
    return unit


async def _rows() -> list[tuple[str, str, str, str]]:
    built = await build(Profile(), MemoryStore(), VirtualClock(), UTC)
    # Families without a sample would not show their labels.
    answer = built.web.handle(Request("GET", "/inpa.cgi", _ANY_RULE, {}, b"", "127.0.0.1"))
    if isinstance(answer, Awaitable):
        await answer
    server = HttpServer(built.web.handle, http_limits())
    server.state.answers[200] = 1
    module = SlotStatistics(1, 1, 0, 0, {"2": 1}, 0.01, 0.01)
    built.controller.figures.append(lambda: modbus_families({"1": module}))
    built.controller.figures.append(lambda: server_families(server))
    rows = [_row(family) for family in families(built.controller)]
    await built.stop()
    return rows


def _row(family: Family) -> tuple[str, str, str, str]:
    return code(family.name), family.kind, ", ".join(_labels(family)), prose(family.help)


def _labels(family: Family) -> Iterator[str]:
    for labels, _ in family.samples:
        yield from map(code, labels)
        return
