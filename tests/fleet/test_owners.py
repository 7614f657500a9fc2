"""Requests to owners: moved, removed, silent and missing ones."""

from collections.abc import Mapping

from leverframe.fleet.other_nodes import SilentNode
from leverframe.fleet.owners import NoOwner, OwnerPart, ask_nodes, ask_owners
from leverframe.interface.table.refusals import Conflict

#: As long as a test asks again; it ends as soon as all have answered.
LONG_S = 60.0


class Owners:
    """Controllers whose owners change with every look, and nodes that know their own."""

    def __init__(self, *looks: Mapping[str, str | None]) -> None:
        self.looks = list(looks)
        self.asked: list[tuple[str, list[str]]] = []
        self.waits = 0

    async def find(self, names: list[str]) -> list[tuple[str, str | None]]:
        if len(self.looks) > 1:
            del self.looks[0]
        return [(name, self.looks[0][name]) for name in names if name in self.looks[0]]

    async def ask(self, node: str, names: list[str]) -> list[OwnerPart[str]]:
        self.asked.append((node, names))
        here = [name for name in names if self.looks[-1].get(name) == node]
        left = [name for name in names if name not in here]
        return [
            OwnerPart(node, here, f"{node} has {' '.join(here)}"),
            OwnerPart(node, left, refusal=Conflict("No."), is_open=bool(left)),
        ]

    async def wait(self, left_s: float) -> None:
        assert 0 < left_s <= LONG_S
        self.waits += 1

    async def answers(self, hold_s: float = LONG_S, also: tuple[str, ...] = ()) -> list[object]:
        located = list(self.looks[0].items())
        parts = await ask_owners(located, self.find, self.ask, self.wait, hold_s, also)
        return [part.refusal or part.value for part in parts if part.targets]


async def test_each_owner_is_asked_once_for_all_its_parts() -> None:
    owners = Owners({"one": "a", "two": "b", "three": "a"})
    assert await owners.answers(also=("b", "c")) == ["b has two", "a has one three"]
    assert owners.asked == [("b", ["two"]), ("c", []), ("a", ["one", "three"])]
    assert owners.waits == 0


async def test_moved_parts_are_requested_from_the_new_owner() -> None:
    owners = Owners({"one": "a", "two": "a", "three": "a"}, {"one": "a", "two": "b"})
    assert await owners.answers() == ["a has one", "b has two"]
    assert owners.asked[1:] == [("b", ["two"])]
    assert owners.waits == 1


async def test_part_without_an_owner_is_refused_after_the_deadline() -> None:
    owners = Owners({"one": None}, {"one": None}, {"one": "b"})
    assert await owners.answers() == ["b has one"]
    assert owners.waits == 2
    (refusal,) = await Owners({"one": None}).answers(hold_s=0.0)
    assert isinstance(refusal, NoOwner)


async def test_silent_owner_is_not_asked_after_the_deadline() -> None:
    owners = Owners({"one": "a"}, {"one": "b"})
    (refusal,) = await owners.answers(hold_s=0.0)
    assert isinstance(refusal, Conflict)
    assert owners.asked == [("a", ["one"])]


async def test_silent_nodes_are_named() -> None:
    async def ask(node: str) -> str:
        if node == "b":
            raise SilentNode(node)
        return node.upper()

    assert await ask_nodes(("a", "b", "c"), ask) == ({"a": "A", "c": "C"}, {"b"})
