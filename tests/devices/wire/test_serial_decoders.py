"""The decoders of the serial modules: known frames, frames in pieces, frames among garbage."""

import json
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.wire import serial_sensors
from leverframe.devices.wire.serial_sensors import Decoder, Found
from tests.cases import for_each
from tests.effort import examples

FRAMES = Path(__file__).parents[2] / "fixtures" / "frames"
DECODERS: dict[str, Callable[[], Decoder]] = {
    "sds011": serial_sensors.sds011_decoder,
    "mhz19": serial_sensors.mhz19_decoder,
    "ultrasonic": serial_sensors.ultrasonic_decoder,
    "sps30": serial_sensors.Sps30Decoder,
    "scanner": serial_sensors.ScannerDecoder,
}
MODULES = pytest.mark.parametrize("module", DECODERS)
FEW = examples(60)


def frames(module: str) -> list[dict[str, Any]]:
    recorded: list[dict[str, Any]] = json.loads((FRAMES / f"{module}.json").read_text())
    return recorded


CASES = [
    pytest.param(module, bytes.fromhex(frame["bytes"]), frame["readings"], id=frame["note"])
    for module in DECODERS
    for frame in frames(module)
]


def good_frames(module: str) -> list[tuple[bytes, Found]]:
    return [
        (bytes.fromhex(frame["bytes"]), frame["readings"][0])
        for frame in frames(module)
        if len(frame["readings"]) == 1
    ]


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in zip(places, places[1:], strict=False)]


def feed_chunks(decoder: Decoder, chunks: list[bytes]) -> list[Found]:
    return [found for chunk in chunks for found in decoder.feed(chunk)]


@for_each(("module", "data", "readings"), CASES)
def test_known_frame_is_read_as_documented(module: str, data: bytes, readings: list[Found]) -> None:
    assert DECODERS[module]().feed(data) == readings


@MODULES
@FEW
@given(data=st.data())
def test_frames_are_found_however_they_are_cut(module: str, data: st.DataObject) -> None:
    sent = data.draw(st.lists(st.sampled_from(good_frames(module)), max_size=5))
    cuts = data.draw(st.lists(st.integers(0, 500)))
    chunks = pieces(b"".join(frame for frame, _ in sent), cuts)
    assert feed_chunks(DECODERS[module](), chunks) == [reading for _, reading in sent]


@MODULES
@FEW
@given(data=st.data())
def test_random_bytes_give_readings_or_nothing_in_any_pieces(
    module: str, data: st.DataObject
) -> None:
    noise = data.draw(st.binary(max_size=300))
    cuts = data.draw(st.lists(st.integers(0, 500)))
    whole = DECODERS[module]().feed(noise)
    assert feed_chunks(DECODERS[module](), pieces(noise, cuts)) == whole
    for reading in whole:
        for value in reading.values():
            assert value is None or (isinstance(value, str) and value) or isfinite(float(value))


@MODULES
@FEW
@given(data=st.data())
def test_frame_after_garbage_is_found(module: str, data: st.DataObject) -> None:
    garbage = data.draw(st.binary(max_size=40))
    frame, reading = data.draw(st.sampled_from(good_frames(module)))
    decoder = DECODERS[module]()
    # What garbage swallows is at most one frame: it may look like the beginning of one.
    found = feed_chunks(decoder, [garbage, frame, frame])
    assert found[-1] == reading


@MODULES
def test_garbage_without_end_is_not_hoarded(module: str) -> None:
    decoder = DECODERS[module]()
    for byte in (b"\xff", b"\xaa", b"x"):
        for _ in range(20):
            decoder.feed(byte * 1000)
    assert len(decoder._pending) <= 1024  # type: ignore[attr-defined]


@for_each(
    ("sent", "documented"),
    [
        (serial_sensors.MHZ19_REQUEST, "FF 01 86 00 00 00 00 00 79"),
        (serial_sensors.SPS30_START, "7E 00 00 02 01 03 F9 7E"),
        (serial_sensors.SPS30_REQUEST, "7E 00 03 00 FC 7E"),
        (
            serial_sensors.SDS011_WAKE,
            "AA B4 06 01 01 00 00 00 00 00 00 00 00 00 00 FF FF 06 AB"
            "AA B4 02 01 00 00 00 00 00 00 00 00 00 00 00 FF FF 01 AB",
        ),
    ],
)
def test_requests_are_those_of_the_data_sheets(sent: bytes, documented: str) -> None:
    assert sent == bytes.fromhex(documented)


@FEW
@given(st.lists(st.floats(0, 1000, width=32), min_size=10, max_size=10))
def test_every_mass_survives_the_escaping(values: list[float]) -> None:
    answer = serial_sensors.sps30_frame(0, 3, 0, 40, *pack(">10f", *values))
    (reading,) = serial_sensors.Sps30Decoder().feed(answer)
    assert list(reading.values()) == [round(value, 3) for value in values[:4]]


def test_code_longer_than_any_is_noise_and_the_next_one_is_read() -> None:
    decoder = serial_sensors.ScannerDecoder()
    noise = b"x" * (serial_sensors.SCANNER_MAX_BYTES + 1)
    assert feed_chunks(decoder, [noise, noise, b"tail\nnext\n"]) == [{"barcode": "next"}]
