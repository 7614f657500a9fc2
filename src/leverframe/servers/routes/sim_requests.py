"""`/api/sim/requests`: what clients asked a twin for, where that is noted."""

from leverframe.commands.table.matching import may_hold_secret
from leverframe.servers.http.request_journal import JournalRequest
from leverframe.servers.problems import NoSuchPath
from leverframe.servers.routes.context import Context


def sim_requests(context: Context) -> list[JournalRequest]:
    if context.controller.request_journal is None:
        raise NoSuchPath("Requests are noted on virtual time only; start with --virtual-time.")
    entries: list[JournalRequest] = context.controller.request_journal.entries()
    return entries


def without_secrets(query: str) -> str:
    """Replace the value of each item that may hold a secret."""
    return "&".join(map(_item, query.split("&")))


def _item(item: str) -> str:
    name, equals, _ = item.partition("=")
    if not equals or not (may_hold_secret(name.lower()) or name.lower() == "sms"):
        return item
    return f"{name}=***"
