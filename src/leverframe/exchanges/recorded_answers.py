"""Recorded answers, given again to the same requests: in their order, the last one for ever."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from leverframe.exchanges.exchange import Exchange, RecordedAnswer
from leverframe.exchanges.masking import masked_request

#: What makes a request the same: method, path, query and body, without their secrets.
RequestKey = tuple[str, str, str | None, str]


class GivenAgain(Struct):
    answers: list[RecordedAnswer]
    next: int = 0


class RecordedAnswers:
    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._by_request: dict[RequestKey, GivenAgain] = {}
        #: Answers that are alike are held once: clients ask for the same again and again.
        alike: dict[bytes, RecordedAnswer] = {}
        for one in exchanges:
            if one.answer.status and not one.answer.body.left_out:
                answer = alike.setdefault(msgspec.json.encode(one.answer), one.answer)
                key = (one.method, one.path, one.query, one.body.text)
                self._by_request.setdefault(key, GivenAgain([])).answers.append(answer)

    def __len__(self) -> int:
        return len(self._by_request)

    def rewind(self) -> None:
        """Begin with the first answers again."""
        for given in self._by_request.values():
            given.next = 0

    def answer(
        self, method: str, path: str, query: str | None, content_type: str, body: bytes
    ) -> RecordedAnswer | None:
        """Return the next answer that was recorded to this request; None where there is none."""
        request = masked_request(path, query, content_type, body)
        method = "GET" if method == "HEAD" else method
        given = self._by_request.get((method, request.path, request.query, request.body.text))
        if given is None:
            return None
        answer = given.answers[given.next]
        given.next = min(given.next + 1, len(given.answers) - 1)
        return answer
