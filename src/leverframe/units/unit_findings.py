"""The problems that a Leverframe unit reports about itself in its `/api/state`.

A unit is not trusted: each finding is checked, shortened and made printable; an unreadable finding
is reported as such. Units of version 0.1.0 list only the affected parts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from leverframe.plain_text import printable

Severity = Literal["lost", "fault", "attention"]

#: More than twenty rules that all conflict with each other; the worst findings are kept.
MAX_FINDINGS = 250
_MAX_SENTENCE = 300
_MAX_FIGURES = 20
_MAX_WORD = 100
#: A label such as `DS1`, and a place in the pages such as `rules?edit=3`.
_LABEL = re.compile(r"[A-Z][A-Z0-9]{0,15}")
_PAGE = re.compile(r"[a-z_]{1,30}(\?[a-z]{1,20}=[\w.]{1,30})?", re.ASCII)

Figure = int | float | str


class UnitFinding(Struct, frozen=True):
    """A finding of a unit; `kind`, `label` and `figures` word it in every language."""

    id: str
    kind: str
    severity: Literal["fault", "attention"]
    text: str
    label: str | None = None
    figures: dict[str, Figure] = field(default_factory=dict)
    page: Annotated[str, Meta(description="The page on which to fix it, as after `#/`.")] = ""


def findings_in(state: Mapping[str, Any]) -> tuple[list[UnitFinding], str]:
    """Return the findings of a unit, worst first, and why some are unreadable, if any."""
    listed = state.get("findings")
    if listed is None:
        return list(_of_troubles(state.get("troubles"))), ""
    if not isinstance(listed, list):
        return [], "is not a list"
    found = []
    for one in listed:
        try:
            found.append(_make_printable(msgspec.convert(one, UnitFinding)))
        except msgspec.ValidationError:
            continue
    found.sort(key=lambda one: one.severity != "fault")
    if len(found) > MAX_FINDINGS:
        return found[:MAX_FINDINGS], f"has more than {MAX_FINDINGS} entries"
    return found, "" if len(found) == len(listed) else "has entries that cannot be read"


def _make_printable(finding: UnitFinding) -> UnitFinding:
    """Return a finding in printable, shortened form."""
    figures = list(finding.figures.items())[:_MAX_FIGURES]
    return UnitFinding(
        _short(finding.id),
        _short(finding.kind),
        finding.severity,
        _short(finding.text, _MAX_SENTENCE),
        finding.label if finding.label and _LABEL.fullmatch(finding.label) else None,
        {
            _short(name): _short(figure, _MAX_SENTENCE) if isinstance(figure, str) else figure
            for name, figure in figures
        },
        finding.page if _PAGE.fullmatch(finding.page) else "",
    )


def _of_troubles(troubles: Any) -> Iterator[UnitFinding]:
    if isinstance(troubles, dict):
        for part, why in list(troubles.items())[:MAX_FINDINGS]:
            figures = {"part": _short(part), "sentence": _short(str(why), _MAX_SENTENCE)}
            text = "{part}: {sentence}".format_map(figures)
            yield UnitFinding(
                f"trouble.{_short(part)}", "trouble", "fault", text, None, {**figures}
            )


def _short(text: str, most: int = _MAX_WORD) -> str:
    return printable(text[:most])
