"""Rows: firmware, backup, reset, restart, event variables, status pages, stored variables."""

import msgspec

from leverframe.core.engine.calls import (
    OVERRIDING,
    ChangeClock,
    FollowDuty,
    FollowSetting,
    ForgetCounters,
    RaiseRestartFlag,
    Restart,
    StartBootloader,
    Switch,
)
from leverframe.core.labels import EVENT_VARIABLES, PWMS
from leverframe.core.profile import ALWAYS
from leverframe.core.tree import defaults, offset_count, visibility_count
from leverframe.interface.table.bodies import Upload
from leverframe.interface.table.codes import HW35_SW
from leverframe.interface.table.params import INT32, Flag, Int, ListOf, Position, Text
from leverframe.interface.table.refusals import Conflict, Restored
from leverframe.interface.table.row import CONTROL, row
from leverframe.interface.table.stage import Stage
from leverframe.interface.table.user_interface import (
    AUTO_SIGN_IN,
    FIRMWARE_CHECK,
    FIRMWARE_CHECK_ROW,
    HOMEPAGE,
    HOMEPAGE_OLDER,
    NAMES_ONLY,
    READ_ONLY_USER,
)
from leverframe.interface.uploads.picture import ALLOWED as PICTURE_KINDS
from leverframe.interface.uploads.picture import check_picture

#: The name of the stored file with the settings that the last restore omitted.
RESTORE_REPORT = "restore-report"
MAX_BACKUP_BYTES = 1 << 20
BIT = Int(0, 1)
BYTE = Int(-128, 127)
WORD = Int(-32768, 32767)
OFFSETS = ListOf(WORD, offset_count)
# Some positions contain page settings, so a complete list has separate limits for each position.
BIT_POSITION = Position(
    8,
    (
        (0, AUTO_SIGN_IN),
        (1, FIRMWARE_CHECK),
        (2, HOMEPAGE_OLDER),
        (2, NAMES_ONLY),
        (3, READ_ONLY_USER),
    ),
)
BYTE_POSITION = Position(4, ((0, HOMEPAGE),))
WORD_POSITION = Position(4, ((0, ALWAYS),))


def start_bootloader(stage: Stage) -> None:
    if not stage.settings.access.updates_allowed:
        raise Conflict(
            "Updates are forbidden; the administrator can allow them with the second flag of"
            " `auth`.",
            allowed="updates, if the second flag of auth is 1",
        )
    stage.do(StartBootloader())


def restart(stage: Stage) -> None:
    stage.do(Restart())


def raise_restart_flag(stage: Stage) -> None:
    stage.do(RaiseRestartFlag())


def reset_to_defaults(stage: Stage) -> None:
    """Reset everything except the accounts: strangers must not get access by a reset."""
    access = stage.settings.access
    stage.settings = defaults(stage.profile)
    stage.set("access", access)
    stage.replaces_all = True
    stage.do(ForgetCounters())
    _follow_settings(stage)


def _follow_settings(stage: Stage) -> None:
    """End overrides of settings by rules, which must not outlast the rules."""
    for action in OVERRIDING:
        stage.do(FollowSetting(action))
    for index in range(len(PWMS)):
        stage.do(FollowDuty(index))


def keep_site(stage: Stage, body: bytes) -> None:
    stage.blobs["site"] = body


def check_site(file: bytes) -> bytes:
    """Check an archive and return it unchanged."""
    # Imported here, in the thread of the upload, because few controllers have a site.
    from leverframe.interface.uploads.site import unpack_site

    unpack_site(file)
    return file


def restore(stage: Stage, restored: Restored) -> None:
    """Replace the settings by those of a checked and converted backup."""
    stage.settings = restored.settings
    stage.replaces_all = True
    stage.blobs[RESTORE_REPORT] = msgspec.json.encode(restored.not_carried_over)
    _follow_settings(stage)


def keep_picture(stage: Stage, body: bytes) -> None:
    stage.blobs["picture"] = body


def remove_picture(stage: Stage) -> None:
    stage.blobs["picture"] = None


def switch_variable(stage: Stage, A: int, B: int) -> None:
    stage.do(Switch(EVENT_VARIABLES[A], B))


def change_clock(stage: Stage, A: int) -> None:
    stage.do(ChangeClock(A))


RESTORE_ROW = row(
    "POST /post.cgi?settingsupload",
    body=Upload("a settings backup", MAX_BACKUP_BYTES),
    run=restore,
    doc="Restore a settings backup, completely or not at all; a backup of another version is "
    "converted. The header `Backup-Passphrase` decrypts its passwords. Without it the "
    "passwords do not change, and the response lists them in the header "
    "`Secrets-Not-Restored`. `/api/restore-report` lists the settings that could not be "
    "carried over.",
)

FIRMWARE_ROWS = (
    row(
        "GET /stm.cgi?upgrade=devstart3",
        run=start_bootloader,
        doc="Start the bootloader, which waits 60 seconds for new firmware over TFTP. Refused "
        "without a key in the configuration (`firmware_key`).",
    ),
    FIRMWARE_CHECK_ROW,
    row(
        "POST /post.cgi?wwwfileupload",
        body=Upload("a site archive", check=check_site),
        run=keep_site,
        doc="Replace the web site with an archive from `leverframe site build`. `/?safe` "
        "still opens the built-in pages.",
    ),
    row(
        "GET /dev_settings.bin",
        doc="Download a backup of the settings. It contains passwords only if the header "
        "`Backup-Passphrase` sets a percent-encoded passphrase, which encrypts them.",
    ),
    RESTORE_ROW,
    row(
        "GET /stm.cgi?eeprom_reset=1",
        run=reset_to_defaults,
        doc="Reset all settings except the accounts to their defaults, and energy to 0.",
    ),
)


