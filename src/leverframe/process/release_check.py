"""Fetch the newest software version from a configured URL.

The answer is JSON: `{"version": "1.76", "hardware": ["3.5", "3.9"], "notes":
"https://example.org/1.76"}`. `version` is required; without `hardware` it applies to every
hardware; `notes` links to release notes. Other keys are ignored. The request contains nothing about
the controller, and the URL must be a target that messages may also reach.
"""

import asyncio
from importlib import import_module
from urllib.parse import urlsplit

import msgspec

from leverframe.notify.channel import CannotSend
from leverframe.notify.outgoing_request import OutgoingRequest, RemoteServer
from leverframe.notify.troubles import sentence
from leverframe.notify.trust import Trust
from leverframe.outgoing.targets import ForbiddenTarget, OutgoingChannel
from leverframe.profile import UnknownProfile, version

ANSWER_S = 15.0
MAX_BYTES = 16 * 1024
MAX_LETTERS = 255


class Release(msgspec.Struct, frozen=True):
    """The answer with the newest release."""

    version: str
    hardware: tuple[str, ...] = ()
    notes: str | None = None


async def ask_for_release(url: str, trust: Trust, way_out: OutgoingChannel) -> Release:
    """Fetch the newest release, or raise `CannotSend` with a sentence."""
    # As for messages: importing the client takes longer than a relay may wait.
    await asyncio.to_thread(import_module, "leverframe.notify.http_request")
    from leverframe.notify.http_request import answer_of, new_client

    server, parts = RemoteServer.of(url), urlsplit(url)
    try:
        addresses = await way_out.resolve(server.host, server.port)
    except ForbiddenTarget as error:
        raise CannotSend(str(error)) from error
    except OSError as error:
        raise CannotSend(sentence(error, server.host, server.port)) from error
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    async with new_client(await trust.ready(), ANSWER_S, of_controller=True) as client:
        request = OutgoingRequest(path, None, parts.username or "", parts.password or "")
        # One more byte reveals an answer that is too long.
        status, body = await answer_of(client, server, addresses, request, MAX_BYTES + 1)
    if status != 200:
        raise CannotSend(f"{server} answered with status {status} instead of the newest version.")
    return release_from_answer(body, str(server))


def release_from_answer(body: bytes, place: str) -> Release:
    if len(body) > MAX_BYTES:
        raise CannotSend(f"{place} answered with more than {MAX_BYTES} bytes.")
    try:
        news = msgspec.json.decode(body, type=Release)
        version(news.version)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CannotSend(
            f"{place} did not answer with JSON that contains version, hardware and notes."
        ) from None
    except UnknownProfile:
        raise CannotSend(
            f"{place} answered with a version that is not written like 1.36 or 1.49d."
        ) from None
    if news.notes is not None and not _is_link(news.notes):
        raise CannotSend(f"{place} answered with notes that are not an http or https URL.")
    return news


def _is_link(text: str) -> bool:
    is_short = len(text) <= MAX_LETTERS and text.isprintable()
    return is_short and text.startswith(("http://", "https://"))
