"""The controller, which connects engine, board, store and clock."""

from leverframe.host.controller.commit_path import Command, NeedsHashing, Outstanding
from leverframe.host.controller.controller import Controller

__all__ = ["Command", "Controller", "NeedsHashing", "Outstanding"]
