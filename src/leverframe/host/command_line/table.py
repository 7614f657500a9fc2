"""Every command of the program, in the order of the help."""

from pathlib import Path

from leverframe.core.profile import HARDWARE
from leverframe.host.command_line.controller_tasks import (
    LIST_COMMANDS,
    PASSWD,
    RECORD,
    REPLAY,
    RULE,
    RUN,
    SIMULATE,
    WHAT_IF,
)
from leverframe.host.command_line.fleet_group import FLEET
from leverframe.host.command_line.task import (
    ALL_KEYS,
    AS_JSON,
    DATA,
    IMAGE,
    ONLY_FILE,
    SECRETS,
    Group,
    Task,
    argument,
)
from leverframe.host.command_line.unit_group import UNIT

# Commands for maintenance: completion, config, board, site, firmware, backup, data.

COMPLETION = Task(
    "completion",
    "host.command_line.listings:print_completion",
    "print the completion script for a shell",
    (argument("shell", choices=("bash", "zsh", "fish"), help="bash, zsh or fish"),),
    description="""\
Print a script that completes commands, tasks and options in a shell.

  source <(leverframe completion bash)          for this shell, or add it to ~/.bashrc
  leverframe completion zsh > ~/.zfunc/_leverframe
  leverframe completion fish > ~/.config/fish/completions/leverframe.fish
""",
)

CONFIG = Group(
    "config",
    "check a configuration, or print an example",
    """\
Check the configuration of a controller, or print an example. A configuration consists of a TOML
file, environment variables that override it, and options that override both.

  leverframe config example > cellar.toml       every key with its default and meaning
  leverframe config check --config cellar.toml  effective settings and the source of each
""",
    (
        Task(
            "check",
            "host.maintenance.configuration:check_config",
            "print the effective settings with their sources, or all mistakes",
            config=ALL_KEYS,
        ),
        Task(
            "example",
            "host.maintenance.configuration:print_example",
            "print a configuration file with every key",
        ),
    ),
)

BOARD = Group(
    "board",
    "check the hardware of this machine",
    """\
Check the hardware of this machine in the way a service uses it. No output is switched.

  leverframe board check --config cellar.toml
  sudo leverframe board check --config /etc/leverframe/cellar.toml     with the service's rights
  sudo leverframe board check --config cellar.toml --account gatekeeper
""",
    (
        Task(
            "check",
            "host.maintenance.board:check_board",
            "list the wired devices that work, and the cause of failure of the others",
            (
                argument(
                    "--account",
                    metavar="NAME",
                    help="check with the rights of this account (default for root: the account of"
                    " the systemd service that uses this file)",
                ),
                AS_JSON,
            ),
            config=ONLY_FILE,
            exit_status="0 if all wired devices work, 1 if any does not",
        ),
    ),
)

SITE = Group(
    "site",
    "build a web site archive, or remove an uploaded site",
    """\
Replace the built-in pages with your own web site.

  leverframe site build my-pages --output my.site   check a folder and pack it
  curl --data-binary @my.site 'http://127.0.0.1:8080/post.cgi?wwwfileupload'
  leverframe site reset --data data                 restore the built-in pages
""",
    (
        Task(
            "build",
            "host.maintenance.site:build_site",
            "pack a folder of pages",
            (
                argument(
                    "pages", metavar="FOLDER", type=Path, help="folder that contains index.html"
                ),
                argument(
                    "--output", metavar="FILE", type=Path, help="archive (default FOLDER.site)"
                ),
            ),
        ),
        Task(
            "reset",
            "host.maintenance.site:reset_site",
            "remove the uploaded site of a stopped controller",
            config=DATA,
        ),
    ),
)

FIRMWARE = Group(
    "firmware",
    "build, sign and show firmware images",
    """\
Install another software version on a controller: send an image by TFTP while its bootloader waits.

  leverframe firmware keygen owner                       creates owner.key and owner.pub
  leverframe firmware build --hw 3.9 --sw 1.60a new.img  optionally with --site my.site
  leverframe firmware sign new.img --key owner.key
  leverframe firmware show new.img --key owner.pub       version, contents and signature

  firmware_key = "owner.pub"   in the configuration of the controller, then
  curl 'http://127.0.0.1:8080/stm.cgi?upgrade=devstart3'
  tftp -m binary 127.0.0.1 1069 -c put new.img
""",
    (
        Task(
            "keygen",
            "host.maintenance.site:make_keys",
            "create a key pair",
            (
                argument(
                    "name", metavar="NAME", help="creates NAME.key (keep it secret) and NAME.pub"
                ),
            ),
        ),
        Task(
            "build",
            "host.maintenance.site:build",
            "build an image",
            (
                IMAGE,
                argument(
                    "--hw",
                    action="append",
                    required=True,
                    choices=HARDWARE,
                    help="hardware version that the image supports; repeat for several versions",
                ),
                argument("--sw", required=True, help="software version, like 1.49d"),
                argument(
                    "--site",
                    metavar="FILE",
                    type=Path,
                    help="web site archive from `leverframe site build`",
                ),
            ),
        ),
        Task(
            "sign",
            "host.maintenance.site:sign",
            "sign an image, in place",
            (
                IMAGE,
                argument("--key", metavar="FILE", type=Path, required=True, help="private key"),
            ),
        ),
        Task(
            "show",
            "host.maintenance.site:show",
            "show what an image contains",
            (
                IMAGE,
                argument(
                    "--key", metavar="FILE", type=Path, help="public key to verify the signature"
                ),
            ),
        ),
    ),
)

