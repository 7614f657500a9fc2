"""Record commands in a terminal as animated pictures: `make docs`.

    python -m tools.terminal_recordings docs/images

Each story is typed into a shell, and its output is drawn at the time at which it appeared; waits
are shortened. The pictures are SVG without scripts, so that they also play on pages that show the
README. Who prefers no motion sees the finished terminal.
"""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from tools.fleet_demo import NoDemo, postgres_programs

PROJECT = Path(__file__).parent.parent
COLUMNS, ROWS = 96, 60
PATIENCE_S = 90.0
#: The prompt of the shell; typed commands follow it.
PROMPT = "$ "
#: A wait in the picture lasts at most this long, and a typed letter this long.
LONGEST_WAIT_S, LETTER_S = 1.2, 0.035
#: Time to read what is there before the next command is typed.
READING_S = 1.5
#: The size of a letter cell and of the margin, in pixels.
CELL_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 20, 16
BACKGROUND, FOREGROUND = "#15181c", "#d7dbe0"
#: The colours of programs by their numbers, readable on the background.
COLOURS = {1: "#ff7b72", 2: "#5fd38d", 3: "#e3b341", 4: "#79c0ff", 5: "#d2a8ff", 6: "#76e3ea"}
_TEST = """\
def test_heating_follows_the_night(twin):
    twin.rule(when="DS1 < 18 until 20", then="OUT0 on")
    twin.sense(DS1=21.5)
    twin.advance("1d")              # a day in milliseconds
    assert twin.state["OUT0"] == 0
    twin.sense(DS1=16)
    assert twin.state["OUT0"] == 1
"""


#: Another plugin of this environment would otherwise print a remark.
_SETTINGS = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


class Step(NamedTuple):
    """A command, the output that ends the wait for it, and what happens before it is typed."""

    command: str
    ends_with: str
    fill: Callable[[str], str] = lambda seen: ""


def _first_node(seen: str) -> str:
    found = re.search(r"process (\d+)", seen)
    assert found is not None, seen
    return found[1]


class Story(NamedTuple):
    """Steps in a folder: that of the project, or a new one with the test."""

    is_in_project: bool
    steps: tuple[Step, ...]


#: By picture. `{}` in a command is filled from the output so far.
STORIES = {
    "fast-forward": Story(
        False,
        (
            Step("cat test_heating.py", r"\$ $"),
            Step("pytest -q", r"passed.*\$ $"),
        ),
    ),
    "take-over": Story(
        True,
        (
            Step("make fleet-demo &", r"Ctrl\+C here"),
            Step("kill -9 {}", r"Start \w+ again", _first_node),
            Step("curl -s 'http://gh-1.localhost:8082/outs.cgi?out0=1'; echo", r"</?\w+>.*\$ $"),
        ),
    ),
}


class Line(NamedTuple):
    """A line of the terminal, when it appeared, and whether it was typed."""

    at_s: float
    text: str
    is_typed: bool = False


class Shell:
    """A shell in a pseudo-terminal."""

    def __init__(self, folder: Path) -> None:
        self._master, slave = pty.openpty()
        subprocess.run(["stty", "rows", str(ROWS), "cols", str(COLUMNS)], stdin=slave, check=True)
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {
            **{"PATH": programs, "HOME": tempfile.gettempdir(), "TERM": "xterm", "PS1": PROMPT},
            **{"PYTHONPATH": f"{PROJECT / 'src'}", "LANG": "C.UTF-8", "HISTFILE": os.devnull},
        }
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "--noediting", "-i"],
            cwd=folder,
            env=own,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = ""
        self.typed: list[str] = []
        self.pieces: list[tuple[float, str]] = []

    def wait_for(self, pattern: str, start: int = 0) -> None:
        """Read output until it matches a pattern from a position on."""
        until = time.monotonic() + PATIENCE_S
        while re.search(pattern, self.seen[start:], re.DOTALL) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"{pattern} did not appear in {self.seen!r}")
            if select.select([self._master], [], [], 0.05)[0]:
                piece = os.read(self._master, 65536).decode(errors="replace")
                self.seen += piece
                self.pieces.append((time.monotonic(), piece))

    def type(self, command: str) -> None:
        self.typed.append(command)
        os.write(self._master, f"{command}\n".encode())

    def close(self) -> None:
        self.type("kill -INT %1 2> /dev/null; wait; exit")
        try:
            self._process.wait(PATIENCE_S)
        finally:
            os.close(self._master)


