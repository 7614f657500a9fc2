"""Rows: the OLED display."""

from typing import Any

from leverframe.core.profile import VersionSpan
from leverframe.interface.table.bodies import FormBody
from leverframe.interface.table.codes import SW
from leverframe.interface.table.params import Flag, Int, ListOf, Param, Text
from leverframe.interface.table.row import row
from leverframe.interface.table.stage import Stage

FREQUENCY = Int(50, 400)
LINE = Text(63)
OLED_SAVE = "POST /post.cgi?oled_save"
SCREENS = LINES = range(1, 5)
FIELDS: dict[str, Param] = {
    "enabled": Flag(),
    "displayTime": Int(0, 65535),
    "frequency": FREQUENCY,
    **{f"screen{screen}": Flag() for screen in SCREENS},
    **{f"line{screen}{line}": LINE for screen in SCREENS for line in LINES},
}
PATHS = {
    "enabled": "oled.enabled",
    "displayTime": "oled.display_time",
    "frequency": "oled.frequency",
    **{f"screen{screen}": f"oled.screens.{screen - 1}.active" for screen in SCREENS},
    **{
        f"line{screen}{line}": f"oled.screens.{screen - 1}.lines.{line - 1}"
        for screen in SCREENS
        for line in LINES
    },
}


def save(stage: Stage, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        stage.set(PATHS[name], value)


def save_single_screen(stage: Stage, A: bool, B: str, C: str, D: str, E: str) -> None:
    stage.set("oled.enabled", A)
    stage.set("oled.screens.0.lines", (B, C, D, E))


ROWS = (
    row(
        OLED_SAVE,
        body=FormBody(FIELDS),
        run=save,
        limits={
            **{PATHS[name]: param for name, param in FIELDS.items()},
            "oled.screens.*.lines": ListOf(LINE, 4),
        },
        when=SW["1.44"],
        example={
            **{f"screen{screen}": "0" for screen in (2, 3, 4)},
            **{f"line{screen}{line}": "" for screen in SCREENS for line in LINES},
            "displayTime": "30",
            "frequency": "400",
            "line11": "Cellar",
        },
        doc="Set up the display: enabled, display time in seconds, I2C frequency in kHz, and four "
        "screens of four lines. `!` in a line stands for the `%` of a reading code. Fields that "
        "are left out keep their value.",
    ),
    row(
        "GET /stm.cgi?oled=<A>*<B>*<C>*<D>*<E>",
        A=Flag(),
        B=LINE,
        C=LINE,
        D=LINE,
        E=LINE,
        run=save_single_screen,
        limits={"oled.enabled": Flag(), "oled.screens.*.lines": ListOf(LINE, 4)},
        when=(VersionSpan(until="1.44"),),
        replaced_by=OLED_SAVE,
        example={"B": "Cellar", "C": "", "D": "", "E": ""},
        doc="Set up the display with its one screen of four lines.",
    ),
    row(
        "GET /stm.cgi?i2cofreq=<A>",
        A=FREQUENCY,
        sets="oled.frequency",
        example={"A": "100"},
        doc="Set the I2C frequency of the display in kHz.",
    ),
)
