"""The OLED display: which of its four screens is shown, and for how long.

A screen shows its four lines with their reading codes replaced; other code turns them into pixels.

Behaviour that the interface document does not specify:

- An enabled display shows its first active screen after the start and goes dark after the display
  time in seconds. With display time 0 it never goes dark while a screen is active. Every display
  action restarts the display time; a changed display time counts from the last action.
- "ON/NEXT SCREEN" turns a dark display on with the first active screen. If the display is on, it
  shows the next active screen, and after the last one the first. "SET SCREEN" shows its screen even
  if that screen is not active, so a screen can be reserved for rules. A disabled display stays
  dark.
"""

from leverframe.core.engine.calls import ShowScreen
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.texts import render_line
from leverframe.core.engine.timers import Key
from leverframe.core.settings import Oled, Settings

_DARK: Key = ("display", "dark")


class Display:
    __slots__ = ("_lit_at", "_machine", "shown")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        #: The screen (0-3) that is shown; None while the display is dark.
        self.shown: int | None = None
        #: Monotonic time of the last display action.
        self._lit_at = 0.0

    def start(self) -> None:
        self._light_first()
        if self.shown is None:
            # After a restart of the program, the display may still show an old screen.
            self._machine.emit(ShowScreen(None))

    def adopt(self, old: Settings) -> None:
        before, after = old.oled, self._machine.settings.oled
        if after is before:
            return
        if not after.enabled:
            self._show(None)
        elif not before.enabled or self._was_withdrawn(before, after):
            self._light_first()
        elif self.shown is not None:
            self._time_darkness()
        elif not after.display_time:
            self._light_first()

    def on_timer(self, key: Key) -> None:
        self._show(None)

    def next_screen(self, cause: Cause) -> None:
        """Turn the display on, or show the next active screen."""
        shown = self.shown
        self._light(_active_after(self._machine.settings.oled, -1 if shown is None else shown))
        self._log_change(shown, cause)

    def set_screen(self, index: int, cause: Cause) -> None:
        """Show one screen if it exists; old software has fewer screens than actions."""
        if index < len(self._machine.settings.oled.screens):
            shown = self.shown
            self._light(index)
            self._log_change(shown, cause)

    def lines(self) -> tuple[str, ...] | None:
        """Return the lines that the display shows now; None while it is dark."""
        if self.shown is None:
            return None
        machine = self._machine
        return tuple(
            render_line(text, machine.values, machine.profile)
            for text in machine.settings.oled.screens[self.shown].lines
        )

    def _was_withdrawn(self, before: Oled, after: Oled) -> bool:
        """Return True if the screen that is shown is no longer active."""
        shown = self.shown
        if shown is None:
            return False
        return before.screens[shown].active and not after.screens[shown].active

    def _light_first(self) -> None:
        self._light(_active_after(self._machine.settings.oled, -1))

    def _light(self, screen: int | None) -> None:
        self._show(screen if self._machine.settings.oled.enabled else None)
        if self.shown is not None:
            self._lit_at = self._machine.at.now
            self._time_darkness()

    def _show(self, screen: int | None) -> None:
        machine = self._machine
        if screen is None:
            machine.timers.cancel(_DARK)
        if screen != self.shown:
            self.shown = screen
            machine.mark("display")
            machine.emit(ShowScreen(screen))

    def _time_darkness(self) -> None:
        machine = self._machine
        seconds = machine.settings.oled.display_time
        if seconds:
            machine.timers.set(_DARK, self._lit_at + seconds)
        else:
            machine.timers.cancel(_DARK)

    def _log_change(self, before: int | None, cause: Cause) -> None:
        if self.shown is not None and self.shown != before:
            self._machine.log(cause, Fact("screen", figures={"screen": self.shown + 1}))


def _active_after(oled: Oled, screen: int) -> int | None:
    """Find the next active screen, starting over after the last; None if no screen is active."""
    count = len(oled.screens)
    for step in range(1, count + 1):
        index = (screen + step) % count
        if oled.screens[index].active:
            return index
    return None
