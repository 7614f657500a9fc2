"""A controller of a node: how it is to be made, and what it is while it runs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

from msgspec import Struct

from leverframe.commands.table.refusals import Refusal
from leverframe.config import Config, NodeConfig
from leverframe.controller import Controller
from leverframe.controller.findings import FindingSource
from leverframe.controller.hindrance import Hindrance
from leverframe.fleet.entrance import Entrance
from leverframe.fleet.first_passwords import ShowPassword, print_password
from leverframe.fleet.records import MemberRecord, Moved, NoSuchController
from leverframe.outgoing.targets import Targets
from leverframe.process.controller_host import ControllerHost
from leverframe.process.services import Sending
from leverframe.profile import Profile
from leverframe.servers.http.messages import Handler

#: A controller of which no fleet file says anything.
PLAIN = Config()
#: What has asked a controller when it left is answered after this many seconds at the latest.
LAST_ANSWER_S = 30.0


class MemberOptions(Struct, frozen=True):
    """How the controllers of a node run."""

    timezone: tzinfo = UTC
    lenient: bool = False
    sending: Sending = Sending(targets=Targets(in_node=True))
    #: Strangers can reach the node: everybody has to sign in.
    must_sign_in: bool = False
    #: Called with controllers that had no account, and the password that was made for them.
    show_password: ShowPassword = print_password
    #: Where Modbus TCP and SNMP answer, and who may write by the former.
    ports: NodeConfig = NodeConfig()
    #: Returns why nothing may be done for controllers now, where other nodes may have them.
    why_refused: Callable[[], Hindrance | None] | None = None
    #: What is wrong with all controllers of the node.
    findings: FindingSource = tuple
    #: What is added to answers, of controllers and about them.
    marked: Callable[[Handler], Handler] = lambda handler: handler


NORMALLY = MemberOptions()


class NewController(Struct, frozen=True):
    """A controller that is to be made, with the settings that it begins with."""

    record: MemberRecord
    profile: Profile
    leaves: dict[str, Any] = {}
    #: What is remembered besides settings.
    kept: dict[str, Any] = {}
    #: What only the fleet file can say: its board, devices, files and networks of the machine.
    config: Config = PLAIN
    #: Tells the line of a fleet file that has one of its keys, where it is from one.
    line_of: Callable[[str], str] | None = None

    def why_not(self, refusal: Refusal) -> str:
        """Return why it does not start, with its name and line."""
        name = self.record.name
        sentence = f"{name} does not start: {refusal.detail.removeprefix(f'{name}: ')}"
        return self.at_its_line(sentence, refusal.field or "name")

    def starts_without(self, refusal: Refusal) -> str:
        """Report an address or port that it does not get, with its name and line."""
        sentence = f"{self.record.name} starts without it: {refusal.detail}"
        return self.at_its_line(sentence, refusal.field or "name")

    def at_its_line(self, sentence: str, key: str = "name") -> str:
        return sentence if self.line_of is None else f"{self.line_of(key)}: {sentence}"


class StartTrouble(Struct, frozen=True):
    """Why a controller does not start."""

    sentence: str
    #: The key of a fleet file that says what cannot be.
    key: str = "name"


class Member:
    """A controller of a node that runs."""

    def __init__(
        self,
        number: int,
        record: MemberRecord,
        built: ControllerHost,
        entrance: Entrance,
        move_ports: Callable[[str | None], Awaitable[None]],
    ) -> None:
        self.number = number
        self.record = record
        self.built = built
        self.entrance = entrance
        #: Has that which nodes tell apart by address answer at another one.
        self.move_ports = move_ports
        #: It stops here, or has: nothing more is begun with it.
        self.has_left = False

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def controller(self) -> Controller:
        return self.built.controller

    async def end(self) -> None:
        await self.built.stop()
        asyncio.get_running_loop().call_later(LAST_ANSWER_S, self.built.take_apart)


def check_that_all_are_here(members: Iterable[Member]) -> None:
    for member in members:
        if member.has_left:
            raise Moved(member.name)


def selected(seen: Mapping[str, Member], names: Sequence[str], tags: Sequence[str]) -> list[Member]:
    """Choose by name, and those that have all of the tags; refuse an unknown tag."""
    chosen = [seen[name] for name in dict.fromkeys(names)] or seen.values()
    known = {tag for member in seen.values() for tag in member.record.tags}
    for tag in tags:
        if tag not in known:
            raise no_such_tag(tag, known)
    return [member for member in chosen if set(tags) <= set(member.record.tags)]


def no_such_name(name: str) -> NoSuchController:
    return NoSuchController(f"There is no controller {name[:40]!r}.", field="name")


def no_such_tag(tag: str, known: Iterable[str]) -> NoSuchController:
    allowed = ", ".join(sorted(known)[:40]) or "none: no controller has a tag"
    return NoSuchController(
        f"No controller has the tag {tag[:40]!r}.", field="tag", allowed=allowed
    )
