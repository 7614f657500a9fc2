"""Requests made from the command table: for each row and profile, good ones and bad ones.

`accepted` varies one field at a time over the edges of what its type allows (and over all of a
short range), while the others hold a text that reads well; `refused` puts each text just outside
into each field; `misshapen` gets the number of fields, the literal text or the kind of body wrong.
A field whose type follows from an earlier one is varied in every case of that. Nothing here knows a
single command by heart, except what cannot be seen in the table: which commands need something to
be there first (`PREPARATIONS`) and which values only go together (`COMPANIONS`).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from leverframe.core.profile import Profile, is_offered
from leverframe.devices.linux.oled_panel import png_of
from leverframe.interface.descriptions.listing import typical
from leverframe.interface.table.bodies import FormBody, ListBody, Upload
from leverframe.interface.table.lookup import TABLE, Call, find
from leverframe.interface.table.params import Changed, Depends, Int, Param, Trailing
from leverframe.interface.table.refusals import Malformed, Refusal
from leverframe.interface.table.row import Row
from leverframe.interface.table.shape import Item
from leverframe.interface.uploads.site import pack_site

Texts = Mapping[str, str]
#: The longest selector, on and off times of six outputs.
SHORT_RANGE = 12
EXAMPLES = {row.line: row.example for row in TABLE}
FORM = "application/x-www-form-urlencoded"
#: Files that are looked into before they are taken.
UPLOADS = {
    "wwwfileupload": pack_site({"index.html": b"<title>Cellar</title>"}),
    "pictureupload": png_of(("A", "B", "C", "D")),
}

EVENT = "GET /inpa.cgi?event=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>*<I>*<J>*<K>*<L>*<M>*<N>*<O>*<P>"
SCHEDULE = "POST /post.cgi?sched_save"
SCHEDULE_ENTRY = "GET /inpa.cgi?schedset=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>"
ACCOUNTS = "GET /stm.cgi?auth=<A><B><C>*<D>*<E>*<F>"
ALL_EVENTS = tuple(f"GET /inpa.cgi?event={n}*0*0*0*0*0*0*0*0*0*0*0" for n in range(20))
ALL_SCHEDULED = "".join(f"&s{n}=*0*0*0*0*0*0" for n in range(50)) + "&&"
#: What must be done before a row accepts anything: requests, with a body after a blank.
PREPARATIONS: Mapping[str, tuple[str, ...]] = {
    "GET /inpa.cgi?igain=<A><B>": tuple(f"GET /inpa.cgi?sensor={n}1" for n in range(4)),
    "GET /inpa.cgi?eventper=<A>*<B>": ALL_EVENTS,
    "GET /inpa.cgi?eventon=<A>*<B>": ALL_EVENTS,
    "GET /inpa.cgi?eventdel=<A>": ALL_EVENTS,
    "GET /inpa.cgi?rulename=<A>*<B>": ALL_EVENTS,
    "GET /inpa.cgi?rulemove=<A>*<B>": ALL_EVENTS,
    "GET /inpa.cgi?scheddel=<A>": (f"POST /post.cgi?sched_save {ALL_SCHEDULED}",),
    "GET /inpa.cgi?schedon=<A>*<B>": (f"POST /post.cgi?sched_save {ALL_SCHEDULED}",),
}
#: (line, field, text) that is good only together with these texts of other fields.
COMPANIONS: Mapping[tuple[str, str, str], Texts] = {
    (SCHEDULE, "E", "86400"): {"G": "256"},
    (SCHEDULE_ENTRY, "E", "86400"): {"G": "256"},
    (ACCOUNTS, "D", ""): {"A": "0"},
}


@dataclass(frozen=True)
class Sample:
    """One request and what must come of it."""

    row: Row
    profile: Profile
    method: str
    #: Path and query.
    target: str
    is_good: bool
    #: The field that the refusal must name, if it is about one.
    field: str | None = None
    #: What the program must understand: values by field, or what the body says.
    values: Any = None
    body: bytes = b""
    content_type: str = ""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def items(self) -> list[str]:
        return self.target.partition("?")[2].split("&")

    def __str__(self) -> str:
        return f"{self.profile}: {self.method} {self.target} {self.body[:80]!r}"


def takes(row: Row, items: list[str], profile: Profile) -> bool:
    """Does this row alone accept the first items of a query? Its refusal is raised."""
    return row.fields(items, profile) is not None


# --- fields --------------------------------------------------------------------------------------


class Fields:
    """The fields of a row or of its body on one profile, and texts that fill them."""

    def __init__(self, line: str, params: Mapping[str, Param], profile: Profile) -> None:
        self._line = line
        self.profile = profile
        self.params = {
            name: param
            for name, param in params.items()
            if not isinstance(param, Trailing) or is_offered(param.when, profile)
        }

    def fill(self, fixed: Texts) -> tuple[dict[str, str], dict[str, Any]]:
        """A text for every field, those given among them, and the values they stand for."""
        texts: dict[str, str] = {}
        values: dict[str, Any] = {}
        for name, param in self.params.items():
            texts[name] = fixed[name] if name in fixed else self._usual(name, param, values)
            values[name] = param.parse(texts[name], self.profile, values)
        return texts, values

    def _usual(self, name: str, param: Param, values: Mapping[str, Any]) -> str:
        chosen = EXAMPLES[self._line].get(name)
        if chosen is not None:
            with suppress(Refusal):
                param.parse(chosen, self.profile, values)
                return chosen
        return typical(param, self.profile, values)

    def contexts(self, name: str) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """For each case of a field that depends on another: texts that bring it about."""
        param = self.params[name]
        if not isinstance(param, Depends):
            yield {}, self.fill({})[1]
            return
        for cases, _ in param.cases:
            for text in self.params[param.on].examples(self.profile, {}):
                fixed = {param.on: text}
                values = self.fill(fixed)[1]
                if values[param.on] in cases:
                    yield fixed, values
                    break

    def good(self) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """Texts and values with one field at an edge, each in turn."""
        yield self.fill({})
        for name, param in self.params.items():
            for fixed, values in self.contexts(name):
                for text in self._to_try(param, values):
                    together = COMPANIONS.get((self._line, name, text), {})
                    yield self.fill({**fixed, **together, name: text})

    def _to_try(self, param: Param, values: Mapping[str, Any]) -> list[str]:
        """Edges; of a short range all numbers, as selectors change their meaning inside it."""
        chosen = param.pick(self.profile) if isinstance(param, Changed) else param
        if isinstance(chosen, Int) and chosen.hi - chosen.lo < SHORT_RANGE:
            return [str(number) for number in range(chosen.lo, chosen.hi + 1)]
        return param.examples(self.profile, values)

    def good_and_shorter(self) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """The same without the last fields, where they may be left out."""
        texts, values = self.fill({})
        for name in reversed(self.params):
            param = self.params[name]
            if not isinstance(param, Trailing):
                return
            texts = {other: text for other, text in texts.items() if other != name}
            values = {other: value for other, value in values.items() if other != name}
            last = self.params[list(self.params)[list(self.params).index(name) - 1]]
            # Fields that came with one version are left out together.
            if not isinstance(last, Trailing) or last.when != param.when:
                yield texts, values

    def bad(self) -> Iterator[tuple[str, dict[str, str]]]:
        """A field and texts of all fields in which this one is not allowed."""
        for name, param in self.params.items():
            for fixed, values in self.contexts(name):
                texts, _ = self.fill(fixed)
                for text in param.bad_texts(self.profile, values):
                    yield name, {**texts, name: text}


def has_room(item: Item, name: str, text: str) -> bool:
    """Can the text stand in that hole, so that it and nothing else is read as the field?"""
    if name in item.name.holes:
        is_last = name == item.name.holes[-1]
        return text.isdecimal() and (is_last or len(text) == 1)
    assert item.value is not None
    position = item.value.holes.index(name)
    touches_next = not item.value.literals[position + 1] and name != item.value.holes[-1]
    return len(text) == 1 or not touches_next


def _item_of(row: Row, name: str) -> Item:
    return next(item for item in row.form.items if name in item.holes)


# --- requests ------------------------------------------------------------------------------------


def make_good_samples(row: Row, profile: Profile) -> Iterator[Sample]:
    """Requests that a profile which offers the row must carry out."""
    if row.body is not None:
        yield from _good_bodies(row, profile)
        return
    fields = Fields(row.line, row.params, profile)
    for texts, values in (*fields.good(), *fields.good_and_shorter()):
        target = row.form.write(texts)
        sample = Sample(row, profile, row.form.method, target, True, values=values)
        if not _is_another_row(sample):
            yield sample


def make_bad_samples(row: Row, profile: Profile) -> Iterator[Sample]:
    """Requests with one field outside what is allowed."""
    if row.body is not None:
        yield from _bad_bodies(row, profile)
        return
    rivals = _rows_asked_before(row, profile)
    for name, texts in Fields(row.line, row.params, profile).bad():
        if has_room(_item_of(row, name), name, texts[name]):
            target = row.form.write(texts)
            items = target.partition("?")[2].split("&")
            is_outspoken = any(_refuses_a_value(rival, items, profile) for rival in rivals)
            field = None if is_outspoken else name
            sample = Sample(row, profile, row.form.method, target, False, field)
            if not _is_another_row(sample):
                yield sample


def _rows_asked_before(row: Row, profile: Profile) -> list[Row]:
    """Rows of the same family whose refusal may be reported instead of this row's."""
    family = [
        other
        for other in TABLE
        if other.form.items
        and other.form.path == row.form.path
        and other.form.items[0].key == row.form.items[0].key
        and other.is_offered(profile)
    ]
    position = next(place for place, other in enumerate(family) if other is row)
    return family[:position]


