"""`leverframe unit give-back`: transfer the changes of a controller back to its original unit.

Changes made on the controller become a plan for the unit. Settings that did not change there stay
as they are on the unit, even if they were changed there. The plan is verified on a twin, printed,
and written for `unit apply`; nothing is sent.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from leverframe.engine.settings import Settings
from leverframe.engine.tree import MISSING, difference, leaves, settings_from_leaves
from leverframe.exit_codes import DONE, NO
from leverframe.plain_text import print_line, print_lines
from leverframe.recording.replayer import ask_login
from leverframe.storage.datafolder import folder_with_store
from leverframe.storage.encrypting import EncryptingStore
from leverframe.storage.sqlite import SqliteStore
from leverframe.units.client import open_paced_client
from leverframe.units.file_keys import key_of
from leverframe.units.plan_making import plan_for_settings
from leverframe.units.plan_text import plan_in_words
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.pulling import pull_unit
from leverframe.units.take_over import TAKEN_OVER, CannotTakeOver, TakenOver
from leverframe.units.unit_plan import write_plans

#: Accounts of the controller are not transferred: the unit has kept its own.
_STAYS = ("access", "profile")


class MergedSettings(NamedTuple):
    """The wanted settings of a unit: its own settings with the changes of the controller."""

    settings: Settings
    #: Paths that the controller changed.
    changed: tuple[str, ...]
    #: Paths that were also changed on the unit, to another value.
    disputed: tuple[str, ...]


async def give_back(
    data: Path, to: str | None, user: str | None, ca_file: str | None, out: Path | None
) -> int:
    """Print the plan that transfers the changes of a controller to its original unit."""
    taken = read_taken_over(data)
    began_with, present = await _settings_of(data, taken)
    async with open_paced_client(to or taken.address, ask_login(user), ca_file) as client:
        pulled = await pull_unit(client, mac=taken.mac)
    _refuse_another_version(taken, pulled)
    merged = changes_for(began_with, present, pulled)
    for path in merged.disputed:
        key = key_of(path)
        print_line(f"{key} was also changed on the unit; the plan sets the controller's value.")
    named = [path for path in merged.changed if pulled.why_unread(path) is not None]
    plan = await plan_for_settings(
        pulled.identity.name or pulled.identity.address, pulled, merged.settings, named
    )
    print_lines(plan_in_words(plan))
    if out is not None:
        write_plans(out, [plan])
        print_line(f"Written to {out}; send it with `leverframe unit apply {out}`.")
    return NO if plan.left_out else DONE


def read_taken_over(data: Path) -> TakenOver:
    """Read the record of the unit from the take-over."""
    try:
        return msgspec.json.decode((data / TAKEN_OVER).read_bytes(), type=TakenOver)
    except (FileNotFoundError, NotADirectoryError):
        raise CannotTakeOver(
            f"{data} is not the data folder of a controller created by `leverframe unit take-over`."
        ) from None
    except msgspec.MsgspecError as error:
        raise CannotTakeOver(f"{data / TAKEN_OVER} is damaged: {error}.") from None


async def _settings_of(data: Path, taken: TakenOver) -> tuple[Settings, Settings]:
    """Return the initial and the present settings of the controller."""
    with folder_with_store(data) as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        try:
            settings, _ = settings_from_leaves(taken.profile, store.load().settings)
        finally:
            await store.close()
        return taken.tree(folder.key_path), settings


def _refuse_another_version(taken: TakenOver, pulled: PulledUnit) -> None:
    if pulled.profile != taken.profile:
        raise CannotTakeOver(
            f"The unit is {pulled.profile} now but was {taken.profile} when it was taken over;"
            " compare them with `leverframe unit diff` and change the unit with a unit file."
        )


def changes_for(old: Settings, new: Settings, pulled: PulledUnit) -> MergedSettings:
    """Apply the differences between old and new to the settings of a unit."""
    changed, disputed = [], []
    for path, before, after in _counting(old, new):
        changed.append(path)
        if pulled.why_unread(path) is None and _leaf(pulled.settings, path) not in (before, after):
            disputed.append(path)
    settings = _merge(old, new, pulled.settings)
    return MergedSettings(settings, tuple(changed), tuple(disputed))


def _counting(old: Settings, new: Settings) -> Iterator[tuple[str, Any, Any]]:
    for path, before, after in difference(old, new):
        if path.partition(".")[0] not in _STAYS:
            yield path, before, after


def _leaf(settings: Settings, path: str) -> Any:
    return dict(leaves(settings)).get(path, MISSING)


def _merge(old: Settings, new: Settings, present: Settings) -> Settings:
    """Merge: changed parts from the new settings, the remaining parts from the present ones."""
    parts = {
        name: _part(getattr(old, name), getattr(new, name), getattr(present, name))
        for name in present.__struct_fields__
        if name not in _STAYS
    }
    return msgspec.structs.replace(present, **parts)


def _part(old: Any, new: Any, present: Any) -> Any:
    if old == new:
        return present
    if isinstance(new, msgspec.Struct) and type(old) is type(new) is type(present):
        parts = {
            name: _part(getattr(old, name), getattr(new, name), getattr(present, name))
            for name in new.__struct_fields__
        }
        return msgspec.structs.replace(new, **parts)
    if isinstance(new, tuple) and len(old) == len(new) == len(present):
        return tuple(map(_part, old, new, present))
    # A list of changed length, such as the rules, is transferred as a whole.
    return new
