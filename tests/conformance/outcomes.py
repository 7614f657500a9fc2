"""What comes of a single request on a fresh controller of some version, without any server.

Shared by the tests that hold versions against the document. Profiles are written short: `3.5 1.36`
is that version, `3.5 <1.36` the last one before it.
"""

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults
from leverframe.interface.table.lookup import find
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.stage import Stage

OK = 200
#: Where a form is not offered yet, where it no longer is, and where only a value is wrong.
NOT_YET, GONE, BAD = 404, 410, 400

CUSTOM_SET = "/stm.cgi?mod_custom_set"
CUSTOM_SAVE = "/post.cgi?mod_custom_save &m"


def outcome(request: str, profile: Profile) -> int | Settings:
    """The settings after a request on a fresh controller, or the status of its refusal.

    A body stands behind a blank; a request with one is posted.
    """
    target, _, body = request.partition(" ")
    path, _, query = target.partition("?")
    stage = Stage(profile, defaults(profile))
    try:
        for call in find("POST" if body else "GET", path, query.split("&"), profile):
            if isinstance(call, Refusal):
                raise call
            reader = call.row.body
            read = reader.read(body.encode(), "", profile) if reader else None
            call.row.perform(stage, call.values, read)
    except Refusal as refusal:
        return refusal.status
    return stage.settings


def profile_of(text: str) -> Profile:
    """`3.5 1.36` is that version, `3.5 <1.36` the last one before it."""
    hw, sw = text.split()
    return Profile(hw, last_before(sw[1:]) if sw.startswith("<") else sw)


def last_before(sw: str) -> str:
    if not sw[-1].isalpha():
        return f"{sw[0]}.{int(sw[2:]) - 1:02}z"
    return sw[:-1] if sw[-1] == "a" else sw[:-1] + chr(ord(sw[-1]) - 1)


def event(**fields: object) -> str:
    """An `event` command with these fields and 0 in the others, up to the last that is named."""
    last = max("L", *fields)
    letters = [chr(code) for code in range(ord("A"), ord(last) + 1)]
    return "/inpa.cgi?event=" + "*".join(str(fields.get(letter, 0)) for letter in letters)
