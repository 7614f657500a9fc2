"""The part that joins engine, board, store and clock."""

from leverframe.controller.controller import Command, Controller, NeedsHashing
from leverframe.controller.outstanding import Outstanding

__all__ = ["Command", "Controller", "NeedsHashing", "Outstanding"]
