"""Recorded answers, replayed to the same requests: in their order, the last answer forever."""

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, Self

import msgspec

from leverframe.exchanges.exchange import Exchange, RecordedAnswer
from leverframe.exchanges.masking import mask_request

#: What makes a request the same: method, path, query and body, without their secrets.
RequestKey = tuple[str, str, str | None, str]


class RecordedAnswers:
    live_name: ClassVar[str] = "answers"
    live_type: ClassVar[Any] = dict[RequestKey, int]

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._by_request: dict[RequestKey, list[RecordedAnswer]] = {}
        #: How often each request was answered.
        self._given = Counter[RequestKey]()
        #: Answers that are alike are held once: clients ask for the same again and again.
        alike: dict[bytes, RecordedAnswer] = {}
        for one in exchanges:
            if one.answer.status and not one.answer.body.left_out:
                answer = alike.setdefault(msgspec.json.encode(one.answer), one.answer)
                key = (one.method, one.path, one.query, one.body.text)
                self._by_request.setdefault(key, []).append(answer)

    def __len__(self) -> int:
        return len(self._by_request)

    def from_the_first(self) -> Self:
        """Return the same answers from the start."""
        other = copy(self)
        other._given = Counter()
        return other

    def live_state(self) -> Mapping[RequestKey, int]:
        return dict(self._given)

    def resume_from(self, state: Mapping[RequestKey, int]) -> None:
        self._given = Counter(state)

    def answer(
        self, method: str, path: str, query: str | None, content_type: str, body: bytes
    ) -> RecordedAnswer | None:
        """Return the next answer that was recorded to this request; None where there is none."""
        request = mask_request(path, query, content_type, body)
        method = "GET" if method == "HEAD" else method
        key = (method, request.path, request.query, request.body.text)
        answers = self._by_request.get(key)
        if answers is None:
            return None
        self._given[key] += 1
        return answers[min(self._given[key], len(answers)) - 1]
