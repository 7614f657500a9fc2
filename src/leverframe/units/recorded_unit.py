"""The settings in a recording of a unit, read as by `unit pull` from recorded answers.

For each file the first answer counts, because a twin begins where the recording begins; or the
last, for the state at the end.
"""

from pathlib import Path

from leverframe.commands.version_change.backup_content import Content
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import MISSING, difference
from leverframe.exchanges.exchange import RecordedAnswer
from leverframe.status_files.catalogue import PATHS
from leverframe.status_files.decoding import keys_in
from leverframe.status_files.forms import NotReadable
from leverframe.status_files.reading_back import FileContent
from leverframe.storage.recording_file import read_recording
from leverframe.units.client import UnitAnswer
from leverframe.units.own_settings import own_document, pull_from_own
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.pulling import SETTINGS_PATH, identity_in, pull_from_files, with_doubts

NOT_RECORDED = "is not in the recording"


def read_recorded_unit(recording: Path, *, in_the_end: bool = False) -> PulledUnit:
    """Return the settings in a recording, and what it does not contain."""
    answers: dict[str, RecordedAnswer] = {}
    for one in read_recording(recording):
        is_whole = one.answer.status == 200 and not one.answer.body.left_out
        is_wanted = in_the_end or one.path not in answers
        if one.method == "GET" and one.query is None and is_whole and is_wanted:
            answers[one.path] = one.answer
    files = {path: _content(path, answers.get(path)) for path in PATHS}
    identity = identity_in(str(recording), files.values())
    if (answer := answers.get(SETTINGS_PATH)) is not None:
        kind = answer.headers.get("content-type", "")
        document = own_document(UnitAnswer(200, kind, answer.body.content()))
        if document is not None:
            return pull_from_own(document, identity)
    return with_doubts(pull_from_files(identity, files))


def _content(path: str, answer: RecordedAnswer | None) -> FileContent:
    if answer is None:
        return NOT_RECORDED
    try:
        return keys_in(path, answer.body.content())
    except NotReadable as problem:
        return str(problem)


def content_of_unit(unit: PulledUnit) -> Content:
    """Return the settings as the content of a backup, which twins of other versions also accept."""
    changed = difference(defaults(unit.profile), unit.settings)
    return Content(
        unit.profile,
        {
            path: value
            for path, _, value in changed
            if value is not MISSING and unit.why_unread(path) is None
        },
    )
