"""Calls between nodes, byte by byte: nodes of two versions run side by side."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.fleet.bulk import BulkReport, MemberResult
from leverframe.fleet.cluster.node_calls import PROTOCOL, CallAnswer, NodeCall
from leverframe.fleet.finding_groups import FindingGroup
from leverframe.fleet.jobs.executor import Findings, FindingsCall, SnapshotCall, StepsCall, UndoCall
from leverframe.fleet.jobs.jobs import NoSuchJob, ReportCall
from leverframe.fleet.page_view import FleetRow, GroupsCall, KeysCall, KeysPart
from leverframe.fleet.scopes import ApiAnswer, ApiCall
from tests.fleet.loop_node import loop_node

NOTED = Path(__file__).parents[2] / "fixtures" / "node_calls.json"
#: Question and answer of each call, by its name.
CALLS: dict[str, tuple[Any, Any]] = {
    "api": (ApiCall, ApiAnswer),
    "job.findings": (FindingsCall, dict[int, Findings]),
    "job.forget": (str, None),
    "job.forget_tenant": (str, None),
    "job.keep": (SnapshotCall, list[int]),
    "job.send": (StepsCall, dict[int, MemberResult]),
    "job.told": (ReportCall, BulkReport),
    "job.undo": (UndoCall, dict[int, MemberResult]),
    "view.findings": (GroupsCall, list[FindingGroup]),
    "view.keys": (KeysCall, KeysPart),
    "view.rows": (list[int], dict[int, FleetRow]),
}
ACCOUNT = {"name": "anna", "role": "admin", "path": "", "joins_commands": True}
STEP = {"job": "once", "part": "0", "by": ACCOUNT, "source": "127.0.0.1"}
WORK = {"commands": ["outs.cgi?out0=1"]}
#: As nodes of this protocol ask; controller 1 is there.
ASKED: dict[str, Any] = {
    "api": {
        "path": "/api/fleet/list",
        "given": {},
        "body": b"",
        "asking": {"account": ACCOUNT, "tenant": None},
        "source": "127.0.0.1",
        "numbers": [1],
    },
    "job.findings": {"numbers": [1], "tenant": ""},
    "job.forget": "once",
    "job.forget_tenant": "north",
    "job.keep": {"numbers": [1], "label": "once/0.0"},
    "job.send": {"steps": {1: STEP}, "work": WORK},
    "job.told": {"id": "once", "work": WORK},
    "job.undo": {"labels": {1: "once/0.0"}, "step": STEP},
    "view.findings": {"tenant": None},
    "view.keys": {"wanted": {"search": "", "order": "name"}, "count": 5, "expected": [1]},
    "view.rows": [1],
}
WHAT_TO_DO = (
    "What nodes say to each other has changed, and fields that a program does not know are refused."
    " Add a field with a default, which is left out, and raise PROTOCOL in node_calls.py; answer"
    " questions of an older protocol without it. Then note both: python -m"
    " tests.fleet.cluster.test_wire_of_calls writes tests/fixtures/node_calls.json."
)


def describe_calls() -> dict[str, Any]:
    """Describe all calls and answers, without the texts for users."""
    envelope = {"call": NodeCall, "answer": CallAnswer}
    names = [*envelope, *(f"{what} {part}" for what in CALLS for part in ("call", "answer"))]
    types = [*envelope.values(), *(one for both in CALLS.values() for one in both)]
    shapes, parts = msgspec.json.schema_components(types)
    calls = dict(zip(names, shapes, strict=True))
    plain = _without_texts({"protocol": PROTOCOL, "calls": calls, "parts": parts})
    found: dict[str, Any] = json.loads(json.dumps(plain))
    return found


def _without_texts(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_texts(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_texts(one)
        for key, one in schema.items()
        if not (key == "description" and isinstance(one, str))
    }


def test_calls_between_nodes_match_the_fixture() -> None:
    assert describe_calls() == json.loads(NOTED.read_text("utf-8")), WHAT_TO_DO


async def test_each_call_of_a_node_is_in_the_fixture_and_is_understood() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        assert set(node.node.calls) == set(CALLS) == set(ASKED)
        for what, asked in ASKED.items():
            # This job has nothing to report.
            with suppress(NoSuchJob):
                answer = await node.node.calls[what](msgspec.msgpack.encode(asked))
                if answer:
                    msgspec.msgpack.decode(answer, type=CALLS[what][1])


def test_message_without_a_number_uses_the_first_protocol() -> None:
    said = msgspec.msgpack.encode({"what": "api", "node": "a", "epoch": 1, "content": b""})
    assert msgspec.msgpack.decode(said, type=NodeCall).protocol == 1
    assert msgspec.msgpack.decode(b"\x80", type=CallAnswer) == CallAnswer(protocol=1)
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode([]), type=NodeCall)


if __name__ == "__main__":
    NOTED.write_text(json.dumps(describe_calls(), indent=1, sort_keys=True) + "\n", "utf-8")
