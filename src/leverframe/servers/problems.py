"""Refusals as replies: `application/problem+json` in plain words."""

import msgspec

from leverframe.commands.refusals import Refusal
from leverframe.servers.messages import PROBLEM_TYPE, Headers, Reply


def reply_to_refusal(refusal: Refusal) -> Reply:
    body = msgspec.json.encode(refusal.as_problem())
    headers: Headers = ()
    if refusal.status == 405:
        headers = (("Allow", refusal.allowed or "GET"),)
    return Reply(refusal.status, PROBLEM_TYPE, body, headers)


class NoSuchPath(Refusal):
    status = 404
    title = "There is nothing at this path"


class WrongMethodForPath(Refusal):
    status = 405
    title = "The path takes another method"


class StoreFailed(Refusal):
    status = 507
    title = "The change could not be stored"


class TooManyCommands(Refusal):
    title = "The request has too many commands"
