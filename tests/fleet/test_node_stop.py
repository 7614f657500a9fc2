"""A node that stops: a number of controllers together, with its progress, to the end."""

import asyncio
import json

import pytest

from leverframe.fleet import serve
from leverframe.fleet.member import Member
from leverframe.fleet.node import STOPPED_AT_A_TIME
from leverframe.fleet.serve import print_stop
from tests.devices.waiting import until
from tests.fleet.loop_node import LoopNode, loop_node


class HeldEnds:
    """Lets controllers stop on request, and counts those that are stopping."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = self.most = 0
        self.may_continue = asyncio.Event()
        end = Member.end

        async def hold(member: Member) -> None:
            self.count += 1
            self.most = max(self.most, self.count)
            await self.may_continue.wait()
            await end(member)
            self.count -= 1

        monkeypatch.setattr(Member, "end", hold)


async def health(node: LoopNode) -> tuple[int, dict[str, object]]:
    reply = await node.ask("/health", method="GET")
    return reply.status, json.loads(reply.body)


async def test_number_of_controllers_stopped_together_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with loop_node() as node:
        await node.post("add", count=STOPPED_AT_A_TIME + 2, name="c-{n}")
        ends = HeldEnds(monkeypatch)
        closing = asyncio.ensure_future(node.node.close())
        await until(lambda: ends.count == STOPPED_AT_A_TIME)
        ends.may_continue.set()
        await closing
        assert ends.most == STOPPED_AT_A_TIME
        assert not node.node.members


async def test_controller_that_fails_to_stop_does_not_block_the_rest(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with loop_node() as node:
        await node.post("add", count=3, name="c-{n}")
        ended: list[str] = []
        end = Member.end

        async def failing(member: Member) -> None:
            if member.name == "c-1":
                raise OSError("no")
            await end(member)
            ended.append(member.name)

        monkeypatch.setattr(Member, "end", failing)
        await node.node.close()
        assert sorted(ended) == ["c-2", "c-3"]
        assert "the remaining parts are stopped anyway" in caplog.text


async def test_progress_of_a_stop_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "PROGRESS_EVERY_S", 0.01)
    async with loop_node() as node:
        await node.post("add", count=STOPPED_AT_A_TIME + 2, name="c-{n}")
        ends = HeldEnds(monkeypatch)
        async with print_stop(node.node.roster):
            count = STOPPED_AT_A_TIME + 2
            assert await health(node) == (
                503,
                {"status": "stopping", "controllers": count, "of": count},
            )
            closing = asyncio.ensure_future(node.node.close())
            await until(lambda: ends.count == STOPPED_AT_A_TIME)
            status, report = await health(node)
            assert (status, report["controllers"]) == (503, 2)
            sentence = f"stopping: {STOPPED_AT_A_TIME} of {count} controllers have stopped"
            await until(lambda: sentence in capsys.readouterr().err)
            ends.may_continue.set()
            await closing
