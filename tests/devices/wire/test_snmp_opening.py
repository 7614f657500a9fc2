"""The opening of an SNMP message, from bytes that pysnmp made and from all that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.wire.snmp import V1, V2C, V3, NotSnmp, Opening, read_opening
from tests.cases import for_each


def field(tag: int, *content: bytes) -> bytes:
    data = b"".join(content)
    size = len(data)
    length = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + length + data


def number(value: int) -> bytes:
    return field(2, value.to_bytes(4, "big", signed=True))


def text(value: bytes) -> bytes:
    return field(4, value)


def community_message(version: int, community: bytes, request: bytes = b"") -> bytes:
    return field(0x30, number(version), text(community), field(0xA0, request))


def v3_message(user: bytes, flags: int = 7, model: int = 3, engine_id: bytes = b"engine") -> bytes:
    head = field(0x30, number(77), number(65507), text(bytes([flags])), number(model))
    security = field(0x30, text(engine_id), number(1), number(2), text(user), *[text(b"")] * 2)
    return field(0x30, number(V3), head, text(security), text(b"sealed"))


@pytest.mark.parametrize("version", [V1, V2C])
def test_version_and_community_are_read_whatever_is_asked(version: int) -> None:
    for size in (0, 100, 1500):
        message = community_message(version, b"watch", bytes(size))
        assert read_opening(message) == Opening(version, b"watch")


def test_user_and_security_are_read_from_version_3() -> None:
    assert read_opening(v3_message(b"keeper")) == Opening(V3, b"keeper", True, True, b"engine")
    assert read_opening(v3_message(b"keeper", 5)) == Opening(V3, b"keeper", False, True, b"engine")
    assert not read_opening(v3_message(b"keeper", 4)).is_discovery
    assert read_opening(v3_message(b"", 4)).is_discovery
    assert not read_opening(v3_message(b"", 7)).is_discovery
    assert not read_opening(community_message(V1, b"")).is_discovery


@for_each(
    "data",
    [
        b"",
        b"\xa2\x3d",
        b"\x30",
        b"\x30\x80\x00\x00",
        b"\x30\x85\x00\x00\x00\x00\x00",
        b"\x30\x84\xff\xff\xff\xff",
        b"\x30\x82\xff",
        community_message(2, b"watch"),
        community_message(V1, b"watch") + b"\0",
        community_message(V1, b"watch")[:-1],
        field(0x30, number(V1), text(b"watch"), text(b"no request")),
        field(0x30, number(V1), text(b"watch"), field(0xA0), field(0xA0)),
        field(0x30, field(2, b""), text(b"watch"), field(0xA0)),
        field(0x30, field(2, bytes(6)), text(b"watch"), field(0xA0)),
        v3_message(b"keeper", model=1),
        field(0x30, number(V3), field(0x30, number(1), number(2), text(b""), number(3))),
    ],
)
def test_anything_else_is_no_message(data: bytes) -> None:
    with pytest.raises(NotSnmp):
        read_opening(data)


MESSAGES = st.sampled_from([community_message(V2C, b"watch"), v3_message(b"keeper")])
CHANGES = st.lists(st.tuples(st.integers(0, 199), st.integers(0, 255)), max_size=4)


@given(st.one_of(st.binary(max_size=200), MESSAGES), CHANGES)
def test_damaged_messages_are_read_or_refused(data: bytes, changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(data)
    for place, value in changes:
        if damaged:
            damaged[place % len(damaged)] = value
    try:
        opening = read_opening(bytes(damaged))
    except NotSnmp:
        return
    assert opening.version in (V1, V2C, V3)
