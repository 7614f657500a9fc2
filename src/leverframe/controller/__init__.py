"""What joins engine, board, store and clock."""

from leverframe.controller.controller import Command, Controller, NeedsHashing

__all__ = ["Command", "Controller", "NeedsHashing"]
