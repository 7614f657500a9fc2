"""Settings backups over HTTP: download, restore, and what a restore would change.

The work is done in a thread.

The passphrase is in a header: unlike a query, a header appears in no log and no history, and a
foreign page cannot send it. A restore is decoded, checked and converted first; then the controller
applies it as one change.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from leverframe.core.engine.journal import Cause
from leverframe.core.settings import Settings
from leverframe.core.tree import MISSING, difference, is_confidential, is_secret, mask_secret
from leverframe.host.controller import Controller
from leverframe.interface.descriptions.schemas import BINARY
from leverframe.interface.table.bodies import Upload
from leverframe.interface.table.lookup import Account, Call
from leverframe.interface.table.params import decode_text
from leverframe.interface.table.refusals import BadValue, Conflict, Malformed, Refusal, Restored
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.limits import Content
from leverframe.server.http.messages import Reply, Request
from leverframe.server.problems import StoreFailed, reply_to_refusal
from leverframe.server.routes.commands import CommandEndpoint
from leverframe.storage.backup import BackupRefused, decode_backup, encode_backup
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

PASSPHRASE_HEADER = "backup-passphrase"
MAX_PASSPHRASE_LETTERS = 128
COUNT_HEADER = "Not-Carried-Over"
#: Lists the secrets that the backup did not contain in readable form. If the client sends no
#: passphrase, the backup is restored without these secrets, and the reply has this header.
SECRETS_HEADER = "Secrets-Not-Restored"
_MAX_NAMED = 40
#: Deriving a key needs 64 MiB, so only one key is derived at a time.
AT_A_TIME = 1
#: Maximum number of conversions of a backup if the settings change in the meantime.
_MAX_TRIES = 5


class NotRestored(Struct, frozen=True):
    """A setting that the last restore could not apply."""

    path: str
    value: Annotated[Any, Meta(description="The value in the backup; null for a secret.")]
    reason: str


class RestoredSetting(Struct, frozen=True):
    """A setting that a restore would change; null where there is none, secrets masked."""

    path: str
    old: Any
    new: Any


class RestoreTrial(Struct, frozen=True):
    """What a restore would do."""

    changes: list[RestoredSetting]
    not_carried_over: list[NotRestored]


class BackupEndpoint:
    def __init__(
        self,
        controller: Controller,
        commands: CommandEndpoint,
        turns: asyncio.Semaphore | None = None,
    ) -> None:
        """Limit concurrent key derivation by `turns`; the controllers of a process share them."""
        self._controller = controller
        self._commands = commands
        self._turns = turns or asyncio.Semaphore(AT_A_TIME)

    async def download(self, request: Request) -> Reply:
        """Encode the settings, encrypted if the request has a passphrase."""
        controller = self._controller
        make = partial(encode_backup, controller.profile, controller.engine.settings)
        try:
            passphrase = _passphrase(request)
            backup = await self._in_thread(make, passphrase)
        except BackupRefused as refused:
            raise BadValue(str(refused)) from None
        return Reply(200, BINARY, backup)

    async def restore(self, request: Request, call: Call, account: Account) -> Reply:
        """Restore all of a backup or nothing; report how much could not be carried over."""
        try:
            content = await self._content(self._file_in(request, call), _passphrase(request))
            restored = await self._convert(content)
            cause = Cause(
                "command", f"{account.name} {request.peer}".strip(), account.name, request.peer
            )
            await self._controller.perform([(call, restored)], cause, account=account)
        except BackupRefused as refused:
            refusal = Malformed(str(refused), allowed="a settings backup")
            return reply_to_refusal(refusal.of(call.row.line))
        except Refusal as refusal:
            return reply_to_refusal(refusal.of(call.row.line))
        except StoreUnavailable as error:
            return reply_to_refusal(StoreFailed.because(error))
        if lost := len(restored.not_carried_over):
            log.warning("the restore skipped %d settings; /api/restore-report lists them", lost)
            # Skipped parts of rules are logged by name: rules behave differently without them, and
            # there are few.
            for one in restored.not_carried_over:
                if one.path.startswith("rules."):
                    log.warning("%s: %s", one.path, one.reason)
        reply = self._commands.status_reply()
        headers = [(COUNT_HEADER, str(lost))]
        if content.left_out:
            headers.append((SECRETS_HEADER, _name_secrets(content.left_out)))
        return Reply(reply.status, reply.content_type, reply.body, tuple(headers))

    async def preview(self, request: Request) -> RestoreTrial:
        """Return what a restore would change; change nothing."""
        try:
            content = await self._content(request.body, _passphrase(request))
        except BackupRefused as refused:
            raise Malformed(str(refused), allowed="a settings backup") from None
        restored = await self._convert(content)
        return RestoreTrial(
            list(_changes(self._controller.pending, restored.settings)),
            [NotRestored(*lost) for lost in restored.not_carried_over],
        )

    def _file_in(self, request: Request, call: Call) -> bytes:
        """Return the backup in a request, which is its body or part of a form."""
        assert isinstance(call.row.body, Upload)
        content_type = request.headers.get("content-type", "")
        return call.row.body.read(request.body, content_type, self._controller.profile)

    async def _content(self, file: bytes, passphrase: str | None) -> Content:
        return await self._in_thread(decode_backup, file, passphrase)

    async def _convert(self, content: Content) -> Restored:
        """Convert a backup for the controller; repeat if the controller changes in the meantime."""
        controller = self._controller
        for _ in range(_MAX_TRIES):
            profile, present = controller.profile, controller.pending
            restored = await self._in_thread(carry_over, content, profile, present)
            if controller.pending is present and controller.profile == profile:
                return restored
        raise Conflict(
            "The settings kept changing while the backup was being checked. Nothing was restored; "
            "send the backup again."
        )

    async def _in_thread(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        async with self._turns:
            return await asyncio.to_thread(work, *arguments)


def _changes(old: Settings, new: Settings) -> Iterator[RestoredSetting]:
    for path, before, after in difference(old, new):
        shown = (None if value is MISSING else value for value in (before, after))
        yield RestoredSetting(path, *(map(mask_secret, shown) if is_secret(path) else shown))


def _name_secrets(secrets: Sequence[str]) -> str:
    """List secrets for a header; omit names that are not paths of secrets."""
    paths = [path for path in secrets if is_confidential(path) and path.isascii()][:_MAX_NAMED]
    more = len(secrets) - len(paths)
    if not paths:
        return "all"
    return ", ".join(paths) + (f" and {more} more" if more else "")


def _passphrase(request: Request) -> str | None:
    raw = request.headers.get(PASSPHRASE_HEADER)
    if not raw:
        return None
    try:
        text = decode_text(raw, plus_is_space=False)
    except Refusal as refusal:
        raise refusal.without_value() from None
    if len(text) > MAX_PASSPHRASE_LETTERS:
        raise BadValue(
            "The passphrase is too long.", allowed=f"up to {MAX_PASSPHRASE_LETTERS} characters"
        )
    return text