def _refuses_a_value(row: Row, items: list[str], profile: Profile) -> bool:
    """Does the text have the row's form, with a value that it does not take?"""
    try:
        takes(row, items, profile)
    except Malformed:
        return False
    except Refusal:
        return True
    return False


def _is_another_row(sample: Sample) -> bool:
    """Does an overlapping row take it? Which ones overlap is pinned in the tests of the table."""
    (found, *_) = find(sample.method, sample.path, sample.items, sample.profile)
    return isinstance(found, Call) and found.row is not sample.row


def misshapen(row: Row, profile: Profile) -> Iterator[Sample]:
    """Requests that do not have the row's form at all; the refusal names no field."""
    if row.body is not None:
        yield from _misshapen_bodies(row, profile)
        return
    texts, _ = Fields(row.line, row.params, profile).fill({})
    for position, item in enumerate(row.form.items):
        for wrong in _misshapen_items(item, item.write(texts), row):
            written = [other.write(texts) for other in row.form.items]
            written[position] = wrong
            target = f"{row.form.path}?{'&'.join(written)}"
            sample = Sample(row, profile, row.form.method, target, False)
            if not _is_another_row(sample):
                yield sample


def _misshapen_items(item: Item, good: str, row: Row) -> Iterator[str]:
    if item.value is None:
        yield f"{good}=1"
    elif not item.value.holes:
        yield from (f"{good}0", good.partition("=")[0] + "=", good.partition("=")[0])
    elif "*" in item.text:
        yield f"{good}*0"
        may_be_missing = sum(isinstance(row.params[hole], Trailing) for hole in item.value.holes)
        yield "*".join(good.split("*")[: item.text.count("*") - may_be_missing])


