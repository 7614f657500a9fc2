"""Settings backups over HTTP: download and restore; the encryption runs in a thread.

The passphrase comes in a header: unlike a query it is in no log and no history, and a foreign page
cannot send it. A restore is decoded and checked first, then the controller takes it as one change.
"""

import asyncio
import logging
from functools import partial
from typing import Any

from leverframe.commands.describe.openapi import BINARY
from leverframe.commands.table.matching import Call
from leverframe.commands.table.params import decoded
from leverframe.commands.table.refusals import BadValue, Malformed, Refusal
from leverframe.commands.table.rights import Account
from leverframe.commands.version_change.carry_over import carry_over
from leverframe.controller import Controller
from leverframe.engine.journal import Cause
from leverframe.servers.http.messages import Reply, Request
from leverframe.servers.problems import StoreFailed, reply_to_refusal
from leverframe.servers.routes.commands import CommandEndpoint
from leverframe.storage.backup import BackupRefused, decode_backup, encode_backup
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

PASSPHRASE_HEADER = "backup-passphrase"
MAX_PASSPHRASE_LETTERS = 128
COUNT_HEADER = "Not-Carried-Over"
#: Deriving a key takes 64 MiB, so one at a time.
_AT_A_TIME = 1


class BackupEndpoint:
    def __init__(self, controller: Controller, commands: CommandEndpoint) -> None:
        self._controller = controller
        self._commands = commands
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def download(self, request: Request) -> Reply:
        """Encode the settings, encrypted if the request has a passphrase."""
        controller = self._controller
        make = partial(encode_backup, controller.profile, controller.engine.settings)
        try:
            passphrase = _passphrase(request)
            backup = make() if passphrase is None else await self._slowly(make, passphrase)
        except BackupRefused as refused:
            raise BadValue(str(refused)) from None
        return Reply(200, BINARY, backup)

    async def restore(self, request: Request, call: Call, account: Account) -> Reply:
        """Restore all of a backup or nothing; say how much could not be carried over."""
        try:
            passphrase = _passphrase(request)
            read = partial(decode_backup, request.body)
            content = read() if passphrase is None else await self._slowly(read, passphrase)
            restored = carry_over(content, self._controller.profile, self._controller.pending)
            cause = Cause(
                "command", f"{account.name} {request.peer}".strip(), account.name, request.peer
            )
            done = self._controller.perform([(call, restored)], cause, account=account)
            if done is not None:
                await asyncio.shield(done)
        except BackupRefused as refused:
            refusal = Malformed(str(refused), allowed="a settings backup")
            return reply_to_refusal(refusal.of(call.row.line))
        except Refusal as refusal:
            return reply_to_refusal(refusal.of(call.row.line))
        except StoreUnavailable as error:
            return reply_to_refusal(StoreFailed(str(error)))
        for lost in restored.not_carried_over:
            log.warning("not carried over by the restore: %s: %s", lost.path, lost.reason)
        reply = self._commands.status_reply()
        count = (COUNT_HEADER, str(len(restored.not_carried_over)))
        return Reply(reply.status, reply.content_type, reply.body, (count,))

    async def _slowly(self, work: Any, passphrase: str) -> Any:
        async with self._turns:
            return await asyncio.to_thread(work, passphrase)


def _passphrase(request: Request) -> str | None:
    raw = request.headers.get(PASSPHRASE_HEADER)
    if not raw:
        return None
    try:
        text = decoded(raw, plus_is_space=False)
    except Refusal as refusal:
        raise refusal.without_value() from None
    if len(text) > MAX_PASSPHRASE_LETTERS:
        raise BadValue(
            "The passphrase is too long.", allowed=f"up to {MAX_PASSPHRASE_LETTERS} characters"
        )
    return text
