"""Readings on their way from a board to the controller.

They are raw, by label: volts at the pins of INPA1-INPA6, levels of INPD1-INPD4, temperatures, and
`None` for what is not there; `engine/inputs.py` says what each of them means.
"""

from collections.abc import Callable, Mapping
from typing import Any

Readings = Mapping[str, Any]
Sense = Callable[[Readings], None]


def drop_readings(readings: Readings) -> None:
    """Drop readings: no controller is connected yet."""
