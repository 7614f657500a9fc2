"""A planned request as others may see it: only the values that are confidential are masked.

What clients send is masked more coarsely (`masked_query`): a secret may have been sent with a bare
`&` in it. A planned request is written by us, so its fields are where they seem to be. A field is
shown if it is a number, is empty, or is what the request gives an open setting; anything else of a
command that may hold a secret is masked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leverframe.commands.plan.written import PLAIN_HASHES, PlannedRequest, texts_of
from leverframe.commands.table.bodies import FormBody, ListBody
from leverframe.commands.table.masked_query import mask_query
from leverframe.commands.table.matching import Call, find, items_of
from leverframe.commands.table.params import Param, has_field
from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.stage import Stage
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import MASK, is_confidential, value_at, with_value
from leverframe.profile import Profile

#: Returns what stands in the place of a secret; it gets the path of its setting, if that is known.
Mask = Callable[[str], str]


def mask_request(
    request: PlannedRequest, profile: Profile, mask: Mask = lambda path: MASK
) -> PlannedRequest:
    """Return the request without its secrets."""
    found: list[Call] = []
    for call in find(request.method, request.path, items_of(request.query), profile):
        if isinstance(call, Refusal):
            # A plan of another version: it is not known where its secrets are.
            return PlannedRequest(
                request.method,
                f"{request.path}?{mask_query(request.query)[0]}",
                request.body and mask(""),
            )
        found.append(call)
    if not any(call.row.secret for call in found):
        return request
    queries = [_mask_call(call, request, profile, mask) for call in found]
    body = request.body
    for call in found:
        if call.row.secret and body:
            body = _mask_body(call, request, profile, mask)
    return PlannedRequest(request.method, f"{request.path}?{'&'.join(queries)}", body)


def _mask_call(call: Call, request: PlannedRequest, profile: Profile, mask: Mask) -> str:
    row = call.row
    if row.secret:
        known = _settings_given(call, request, profile)
        texts = _mask_texts(row.form.holes, row.params, call.values, known, profile, mask)
    else:
        texts = texts_of(row.form.holes, row.params, call.values, profile) or {}
    return row.form.write(texts).partition("?")[2]


def _mask_body(call: Call, request: PlannedRequest, profile: Profile, mask: Mask) -> str:
    body, known = call.row.body, _settings_given(call, request, profile)
    if isinstance(body, ListBody):
        items = body.read(request.body.encode(), "", profile)
        holes, params = body.item.holes, body.params
        texts = [_mask_texts(holes, params, one, known, profile, mask) for one in items]
        return body.write([*texts]).decode()
    if isinstance(body, FormBody):
        form = body.read(request.body.encode(), "", profile)
        shown = _mask_texts([*form], body.fields, form, known, profile, mask)
        return "&".join(f"{name}={text}" for name, text in shown.items())
    return mask("")


def _mask_texts(
    letters: Sequence[str],
    params: Mapping[str, Param],
    values: Mapping[str, Any],
    known: Mapping[Any, Sequence[str]],
    profile: Profile,
    mask: Mask,
) -> dict[str, str]:
    """Return the wire texts of fields; `known` are the paths that a command gives each value."""
    texts = {}
    for letter in letters:
        param = params[letter]
        if letter not in values or not has_field(param, profile):
            continue
        value = values[letter]
        paths = known.get(value, ()) if isinstance(value, str) else ()
        secret = next(filter(is_confidential, paths), None)
        is_open = isinstance(value, int | float) or value == "" or (paths and secret is None)
        texts[letter] = param.format(value, profile, values) if is_open else mask(secret or "")
    return texts


def _settings_given(
    call: Call, request: PlannedRequest, profile: Profile
) -> Mapping[Any, Sequence[str]]:
    """Return the settings that a command gives each text, by the text."""
    # Sign-in cannot be switched on without any password.
    settings = with_value(defaults(profile), "access.admin.password", MASK)
    stage = Stage(profile, settings, None, PLAIN_HASHES)
    body = call.row.body
    try:
        content = None if body is None else body.read(request.body.encode(), "", profile)
        call.perform(stage, content)
    except Refusal:
        # It needs settings that it does not find here: nothing of it is known.
        return {}
    found: dict[Any, list[str]] = {}
    for path, value in (
        *((path, value_at(stage.settings, path)) for path in stage.given),
        *((path, value) for path, _, value in stage.leaves()),
    ):
        if isinstance(value, str):
            found.setdefault(value, []).append(path)
    return found
