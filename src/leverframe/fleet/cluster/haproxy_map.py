"""`leverframe fleet map`: which node has which controller, as a map file for HAProxy.

Each line maps the host name of a controller to its node. A running HAProxy accepts a new map
through its socket. The new map is prepared beside the old one and then replaces it, so that no
request sees half of it.
"""

import socket
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import islice

from leverframe.errors import ErrorForPeople
from leverframe.fleet.node_client import CommandLineClient, NodeRefused

#: HAProxy accepts commands of up to 16 KiB, and a name has at most 253 letters.
LINES_AT_A_TIME = 40
ANSWER_S = 10.0
#: An empty line ends the payload of a command.
_END = "\n\n"


class HaproxyRefused(ErrorForPeople):
    """HAProxy refused a map, or cannot be reached: one sentence."""


def map_controllers(
    client: CommandLineClient, domain: str, haproxy: str | None, file: str, every: float | None
) -> None:
    """Print the map, or load it into a running HAProxy, once or repeatedly."""
    written: list[str] | None = None
    trouble = ""
    while True:
        try:
            lines = map_lines(client.get("owners", {}), domain)
            if lines != written:
                _put_out(lines, haproxy, file)
            written, trouble = lines, ""
        except (NodeRefused, HaproxyRefused) as error:
            if every is None:
                raise
            # Once: the failure may be permanent.
            if str(error) != trouble:
                trouble = str(error)
                print(f"leverframe: {trouble}", file=sys.stderr, flush=True)
        if every is None:
            return
        time.sleep(every)


def map_lines(owners: Mapping[str, str | None], domain: str) -> list[str]:
    """Return a line for each controller that has a node."""
    found = (f"{name}.{domain} {node}" for name, node in owners.items() if node is not None)
    return sorted(found)


def _put_out(lines: list[str], haproxy: str | None, file: str) -> None:
    if haproxy is None:
        print("\n".join(lines), flush=True)
    else:
        put_map(haproxy, file, lines)
        print(f"{haproxy} routes {len(lines)} controllers by {file}", flush=True)


def put_map(haproxy: str, file: str, lines: list[str]) -> None:
    """Replace the map of a running HAProxy with these lines."""
    answer = _query(haproxy, f"prepare map {file}\n")
    version = answer.rpartition(":")[2].strip()
    if not version.isdecimal():
        raise HaproxyRefused(f"{haproxy} has no map {file}: {answer or 'it does not answer'}")
    for some in _batches(lines):
        payload = "\n".join(some)
        _must(haproxy, f"add map @{version} {file} <<\n{payload}{_END}")
    _must(haproxy, f"commit map @{version} {file}\n")


def _batches(lines: list[str]) -> Iterator[list[str]]:
    left = iter(lines)
    while some := list(islice(left, LINES_AT_A_TIME)):
        yield some


def _must(haproxy: str, command: str) -> None:
    if answer := _query(haproxy, command):
        raise HaproxyRefused(f"{haproxy} rejects the map and keeps the old one: {answer}")


def _query(haproxy: str, command: str) -> str:
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(ANSWER_S)
            asking.connect(haproxy)
            asking.sendall(command.encode())
            asking.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: asking.recv(4096), b"")).decode().strip()
    except OSError as error:
        raise HaproxyRefused(f"{haproxy} does not answer: {error.strerror or error}.") from error
