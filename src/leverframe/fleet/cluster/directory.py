"""The directory of a node: which node has which controller, and the addresses of the nodes.

The membership updates the directory with every heartbeat, and immediately after a controller has
moved. Requests look up their destination here. An entry may be outdated for a moment. The node that
is asked then reports that it does not have the controller, before anything is done.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec import Struct


class Place(Struct, frozen=True):
    """A node and its inner address."""

    node: str
    host: str
    port: int


class DoorFigures(Struct):
    """Counters of requests for controllers that another node has, or no node."""

    #: Connections that were forwarded to another node.
    joined: int = 0
    #: Requests that waited until a node had their controller.
    held: int = 0
    #: Responses with status 421: a request came to the wrong node, and could not be forwarded.
    misdirected: int = 0
    #: Responses with status 503: no node had the controller in time.
    unavailable: int = 0


class Directory:
    def __init__(self, node: str) -> None:
        self.figures = DoorFigures()
        #: The name of this node.
        self.node = node
        #: Controllers that requests wait for, with the number of these requests.
        self.awaited: Counter[str] = Counter()
        self._owners: dict[str, str | None] = {}
        self._places: dict[str, Place] = {}
        self._changed = asyncio.Event()
        #: An event for each awaited controller, set when it can be reached. With one event for all,
        #: each of thousands of starts woke every request: that took three quarters of the time of a
        #: takeover.
        self._opened: dict[str, asyncio.Event] = {}

    def replace(self, owners: Mapping[str, str | None], places: Mapping[str, Place]) -> None:
        """Update the owners of controllers (None for no owner) and the addresses of nodes."""
        if owners != self._owners or places != self._places:
            self._owners, self._places = dict(owners), dict(places)
            self.wake()

    def wake(self) -> None:
        """Wake all requests that wait for a controller."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for opened in self._opened.values():
            opened.set()

    def note_open(self, name: str) -> None:
        """Wake the requests that wait for this controller."""
        if (opened := self._opened.get(name)) is not None:
            opened.set()

    @property
    def owners(self) -> Mapping[str, str | None]:
        return self._owners

    def knows(self, name: str) -> bool:
        return name in self._owners

    def is_mine(self, name: str) -> bool:
        return self._owners.get(name) == self.node

    def place_of(self, name: str) -> Place | None:
        """Return the node of a controller, with its address; None if the node is unknown."""
        owner = self._owners.get(name)
        return None if owner is None else self._places.get(owner)

    def lives(self, place: Place) -> bool:
        """Return whether the node is alive at this address, according to the last update."""
        return self._places.get(place.node) == place

    def place_of_node(self, node: str) -> Place | None:
        return self._places.get(node)

    async def wait_for_news(self, seconds: float) -> None:
        """Wait for a change of the directory, or for `wake`, up to a timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def wait_until(self, condition: Callable[[], bool], name: str, seconds: float) -> bool:
        """Wait until a condition about a controller holds; return False on a timeout.

        The condition is checked when the directory has changed, and after calls of `wake` and
        `note_open`. A node starts awaited controllers before the remaining ones.
        """
        self.awaited[name] += 1
        opened = self._opened.setdefault(name, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    await opened.wait()
                    opened.clear()
            return True
        except TimeoutError:
            return condition()
        finally:
            self.awaited[name] -= 1
            if not self.awaited[name]:
                del self.awaited[name], self._opened[name]
