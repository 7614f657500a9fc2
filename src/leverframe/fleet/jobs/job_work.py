"""The task of a job: each controller runs commands or gets template settings, as one change."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from leverframe.commands.table.matching import Call
from leverframe.commands.table.refusals import Conflict, Refusal
from leverframe.commands.table.stage import Stage
from leverframe.commands.table.system import RESTORE_ROW
from leverframe.commands.table.written_commands import calls_of, parse_commands
from leverframe.commands.version_change.backup_content import ENTRIES, Content
from leverframe.commands.version_change.carry_over import carry_over
from leverframe.controller import Controller
from leverframe.controller.staging import Command
from leverframe.engine.factory_settings import defaults
from leverframe.engine.settings import Settings
from leverframe.engine.tree import difference, is_confidential, leaves
from leverframe.profile import Profile
from leverframe.storage.backup import BackupFile, content_of

#: Settings of a template that do not apply to a running controller.
_NOT_OF_TEMPLATES = ("profile.", "access.")
_MAX_LETTERS = 200


class JobWork(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Commands, each as one line, or a template."""

    commands: tuple[str, ...] = ()
    template: BackupFile | None = None

    def calls(self, controller: Controller) -> list[Command]:
        """Return the calls for a controller, by its version and its present settings."""
        if self.template is not None:
            settings = with_template(self.template, controller.profile, controller.pending)
            return [(TAKE_SETTINGS, settings)]
        written = parse_commands("\n".join(self.commands))
        return [call for command in written for call in calls_of(command, controller.profile)]

    def title(self) -> str:
        """Name it in a line, without possible secrets."""
        if self.template is not None:
            count = len(template_paths(self.template))
            return f"{count} settings of a template" if count != 1 else "a setting of a template"
        texts = [text for command in self.commands for text in _without_secrets(command)]
        title = "; ".join(texts)
        return title if len(title) <= _MAX_LETTERS else f"{title[:_MAX_LETTERS]}..."


class TakesSettings(Call, frozen=True):
    """A call that takes settings which were made for this controller before."""

    def perform(self, stage: Stage, body: Any = None) -> None:
        given = [path for path, _, _ in difference(stage.settings, body)]
        stage.settings = body
        stage.given += given


TAKE_SETTINGS = TakesSettings(RESTORE_ROW, {}, "settings")


def _without_secrets(command: str) -> Iterable[str]:
    (written,) = parse_commands(command)
    try:
        for call, _ in calls_of(written, Profile()):
            yield f"{written.path[1:]}?{call.text}"
    except Refusal:
        # Another version may know it; how its values look is not known here.
        yield f"{written.path[1:]}?{written.query.partition('=')[0]}"


# --- templates ------------------------------------------------------------------------------------


def template_paths(template: BackupFile) -> list[str]:
    """List the settings that a template sets."""
    return [
        path
        for path in template.settings
        if not path.startswith(_NOT_OF_TEMPLATES) and not is_confidential(path)
    ]


def with_template(template: BackupFile, profile: Profile, present: Settings) -> Settings:
    """Return the present settings with those of a template; refuse settings the version lacks.

    Event entries and the schedule are replaced as a whole: parts of one would mean something else
    in another.
    """
    paths = template_paths(template)
    carried = carry_over(content_of(template, None), profile, defaults(profile))
    for lost in carried.not_carried_over:
        if lost.path in paths:
            raise Conflict(
                f"The template sets {lost.path}, which {profile} does not support. {lost.reason}",
                field="template",
            )
    wanted = dict(leaves(carried.settings))
    whole = tuple(part for part in ENTRIES if any(path.startswith(part) for path in paths))
    merged = {path: value for path, value in leaves(present) if not path.startswith(whole)}
    merged |= {path: wanted[path] for path in paths if path in wanted}
    merged |= {path: value for path, value in wanted.items() if whole and path.startswith(whole)}
    taken = carry_over(Content(profile, merged, with_secrets=True), profile, present)
    return taken.settings
