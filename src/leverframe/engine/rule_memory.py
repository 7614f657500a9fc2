"""The effects of rules on outputs that remember their state, kept over a power cut.

A remembered output comes back as it was; so must the rule that switched it, or nothing would switch
it off any more: the rule begins as not met, and what was never activated is not deactivated. Stored
is the state that a rule has set its output to, for as long as it has not undone that.
"""

from collections.abc import Iterable

from leverframe.engine.effects import Persist
from leverframe.engine.labels import OUTPUTS
from leverframe.engine.live_rule import LiveRule
from leverframe.engine.machine import Machine
from leverframe.engine.settings import MAX_RULES

_NAMES = tuple(f"rule.{place}" for place in range(MAX_RULES))


class RuleMemory:
    __slots__ = ("_machine", "_stored")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        #: What the store has, by place.
        self._stored = [machine.persisted.get(name) for name in _NAMES]

    def restore(self, lives: Iterable[LiveRule]) -> None:
        """Resume rules whose output is in the state that they have set it to."""
        for live in lives:
            held = self._stored[live.number - 1]
            if held is None or not live.rule.enabled or not self._remembers(live):
                continue
            if held == self._machine.values[live.rule.action]:
                live.resume(int(held))

    def keep(self, lives: list[LiveRule]) -> None:
        """Store what rules have set now, where that differs from what is stored."""
        for live in lives:
            self._store(live.number - 1, self._state_to_restore(live))

    def keep_all(self, lives: list[LiveRule]) -> None:
        held: list[int | None] = [None] * MAX_RULES
        for live in lives:
            held[live.number - 1] = self._state_to_restore(live)
        if held != self._stored:
            for place, state in enumerate(held):
                self._store(place, state)

    def _state_to_restore(self, live: LiveRule) -> int | None:
        """Return the state of a remembered output that this rule has set and not undone."""
        return live.held if (live.met or live.pending) and self._remembers(live) else None

    def _store(self, place: int, held: int | None) -> None:
        if held != self._stored[place]:
            self._stored[place] = held
            self._machine.emit(Persist(_NAMES[place], held))

    def _remembers(self, live: LiveRule) -> bool:
        action = live.rule.action
        if action not in OUTPUTS:
            return False
        return self._machine.settings.outputs[OUTPUTS.index(action)].remember
