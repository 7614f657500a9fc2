"""Functions for processes of their own: what they do well, and what they do too much."""

import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from leverframe.core.errors import ErrorForPeople


def join_texts(*texts: str) -> bytes:
    return ",".join(texts).encode()


def show_mapping(mapping: Mapping[str, int]) -> bytes:
    return repr(mapping).encode()


def count_pieces(name: str, pieces: Iterator[bytes]) -> bytes:
    return f"{name} {sum(map(len, pieces))}".encode()


def ignore_pieces(pieces: Iterator[bytes]) -> bytes:
    return b"x" * 1_000_000


def refuse(sentence: str) -> bytes:
    raise ErrorForPeople(sentence)


def fail() -> bytes:
    raise RuntimeError("secret detail")


def abort() -> bytes:
    """End as the interpreter does that has no memory left for an error."""
    os.abort()


def print_much() -> bytes:
    print("this is no result")
    return b"the result"


def take_memory() -> bytes:
    return b"".join([bytes(1024 * 1024) for _ in range(4096)])


def compute_forever() -> bytes:
    while True:
        pass


def write_much(size: int) -> bytes:
    return bytes(size)


def report_and_wait(path: str) -> bytes:
    """Write the number of this process to a file, and take long."""
    part = Path(path + ".part")
    part.write_text(str(os.getpid()))
    part.rename(path)
    time.sleep(3600)
    return b""


def report_surroundings() -> bytes:
    limits = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_CORE)
    found = [resource.getrlimit(one)[0] for one in limits]
    return repr((found, os.nice(0), "asyncio" in sys.modules, "" in sys.path)).encode()
