"""Ask the owners of controllers or jobs, until all have answered or the time is up.

Controllers and jobs move between nodes. The owners are looked up and asked together. Targets that
moved in the meantime are looked up again. This is the only such loop: operations, job steps, pages
and forwarded connections supply their own ways to find owners and to call a node.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct

from leverframe.fleet.other_nodes import OtherNodes, SilentNode
from leverframe.interface.table.refusals import Refusal

Purpose = Literal["read", "change", "job", "forget jobs", "step", "view", "connection"]


class Deadline(Struct, frozen=True):
    #: How long to wait for one answer of a node.
    answer_s: float
    #: How long to look for owners and ask them again.
    hold_s: float = 0.0


#: All deadlines for owners. The connection breaks when a node dies, so a long deadline does not
#: mean a long wait for a dead node. Another node resumes a dead node's jobs within eight seconds.
DEADLINES: dict[Purpose, Deadline] = {
    "read": Deadline(3.0, 3.0),
    "change": Deadline(60.0, 3.0),
    "job": Deadline(3600.0, 8.0),
    "forget jobs": Deadline(30.0),
    "step": Deadline(5.0, 20.0),
    "view": Deadline(3.0),
    "connection": Deadline(1.0, 3.0),
}
#: How soon an owner is looked up again if no change is reported.
LOOK_AGAIN_S = 0.2

Target = TypeVar("Target")
Owner = TypeVar("Owner", bound=Hashable)


#: The targets with their owners; None if a target has no owner at present.
Located = Iterable[tuple[Target, Owner | None]]


class NoOwner(SilentNode):
    sentence = (
        "No node has this controller at present: it is being moved, or its node has failed."
        " Nothing was done."
    )


class OwnerPart(Struct, Generic[Target], frozen=True):
    """The answer of a node for its targets, or why there is none."""

    node: str
    targets: list[Target]
    value: Any = None
    refusal: Refusal | None = None
    #: Whether to ask the owner again; it may be another node by then.
    is_open: bool = False


async def ask_owners(
    located: Located[Target, Owner],
    find: Callable[[list[Target]], Coroutine[Any, Any, Located[Target, Owner]]],
    ask: Callable[[Owner, list[Target]], Coroutine[Any, Any, Iterable[OwnerPart[Target]]]],
    wait: Callable[[float], Coroutine[Any, Any, object]],
    hold_s: float,
    also: Iterable[Owner] = (),
    no_owner: type[SilentNode] = NoOwner,
) -> list[OwnerPart[Target]]:
    """Ask the owners of all targets, and those in `also`; ask again for targets that are open.

    `find` locates open targets again, and omits removed ones. `wait` returns when an owner may have
    changed, at the latest after the given number of seconds.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + hold_s
    by_owner: dict[Owner, list[Target]] = {owner: [] for owner in also}
    closed: list[OwnerPart[Target]] = []
    while True:
        ownerless: list[Target] = []
        for target, owner in located:
            (ownerless if owner is None else by_owner.setdefault(owner, [])).append(target)
        answers = await asyncio.gather(*(ask(owner, some) for owner, some in by_owner.items()))
        parts = [part for answer in answers for part in answer]
        if ownerless:
            parts.append(OwnerPart("", ownerless, refusal=no_owner(), is_open=True))
        closed += [part for part in parts if not part.is_open]
        still_open = [part for part in parts if part.is_open]
        left_s = until - loop.time()
        if not still_open or left_s <= 0:
            return closed + still_open
        await wait(left_s)
        located = await find([target for part in still_open for target in part.targets])
        by_owner = {}


async def ask_nodes(
    nodes: Iterable[str], ask: Callable[[str], Coroutine[Any, Any, Any]]
) -> tuple[dict[str, Any], set[str]]:
    """Call several nodes once, all together; return their answers by name, and the silent nodes."""

    async def answer(node: str) -> tuple[str, Any]:
        try:
            return node, await ask(node)
        except SilentNode as silent:
            return node, silent

    answers = dict(await asyncio.gather(*map(answer, nodes)))
    silent = {node for node, one in answers.items() if isinstance(one, SilentNode)}
    return {node: one for node, one in answers.items() if node not in silent}, silent


def wait_for_news(others: OtherNodes) -> Callable[[float], Coroutine[Any, Any, None]]:
    return lambda left_s: others.news(min(left_s, LOOK_AGAIN_S))