BACKUP = Group(
    "backup",
    "create, show, compare, convert or restore backups",
    """\
Create a settings backup from the data folder of a stopped controller, or restore a backup into it;
show, compare and convert backups. A backup is a .bin file in a controller's own format, or a
readable .toml or .json file with the same content.

A backup contains passwords and keys only if it was created with a passphrase. To restore such a
backup, enter the passphrase or use --without-secrets to leave them out.

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
            "host.maintenance.backup:create",
            "create a backup of a stopped controller",
            (argument("file", type=Path, help="new file: .bin, .toml or .json"), *SECRETS, AS_JSON),
            config=DATA,
        ),
        Task(
            "show",
            "host.maintenance.backup:show",
            "print a backup",
            (
                argument("file", type=Path),
                argument("--json", action="store_true", help="print JSON instead of TOML"),
            ),
        ),
        Task(
            "diff",
            "host.maintenance.backup:diff",
            "print the differences between two backups",
            (argument("first", type=Path), argument("second", type=Path), AS_JSON),
            exit_status="0 if they are equal, 1 if they differ",
        ),
        Task(
            "convert",
            "host.maintenance.backup:convert",
            "convert a backup to another format or version",
            (
                argument("file", type=Path),
                argument("output", type=Path, help="new file: .bin, .toml or .json"),
                argument("--hw", metavar="VERSION", help="hardware version to convert to"),
                argument("--sw", metavar="VERSION", help="software version to convert to"),
                *SECRETS,
                AS_JSON,
            ),
        ),
        Task(
            "restore",
            "host.maintenance.backup:restore",
            "restore a backup into a data folder",
            (argument("file", type=Path), *SECRETS, AS_JSON),
            config=DATA,
        ),
    ),
)

DATA_FOLDER = Group(
    "data",
    "check, repair, show, export or reset a data folder",
    """\
Maintain the data folder of a stopped controller.

  leverframe data check                 check store, snapshots and history for damage
  leverframe data repair                repair a damaged store or history
  leverframe data show > all.json       the store as JSON, without secrets
  leverframe data export -o all.csv     the history of all readings and states
  leverframe data reset --accounts      factory settings, including accounts
""",
    (
        Task(
            "check",
            "host.maintenance.data:check_data",
            "check store, snapshots and history for damage",
            config=DATA,
            exit_status="0 if nothing is damaged, 1 if something is",
        ),
        Task(
            "repair",
            "host.maintenance.data:repair_data",
            "repair a damaged store or history",
            config=DATA,
        ),
        Task(
            "show",
            "host.maintenance.data:show_data",
            "print the whole store as JSON, with secrets masked",
            config=DATA,
        ),
        Task(
            "export",
            "host.maintenance.data:export_history",
            "export the history as CSV",
            (
                argument("--labels", metavar="LABELS", help="like DS1,OUT0 (default: all)"),
                argument(
                    "--from",
                    dest="first",
                    metavar="TIME",
                    help="first time in UTC, like 2026-01-05T12:00 (default: the oldest)",
                ),
                argument(
                    "--to", dest="last", metavar="TIME", help="last time (default: the newest)"
                ),
                argument(
                    "-o",
                    "--output",
                    metavar="FILE",
                    type=Path,
                    help="file to write (default: standard output)",
                ),
            ),
            config=DATA,
        ),
        Task(
            "reset",
            "host.maintenance.data:reset_data",
            "restore the factory settings",
            (argument("--accounts", action="store_true", help="also reset the accounts"),),
            config=DATA,
        ),
    ),
)


COMMANDS: tuple[Task | Group, ...] = (
    RUN,
    FLEET,
    SIMULATE,
    WHAT_IF,
    RECORD,
    REPLAY,
    UNIT,
    RULE,
    LIST_COMMANDS,
    PASSWD,
    CONFIG,
    BOARD,
    SITE,
    FIRMWARE,
    BACKUP,
    DATA_FOLDER,
    COMPLETION,
)
