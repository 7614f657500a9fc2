"""Ways in which a file on a disk goes bad."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

BLOCK = 4096

Damage = Callable[[Path, Path, random.Random], None]


def flip_a_bit(file: Path, _: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)


def flip_a_meaningful_bit(file: Path, _: Path, chance: random.Random) -> None:
    """Most of a file is empty space."""
    content = bytearray(file.read_bytes())
    if places := [place for place, byte in enumerate(content) if byte]:
        content[chance.choice(places)] ^= 1 << chance.randrange(8)
        file.write_bytes(content)


def zero_a_block(file: Path, _: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    start = chance.randrange(len(content) // BLOCK + 1) * BLOCK
    content[start : start + BLOCK] = bytes(len(content[start : start + BLOCK]))
    file.write_bytes(content)


def cut_off(file: Path, _: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(len(content) + 1)])


def swap_blocks(file: Path, _: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    blocks = [content[start : start + BLOCK] for start in range(0, len(content), BLOCK)]
    if len(blocks) > 1:
        one, other = chance.sample(range(len(blocks)), 2)
        blocks[one], blocks[other] = blocks[other], blocks[one]
        file.write_bytes(b"".join(blocks))


def remove(file: Path, _: Path, chance: random.Random) -> None:
    file.unlink()


def put_back_an_older_copy(file: Path, older: Path, chance: random.Random) -> None:
    if (older / file.name).exists():
        shutil.copyfile(older / file.name, file)


DAMAGES: tuple[Damage, ...] = (
    flip_a_bit,
    flip_a_meaningful_bit,
    zero_a_block,
    cut_off,
    swap_blocks,
    remove,
    put_back_an_older_copy,
)
