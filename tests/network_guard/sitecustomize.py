"""Keeps a process and its children on this machine, as if it had no network.

Tests and fuzzers let controllers act on addresses of examples, and tests must not disturb other
machines. Connections and datagrams to another machine fail with the error that the kernel returns
without a route. No name server is queried either. Unlike a network namespace, this needs no rights.

Python loads this file by its name in every process that has this folder on its PYTHONPATH, which
`install` gives to all children. It takes nothing but the standard library. What is not written in
Python, such as curl or a broker, is bound by the resolver's setting alone, and is given addresses
of this machine by the tests.

mDNS is what its tests are about: its two multicast groups stay reachable, which no router forwards.
"""

import errno
import os
import socket
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

#: What Python reports before it connects or sends.
EVENTS = frozenset(("socket.connect", "socket.sendto", "socket.sendmsg"))
MDNS = frozenset(("224.0.0.251", "ff02::fb"))
#: glibc then asks no name server; /etc/hosts still counts.
ASK_NO_NAME_SERVER = "attempts:0"
FOLDER = str(Path(__file__).parent)
#: The variable that names the network in which the tests run.
HOME = "TESTS_RUN_IN_NETWORK"

_probing = threading.local()
#: What was held back in this process: the hosts, in order. A started test worker has this file
#: twice: as Python loads it, and as a module of the tests.
held_back: list[str] = sys.__dict__.setdefault("_held_back", [])


def install() -> None:
    """Guard this process from now on, and the children that it starts.

    What a test has put into a network namespace of its own has left the network already.
    """
    if os.environ.setdefault(HOME, _network()) != _network():
        return
    os.environ["RES_OPTIONS"] = ASK_NO_NAME_SERVER
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if FOLDER not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([FOLDER, *filter(None, paths)])
    if not getattr(sys, "_stays_on_this_machine", False):
        sys._stays_on_this_machine = True  # type: ignore[attr-defined]
        sys.addaudithook(_hold_back)


def _network() -> str:
    """Return the identity of the network namespace of this process."""
    try:
        return str(Path("/proc/self/ns/net").readlink())
    except OSError:
        return ""


def _hold_back(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in EVENTS or getattr(_probing, "is_on", False):
        return
    sender, address = arguments[0], arguments[1]
    if sender.family not in (socket.AF_INET, socket.AF_INET6) or not address:
        return
    host = address[0] if isinstance(address[0], str) else address[0].decode()
    if not is_here(host):
        held_back.append(host)
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))


@lru_cache(maxsize=1024)
def is_here(host: str) -> bool:
    """Return whether a host is this machine, or every neighbour that speaks mDNS."""
    # Not at the start of every process: it takes some milliseconds.
    from ipaddress import ip_address

    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host in ("", "localhost") or host.endswith(".localhost")
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_loopback or address.is_unspecified or str(address) in MDNS:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    _probing.is_on = True
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # Only an address of the machine can be bound to, or one of all in its network; the
            # latter refuses a connection, by which a socket for datagrams sends nothing.
            probe.bind((host, 0))
            probe.connect((host, 9))
    except OSError:
        return False
    finally:
        _probing.is_on = False
    return not address.is_multicast


install()
