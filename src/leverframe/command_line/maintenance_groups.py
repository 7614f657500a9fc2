"""What keeps a controller in order: configuration, board, site, firmware, backups, data."""

from pathlib import Path

from leverframe.command_line.task import (
    ALL_KEYS,
    DATA,
    IMAGE,
    ONLY_FILE,
    SECRETS,
    Group,
    Task,
    argument,
)
from leverframe.profile import HARDWARE

COMPLETION = Task(
    "completion",
    "reference.completion:print_completion",
    "print the completion script of a shell",
    (argument("shell", choices=("bash", "zsh", "fish"), help="the shell that completes"),),
    description="""\
Print the script that completes commands, tasks and options.

  source <(leverframe completion bash)          in this shell; or as a line of ~/.bashrc
  leverframe completion zsh > ~/.zfunc/_leverframe
  leverframe completion fish > ~/.config/fish/completions/leverframe.fish
""",
)

CONFIG = Group(
    "config",
    "check a configuration, or print one",
    """\
The configuration of a controller: a TOML file, environment variables over it, options over both.

  leverframe config example > cellar.toml       every key with its default and meaning
  leverframe config check --config cellar.toml  the effective settings and where each comes from
""",
    (
        Task(
            "check",
            "maintenance.config:check_config",
            "print the effective settings and where each comes from, or what is wrong",
            config=ALL_KEYS,
        ),
        Task("example", "maintenance.config:print_example", "print a complete file with every key"),
    ),
)

BOARD = Group(
    "board",
    "check the hardware of this machine",
    """\
Try what the service will do with the hardware of this machine. Nothing is driven.

  leverframe board check --config cellar.toml
  sudo leverframe board check --config /etc/leverframe/cellar.toml     as its service will run
  sudo leverframe board check --config cellar.toml --account gatekeeper
""",
    (
        Task(
            "check",
            "maintenance.board:check_board",
            "say which wired devices can be used, and what keeps the others",
            (
                argument(
                    "--account",
                    metavar="NAME",
                    help="try with the rights of this account (default: those of the systemd unit"
                    " of this file, if root asks and there is one)",
                ),
            ),
            config=ONLY_FILE,
        ),
    ),
)

SITE = Group(
    "site",
    "make a web site archive, or remove an uploaded one",
    """\
A web site of your own instead of the built-in pages.

  leverframe site build my-pages --output my.site   check a folder and pack it
  curl --data-binary @my.site 'http://127.0.0.1:8080/post.cgi?wwwfileupload'
  leverframe site reset --data data                 back to the built-in pages
""",
    (
        Task(
            "build",
            "maintenance.site:build_site",
            "pack a folder of pages",
            (
                argument("pages", metavar="FOLDER", type=Path, help="has an index.html"),
                argument(
                    "--output", metavar="FILE", type=Path, help="where to (default FOLDER.site)"
                ),
            ),
        ),
        Task(
            "reset",
            "maintenance.site:reset_site",
            "remove the uploaded site of a stopped controller",
            config=DATA,
        ),
    ),
)

FIRMWARE = Group(
    "firmware",
    "make, sign and show firmware images",
    """\
Another software version for a controller, sent by TFTP while its bootloader waits.

  leverframe firmware keygen owner                       makes owner.key and owner.pub
  leverframe firmware build --hw 3.9 --sw 1.60a new.img  perhaps with --site my.site
  leverframe firmware sign new.img --key owner.key
  leverframe firmware show new.img --key owner.pub       what it is, and whether it is signed

  firmware_key = "owner.pub"   in the configuration of the controller, then
  curl 'http://127.0.0.1:8080/stm.cgi?upgrade=devstart3'
  tftp -m binary 127.0.0.1 1069 -c put new.img
""",
    (
        Task(
            "keygen",
            "maintenance.firmware:make_keys",
            "make a pair of keys",
            (argument("name", metavar="NAME", help="makes NAME.key, to be kept, and NAME.pub"),),
        ),
        Task(
            "build",
            "maintenance.firmware:build",
            "make an image",
            (
                IMAGE,
                argument(
                    "--hw",
                    action="append",
                    required=True,
                    choices=HARDWARE,
                    help="may be given several times",
                ),
                argument("--sw", required=True, help="software version, like 1.49d"),
                argument("--site", metavar="FILE", type=Path, help="made by leverframe site build"),
            ),
        ),
        Task(
            "sign",
            "maintenance.firmware:sign",
            "sign an image, in place",
            (
                IMAGE,
                argument("--key", metavar="FILE", type=Path, required=True, help="the private key"),
            ),
        ),
        Task(
            "show",
            "maintenance.firmware:show",
            "say what an image holds",
            (
                IMAGE,
                argument("--key", metavar="FILE", type=Path, help="public key to check it with"),
            ),
        ),
    ),
)

