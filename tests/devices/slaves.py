"""Slaves that others wrote, for as long as a test needs them: on a serial port or by TCP."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from .pty_pair import PtyPair

PROGRAM = Path(__file__).with_name("modbus_slave.py")


@contextmanager
def serial_slaves(devices: list[dict[str, Any]]) -> Iterator[str]:
    """Start slaves as `modbus_slave.py` describes them; give the port to ask them at."""
    pair = PtyPair()
    try:
        with running(pair.first, devices):
            yield pair.second
    finally:
        pair.close()


@contextmanager
def tcp_slaves(devices: list[dict[str, Any]], port: int) -> Iterator[str]:
    """The same by Modbus TCP; give the address."""
    with running(str(port), devices):
        yield f"127.0.0.1:{port}"


@contextmanager
def running(where: str, devices: list[dict[str, Any]]) -> Iterator["subprocess.Popen[str]"]:
    with TemporaryFile("w+") as errors:
        program = subprocess.Popen(
            [sys.executable, str(PROGRAM), where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write(json.dumps(devices))
            program.stdin.close()
            if program.stdout.readline() != "ready\n":
                errors.seek(0)
                raise AssertionError(f"The slave failed to start: {errors.read()}")
            program.stdout.close()
            yield program
        finally:
            program.kill()
            program.wait()
