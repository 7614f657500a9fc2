"""Snapshots in files: what a twin that is loaded from one has, and what is no snapshot."""

import zlib
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from leverframe.host.controller import snapshot
from leverframe.testing import BadSnapshot, ProcessTwin, Twin, TwinRefused, faults

ROOM = "plant=room*heater:OUT0*reading:DS1*outside:5*power:30*time_constant:1h*start:20"


def busy_twin() -> Twin:
    """A twin of which every part has something to resume from."""
    twin = Twin(hw="3.5", start="2026-03-28T23:00", timezone="Europe/Warsaw", seed=7).start()
    twin.command("stm.cgi?oname=0Pump", "outs.cgi?ortime=4600", "outs.cgi?out4=1")
    twin.rule(when="DS1 < 18", then="OUT0 on", hysteresis=1)
    twin.rule(when="DS1 < 19", then="eMail 1")
    twin.sim(ROOM, "ping=router:5", "onewire=28:FF:64:1D:61:17:03:8D", "INPD1=0")
    twin.advance("20min")
    return twin


def story_of(twin: Twin | ProcessTwin) -> list[object]:
    """What happens to a twin in an hour, and what it is in the end."""
    twin.advance("1h")
    state = twin.state
    values = [state[label] for label in ("time", "DS1", "DS2", "OUT0", "OUT4", "INPD1", "uptime")]
    happened = [(entry["time"], entry["text"]) for entry in twin.journal]
    return [values, happened, [mail.text for mail in twin.outbox.emails]]


def test_loaded_twin_resumes_as_the_one_that_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "warm.snapshot"
    twin = busy_twin()
    twin.snapshot().save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with twin:
        expected = story_of(twin)
        mac, name, profile = twin.mac, twin.name, twin.profile
    with Twin.load(path, port=0) as loaded:
        assert (loaded.mac, loaded.name, loaded.profile) == (mac, name, profile)
        assert loaded.settings["outputs"][0]["name"] == "Pump"
        assert loaded.now.isoformat() == "2026-03-28T23:20:00+01:00"
        assert story_of(loaded) == expected
        loaded.reset()
        assert story_of(loaded) == expected


def test_snapshot_can_be_saved_after_the_end_and_loaded_twice(tmp_path: Path) -> None:
    with Twin(accounts={"keeper": "of the keeper"}) as twin:
        twin.command("outs.cgi?out0=1")
        moment = twin.snapshot()
    moment.save(tmp_path / "one.snapshot")
    moment.save(tmp_path / "one.snapshot")
    for _ in range(2):
        with Twin.load(tmp_path / "one.snapshot", accounts={"keeper": "of the keeper"}) as loaded:
            assert loaded.state["OUT0"] == 1
            assert "<out>100000" in loaded.get("/outs.cgi")
            with pytest.raises(TwinRefused, match="401"):
                loaded.get("/outs.cgi", auth=("keeper", "of no account"))


def test_faults_that_are_set_cannot_be_saved(tmp_path: Path) -> None:
    with Twin() as twin, twin.fault(faults.slow("5s")):
        moment = twin.snapshot()
        with pytest.raises(
            BadSnapshot, match=r"end these faults before you take it: slow\*delay:5s"
        ):
            moment.save(tmp_path / "one.snapshot")
    assert not (tmp_path / "one.snapshot").exists()


def test_unwritable_snapshot_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with Twin() as twin, pytest.raises(BadSnapshot, match="cannot be written: No such file"):
        twin.snapshot().save(tmp_path / "none" / "one.snapshot")


def test_snapshot_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.snapshot"
    with Twin() as twin:
        twin.snapshot().save(path)
    whole = path.read_bytes()
    place = len(snapshot.MAGIC)
    newer = whole[:place] + bytes((snapshot.FORMAT + 1,)) + whole[place + 1 :]
    for damaged, said in [
        (b"", "not a saved snapshot"),
        (b"PK\x03\x04 a picture", "not a saved snapshot"),
        (newer, "format 2, of a newer program; this one reads format 1; take it again"),
        (whole[:-20], "is damaged: its checksum"),
        (whole[:-1] + bytes((whole[-1] ^ 1,)), "is damaged: its checksum"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(BadSnapshot, match=said):
            Twin.load(path)
    with pytest.raises(BadSnapshot, match="cannot be read: No such file"):
        Twin.load(tmp_path / "none.snapshot")
    path.write_bytes(whole)
    with pytest.raises(BadSnapshot, match="hw, settings: the snapshot already contains this"):
        Twin.load(path, hw="3.0", settings={})


def test_snapshot_of_other_content_is_refused_before_anything_resumes(tmp_path: Path) -> None:
    path = tmp_path / "one.snapshot"
    with Twin() as twin:
        twin.sim(ROOM)
        twin.rule(when="DS1 < 18", then="OUT0 on")
        twin.snapshot().save(path)
    head = len(snapshot.MAGIC) + 1
    whole = path.read_bytes()
    content = msgspec.msgpack.decode(zlib.decompress(whole[head + 32 :]))
    for changed in (
        {"engine_format": 999},
        {"edition": 1},
        {"surprise": 1},
        {"profile": {"hw": "9.9", "sw": "1.0"}},
        {"settings": {"outputs.0.return_time": "soon"}},
        {"settings": {}},
        {"engine": []},
        {"parts": {**content["parts"], "outbox": 7}},
        {"board": {**content["board"], "plants": [{"wiring": "shed", "slots": {}}]}},
        {"board": {**content["board"], "outputs": []}},
    ):
        body = zlib.compress(msgspec.msgpack.encode(content | changed))
        path.write_bytes(whole[:head] + sha256(body).digest() + body)
        with pytest.raises(BadSnapshot, match=r"damaged|newer program|older program"):
            Twin.load(path).start()


def test_processes_save_load_and_fork(tmp_path: Path) -> None:
    path = tmp_path / "warm.snapshot"
    twin = busy_twin()
    twin.snapshot().save(path)
    with twin:
        expected = story_of(twin)
    with ProcessTwin.load(path) as process:
        moment = process.snapshot()
        with process.fork() as other:
            assert other.url != process.url
            assert story_of(other) == expected
        assert process.now.isoformat() == "2026-03-28T23:20:00+01:00"
        moment.save(tmp_path / "again.snapshot")
        with process.fault(faults.slow("5s")), pytest.raises(BadSnapshot, match="end these faults"):
            process.snapshot().save(tmp_path / "faulty.snapshot")
    with Twin.load(tmp_path / "again.snapshot") as loaded:
        assert story_of(loaded) == expected
