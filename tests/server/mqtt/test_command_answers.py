"""Answers to commands by MQTT: their order, and how many wait."""

import asyncio

import pytest

from leverframe.host.controller import Outstanding
from leverframe.server import mqtt
from leverframe.server.mqtt import CommandAnswers
from leverframe.storage.store import StoreUnavailable

MOST = 5


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqtt, "MAX_WAITING", MOST)


class Given:
    """What was answered, and what the broker has acknowledged of it."""

    def __init__(self, *, acknowledges: bool = True) -> None:
        self.answers: list[str] = []
        self.futures: list[asyncio.Future[bool]] = []
        self.acknowledges = acknowledges

    def publish(self, answer: str) -> "asyncio.Future[bool]":
        self.answers.append(answer)
        self.futures.append(asyncio.get_running_loop().create_future())
        if self.acknowledges:
            self.futures[-1].set_result(True)
        return self.futures[-1]


def on_its_way() -> Outstanding:
    return Outstanding(asyncio.get_running_loop().create_future())


async def rounds() -> None:
    for _ in range(10 * MOST):
        await asyncio.sleep(0)


async def test_each_waits_for_its_disk_and_for_those_before_it() -> None:
    given = Given()
    answers = CommandAnswers(given.publish)
    first, third, fourth = on_its_way(), on_its_way(), on_its_way()
    for outstanding in (first, None, third, fourth):
        answers.add(outstanding, "refused" if outstanding is None else "1")
    for one in (third, fourth):
        assert one.write is not None
    third.write.set_exception(StoreUnavailable("The disk is full."))  # type: ignore[union-attr]
    fourth.write.set_exception(ZeroDivisionError())  # type: ignore[union-attr]
    await rounds()
    assert given.answers == []
    first.write.set_result(None)  # type: ignore[union-attr]
    await rounds()
    assert given.answers == ["1", "refused", "The disk is full.", mqtt.FAULT]


async def test_any_number_of_refusals_takes_the_room_of_one() -> None:
    given = Given()
    answers = CommandAnswers(given.publish)
    waiting = [on_its_way() for _ in range(MOST)]
    for outstanding in waiting:
        assert not answers.are_too_many
        answers.add(outstanding, "1")
    for _ in range(1000):
        assert answers.are_too_many
        answers.add(None, "too many")
    assert len(answers._waiting) == MOST + 1
    for outstanding in waiting:
        assert outstanding.write is not None
        outstanding.write.set_result(None)
    await rounds()
    assert given.answers == ["1"] * MOST + ["too many"] * 1000
    assert not answers.are_too_many


async def test_broker_that_takes_no_answers_gets_no_more_of_them() -> None:
    given = Given(acknowledges=False)
    answers = CommandAnswers(given.publish)
    for number in range(3 * MOST):
        answers.add(None, str(number))
    await rounds()
    assert given.answers == [str(number) for number in range(MOST)]
    given.acknowledges = True
    # The link is lost: what was under way counts as not taken.
    for future in given.futures[:MOST]:
        future.set_result(False)
    await rounds()
    assert given.answers == [str(number) for number in range(3 * MOST)]


async def test_without_a_link_no_answer_is_sent_or_kept() -> None:
    answers = CommandAnswers(lambda answer: None)
    answers.add(None, "1")
    await rounds()
    assert not answers._waiting
