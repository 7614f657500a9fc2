"""Equal findings of many controllers as one line: "50 controllers: Thermometer 1 never answered".

Findings are equal if they have the same identifier and the same figures. The name of the thing may
differ from controller to controller; a group then has none, and pages show its usual name.
"""

import hashlib
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from leverframe.host.controller.findings import FindingReport

#: The maximum number of groups that a page gets, and that a node reports to another node.
SHOWN, REPORTED = 12, 500
_DIGEST_BYTES = 4


class FindingGroup(Struct, frozen=True):
    """A finding that several controllers have."""

    key: Annotated[str, Meta(description="The value of `finding` in a search for the controllers.")]
    finding: FindingReport
    about: Annotated[
        str | None, Meta(description="The name of the thing, if all controllers share it.")
    ]
    count: Annotated[int, Meta(description="Number of controllers.")]


def key_of(finding: FindingReport) -> str:
    """Return a key that is the same for equal findings, and different for all others."""
    if not finding.figures:
        return finding.id
    figures = msgspec.json.encode(sorted(finding.figures.items()))
    digest = hashlib.blake2s(figures, digest_size=_DIGEST_BYTES).hexdigest()
    return f"{finding.id}~{digest}"


def group_findings(
    found: Iterable[tuple[FindingReport, str | None]],
) -> list[FindingGroup]:
    """Group and count equal findings, the worst and most frequent ones first."""
    return merge_groups(
        FindingGroup(key_of(finding), finding, about, 1)
        for finding, about in found
        if finding.is_public
    )


def merge_groups(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    """Join groups of several nodes; the earliest finding stands for its group."""
    merged: dict[str, FindingGroup] = {}
    for group in groups:
        known = merged.get(group.key)
        merged[group.key] = group if known is None else _join(known, group)
    return sorted(merged.values(), key=_badness)


def select_shared(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    """Return the groups worth a line of their own."""
    return [group for group in groups if group.count > 1][:SHOWN]


def _join(one: FindingGroup, other: FindingGroup) -> FindingGroup:
    first = min(one.finding, other.finding, key=lambda finding: finding.since)
    about = one.about if one.about == other.about else None
    return FindingGroup(one.key, first, about, one.count + other.count)


def _badness(group: FindingGroup) -> tuple[bool, int, str]:
    return group.finding.severity != "fault", -group.count, group.key
