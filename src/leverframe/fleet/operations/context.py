"""The context of every operation: the request, its parameters, and the node.

Parameters are in the query, or in a form in the body, which has room for thousands of names. `name`
and `tag` choose the controllers that have one of the names and all of the tags; without either, all
controllers are chosen. `search`, `health`, `owner` and `version` narrow the choice, as on the page.
An account of a tenant can choose only the tenant's controllers, because operations find controllers
only through this context.
"""

import asyncio
import re
import tomllib
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from leverframe.fleet.accounts import Asking, NodeAccounts
from leverframe.fleet.bulk import BY_FLEET
from leverframe.fleet.controller_actions import GroupTime
from leverframe.fleet.groups import GroupSnapshots
from leverframe.fleet.health_index import Health, HealthIndex, Wanted
from leverframe.fleet.jobs.jobs import FleetJobs, Requester
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.progress import RequestsUnderWay, expect
from leverframe.fleet.records import MAX_TAG_LETTERS, MAX_TAGS, Moved, TenantRecord
from leverframe.host.configuration.keys import describe_type, split_type
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.bodies import ON_LOOP_BODY_LIMIT
from leverframe.interface.table.command_text import MAX_TEXT_BYTES
from leverframe.interface.table.lookup import MAX_QUERY_BYTES, Account
from leverframe.interface.table.params import decode_text
from leverframe.interface.table.refusals import BadValue, Malformed
from leverframe.interface.table.row import ADMIN
from leverframe.server.http.messages import Request
from leverframe.server.passwords import Passwords
from leverframe.server.routes.context import StreamShares
from leverframe.storage.backup import BackupFile

# Templates as clients send them: a settings backup in JSON or TOML, read at a bounded cost.
#
# The time to read JSON is linear in its size. The TOML parser is slow, and its time grows with the
# square of the number of parts of a key. So its input is checked first, in linear time, and the
# parser runs on a thread, one text at a time. Both a text and its structure have a maximum size;
# the structure is the text without strings, comments and repeated spaces. So no text needs more
# than a few megabytes of memory or a fraction of a second.

#: A complete backup with factory settings has 60 KB, including 12 KB of structure.
MAX_BYTES = 256 << 10
MAX_STRUCTURE_BYTES = 64 << 10
#: For comparison, `settings."outputs.0.name"` has two parts.
MAX_KEY_PARTS = 4

# Strings and comments of TOML, and strings of JSON, as `tomllib` finds them up to the first mistake
# in a text. Each alternative matches even if its end is missing, and never backtracks. So the time
# is linear for any text.
_STRINGS_AND_COMMENTS = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!""))*+"{0,5}+'
    r"|'''(?:[^']|'(?!''))*+'{0,5}+"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?+'
    r"|'[^'\n]*+'?+"
    r"|\#[^\n]*+",
    re.DOTALL,
)
_SPACES = re.compile(r"[ \t\r\n]++")
_PART = r"[A-Za-z0-9_\-]++ ?+"
#: Matches a key with too many parts. Each string was replaced by a letter before, and each run of
#: spaces by one space.
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_\-]){_PART}(?:\. ?+{_PART}){{{MAX_KEY_PARTS}}}")
#: Replaces a string, which may be a part of a key.
_STRING = "s"


