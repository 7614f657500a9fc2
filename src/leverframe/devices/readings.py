"""Readings that a board passes to the controller, and hardware problems as sentences."""

import errno
import logging
import re
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Generic, TypeVar

from leverframe.core.runtime.installation import command_for_extra
from leverframe.core.runtime.log_lines import LogThrottle

# Readings that a board passes to the controller.
#
# They are raw values by label: volts at the pins of INPA1-INPA6, levels of INPD1-INPD4,
# temperatures, or `None` for an absent reading. `core/engine/inputs.py` converts them.

Readings = Mapping[str, Any]
Sense = Callable[[Readings], None]


def drop_readings(readings: Readings) -> None:
    """Drop readings, because no controller is connected yet."""


# The last good value of each sensor, which bridges a single failure.
#
# A long cable sometimes picks up interference. Therefore a sensor keeps its value after one
# failure, and becomes absent after two failures in a row.

Value = TypeVar("Value")


class LastGood(Generic[Value]):
    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def judge(self, sensor: str, value: Value | None) -> Value | None:
        """Return the value to show for a sensor that reported `value`, where None is a failure."""
        if value is None:
            return self._values.pop(sensor, None)
        self._values[sensor] = value
        return value


# Problems of the hardware, as sentences for users.
#
# A device that is missing, does not answer or cannot be accessed is shown by name among the
# controller's problems, and logged once when the problem begins and once when it ends. All other
# devices keep working.

#: Numbers, which are ignored when sentences are compared for the log.
_NUMBERS = re.compile(r"[0-9]+(?:[-, ]+[0-9]+)*")

log = logging.getLogger(__name__)

#: The text for a line that a running controller uses, which is not a problem.
IN_USE = "in use by a running controller"


class Unusable(Exception):
    """A device cannot be used; the message says in one sentence what is wrong and what to do."""


def not_installed(package: str) -> Unusable:
    """Return the error for a missing package that only boards with real pins and buses need."""
    return Unusable(
        f"the Python package {package} is not installed; run {command_for_extra('hardware')}."
    )


class Troubles:
    """The problems by device, in a mapping that other code may also read and write."""

    __slots__ = ("_log", "_texts")

    def __init__(self, texts: MutableMapping[str, str]) -> None:
        self._texts = texts
        #: A device that fails intermittently must not fill the log.
        self._log = LogThrottle(log)

    def note(self, device: str, text: str | None) -> None:
        """Set the problem of a device; None clears it."""
        if text == self._texts.get(device):
            return
        if text is None:
            del self._texts[device]
            self._log.warning(device, "over", "%s: the problem is over", device)
        else:
            self._texts[device] = text
            self._log.warning(device, _NUMBERS.sub("", text), "%s: %s", device, text)


def describe_unexpected(error: Exception) -> str:
    return f"failed unexpectedly: {error!r}; see the log."


def os_error_text(error: OSError, device: str) -> str:
    """State why a file or device cannot be used, and what to do about it."""
    match error.errno:
        case errno.ENOENT | errno.ENODEV | errno.ENXIO | errno.ESHUTDOWN:
            return f"{device} is missing; check the wiring, its driver and the configuration."
        case errno.EACCES | errno.EPERM:
            return (
                f"This account may not use {device}; add the account to the device's group, or add"
                " a udev rule."
            )
        case errno.EROFS:
            return (
                f"{device} is on a file system that is read-only here; a service needs"
                " ReadWritePaths=/sys/devices in its unit."
            )
        case errno.EBUSY | errno.EAGAIN:
            return f"{device} is used by another program or driver; free it or choose another."
        case errno.EINVAL | errno.EOPNOTSUPP | 524:
            # Some drivers return 524 instead of EOPNOTSUPP; this number has no name outside the
            # kernel.
            return f"{device} rejects its setting; its driver may not support it."
    return f"{device} failed: {error.strerror or error}."
