"""`leverframe config check|example`: the effective configuration, and an example."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from leverframe.core.errors import ErrorForPeople, print_json
from leverframe.core.profile import Profile, existing, newest_software
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, difference, leaves
from leverframe.host.configuration.fields import Config
from leverframe.host.configuration.keys import example
from leverframe.host.configuration.reader import (
    Sources,
    check_sources,
    effective_settings,
    in_columns,
)
from leverframe.host.maintenance.backup import as_text, read
from leverframe.interface.table.refusals import Conflict, Refusal
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.limits import Content
from leverframe.storage.backup import BackupFile, content_of


def check_config(sources: Sources) -> None:
    """Print the effective settings with their sources; raise BadConfiguration with all mistakes."""
    config = check_sources(sources, Config)
    settings = effective_settings(sources, config)
    if not config.json:
        print(in_columns(settings))
        return
    for setting in settings:
        print_json(asdict(setting))


def print_example() -> None:
    """Print a configuration file with every key."""
    print(example(), end="")


# The initial settings of a controller: from a file, or by their paths.

GivenSettings = str | Path | Mapping[str, Any] | Content
#: The initial settings of new controllers of a node: a backup, or values by path.
GivenTemplate = str | Path | Mapping[str, Any]


#: The suffix of a recording, which contains the answers of a unit instead of its settings.
RECORDING = ".jsonl"


class BadSettings(ErrorForPeople, ValueError):
    """The initial settings are not usable; the message is one sentence."""


def version_for(hw: str | None, sw: str | None, template: GivenSettings | None) -> Profile:
    """Return the requested version, else the version of the file, else the newest."""
    if hw is None and sw is None:
        if template is None or isinstance(template, Mapping):
            return Profile()
        if isinstance(template, Content):
            return template.profile
        file = read(Path(template))
        return Profile(file.hw, file.sw)
    hw = hw or Profile().hw
    return existing(hw, sw or newest_software(hw))


def leaves_for(template: GivenSettings | None, profile: Profile) -> dict[str, Any]:
    """Return the differences from the factory settings of a version, by path."""
    if template is None:
        return {}
    standard = defaults(profile)
    if isinstance(template, Mapping):
        _check_paths(template, standard)
        content = Content(profile, dict(template), with_secrets=True)
    elif isinstance(template, Content):
        content = template
    else:
        content = content_of(read(Path(template)), None)
    try:
        carried = carry_over(content, profile, standard)
    except Refusal as refusal:
        raise BadSettings(refusal.detail) from None
    if isinstance(template, Mapping) and carried.not_carried_over:
        lost = carried.not_carried_over[0]
        raise BadSettings(f"{lost.path}: {lost.reason}")
    return {path: value for path, _, value in difference(standard, carried.settings)}


def template_leaves(template: BackupFile, profile: Profile) -> dict[str, Any]:
    """Return the settings of a template; reject settings that the version does not support."""
    standard = defaults(profile)
    carried = carry_over(content_of(template, None), profile, standard)
    for lost in carried.not_carried_over:
        if lost.path in template.settings:
            raise Conflict(
                f"The template sets {lost.path}, which {profile} does not support. {lost.reason}",
                field="template",
            )
    return {path: value for path, _, value in difference(standard, carried.settings)}


def template_body(template: GivenTemplate, hw: str | None = None, sw: str | None = None) -> bytes:
    """Return a template in the form of the node's API; the version applies to values by path."""
    if isinstance(template, Mapping):
        profile = version_for(hw, sw, template)
        file = BackupFile.create(profile, dict(template))
    else:
        file = read_template_file(Path(template))
    return as_text(file, ".json").encode()


def read_template_file(path: Path) -> BackupFile:
    """Read a backup as a template; reject a backup whose encrypted secrets would be lost."""
    template = read(path)
    if template.sealed is not None:
        raise BadSettings(
            f"{path} contains encrypted secrets, which a template cannot contain. Write a file"
            f" without them: leverframe backup convert {path} template.toml --without-secrets."
        )
    return template


def _check_paths(values: Mapping[str, Any], standard: Settings) -> None:
    known = {path for path, _ in leaves(standard)}
    for path in values:
        # Entries that do not exist yet have their own paths.
        if path not in known and not path.startswith(("rules.", "schedule.", "access.users.")):
            raise BadSettings(
                f"Unknown setting {path!r}; write a path like outputs.0.name."
                " `leverframe.testing.Twin().settings` lists all paths."
            )
