"""A row of the command table: a printed form with all data about it.

A row has either the settings of its fields (`sets`) or a function that runs on the stage (`run`).
There is no third kind: special cases of single commands are in their `run` functions. The row also
contains the limits of its settings, the form that replaces it, and good examples.
"""

from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import force_setattr

from leverframe.core.engine.secret_servers import SERVER_SETTINGS
from leverframe.core.profile import ALWAYS, Profile, Spans, is_offered, spans_in_words
from leverframe.core.tree import is_secret
from leverframe.interface.table.params import (
    Bits,
    Changed,
    Depends,
    EqualsComparison,
    Flag,
    Int,
    ListOf,
    MappingItem,
    Param,
    Position,
    Record,
    Scaled,
    Seconds10,
    Trailing,
    Word,
    optional_fields,
    parse_fields,
    split_fields,
)
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.shape import Form, Item
from leverframe.interface.table.stage import Stage

ADMIN = "admin"
#: Outputs, PWM outputs and event variables: permitted to the user account and control users, too.
CONTROL = "control"
#: The account's own password: permitted to all who have signed in.
ACCOUNT = "account"
#: Signing in: permitted to all clients.
ANYONE = "anybody"

#: Types whose values cannot contain an asterisk.
_NUMBERS = (Bits, EqualsComparison, Flag, Int, MappingItem, Position, Scaled, Seconds10, Word)

Values = Mapping[str, Any]
Run = Callable[..., None]


class Body(Protocol):
    """The parser of a POST command's body: returns `values` for `run`, or raises a refusal."""

    def read(self, body: bytes, content_type: str, profile: Profile) -> Any: ...

    def describe(self, profile: Profile) -> dict[str, Any]: ...

    @property
    def max_bytes(self) -> int: ...


class Row(Struct, frozen=True, kw_only=True):
    form: Form
    params: Mapping[str, Param]
    #: The setting path of each field letter, or one path for the last field; `{A}` is replaced.
    sets: Mapping[str, tuple[str, ...]]
    run: Run | None
    #: Types of the settings that `run` sets, by path; `{A}` is a field, `*` any index.
    limits: Mapping[str, Param]
    when: Spans
    role: str
    body: Body | None
    doc: str
    #: True if its fields contain a secret; refusals then do not repeat the client's text.
    secret: bool
    #: True if it sets the server to which a stored secret is sent.
    names_server: bool
    #: The line of another form that does the same and more, and the versions that prefer it.
    replaced_by: str | None
    replaced_when: Spans
    #: Texts of fields that are better examples than those of the types; the tests send them.
    example: Mapping[str, str]
    #: The description of the status-file keys with the row's name, which show its settings; "" for
    #: none.
    shown: str
    #: The scale of these keys, if the types of the fields do not define it.
    shown_in: str
    _lists: frozenset[str] = frozenset()
    _optional: frozenset[str] = frozenset()
    #: Whether an encoded asterisk is always a separator, because clients encode complete values.
    _only_numbers: bool = False

    def __post_init__(self) -> None:
        lists = frozenset(
            letter for letter, param in self.params.items() if isinstance(param, ListOf | Record)
        )
        force_setattr(self, "_lists", lists)
        force_setattr(self, "_optional", optional_fields(self.params))
        force_setattr(self, "_only_numbers", all(map(_is_numeric, self.params.values())))

    @property
    def line(self) -> str:
        return self.form.line

    def is_offered(self, profile: Profile) -> bool:
        return is_offered(self.when, profile)

    def fields(self, items: Sequence[str], profile: Profile) -> dict[str, Any] | None:
        """Return the values of a query's first items; None if one of them is another command."""
        forms = self.form.items
        if len(items) < len(forms):
            return None
        if len(forms) > 1 and not all(map(Item.is_named_in, forms, items)):
            # Check all names before raising a refusal: with other names, the items are another
            # command.
            return None
        seen: dict[str, Any] = {}
        for item, text in zip(forms, items, strict=False):
            name, _, value = text.partition("=")
            texts = item.match_name(name)
            if texts is None:
                return None
            if "%2" in value and self._only_numbers:
                value = value.replace("%2A", "*").replace("%2a", "*")
            try:
                texts |= split_fields(
                    item, value, self.params, profile, self._optional, self._lists
                )
                parse_fields(item.holes, self.params, texts, profile, seen)
            except Refusal as refusal:
                raise refusal.of(text if len(text) <= 120 else text[:117] + "...") from None
        return seen

    def perform(self, stage: Stage, values: Values, body: Any = None) -> None:
        """Perform the command on the stage."""
        for letter, paths in self.sets.items():
            if letter in values:
                for path in paths:
                    # Intern the path, so that journal entries about the same setting share one
                    # string, which saves 15 KB for each active controller.
                    stage.set(intern(path.format_map(values)), values[letter])
        if self.run is not None:
            if self.body is not None:
                self.run(stage, body)
            else:
                self.run(stage, **values)


def _is_numeric(param: Param) -> bool:
    match param:
        case ListOf(item=part) | Trailing(param=part):
            return _is_numeric(part)
        case Depends(cases=parts) | Changed(versions=parts) | Record(fields=parts):
            return all(_is_numeric(part) for _, part in parts)
    return isinstance(param, _NUMBERS)


def row(
    line: str,
    *,
    sets: str | tuple[str, ...] | Mapping[str, str | tuple[str, ...]] | None = None,
    run: Run | None = None,
    limits: Mapping[str, Param] | None = None,
    when: Spans = ALWAYS,
    role: str = ADMIN,
    body: Body | None = None,
    doc: str,
    secret: bool = False,
    replaced_by: str | None = None,
    replaced_when: Spans = ALWAYS,
    example: Mapping[str, str] | None = None,
    shown: str = "",
    shown_in: str = "",
    **params: Param,
) -> Row:
    """Create a row from its notation in the table; a plain `sets` is the path of the last field."""
    form = Form(line)
    if sets is None:
        sets = {}
    elif not isinstance(sets, Mapping):
        sets = {form.holes[-1]: sets}
    paths = {
        letter: (path,) if isinstance(path, str) else tuple(path) for letter, path in sets.items()
    }
    settings = {path for group in paths.values() for path in group} | set(limits or ())
    secret = secret or any(is_secret(path) for group in paths.values() for path in group)
    if replaced_by:
        versions = "" if replaced_when == ALWAYS else f" in {spans_in_words(replaced_when)}"
        doc = f"{doc} Replaced by `{replaced_by.partition('?')[2]}`{versions}."
    return Row(
        form=form,
        params=params,
        sets=paths,
        run=run,
        limits=limits or {},
        when=when,
        role=role,
        body=body,
        doc=doc,
        secret=secret,
        names_server=not SERVER_SETTINGS.isdisjoint(settings),
        replaced_by=replaced_by,
        replaced_when=replaced_when,
        example=example or {},
        shown=shown,
        shown_in=shown_in,
    )
