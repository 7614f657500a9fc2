"""Troubles with a server, as sentences for people.

Libraries wrap the cause in errors of their own; what counts is at the bottom. Nothing that was sent
becomes part of a sentence.
"""

import socket
import ssl
from collections.abc import Iterator


def sentence(error: BaseException, host: str, port: int) -> str:
    """State why the server could not be reached, and what to look at."""
    place = f"{host}:{port}"
    for cause in _causes(error):
        match cause:
            case socket.gaierror():
                return f"The name {host} cannot be resolved; check its spelling and the DNS."
            case ssl.SSLCertVerificationError():
                return (
                    f"The certificate of {place} is not trusted ({cause.verify_message}); "
                    f"name its authority with --ca-file, or correct the server."
                )
            case ssl.SSLError():
                why = (cause.reason or "no common protocol or cipher").replace("_", " ").lower()
                return f"TLS with {place} failed ({why}); does that port speak TLS?"
            case ConnectionRefusedError():
                return f"{place} refuses connections; does the server run on that port?"
            case ConnectionError():
                return f"{place} closed the connection before it answered."
            case TimeoutError():
                return f"{place} does not answer in time; is it switched on and reachable?"
            case OSError(strerror=str() as why):
                return f"{place} cannot be reached: {why}."
    return f"{place} cannot be used: {type(error).__name__}."


def _causes(error: BaseException) -> Iterator[BaseException]:
    """List the error and what lies below it, deepest first."""
    chain = [error]
    while (below := chain[-1].__cause__ or chain[-1].__context__) is not None and len(chain) < 20:
        chain.append(below)
    return reversed(chain)
