"""Detection of calls that cannot be intended: each raises an error that says what is allowed.

A test with a misspelt path or label would otherwise pass, because nothing happens there.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from leverframe.core.errors import ErrorForPeople

#: Methods that a request may be looked for by, whether there was one or not.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
_SENSOR_ID = re.compile(r"[0-9A-F]{2}(:[0-9A-F]{2}){7}")
#: What can be sensed besides readings.
_OTHER_SENSED = ("onewire", "i2c", "barcode")
_FLAGS = frozenset(("tls", "modbus", "snmp", "lenient"))
_TEXTS = frozenset(("hw", "sw", "mac", "name", "timezone", "mqtt"))
#: Beside a flag that was given as the number of a port.
_ADDRESS_OF = {
    "tls": "the address is then twin.url",
    "modbus": "the port is then in twin.modbus",
    "snmp": "the port is then in twin.snmp",
}


class BadCall(ErrorForPeople, ValueError):
    """A call of a twin that is not possible: what is wrong, and what is allowed."""


def unknown(what: str, mistaken: object, allowed: Collection[str]) -> BadCall:
    """Create the error about a word that is not allowed, with the allowed ones, nearest first."""
    # Imported here: a test without mistakes needs no guesses.
    from difflib import SequenceMatcher, get_close_matches

    word = str(mistaken)
    meant = get_close_matches(word, allowed, 1)
    guess = f" Did you mean {meant[0]!r}?" if meant else ""
    nearest = sorted(allowed, key=lambda one: (-SequenceMatcher(None, word, one).ratio(), one))
    return BadCall(f"{what} {mistaken!r} is unknown.{guess} Allowed: {', '.join(nearest)}.")


def check_names(
    call: Callable[..., object], what: str, names: Iterable[str], also: Iterable[str] = ()
) -> None:
    """Refuse parameters that a call does not have."""
    parameters = inspect.signature(call).parameters.values()
    known = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    known += also
    for name in names:
        if name not in known:
            raise unknown(f"{what}: parameter", name, known)


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters of the wrong type, such as `modbus=5020`."""
    for name, value in parameters.items():
        if name in _FLAGS and not isinstance(value, bool):
            where = f"; {_ADDRESS_OF[name]}" if name in _ADDRESS_OF else ""
            raise BadCall(f"{name} is True or False, not {value!r}{where}.")
        if name in _TEXTS and not isinstance(value, str | None):
            raise BadCall(f"{name} is a text such as {str(value)!r}, not {value!r}.")
        if name == "seed" and (isinstance(value, bool) or not isinstance(value, int | None)):
            raise BadCall(f"seed is a whole number, not {value!r}.")
        if name in ("recorded", "data") and not isinstance(value, str | Path | None):
            raise BadCall(f"{name} is the name of a file or folder, not {value!r}.")
        if name == "settings" and isinstance(value, Mapping):
            check_texts("settings", value, "outputs.0.name")
        if name == "accounts" and value is not None:
            _check_accounts(value)


def _check_accounts(accounts: object) -> None:
    # Without the given value: it may contain passwords.
    if not isinstance(accounts, Mapping) or not all(
        isinstance(name, str) and isinstance(password, str) for name, password in accounts.items()
    ):
        raise BadCall('accounts are passwords by name, such as {"keeper": "secret word"}.')


def check_texts(what: str, texts: Iterable[object], example: str) -> None:
    """Refuse anything but a text."""
    for one in texts:
        if not isinstance(one, str) or not one:
            raise BadCall(f"{what} takes texts such as {example!r}, not {one!r}.")


def check_auth(auth: object) -> None:
    """Refuse anything but a login; without showing it, because it may be a password."""
    is_pair = isinstance(auth, tuple) and len(auth) == 2
    if auth is not None and not (is_pair and all(isinstance(one, str) for one in auth)):  # type: ignore[attr-defined]
        raise BadCall('auth is a name and a password, such as ("keeper", "secret word").')


def check_number(what: str, number: object) -> None:
    """Refuse anything but a number."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadCall(f"{what} is a number, not {number!r}.")


def check_condition(condition: object) -> None:
    """Refuse what is neither a condition in words nor a function."""
    if not isinstance(condition, str) and not callable(condition):
        raise BadCall(
            f"until takes a condition such as 'DS1 >= 30', or a function without arguments, not"
            f" {condition!r}."
        )


def as_readings(readings: object) -> Mapping[str, Any]:
    """Return readings by label; refuse anything but a mapping."""
    if readings is None:
        return {}
    if not isinstance(readings, Mapping):
        raise BadCall(f'sense takes readings by label such as {{"DS1": 21.5}}, not {readings!r}.')
    return readings


def check_labels(labels: Iterable[object]) -> None:
    """Refuse labels that the simulated board does not sense."""
    from leverframe.devices.simulated.simulated_board import SETTABLE

    for label in labels:
        is_known = label in SETTABLE or label in _OTHER_SENSED
        if not is_known and not (isinstance(label, str) and _SENSOR_ID.fullmatch(label)):
            allowed = (*SETTABLE, *_OTHER_SENSED, "a 1-Wire ID such as 28:FF:4B:1A:62:16:03:0C")
            raise unknown("sense: label", label, allowed)


def check_method(method: str) -> str:
    """Return a method as requests have it."""
    if not isinstance(method, str) or method.upper() not in METHODS:
        raise unknown("Method", method, METHODS)
    return method.upper()


def check_query(query: object) -> None:
    if not isinstance(query, str | Mapping | None):
        raise BadCall(f'query is a text or a mapping such as {{"out0": 1}}, not {query!r}.')


def check_path(path: object) -> str:
    """Return a path of requests; refuse what no request can have."""
    if not isinstance(path, str) or not path.startswith("/") or "?" in path:
        raise BadCall(
            f"{path!r} is not a path; write one like /json/all.json, or one that ends in / for"
            " all paths below it. The part after a question mark is the query."
        )
    return path


def own_paths() -> frozenset[str]:
    """Return all paths of commands, status files and the interface."""
    from leverframe.server.routes.router import OWN_PATHS

    return OWN_PATHS


def is_below(path: str, wanted: str) -> bool:
    """Return whether a path is the wanted one, or is below one that ends in a slash."""
    return path.startswith(wanted) if wanted.endswith("/") and wanted != "/" else path == wanted


def check_raw_key(key: str, profile: Any) -> None:
    """Refuse keys that no status file of a version has."""
    from leverframe.interface.status_files import names_of

    names = names_of(profile)
    if key not in names:
        raise unknown("raw: key", key, names)


def check_fault(fault: object) -> None:
    """Refuse anything but a fault, such as the name of a fault."""
    from leverframe.devices.simulated.fault_catalogue import Fault
    from leverframe.testing import faults

    if not isinstance(fault, Fault):
        kinds = ", ".join(one for one in faults.__all__ if one[:1].islower())
        raise BadCall(
            f"fault takes a fault such as faults.slow('5s'), not {fault!r}. Allowed: {kinds}."
        )
