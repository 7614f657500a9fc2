"""Refusals as replies: `application/problem+json` with a plain-text reason."""

from collections.abc import Callable

import msgspec

from leverframe.host.controller.commit_path import Outstanding
from leverframe.host.controller.hooks import ControllerElsewhere
from leverframe.interface.table.refusals import Refusal
from leverframe.server.http.messages import PROBLEM_TYPE, Headers, Reply
from leverframe.storage.store import StoreUnavailable

#: Sent with a refusal if a retry in a few seconds may succeed.
RETRY_SOON: Headers = (("Retry-After", "2"),)


def reply_to_refusal(refusal: Refusal) -> Reply:
    body = msgspec.json.encode(refusal.as_problem())
    headers: Headers = ()
    if refusal.status == 405:
        headers = (("Allow", refusal.allowed or "GET"),)
    elif isinstance(refusal, TooManyTries | TooManyStreams | TooBusy):
        headers = (("Retry-After", str(refusal.retry_after_s)),)
    elif refusal.status == 503:
        headers = RETRY_SOON
    return Reply(refusal.status, PROBLEM_TYPE, body, headers)


async def reply_when_done(outstanding: Outstanding, done: Callable[[], Reply]) -> Reply:
    """Wait for a request's outstanding work; return the reply from `done`, or the refusal."""
    try:
        await outstanding.finish()
    except StoreUnavailable as error:
        return reply_to_refusal(StoreFailed.because(error))
    except Refusal as refusal:
        return reply_to_refusal(refusal)
    return done()


class NoSuchPath(Refusal):
    status = 404
    title = "Nothing at this path"


class WrongMethodForPath(Refusal):
    status = 405
    title = "Method not allowed at this path"


class CameTooLate(Refusal):
    status = 412
    title = "The request arrived too late"

    def __init__(self) -> None:
        super().__init__(
            "The request arrived after the time until which it was valid. Nothing was done."
        )


class TooManyTries(Refusal):
    status = 429
    title = "Too many wrong passwords"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"Too many wrong passwords from your address. Retry in {retry_after_s} s.")
        self.retry_after_s = retry_after_s


class TooManyStreams(Refusal):
    status = 503
    title = "Too many streams are open"
    retry_after_s = 30

    def __init__(self) -> None:
        super().__init__(
            "Too many streams of the live state are open for your account or address. Close some, "
            "or poll /api/state."
        )


class TooBusy(Refusal):
    status = 503
    title = "Too much work is in progress"

    def __init__(self, detail: str, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class ForeignPage(Refusal):
    status = 403
    title = "Requests from pages of other sites are refused"


class StoreFailed(Refusal):
    status = 507
    title = "The change could not be stored"

    @staticmethod
    def because(error: StoreUnavailable) -> Refusal:
        """Return the refusal of a change that was not stored, or may not have been."""
        if error.is_taken_over:
            return FencedOff(str(error))
        if error.is_over:
            # This is the refusal of all later changes, too, which are not even attempted.
            return ControllerElsewhere(str(error))
        return NotKnownYet(str(error)) if error.is_in_doubt else StoreFailed(str(error))


class NotReadNow(Refusal):
    status = 503
    title = "Temporarily unreadable"

    @staticmethod
    def because(error: StoreUnavailable) -> Refusal:
        """Return the refusal of a read.

        If another node runs the controller, this is the refusal of a change.
        """
        if error.is_taken_over or error.is_over:
            return StoreFailed.because(error)
        return NotReadNow(error.for_reader or str(error))


class FencedOff(Refusal):
    status = 421
    title = "Another node has taken over"


class NotKnownYet(Refusal):
    status = 503
    title = "Not yet known whether the change is stored"
