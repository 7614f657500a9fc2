"""What is found about a node itself: told with its troubles, though everything still works."""

from leverframe.engine.findings import Finding
from leverframe.fleet.node import FleetNode

#: By kind, as controllers tell the same of themselves.
SENTENCES = {
    "certificate_ends": "The certificate of this node ends soon. Days left: {days}.",
    "certificate_ended": "The certificate of this node has ended: browsers refuse it.",
}


def node_findings(node: FleetNode) -> list[Finding]:
    if node.certificate is None:
        return []
    return list(node.certificate.findings(node.clock.wall()))


def node_sentences(node: FleetNode) -> list[str]:
    return [SENTENCES[one.kind].format_map(one.figures) for one in node_findings(node)]
