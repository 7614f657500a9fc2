"""Uploads that are almost right: a sound file with bytes changed, cut, doubled, moved or mixed."""

from collections.abc import Iterator
from random import Random


def fuzz(sound: bytes, random: Random, count: int) -> Iterator[bytes]:
    """That many files, none of them the sound one."""
    made = 0
    while made < count:
        data = bytearray(sound)
        for _ in range(random.randint(1, 4)):
            _spoil(data, random)
        if data != sound:
            made += 1
            yield bytes(data)


def _spoil(data: bytearray, random: Random) -> None:
    start, end = sorted(random.randint(0, len(data)) for _ in range(2))
    kind = random.randrange(6)
    if kind == 0 and data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    elif kind == 1:
        del data[start:]
    elif kind == 2:
        del data[start : min(end, start + 64)]
    elif kind == 3:
        data[start:start] = random.randbytes(random.randint(1, 64))
    elif kind == 4:
        data[start:start] = data[start : min(end, start + 256)]
    else:
        data[:] = random.randbytes(random.randint(0, 512))