class TemplateReader:
    """Reads the templates that all clients of a node send."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)

    async def read(self, body: bytes) -> BackupFile:
        """Read a template, or refuse it with the reason."""
        text = _text_of(body)
        is_json = text.lstrip().startswith("{")
        check_structure(text, is_json=is_json)
        try:
            if is_json:
                return msgspec.json.decode(text, type=BackupFile)
            async with self._turn:
                return await asyncio.to_thread(_from_toml, text)
        except (ValueError, OverflowError, RecursionError) as error:
            raise BadValue(
                f"The template is not a backup in JSON or TOML: {error}.", field="template"
            ) from None


def check_structure(text: str, *, is_json: bool) -> None:
    """Refuse a text with more structure than a backup has; runs in linear time."""
    structure = _SPACES.sub(" ", _STRINGS_AND_COMMENTS.sub(_STRING, text))
    if len(structure) > MAX_STRUCTURE_BYTES:
        raise BadValue(
            f"Without strings and comments the template has {len(structure)} characters.",
            field="template",
            allowed=f"up to {MAX_STRUCTURE_BYTES} characters",
        )
    if not is_json and _LONG_KEY.search(structure):
        raise BadValue(
            f"A key of the template has more than {MAX_KEY_PARTS} parts.",
            field="template",
            allowed='each path as one text, such as "outputs.0.name" = "Pump"',
        )


def _text_of(body: bytes) -> str:
    if len(body) > MAX_BYTES:
        raise BadValue(
            f"The template has {len(body)} bytes.",
            field="template",
            allowed=f"up to {MAX_BYTES} bytes",
        )
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise BadValue("The template is not UTF-8 text.", field="template") from None


def _from_toml(text: str) -> BackupFile:
    # Convert through JSON, so that dates, and numbers that JSON cannot hold, are handled as in JSON
    # templates.
    document = msgspec.json.encode(tomllib.loads(text))
    return msgspec.json.decode(document, type=BackupFile)


# The parameters and bodies of requests to a node: their types and their parsing.
#
# Every text and every list has a maximum length; a test over all endpoints checks this. Clients
# share a node, so the requests of one client must not use up the time and memory of the others. A
# list is a text with commas.

#: The key in a list's type that holds the maximum number of items.
MAX_ITEMS = "max_items"
#: Maximum number of controllers that one request may name; tags and searches can choose any number.
MAX_NAMES = 20_000
#: Maximum number of percent-encoded bytes in the parameters of a request; decoding each byte takes
#: a microsecond or two.
MAX_ENCODED_BYTES = 40_000


def list_of_texts(most: int, letters: int) -> Any:
    """Return the type of a list, with limits on its number of items and on its total length."""
    extra = {MAX_ITEMS: most}
    return Annotated[
        str,
        Meta(max_length=letters, description=("One or several, separated by commas."), extra=extra),
    ]


#: The name of a controller, tenant, account or node has at most 31 letters; a pattern may be
#: longer.
Name = Annotated[str, Meta(max_length=64)]
Names = list_of_texts(MAX_NAMES, MAX_NAMES * 32)
Tags = list_of_texts(MAX_TAGS, MAX_TAGS * (MAX_TAG_LETTERS + 1))
#: A duration, moment, version or address.
ShortText = Annotated[str, Meta(max_length=64)]
Words = Annotated[str, Meta(max_length=200)]
#: A command is a path and a query; the additional characters are for the path.
Command = Annotated[str, Meta(max_length=MAX_QUERY_BYTES + 64)]

CommandBody = Annotated[
    str,
    Meta(
        max_length=ON_LOOP_BODY_LIMIT,
        description="The body of the command, if it accepts one.",
    ),
]
Template = Annotated[
    str,
    Meta(
        max_length=MAX_BYTES,
        description="A template: a settings backup in JSON or TOML.",
    ),
]
CommandsOrTemplate = Annotated[
    str,
    Meta(
        max_length=max(MAX_BYTES, MAX_TEXT_BYTES),
        description="Commands, one per line, or a template.",
    ),
]
DRY_RUN = QueryParameter("dry_run", bool, "Change nothing; report what the result would be.")
#: Types of bodies that can contain thousands of settings.
TEMPLATES = (Template, CommandsOrTemplate)

_SWITCHES = {
    "1": True,
    "true": True,
    "yes": True,
    "0": False,
    "false": False,
    "no": False,
    "": True,
}


def read_parameters(query: str, offered: Sequence[QueryParameter]) -> dict[str, Any]:
    """Read the parameters of a query, and convert each to the type that the endpoint declares."""
    if (count := query.count("%")) > MAX_ENCODED_BYTES:
        raise BadValue(
            f"{count} bytes of the parameters are percent-encoded.",
            allowed=f"up to {MAX_ENCODED_BYTES} of them",
        )
    known = {one.name: one.type for one in offered}
    given: dict[str, Any] = {}
    for item in filter(None, query.split("&")):
        name, _, raw = item.partition("=")
        if name not in known:
            allowed = ", ".join(known) or "no parameters"
            raise BadValue("Unknown parameter.", field=name[:40], allowed=allowed)
        if name in given:
            raise BadValue(
                "The parameter is set twice.",
                field=name,
                allowed=("several values separated by commas"),
            )
        given[name] = _value(name, decode_text(raw), known[name])
    return given


def _value(name: str, text: str, hint: Any) -> Any:
    _check_length(name, text, hint)
    value: Any = _SWITCHES.get(text.lower(), text) if hint is bool else text
    try:
        return msgspec.convert(value, hint, strict=False)
    except msgspec.ValidationError:
        raise BadValue(
            f"{text[:40]!r} is not allowed.", field=name, allowed=_describe_type(hint)
        ) from None


def _check_length(name: str, text: str, hint: Any) -> None:
    """Refuse a text or a list that is longer than its type allows."""
    _, metas = split_type(hint)
    for meta in metas:
        most = (meta.extra or {}).get(MAX_ITEMS)
        if most is not None and (count := text.count(",") + 1) > most:
            raise BadValue(f"The list has {count} items.", field=name, allowed=f"up to {most}")
        if meta.max_length is not None and len(text) > meta.max_length:
            raise BadValue(
                f"The text has {len(text)} characters.",
                field=name,
                allowed=f"up to {meta.max_length} characters",
            )


def check_body(body: bytes, hint: Any) -> None:
    """Refuse a body that is longer than its type allows."""
    _, metas = split_type(hint)
    for meta in metas:
        if meta.max_length is not None and len(body) > meta.max_length:
            raise BadValue(
                f"The body has {len(body)} bytes.", allowed=f"up to {meta.max_length} bytes"
            )


def _describe_type(hint: Any) -> str:
    """Describe in words what a parameter accepts, instead of showing its pattern."""
    _, metas = split_type(hint)
    in_words = (meta.description for meta in metas if meta.pattern is not None)
    return next(in_words, None) or describe_type(hint)


NAMES = QueryParameter("name", Names, "Names of controllers.")
TAGS = QueryParameter("tag", Tags, "Tags; only controllers that have all of these tags.")
LOOKED_FOR = (
    QueryParameter(
        "search",
        Words,
        "Words that must all occur in the name, address, tags, version or findings of a"
        " controller.",
    ),
    QueryParameter("health", Health, "Their health."),
    QueryParameter("owner", Name, "The tenant that owns the controllers."),
    QueryParameter("version", ShortText, "Version, hardware/software, such as `3.9/1.75`."),
    QueryParameter("finding", Words, "A finding, by its `key` in the groups of the stream."),
)
CHOSEN = (NAMES, TAGS, *LOOKED_FOR)


class FleetContext(Struct, frozen=True):
    """A request to the API of a node, with its parameters by name."""

    request: Request
    asking: Asking
    given: dict[str, Any]
    node: FleetNode
    time: GroupTime
    snapshots: GroupSnapshots
    jobs: FleetJobs
    index: HealthIndex
    streams: StreamShares
    accounts: NodeAccounts
    passwords: Passwords
    under_way: RequestsUnderWay
    templates: TemplateReader
    #: Creates a password for administrators, and the settings that hold it.
    new_administrator: Callable[[], Coroutine[Any, Any, tuple[str | None, dict[str, Any]]]]
    #: The controllers that another node asks for; None if a user sent the request.
    numbers: frozenset[int] | None = None
    #: Nodes that did not answer; the reply names them.
    silent: set[str] = field(default_factory=set)
    #: Other nodes that answered, but may no longer have their controllers.
    stale: set[str] = field(default_factory=set)

    def texts(self, name: str) -> list[str]:
        return [part for one in self.given.get(name, "").split(",") if (part := one.strip())]

    @property
    def account(self) -> Account:
        return self.asking.account

    @property
    def tenant(self) -> str | None:
        """The tenant whose controllers the requester may see; None for all."""
        return self.asking.tenant

    @property
    def own_record(self) -> TenantRecord | None:
        """The record of the requester's tenant; None for the operator."""
        return None if self.tenant is None else self.node.registry.tenants[self.tenant]

    @property
    def members(self) -> dict[str, Member]:
        return self.node.visible_to(self.tenant)

    def select(self, names: Sequence[str] = (), tags: Sequence[str] = ()) -> list[Member]:
        return self.node.select(names, tags, self.tenant)

    def _by_number(self, numbers: Collection[int]) -> list[Member]:
        return [member for member in self.members.values() if member.number in numbers]

    def not_running_of_names(self) -> dict[str, int]:
        """Return the failed controllers' numbers by name, if the request chooses by name only.

        All other criteria apply only to running controllers.
        """
        if self.texts("tag") or self.is_looked_for:
            return {}
        found, names = self.node.roster.numbers_of_failed(self.tenant), self.texts("name")
        return {name: found[name] for name in names if name in found}

    async def find_chosen(self) -> list[Member]:
        """Find the controllers of this node that the request chooses."""
        if self.numbers is None:
            members = self.select(self.texts("name"), self.texts("tag"))
        else:
            members = self._by_number(self.numbers)
        if self.is_looked_for:
            members = await self.index.find(self.read_search(), members)
        expect(len(members))
        return members

    @property
    def is_looked_for(self) -> bool:
        """Return whether the request uses search criteria other than name and tag."""
        return any(one.name in self.given for one in LOOKED_FOR)

    def read_search(self) -> Wanted:
        given = self.given
        return Wanted(
            given.get("search", ""),
            given.get("health"),
            tuple(self.texts("tag")),
            given.get("order", "worst"),
            self.tenant,
            given.get("owner"),
            given.get("version"),
            given.get("finding"),
        )

    @property
    def requester(self) -> Requester:
        return Requester(self.account, self.request.peer, self.tenant)

    @property
    def at_controllers(self) -> Account:
        """The requester's account as seen by controllers, which have accounts of their own."""
        name, role = self.account.name, self.account.role
        return Account(name, role, joins_commands=role == ADMIN) if name else BY_FLEET

    def one(self) -> Member:
        if self.numbers is not None:
            here = self._by_number(self.numbers)
            if not here:
                name = self.given.get("name", "")
                if self.node.roster.knows(name):
                    raise self.node.roster.refusal_of(name, self.tenant)
                raise Moved(name)
            return here[0]
        (member,) = self.select([self.require("name", "the name of a controller")])
        return member

    def require(self, name: str, allowed: str) -> str:
        text: str = self.given.get(name, "")
        if not text:
            raise Malformed(f"{name} is missing.", field=name, allowed=allowed)
        return text

    def notify_pages(self) -> None:
        """Notify the watchers of the fleet immediately of a change that no controller reports."""
        for watcher in tuple(self.node.watchers):
            watcher()
