"""Checks for mistakes in calls; each raises an error that says what is allowed.

Without these checks a test with a misspelt path or label would pass, because nothing happens there.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from leverframe.core.errors import ErrorForPeople

#: HTTP methods by which a test can search for requests.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
_SENSOR_ID = re.compile(r"[0-9A-F]{2}(:[0-9A-F]{2}){7}")
#: What `sense` accepts in addition to readings.
_OTHER_SENSED = ("onewire", "i2c", "barcode")
_FLAGS = frozenset(("tls", "modbus", "snmp", "lenient"))
_TEXTS = frozenset(("hw", "sw", "mac", "name", "timezone", "mqtt"))
#: Advice for a flag to which the number of a port was passed.
_ADDRESS_OF = {
    "tls": "the address is then twin.url",
    "modbus": "the port is then in twin.modbus",
    "snmp": "the port is then in twin.snmp",
}


class BadCall(ErrorForPeople, ValueError):
    """A call to a twin is invalid; the message says why, and what is allowed."""


def unknown(what: str, mistaken: object, allowed: Collection[str]) -> BadCall:
    """Return the error for a word that is not allowed; it lists allowed words, best match first."""
    # Imported here: a test without mistakes needs no suggestions.
    from difflib import SequenceMatcher, get_close_matches

    word = str(mistaken)
    meant = get_close_matches(word, allowed, 1)
    guess = f" Did you mean {meant[0]!r}?" if meant else ""
    nearest = sorted(allowed, key=lambda one: (-SequenceMatcher(None, word, one).ratio(), one))
    return BadCall(f"{what} {mistaken!r} is unknown.{guess} Allowed: {', '.join(nearest)}.")


def check_names(
    call: Callable[..., object], what: str, names: Iterable[str], also: Iterable[str] = ()
) -> None:
    """Reject parameters that a call does not have."""
    parameters = inspect.signature(call).parameters.values()
    known = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    known += also
    for name in names:
        if name not in known:
            raise unknown(f"{what}: parameter", name, known)


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Reject parameters of the wrong type, such as `modbus=5020`."""
    for name, value in parameters.items():
        if name in _FLAGS and not isinstance(value, bool):
            where = f"; {_ADDRESS_OF[name]}" if name in _ADDRESS_OF else ""
            raise BadCall(f"{name} must be True or False, not {value!r}{where}.")
        if name in _TEXTS and not isinstance(value, str | None):
            raise BadCall(f"{name} must be a string such as {str(value)!r}, not {value!r}.")
        if name == "seed" and (isinstance(value, bool) or not isinstance(value, int | None)):
            raise BadCall(f"seed must be a whole number, not {value!r}.")
        if name in ("recorded", "data") and not isinstance(value, str | Path | None):
            raise BadCall(f"{name} must be the name of a file or folder, not {value!r}.")
        if name == "settings" and isinstance(value, Mapping):
            check_texts("settings", value, "outputs.0.name")
        if name == "accounts" and value is not None:
            _check_accounts(value)


def _check_accounts(accounts: object) -> None:
    # The message omits the value, which may contain passwords.
    if not isinstance(accounts, Mapping) or not all(
        isinstance(name, str) and isinstance(password, str) for name, password in accounts.items()
    ):
        raise BadCall('accounts must map names to passwords, such as {"keeper": "secret word"}.')


def check_texts(what: str, texts: Iterable[object], example: str) -> None:
    """Reject values that are not texts."""
    for one in texts:
        if not isinstance(one, str) or not one:
            raise BadCall(f"{what} accepts strings such as {example!r}, not {one!r}.")


def check_auth(auth: object) -> None:
    """Reject a value that is not a login, without showing it: it may be a password."""
    is_pair = isinstance(auth, tuple) and len(auth) == 2
    if auth is not None and not (is_pair and all(isinstance(one, str) for one in auth)):  # type: ignore[attr-defined]
        raise BadCall('auth must be a name and a password, such as ("keeper", "secret word").')


def check_number(what: str, number: object) -> None:
    """Reject a value that is not a number."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadCall(f"{what} must be a number, not {number!r}.")


def check_condition(condition: object) -> None:
    """Reject a condition that is neither a text nor a function."""
    if not isinstance(condition, str) and not callable(condition):
        raise BadCall(
            f"until accepts a condition such as 'DS1 >= 30', or a function without arguments, not"
            f" {condition!r}."
        )


def as_readings(readings: object) -> Mapping[str, Any]:
    """Return readings by label; reject a value that is not a mapping."""
    if readings is None:
        return {}
    if not isinstance(readings, Mapping):
        raise BadCall(f'sense accepts readings by label such as {{"DS1": 21.5}}, not {readings!r}.')
    return readings


def check_labels(labels: Iterable[object]) -> None:
    """Reject labels that the simulated board does not sense."""
    from leverframe.devices.simulated.simulated_board import SETTABLE

    for label in labels:
        is_known = label in SETTABLE or label in _OTHER_SENSED
        if not is_known and not (isinstance(label, str) and _SENSOR_ID.fullmatch(label)):
            allowed = (*SETTABLE, *_OTHER_SENSED, "a 1-Wire ID such as 28:FF:4B:1A:62:16:03:0C")
            raise unknown("sense: label", label, allowed)


def check_method(method: str) -> str:
    """Return the method in upper case; reject an unknown one."""
    if not isinstance(method, str) or method.upper() not in METHODS:
        raise unknown("Method", method, METHODS)
    return method.upper()


def check_query(query: object) -> None:
    if not isinstance(query, str | Mapping | None):
        raise BadCall(f'query must be a string or a mapping such as {{"out0": 1}}, not {query!r}.')


def check_path(path: object) -> str:
    """Return the path of requests; reject a path that no request can have."""
    if not isinstance(path, str) or not path.startswith("/") or "?" in path:
        raise BadCall(
            f"{path!r} is not a path; write one like /json/all.json, or one that ends in / for"
            " all paths below it. The part after a question mark is the query."
        )
    return path


def own_paths() -> frozenset[str]:
    """Return all paths of commands, status files and the API."""
    from leverframe.server.routes.router import OWN_PATHS

    return OWN_PATHS


def is_below(path: str, wanted: str) -> bool:
    """Return whether a path equals the wanted path, or is below one that ends in a slash."""
    return path.startswith(wanted) if wanted.endswith("/") and wanted != "/" else path == wanted


def check_raw_key(key: str, profile: Any) -> None:
    """Reject keys that no status file of a version has."""
    from leverframe.interface.status_files import names_of

    names = names_of(profile)
    if key not in names:
        raise unknown("raw: key", key, names)


def check_fault(fault: object) -> None:
    """Reject a value that is not a fault, such as a fault's name."""
    from leverframe.devices.simulated.fault_catalogue import Fault
    from leverframe.testing import faults

    if not isinstance(fault, Fault):
        kinds = ", ".join(one for one in faults.__all__ if one[:1].islower())
        raise BadCall(
            f"fault accepts a fault such as faults.slow('5s'), not {fault!r}. Allowed: {kinds}."
        )