BACKUP = Group(
    "backup",
    "create, show, compare, convert or restore backups",
    """\
Create a settings backup from the data folder of a stopped controller, or restore one into it; show,
compare and convert backups. A backup is a .bin file as a controller gives it, or the same as
readable .toml or .json.

Passwords and keys are in a backup only if it was created with a passphrase. Restoring such a backup
needs the passphrase, or --without-secrets to leave them out; a terminal is asked.

  leverframe backup create cellar.bin --data cellar
  leverframe backup show cellar.bin
  leverframe backup diff monday.bin tuesday.bin
  leverframe backup convert cellar.bin cellar.toml
  leverframe backup convert old.bin new.bin --hw 3.9 --sw 1.75
  leverframe backup restore cellar.toml --data cellar
""",
    (
        Task(
            "create",
            "maintenance.backup:create",
            "create a backup of a stopped controller",
            (argument("file", type=Path, help="ends with .bin, .toml or .json"), *SECRETS),
            config=DATA,
        ),
        Task(
            "show",
            "maintenance.backup:show",
            "print a backup",
            (
                argument("file", type=Path),
                argument("--json", action="store_true", help="as JSON instead of TOML"),
            ),
        ),
        Task(
            "diff",
            "maintenance.backup:diff",
            "print what differs; ends with 1 if anything does",
            (argument("first", type=Path), argument("second", type=Path)),
        ),
        Task(
            "convert",
            "maintenance.backup:convert",
            "write a backup in another form or version",
            (
                argument("file", type=Path),
                argument("output", type=Path, help="ends with .bin, .toml or .json"),
                argument("--hw", metavar="VERSION", help="hardware version to convert to"),
                argument("--sw", metavar="VERSION", help="software version to convert to"),
                *SECRETS,
            ),
        ),
        Task(
            "restore",
            "maintenance.backup:restore",
            "restore into a data folder",
            (argument("file", type=Path), *SECRETS),
            config=DATA,
        ),
    ),
)

DATA_FOLDER = Group(
    "data",
    "check, repair, show, export or reset a data folder",
    """\
Look after the data folder of a controller that is stopped.

  leverframe data check                 are store, snapshots and history sound?
  leverframe data repair                put a damaged store or history right
  leverframe data show > all.json       everything in the store but secrets
  leverframe data export -o all.csv     the history of all readings and states
  leverframe data reset --accounts      factory settings, accounts too
""",
    (
        Task(
            "check",
            "maintenance.data:check_data",
            "say whether store, snapshots and history are sound; ends with 1 if not",
            config=DATA,
        ),
        Task(
            "repair",
            "maintenance.data:repair_data",
            "put a damaged store or history right",
            config=DATA,
        ),
        Task(
            "show",
            "maintenance.data:show_data",
            "print everything in the store as JSON, secrets masked",
            config=DATA,
        ),
        Task(
            "export",
            "maintenance.history_export:export_history",
            "write the history as CSV",
            (
                argument("--labels", metavar="LABELS", help="like DS1,OUT0 (default: all)"),
                argument(
                    "--from", dest="first", metavar="TIME", help="like 2026-01-05T12:00, in UTC"
                ),
                argument("--to", dest="last", metavar="TIME", help="until then (default: the end)"),
                argument("-o", "--output", metavar="FILE", type=Path, help="write to this file"),
            ),
            config=DATA,
        ),
        Task(
            "reset",
            "maintenance.data:reset_data",
            "go back to the factory settings",
            (argument("--accounts", action="store_true", help="reset the accounts, too"),),
            config=DATA,
        ),
    ),
)
