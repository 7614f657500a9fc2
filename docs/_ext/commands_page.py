"""The page of all commands of all versions, in the order and under the headings of the table."""

from collections.abc import Iterator, Mapping

from docs._ext.markdown import code, link_within, prose, table
from docs._ext.trials import any_index, settings_changed, settings_of_fields
from leverframe.core.profile import ALWAYS, Profile, is_offered, spans_in_words
from leverframe.interface.descriptions.listing import (
    example_body,
    example_request,
    newest_with,
    tables_in,
    variants,
)
from leverframe.interface.table.bodies import FormBody, ListBody, Upload
from leverframe.interface.table.codes import CodeTable
from leverframe.interface.table.lookup import DOCUMENT_SECTIONS, FURTHER_SECTIONS, SECTIONS
from leverframe.interface.table.params import Param, Trailing, has_field
from leverframe.interface.table.row import ACCOUNT, ADMIN, ANYONE, CONTROL, Row
from leverframe.interface.table.versions import NEWEST, params_of

_ROLES = {
    ADMIN: "the administrator",
    CONTROL: "the administrator, the user and control users",
    ACCOUNT: "every signed-in account",
    ANYONE: "all clients",
}
#: A field that sets more paths than this gets its own line.
_MAX_PATHS = 2
_OPENING = f"""\
# Commands

Every command of every version. Letters in angle brackets are fields: `<A><B>` is written without
a separator, and A is one character wide; other separators are sent as shown. Texts are
percent-encoded. Allowed values are those of {NEWEST} unless stated otherwise. "SW 1.49+" means
this and later versions, "HW 3.5+" means hardware 3.5 to 3.9.

Names of settings such as `outputs.{{A}}.name` are explained in [settings](settings.md), answers and
errors in [HTTP](http.md).
"""


def commands_page() -> str:
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    titles = table_titles()
    yield _OPENING
    yield "In the interface document:"
    yield from (f"- {link_within(title)}" for title, _ in DOCUMENT_SECTIONS)
    yield "In addition, from real units or Leverframe only:"
    yield from (f"- {link_within(title)}" for title, _ in FURTHER_SECTIONS)
    shown: set[int] = set()
    for title, rows in SECTIONS:
        yield f"\n## {title}"
        for row in rows:
            yield from _command(row, titles)
        for used in tables_of(rows):
            if id(used) not in shown:
                shown.add(id(used))
                yield from _codes(used, titles[id(used)])


def tables_of(rows: tuple[Row, ...]) -> list[CodeTable]:
    """Return the code tables of the rows in the order of their first use."""
    found = [used for row in rows for param in params_of(row).values() for used in tables_in(param)]
    return list({id(used): used for used in found}.values())


def table_titles() -> dict[int, str]:
    """Return the headings of all code tables by identity; number tables with the same name."""
    titles: dict[int, str] = {}
    for used in tables_of(tuple(row for _, rows in SECTIONS for row in rows)):
        name, number = f"Codes: {used.name}", 1
        title = name
        while title in titles.values():
            number += 1
            title = f"{name} {number}"
        titles[id(used)] = title
    return titles


def _command(row: Row, titles: Mapping[int, str]) -> Iterator[str]:
    profile = newest_with(row)
    yield f"\n### {code(row.line)}\n"
    yield prose(row.doc)
    if fields := _fields(row, profile, titles):
        yield f"\n{fields}"
    yield ""
    yield from (f"- {line}" for line in _facts(row, profile))


def _facts(row: Row, profile: Profile) -> Iterator[str]:
    yield f"Example: {code(example_request(row, profile))}"
    body = example_body(row, profile)
    if body is not None:
        yield f"Example of the body: {code(body)}"
    if isinstance(row.body, Upload):
        yield f"The body is {row.body.what}, at most {row.body.max_bytes >> 20} MiB."
    if isinstance(row.body, ListBody):
        yield f"The body is a list of {code('&' + row.body.item.text)} and ends with `&&`."
    if isinstance(row.body, FormBody):
        yield "The body is a form (`application/x-www-form-urlencoded`) with these fields."
    changed = settings_changed(row)
    documented = {any_index(path) for paths in _goes_to(row).values() for path in paths}
    if not row.sets and not documented >= set(changed):
        yield f"Sets {_paths(changed)}"
    yield f"For {_ROLES[row.role]}"
    if row.when != ALWAYS:
        yield f"Versions: {spans_in_words(row.when)}"
    if not row.is_offered(NEWEST):
        yield f"Allowed values are for {profile}"


def _paths(paths: list[str]) -> str:
    return ", ".join(path if "`" in path else code(path) for path in paths)


def _fields(row: Row, profile: Profile, titles: Mapping[int, str]) -> str:
    params = params_of(row)
    lines = [
        [code(name), "; ".join(_list_allowed(row, param, profile, titles))]
        for name, param in params.items()
    ]
    goes_to = _goes_to(row)
    if not goes_to:
        return table(("field", "allowed"), lines) if lines else ""
    for line, name in zip(lines, params, strict=True):
        line.append(_paths(goes_to.get(name, [])))
    return table(("field", "allowed", "sets"), lines)


def _goes_to(row: Row) -> dict[str, list[str]]:
    """Return the settings of each field, from the row or else from trials."""
    if row.sets:
        return {name: list(paths) for name, paths in row.sets.items()}
    found = settings_of_fields(row)
    return {name: paths for name, paths in found.items() if len(paths) <= _MAX_PATHS}


def _list_allowed(
    row: Row, param: Param, profile: Profile, titles: Mapping[int, str]
) -> Iterator[str]:
    """Yield the values allowed now, a link to its codes, and the values of other versions."""
    yield prose(param.describe_allowed(profile))
    tables = tables_in(param)
    if tables:
        links = (link_within(titles[id(used)]) for used in tables)
        yield "see " + ", ".join(links)
    else:
        yield from _other_versions(row, param, profile)
    if isinstance(param, Trailing):
        yield "optional; without it the value is unchanged"
        if param.when != ALWAYS:
            yield f"only in {spans_in_words(param.when)}"


def _other_versions(row: Row, param: Param, profile: Profile) -> Iterator[str]:
    def allow_text(profile: Profile) -> str | None:
        is_there = row.is_offered(profile) and has_field(param, profile)
        return param.describe_allowed(profile) if is_there else None

    for variant in variants(allow_text):
        if not is_offered(variant.spans, profile):
            yield f"{spans_in_words(variant.spans)}: {prose(variant.text)}"


def _codes(used: CodeTable, title: str) -> Iterator[str]:
    """Yield a table of the codes of the newest version, then the codes only in other versions."""
    yield f"\n### {title}\n"
    codes = sorted(used.codes, key=lambda known: (not is_offered(known.when, NEWEST), known.number))
    lines = [(str(known.number), code(known.word), spans_in_words(known.when)) for known in codes]
    yield table(("code", "meaning", "in"), lines)
