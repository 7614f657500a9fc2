"""The child process of bounded work: limits itself, runs a function and writes its result.

`bounded_work.py` starts it as a new interpreter. A fork would copy the locks of threads that do not
exist in the child, and multiprocessing would run the `__main__` of a user's program again. The
child imports little more than the function needs, because each import delays every answer.
"""

import ctypes
import os
import pickle
import signal
import struct
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO

from leverframe.core.errors import ErrorForPeople

#: The first byte of the child's output; the result, a sentence or a traceback follows.
RESULT = b"R"
REFUSED = b"N"
OUT_OF_MEMORY = b"M"
FAULT = b"F"
#: The length that precedes each piece from the parent; a piece of length 0 is the last.
PIECE_LENGTH = struct.Struct("!Q")

#: The code that the interpreter runs; the parent, the limits and the search path are arguments.
#: Blocking typing_extensions saves a third of the startup time; msgspec then uses `typing`.
BOOTSTRAP = (
    "import sys; sys.path[:] = sys.argv[4:]; sys.modules['typing_extensions'] = None; "
    "from leverframe.core.runtime.bounded_child import main; main(*map(int, sys.argv[1:4]))"
)

#: Run with lower priority than the node itself and all other processes of the machine.
_NICENESS = 5
#: If memory runs out, the kernel ends this process first.
_FIRST_TO_END = b"1000"
_PR_SET_PDEATHSIG = 1


def main(parent: int, cpu_s: int, memory_bytes: int) -> None:
    """Run the function that the parent sends, within limits, and end the process."""
    result = os.dup(sys.stdout.fileno())
    # The parent must not read other output of the function as its result.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _end_with(parent)
    _limit(cpu_s, memory_bytes)
    try:
        pieces = _receive(sys.stdin.buffer)
        function, values, is_fed = next(pieces)
        answer = RESULT + function(*values, *((pieces,) if is_fed else ()))
    except ErrorForPeople as error:
        answer = REFUSED + str(error).encode()
    except MemoryError:
        answer = OUT_OF_MEMORY
    except Exception:
        from traceback import format_exc  # takes 10 ms, so only after a failure

        answer = FAULT + format_exc().encode()
    with open(result, "wb") as out:
        out.write(answer)
    # Skip the cleanup of the function's objects, which are freed with the process.
    os._exit(0)


def _end_with(parent: int) -> None:
    """End when the parent ends, even if it is killed; ignore the keys that interrupt the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _limit(cpu_s: int, memory_bytes: int) -> None:
    import resource  # not on Windows, where no child is started

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # When the process reaches the first limit, the kernel ends it.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    if sys.platform != "darwin":  # macOS refuses this limit
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    os.nice(_NICENESS)
    try:
        with open("/proc/self/oom_score_adj", "wb", buffering=0) as score:
            score.write(_FIRST_TO_END)
    except OSError:
        pass  # the machine does not support or permit this


def _receive(source: BinaryIO) -> Iterator[Any]:
    """Yield the pieces from the parent, up to the last one."""
    while length := PIECE_LENGTH.unpack(_read(source, PIECE_LENGTH.size))[0]:
        yield pickle.loads(_read(source, length))  # noqa: S301 - the parent's own bytes


def _read(source: BinaryIO, length: int) -> bytes:
    data = source.read(length)
    if len(data) < length:
        os._exit(1)  # the parent has ended, or has cancelled the work
    return data


def read_only_mapping(mapping: Mapping[Any, Any]) -> MappingProxyType[Any, Any]:
    """Restore a read-only mapping, which the parent sent as a plain one."""
    return MappingProxyType(mapping)
