"""One controller: engine, board, store and clock joined; no servers yet."""

from leverframe.controller.controller import Command, Controller, NeedsHashing

__all__ = ["Command", "Controller", "NeedsHashing"]
