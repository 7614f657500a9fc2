"""The end of several parts: all of them are ended, whatever one of them does."""

import logging

import pytest

from leverframe.core.runtime.event_loop import close_all


class Part:
    def __init__(self, ended: list[str], name: str, fault: Exception | None = None) -> None:
        self._ended = ended
        self._name = name
        self._fault = fault

    async def close(self) -> None:
        self._ended.append(self._name)
        if self._fault is not None:
            raise self._fault


async def test_failing_part_is_named_and_the_other_parts_still_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended: list[str] = []
    parts = [Part(ended, "a"), Part(ended, "b", OSError("stuck")), Part(ended, "c")]
    await close_all(part.close for part in parts)
    assert ended == ["a", "b", "c"]
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "Part.close failed" in record.getMessage()
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "stuck"
