"""`/api/sim/requests`: what clients asked a twin for, where that is noted."""

from leverframe.servers.http.request_journal import JournalRequest
from leverframe.servers.problems import NoSuchPath
from leverframe.servers.routes.context import Context


def sim_requests(context: Context) -> list[JournalRequest]:
    if context.controller.request_journal is None:
        raise NoSuchPath("Requests are noted on virtual time only; start with --virtual-time.")
    entries: list[JournalRequest] = context.controller.request_journal.entries()
    return entries
