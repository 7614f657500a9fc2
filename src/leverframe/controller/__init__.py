"""The part that joins engine, board, store and clock."""

from leverframe.controller.controller import Controller
from leverframe.controller.outstanding import Outstanding
from leverframe.controller.staging import Command, NeedsHashing

__all__ = ["Command", "Controller", "NeedsHashing", "Outstanding"]
