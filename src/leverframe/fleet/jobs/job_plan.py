"""The plan of a job: its controllers, groups and limits; it never changes."""

import re
from collections.abc import Sequence
from math import ceil
from typing import Literal

from msgspec import Struct

from leverframe.commands.table.refusals import BadValue
from leverframe.fleet.tenants import tenant_within

GROUPS = "counts, percentages and, at the end, `rest`, separated by commas: 1,10%,rest"
ERRORS = "a count such as 3, or a percentage such as 5%"
MAX_GROUPS = 50
_PERCENT = 100
_SIZE = re.compile(r"([1-9]\d{0,5})(%?)")

JobKind = Literal["bulk", "rollout"]


class JobPlan(Struct, frozen=True, omit_defaults=True):
    #: With the tenant in front, if a tenant has requested it.
    id: str
    kind: JobKind
    title: str
    #: Wall time.
    made: float
    #: The account that requested it, its role and its address.
    by: str
    role: str
    source: str
    #: The numbers of controllers, in groups that follow each other.
    groups: list[list[int]]
    #: Their names at that time.
    names: dict[int, str]
    #: Percentage of a group that must succeed before the next group starts.
    success_percent: float = 0.0
    #: Number of failures that stops it immediately.
    max_errors: int | None = None
    pause_s: float = 0.0
    #: A finding that a controller did not have before counts as a failure.
    checks_health: bool = False
    takes_snapshots: bool = False
    #: The time of the node when it was created; older plans do not have it.
    at: float | None = None

    @property
    def tenant(self) -> str:
        """Return the tenant of the job; controllers of other tenants are gone for it."""
        return tenant_within(self.id)


def form_groups(numbers: Sequence[int], sizes: str) -> list[list[int]]:
    """Share controllers out: percentages are of all of them, and at least one."""
    words = [word for one in sizes.split(",") if (word := one.strip())] or ["rest"]
    if words[-1] != "rest":
        words.append("rest")
    if len(words) > MAX_GROUPS:
        raise BadValue(f"There are {len(words)} groups.", field="groups", allowed=GROUPS)
    groups: list[list[int]] = []
    begin = 0
    for word in words:
        size = len(numbers) if word == "rest" else _size(word, len(numbers))
        if part := list(numbers[begin : begin + size]):
            groups.append(part)
        begin += size
    return groups


def _size(word: str, count: int) -> int:
    found = _SIZE.fullmatch(word)
    if found is None or (found[2] and int(found[1]) > _PERCENT):
        raise BadValue(f"{word[:20]!r} is not a group size.", field="groups", allowed=GROUPS)
    return ceil(count * int(found[1]) / _PERCENT) if found[2] else int(found[1])


def error_count(text: str, count: int) -> int | None:
    """Return the number of failures that stops a job; None for `none`."""
    if text == "none":
        return None
    found = _SIZE.fullmatch(text)
    if found is None or (found[2] and int(found[1]) > _PERCENT):
        raise BadValue(f"{text[:20]!r} is not a number of errors.", field="errors", allowed=ERRORS)
    return max(1, ceil(count * int(found[1]) / _PERCENT)) if found[2] else int(found[1])
