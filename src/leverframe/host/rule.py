"""`leverframe rule`: add a rule, written as a line of text, to a running controller."""

from http import HTTPStatus

import msgspec

from leverframe.core.engine.rule_report import RuleReport
from leverframe.core.errors import ErrorForPeople, print_json, print_line
from leverframe.host.api_client import NO_ANSWER, ApiClient, sign_in_headers
from leverframe.host.terminal import ask_secret
from leverframe.interface.table.rules import enabling_commands


class RuleNotAdded(ErrorForPeople):
    """The rule was not added: one or two sentences."""


def add_rule(text: str, to: str, user: str | None, ca_file: str | None, as_json: bool) -> None:
    """Add and enable a rule, and print the request that sets it."""
    credentials = None if user is None else (user, ask_secret(f"Password of {user}"))
    url = to.rstrip("/")
    try:
        reply = ApiClient(url, ca_file).request(
            "POST", "/api/rules", text.encode(), sign_in_headers(credentials)
        )
    except NO_ANSWER as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise RuleNotAdded(
            f"{url} does not answer: {why}. Start a controller with `leverframe run`, or set its"
            " address with --to."
        ) from None
    if reply.status == HTTPStatus.UNAUTHORIZED and user is None:
        raise RuleNotAdded(f"{url} requires sign-in. Name an administrator with --user.")
    if reply.status != HTTPStatus.OK:
        raise RuleNotAdded(_reason(reply.body) or f"{url} answered with status {reply.status}.")
    (rule,) = msgspec.json.decode(reply.body, type=list[RuleReport])
    commands = [rule.command or "", *enabling_commands(rule.number - 1, rule.settings)]
    request = f"{url}/inpa.cgi?{'&'.join(commands)}"
    if as_json:
        print_json({"rule": rule.number, "request": request, "why": rule.why.text})
        return
    print_line(f"Rule {rule.number} is enabled. {rule.why.text}")
    print_line(f"The same by command: curl '{request}'")


def _reason(body: bytes) -> str:
    """Return the sentence of a problem document; empty for any other body."""
    try:
        detail = msgspec.json.decode(body)["detail"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""
    return str(detail)
