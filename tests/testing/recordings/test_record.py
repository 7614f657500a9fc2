"""The work of `leverframe record`, in the process of the test."""

import asyncio
import errno
import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from leverframe.host import recordings
from leverframe.host.ports import CannotListen
from leverframe.testing.recordings.proxy import CannotRecord, record
from tests.devices.waiting import until
from tests.patience import PATIENCE_S
from tests.testing.recordings.recorded_twin import read_exchanges, twin_at_port


async def url_in(capsys: pytest.CaptureFixture[str]) -> str:
    said: list[str] = []

    def is_said() -> bool:
        said.append(capsys.readouterr().out)
        return "stop with Ctrl+C" in "".join(said)

    await until(is_said)
    return "".join(said).partition("Use ")[2].partition(" in your client")[0].rstrip("/")


async def test_recording_ends_with_a_signal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, httpx.AsyncClient(timeout=PATIENCE_S) as client:
        running = asyncio.create_task(record(unit.url, path, 0, None, as_json=False))
        url = await url_in(capsys)
        assert (await client.get(f"{url}/outs.cgi?out0=1")).status_code == 200
        signal.raise_signal(signal.SIGTERM)
        await running
    assert capsys.readouterr().out == f"Exchanges in {path}: 1; with secrets masked: 0.\n"
    assert len(read_exchanges(path)) == 1


async def test_scripts_receive_the_address_and_the_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []

    def is_said() -> bool:
        said.append(capsys.readouterr().out)
        return "\n" in "".join(said)

    async with twin_at_port() as unit:
        running = asyncio.create_task(record(unit.url, tmp_path / "s", 0, None, as_json=True))
        await until(is_said)
        ready = json.loads("".join(said))
        assert ready.keys() == {"event", "url", "unit", "out"}
        assert ready["unit"] == unit.url
        signal.raise_signal(signal.SIGINT)
        await running
    stopped = json.loads(capsys.readouterr().out)
    assert stopped == {"event": "stopped", "exchanges": 0, "masked": 0}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every port")
async def test_port_for_root_alone_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(CannotListen, match="choose a port above 1023"):
        await record("http://127.0.0.1:9", tmp_path / "s", 1, None, as_json=False)


async def test_recording_ends_where_it_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk:
        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def write(self, descriptor: int, line: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with twin_at_port() as unit, httpx.AsyncClient(timeout=PATIENCE_S) as client:
        running = asyncio.create_task(record(unit.url, tmp_path / "s", 0, None, as_json=False))
        url = await url_in(capsys)
        monkeypatch.setattr(recordings, "os", FullDisk())
        replies = [client.get(f"{url}/outs.cgi?out0=1") for _ in range(3)]
        assert {x.status_code for x in await asyncio.gather(*replies)} == {200}
        with pytest.raises(CannotRecord, match=r"No space left on device.*after 0 exchanges"):
            await running