@contextmanager
def open_shell(folder: Path) -> Iterator[Shell]:
    shell = Shell(folder)
    try:
        shell.wait_for(r"\$ $")
        yield shell
    finally:
        shell.close()


def record(steps: tuple[Step, ...], folder: Path) -> list[Line]:
    """Type the steps; return the lines of the terminal with their times."""
    with open_shell(folder) as shell:
        for step in steps:
            start = len(shell.seen)
            shell.type(step.command.format(step.fill(shell.seen)))
            shell.wait_for(step.ends_with, start)
        return lines_of(shell.pieces, shell.typed)


def lines_of(pieces: list[tuple[float, str]], typed: list[str]) -> list[Line]:
    """Return the lines of the output, with shortened waits; omit those that name this machine."""
    lines: list[Line] = []
    text, appeared, now, before = "", 0.0, 0.0, pieces[0][0]
    for at, piece in pieces:
        now += min(at - before, LONGEST_WAIT_S)
        before = at
        for part in re.split(r"(\r?\n)", piece):
            if part.endswith("\n"):
                # What runs in the background prints after the prompt of the shell.
                text = text.removeprefix(PROMPT)
                if text in typed:
                    now += READING_S if lines else 0
                    lines.append(Line(now, PROMPT + text, is_typed=True))
                    now += LETTER_S * len(text)
                elif str(PROJECT) not in text:
                    lines.append(Line(appeared, text))
                text = ""
            elif part:
                appeared = appeared if text not in ("", PROMPT) else now
                text += part
    return [*lines, Line(now, text)]


def draw(lines: list[Line]) -> str:
    """Draw the lines as an animated SVG."""
    while lines and lines[-1].text in ("", PROMPT):
        lines = lines[:-1]
    width = round(COLUMNS * CELL_WIDTH + 2 * MARGIN)
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    drawn = [_draw_line(line, row) for row, line in enumerate(lines)]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img">',
            "<style>",
            "text { font: 14px ui-monospace, Menlo, Consolas, monospace; white-space: pre }",
            "@media (prefers-reduced-motion: no-preference) {",
            "  text { animation: appear 1ms both }",
            "  @keyframes appear { from { visibility: hidden } }",
            "  .typed { animation: type var(--for) both }",
            "  @keyframes type { from { clip-path: inset(0 100% 0 0) } }",
            "}",
            "</style>",
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            *drawn,
            "</svg>",
            "",
        )
    )


def _draw_line(line: Line, row: int) -> str:
    text = Text.from_ansi(line.text)
    place = f'x="{MARGIN}" y="{MARGIN + row * LINE_HEIGHT + 14}" fill="{FOREGROUND}"'
    kind, style = "", f"animation-delay: {line.at_s:.2f}s"
    if line.is_typed:
        letters = len(line.text)
        kind = ' class="typed"'
        style += f"; --for: {letters * LETTER_S:.2f}s; animation-timing-function: steps({letters})"
    parts = "".join(_draw_part(one) for one in text.render(Console(), end=""))
    return f'<text{kind} {place} style="{style}">{parts}</text>'


def _draw_part(part: Segment) -> str:
    style = part.style or Style()
    number = style.color.number if style.color else None
    colour = COLOURS.get(number % 8) if number else None
    fill = f' fill="{colour}"' if colour else ""
    weight = ' font-weight="bold"' if style.bold else ""
    words = escape(part.text, quote=False)
    return f"<tspan{fill}{weight}>{words}</tspan>" if weight or fill else words


def main() -> int:
    pictures = Path(sys.argv[1])
    try:
        postgres_programs()
    except NoDemo as error:
        print(f"{error} The recordings of the terminal stay as they are.")
        return 0
    for name, story in STORIES.items():
        with tempfile.TemporaryDirectory() as temporary:
            (Path(temporary) / "test_heating.py").write_text(_TEST)
            (Path(temporary) / "pytest.ini").write_text(_SETTINGS)
            folder = PROJECT if story.is_in_project else Path(temporary)
            picture = draw(record(story.steps, folder))
        (pictures / f"{name}.svg").write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
