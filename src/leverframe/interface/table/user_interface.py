"""Rows: language, refresh interval, homepage and the flags that the pages use.

These settings are also positions among the stored variables, so each row sets both the setting and
the variable. In versions in which a position has no such meaning, the variable rows of `system.py`
set it.
"""

from leverframe.core.profile import HW35_TO_38, HW39, VersionSpan, is_offered
from leverframe.interface.table import codes
from leverframe.interface.table.codes import HW35_SW, span
from leverframe.interface.table.params import TIME_ZONE, Flag, Seconds10, Word
from leverframe.interface.table.row import row
from leverframe.interface.table.stage import Stage

AUTO_SIGN_IN = (VersionSpan(HW35_TO_38, "1.24", "1.67"), VersionSpan(HW39, "1.24", "1.75"))
REFRESH = Seconds10(3, 32767)
BYTE_0 = "GET /eeprom.cgi?byte0=<A>"
HOMEPAGE = HW35_SW["1.44"]
HOMEPAGE_OLDER = (VersionSpan(until="1.45b"),)
NAMES_ONLY = READ_ONLY_USER = HW35_SW["1.57"]
FIRMWARE_CHECK = span("1.32c")


def set_refresh(stage: Stage, A: int) -> None:
    stage.set("ui.refresh", A)
    stage.set("variables.words.0", A // 10)


def set_homepage(stage: Stage, A: str) -> None:
    """Set the homepage; the bit of older versions is 0 for all pages that it cannot express."""
    stage.set("ui.homepage", A)
    if is_offered(HOMEPAGE, stage.profile):
        stage.set("variables.bytes.0", codes.HOMEPAGES.number(A, stage.profile))
    if is_offered(HOMEPAGE_OLDER, stage.profile):
        stage.set("variables.bits.2", codes.HOMEPAGES_OLDER.number(A, stage.profile) or 0)


def set_auto_sign_in(stage: Stage, A: bool) -> None:
    _set_flag(stage, "ui.auto_sign_in", 0, A)


def set_firmware_check(stage: Stage, A: bool) -> None:
    _set_flag(stage, "ui.firmware_check", 1, A)


def set_names_only(stage: Stage, A: bool) -> None:
    _set_flag(stage, "ui.names_only", 2, A)


def set_user_read_only(stage: Stage, A: bool) -> None:
    _set_flag(stage, "ui.user_read_only", 3, A)


def _set_flag(stage: Stage, path: str, bit: int, on: bool) -> None:
    stage.set(path, on)
    stage.set(f"variables.bits.{bit}", int(on))


ROWS = (
    row(
        "GET /stm.cgi?lang=<A>",
        A=Word(codes.LANGUAGES),
        sets="ui.language",
        shown="language of the pages: 0 PL, 1 EN, 2 FR, 3 HU, 4 CZ",
        doc="Choose the language of the pages.",
    ),
    row(
        "GET /eeprom.cgi?word0=<A>",
        A=REFRESH,
        run=set_refresh,
        limits={"ui.refresh": REFRESH},
        doc="Set the refresh interval of the pages, in tens of seconds.",
    ),
    row(
        "GET /eeprom.cgi?bit0=<A>",
        A=Flag(),
        run=set_auto_sign_in,
        limits={"ui.auto_sign_in": Flag()},
        when=AUTO_SIGN_IN,
        doc="Sign the administrator in automatically.",
    ),
    row(
        BYTE_0,
        A=Word(codes.HOMEPAGES),
        run=set_homepage,
        limits={"ui.homepage": Word(codes.HOMEPAGES)},
        when=HOMEPAGE,
        doc="Choose the page shown after the administrator has signed in.",
    ),
    row(
        "GET /eeprom.cgi?bit2=<A>",
        A=Word(codes.HOMEPAGES_OLDER),
        run=set_homepage,
        limits={"ui.homepage": Word(codes.HOMEPAGES_OLDER)},
        when=HOMEPAGE_OLDER,
        replaced_by=BYTE_0,
        doc="Choose the homepage.",
    ),
    row(
        "GET /eeprom.cgi?bit2=<A>",
        A=Flag(),
        run=set_names_only,
        limits={"ui.names_only": Flag()},
        when=NAMES_ONLY,
        doc="Show only names set by the user, without the standard names.",
    ),
    row(
        "GET /eeprom.cgi?bit3=<A>",
        A=Flag(),
        run=set_user_read_only,
        limits={"ui.user_read_only": Flag()},
        when=READ_ONLY_USER,
        doc="Make the user account read-only: it cannot switch OUT and PWM outputs.",
    ),
)

FIRMWARE_CHECK_ROW = row(
    "GET /eeprom.cgi?bit1=<A>",
    A=Flag(),
    run=set_firmware_check,
    limits={"ui.firmware_check": Flag()},
    when=FIRMWARE_CHECK,
    doc="Check for new firmware when the administrator visits the page.",
)

FIRST_RUN_ROWS = (
    row(
        "GET /stm.cgi?timezone=<A>",
        A=TIME_ZONE,
        sets="timezone",
        doc="Choose the time zone of the schedule and of the clock; if empty, `timezone` of "
        "the configuration is used.",
    ),
    row(
        "GET /stm.cgi?firstrun=<A>",
        A=Word(codes.FIRST_RUN_STEPS),
        sets="ui.first_run",
        doc="Record the step of the first run at which the pages resume. The step has no other"
        " effect.",
    ),
)
