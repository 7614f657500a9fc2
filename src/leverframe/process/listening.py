"""Errors of listening addresses as sentences for users, and the limit of open files."""

import errno
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from leverframe.config.fields import MAX_PORT
from leverframe.engine.http_address import url_host
from leverframe.errors import ErrorForPeople
from leverframe.servers.descriptors import MAX_CLIENTS, RESERVED, DescriptorBudget

log = logging.getLogger(__name__)

#: The number of files that all connections together may need.
ENOUGH = MAX_CLIENTS + RESERVED


class CannotListen(ErrorForPeople):
    """The address cannot be used: one sentence."""


def check_port(port: int) -> None:
    """Reject a number that is not a port; 0 selects any free port."""
    if not 0 <= port <= MAX_PORT:
        raise CannotListen(f"Port {port} is out of range; ports are 1 to {MAX_PORT}.")


@contextmanager
def bind_errors_for_people(host: str, port: int, option: str = "--port") -> Iterator[None]:
    """Turn the error of an unusable address into a sentence for users.

    `option` is the option that selects another port.
    """
    try:
        yield
    except OSError as error:
        raise CannotListen(_why_not(error, host, port, option)) from error


def _why_not(error: OSError, host: str, port: int, option: str) -> str:
    address = f"{url_host(host)}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use by another program; choose another with {option}."
    if error.errno == errno.EACCES:
        return f"This account may not listen on {address}; choose a port above 1023 with {option}."
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"{host} is not an address of this machine; choose one with --host."
    return f"{address} cannot be used: {error.strerror or error}."


def descriptor_budget() -> DescriptorBudget:
    """Raise the limit of open files as far as useful and allowed; log if it stays too low."""
    import resource  # not on Windows, where twins need no such limit

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    budget = DescriptorBudget(ENOUGH if soft == resource.RLIM_INFINITY else soft)
    if budget.clients.limit < MAX_CLIENTS:
        log.warning(
            "The limit of open files is %d, so only %d clients can connect instead of %d; raise"
            " it with ulimit -n or LimitNOFILE of the systemd unit to %d.",
            *(soft, budget.clients.limit, MAX_CLIENTS, ENOUGH),
        )
    return budget
