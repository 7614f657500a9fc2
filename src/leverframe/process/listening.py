"""Addresses that cannot be listened on, as sentences for people, and the limit of open files."""

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

#: Files that all connections together may need.
ENOUGH = MAX_CLIENTS + RESERVED


class CannotListen(ErrorForPeople):
    """The address cannot be used: one sentence."""


def check_port(port: int) -> None:
    """Refuse a number that is no port; 0 is any that is free."""
    if not 0 <= port <= MAX_PORT:
        raise CannotListen(f"There is no port {port}; ports are 1 to {MAX_PORT}.")


@contextmanager
def bind_errors_for_people(host: str, port: int, option: str = "--port") -> Iterator[None]:
    """Turn the error of an address that cannot be used into a sentence for people.

    `option` is what another port is chosen with.
    """
    try:
        yield
    except OSError as error:
        raise CannotListen(_why_not(error, host, port, option)) from error


def _why_not(error: OSError, host: str, port: int, option: str) -> str:
    address = f"{url_host(host)}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is taken by another program; choose another with {option}."
    if error.errno == errno.EACCES:
        return f"{address} may not be used by this account; choose a port above 1023 with {option}."
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"{host} is no address of this machine; choose one with --host."
    return f"{address} cannot be used: {error.strerror or error}."


def descriptor_budget() -> DescriptorBudget:
    """Raise the limit as far as it is useful and allowed; tell if it stays too low for all."""
    import resource  # not on Windows, where twins need no such limit

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    budget = DescriptorBudget(ENOUGH if soft == resource.RLIM_INFINITY else soft)
    if budget.clients.limit < MAX_CLIENTS:
        log.warning(
            "Only %d files can be open at a time, so %d clients can be connected instead of %d;"
            " raise the limit (ulimit -n, or LimitNOFILE of the systemd unit) to %d.",
            *(soft, budget.clients.limit, MAX_CLIENTS, ENOUGH),
        )
    return budget