OTHER_ROWS = (
    row("GET /stm.cgi?devrestart=1", run=restart, doc="Restart the controller."),
    row(
        "GET /stm.cgi?restart_power_on=1",
        run=raise_restart_flag,
        doc="Set the restart flag, key `restart` of `/json/status.json`.",
    ),
    row(
        "GET /outs.cgi?vout<A>=<B>",
        A=Int(0, 7),
        B=Int(0, 1),
        run=switch_variable,
        role=CONTROL,
        when=HW35_SW["1.36"],
        doc="Set an event variable, EVENT1 (A = 0) to EVENT8.",
    ),
    row(
        "GET /stm.cgi?eventname=<A><B>",
        A=Int(0, 7),
        B=Text(15),
        sets="event_variables.{A}.name",
        when=HW35_SW["1.60a"],
        shown="names of EVENT1-EVENT8",
        doc="Name an event variable.",
    ),
    row(
        "POST /post.cgi?pictureupload",
        body=Upload(PICTURE_KINDS, check=check_picture),
        run=keep_picture,
        doc="Upload the picture of the Status for user page, served at `/picture`. The "
        "picture is re-encoded; everything else in the file is dropped.",
    ),
    row(
        "GET /stm.cgi?delpicture=0",
        run=remove_picture,
        doc="Remove the picture of the Status for user page.",
    ),
    row(
        "GET /stm.cgi?postop=0*<A>",
        A=OFFSETS,
        sets="layout.top",
        shown="top offsets of the elements on Status for user",
        doc="Set the top offsets of the elements on the Status for user page.",
    ),
    row(
        "GET /stm.cgi?posleft=0*<A>",
        A=OFFSETS,
        sets="layout.left",
        shown="left offsets of the elements on Status for user",
        doc="Set the left offsets of the elements on the Status for user page.",
    ),
    row(
        "GET /stm.cgi?echeck=<A>",
        A=ListOf(Flag(), visibility_count, separator=""),
        sets="layout.visible",
        shown="visibility of the items on Status",
        doc="Set the visibility of the items on the Status page, one character each.",
    ),
    row(
        "GET /eeprom.cgi?bit<A>=<B>",
        A=BIT_POSITION,
        B=BIT,
        sets="variables.bits.{A}",
        limits={"variables.bits": ListOf(BIT, 8)},
        shown="stored bits",
        doc="Set a one-bit variable.",
    ),
    row(
        "GET /eeprom.cgi?byte<A>=<B>",
        A=BYTE_POSITION,
        B=BYTE,
        sets="variables.bytes.{A}",
        limits={"variables.bytes": ListOf(BYTE, 4)},
        shown="stored bytes",
        doc="Set a one-byte variable.",
    ),
    row(
        "GET /eeprom.cgi?word<A>=<B>",
        A=WORD_POSITION,
        B=WORD,
        sets="variables.words.{A}",
        limits={"variables.words": ListOf(WORD, 4)},
        shown="stored words",
        doc="Set a two-byte variable.",
    ),
    row(
        "GET /eeprom.cgi?dword<A>=<B>",
        A=Int(0, 3),
        B=Int(-INT32 - 1, INT32),
        sets="variables.dwords.{A}",
        shown="stored dwords",
        doc="Set a four-byte variable.",
    ),
    row(
        "GET /eeprom.cgi?string<A>=<B>",
        A=Int(0, 1),
        B=Text(15),
        sets="variables.strings.{A}",
        shown="stored strings",
        doc="Set a string variable.",
    ),
)

NAME = Text(
    31,
    pattern=r"|[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?",
    form="one line without leading or trailing spaces",
    fitting=("", "Cellar", "Ogród *&=+%\"' 2"),
    unfitting=(" x", "x ", "a\nb"),
)
NAME_ROWS = (
    row(
        "GET /stm.cgi?sname=<A>",
        A=NAME,
        sets="name",
        doc="Name the controller. The name is shown in the pages, on the sign-in page and in "
        "network discovery and announcements. If empty, `name` of the configuration is "
        "used, or the name generated at the first start.",
    ),
)

#: Names that real units use, and the clock command, which the document does not print.
ALIASES = (
    row(
        "GET /stm.cgi?upgrade=lkstart3",
        run=start_bootloader,
        doc="The same as `upgrade=devstart3`.",
    ),
    row("GET /stm.cgi?lk3restart=1", run=restart, doc="The same as `devrestart=1`."),
    row("GET /lk3_settings.bin", doc="The same as `/dev_settings.bin`."),
    row(
        "GET /stm.cgi?t_man=<A>",
        A=Int(0, 253402300799),
        run=change_clock,
        example={"A": "1767225600"},
        doc="Set the clock: local wall time in seconds since 1970, as if it were UTC.",
    ),
)
