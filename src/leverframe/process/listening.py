"""Addresses that cannot be listened on, as sentences for people."""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from leverframe.config.fields import MAX_PORT
from leverframe.engine.http_address import url_host
from leverframe.errors import ErrorForPeople


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