# --- bodies --------------------------------------------------------------------------------------


def _with_body(row: Row, profile: Profile, body: bytes, **more: Any) -> Sample:
    kind = "application/octet-stream" if isinstance(row.body, Upload) else FORM
    sample = {"content_type": kind, "body": body, **more}
    return Sample(row, profile, "POST", row.form.write({}), **sample)


def _form(texts: Texts) -> bytes:
    return "&".join(f"{name}={text}" for name, text in texts.items()).encode()


def _good_bodies(row: Row, profile: Profile) -> Iterator[Sample]:
    if isinstance(row.body, ListBody):
        fields = Fields(row.line, row.body.params, profile)
        for texts, values in (*fields.good(), *fields.good_and_shorter()):
            body = row.body.write([texts])
            yield _with_body(row, profile, body, is_good=True, values=[values])
            wrapped = b'{"bytes":{' + body + b"}}\n"
        yield _with_body(row, profile, wrapped, is_good=True, values=[values])
        yield _with_body(row, profile, b"&&", is_good=True, values=[])
    elif isinstance(row.body, FormBody):
        fields = Fields(row.line, row.body.fields, profile)
        for texts, values in fields.good():
            yield _with_body(row, profile, _form(texts), is_good=True, values=values)
        for name, text in () if row.body.whole else texts.items():
            only = {name: values[name]}
            yield _with_body(row, profile, _form({name: text}), is_good=True, values=only)
    elif isinstance(row.body, Upload):
        file = UPLOADS.get(row.form.items[0].text, b"\x00\xffcontent")
        kept = row.body.check(file) if row.body.check else file
        yield _with_body(row, profile, file, is_good=True, values=kept)


def _bad_bodies(row: Row, profile: Profile) -> Iterator[Sample]:
    if isinstance(row.body, ListBody):
        fields = Fields(row.line, row.body.params, profile)
        for name, texts in fields.bad():
            if has_room(row.body.item, name, texts[name]):
                body = row.body.write([fields.fill({})[0], texts])
                yield _with_body(row, profile, body, is_good=False, field=name)
    elif isinstance(row.body, FormBody):
        for name, texts in Fields(row.line, row.body.fields, profile).bad():
            yield _with_body(row, profile, _form(texts), is_good=False, field=name)


def _misshapen_bodies(row: Row, profile: Profile) -> Iterator[Sample]:
    yield _with_body(row, profile, b"", is_good=False)
    if isinstance(row.body, ListBody):
        good = row.body.write([Fields(row.line, row.body.params, profile).fill({})[0]])
        for wrong in (good.removesuffix(b"&&"), b"x", b"&x=1&&", good[:-2] + b"*0&&"):
            yield _with_body(row, profile, wrong, is_good=False)
    elif isinstance(row.body, FormBody):
        texts, _ = Fields(row.line, row.body.fields, profile).fill({})
        twice = _form(texts) + b"&" + _form(texts)
        yield _with_body(row, profile, twice, is_good=False, field=next(iter(texts)))
        # Beside a password, the name of an unknown field may be a part of it.
        field = None if row.secret else "unknown"
        yield _with_body(row, profile, b"unknown=1", is_good=False, field=field)
