"""The page of the command line. Written by hand; a test compares it with the real options."""

from leverframe.config import Config
from leverframe.profile import Profile
from leverframe.reference.markdown import code, prose, table

_OPENING = """\
# Command line

## `leverframe run`

Runs one controller until it is stopped. Options win over the file that `--config` names, which has
the same names with `_` for `-`, for example `virtual_time = true`. The file alone has `hosts`:
names, besides its address and the machine's own name, under which browsers may ask for it.
"""
_COMMANDS = """\

## `leverframe simulate SCENARIO.toml`

Lets a controller live through a [scenario](simulation.md#scenarios) on virtual time. `--for 7d`
says how long (24 hours if not given), `--csv FILE` records values whenever one changes, and with
`--step 60s` at every step instead. The exit code is 1, with one line that says why, if the
scenario has a mistake.

## `leverframe commands [WORD]`

Lists the commands of a version in the terminal, with a word only those that contain it. `--hw` and
`--sw` choose the version.

## `leverframe passwd [ACCOUNT]`

Sets the password of an account, of the administrator if none is named, while the controller is
stopped; sign-in is required from then on. The password is asked for, or read from standard input;
`--generate` makes a random one and shows it. `--data` or `--config` name the controller.

## `leverframe board check --config FILE`

Looks at every device that the `[board]` table of the file wires and says what is there, what is
missing and what to do. Nothing is driven. The exit code is 1 if something is missing.

## `leverframe backup show|diff|convert|restore`

Prints a backup as TOML (`--json`: as JSON), prints what differs between two (exit code 1 if
anything does), writes one in another form or for another version (`--hw`, `--sw`), or restores one
into the data folder of a stopped controller (`--data`, `--config`). The ending of a file's name
says its form: `.bin`, `.toml` or `.json`. `--passphrase` takes sealed passwords along. See
[backup](../how-to/backup.md).

## `leverframe data check|repair|export|reset`

Works on the data folder of a stopped controller (`--data`, `--config`): says whether its store and
snapshots are sound (exit code 1 if the store is not), puts a damaged store right, prints everything
but secrets as JSON, or goes back to the factory settings (`--accounts`: accounts too).

## `leverframe site build FOLDER`, `leverframe site reset`

Packs a folder of pages for `/post.cgi?wwwfileupload`, into FOLDER.site or the file that `--output`
names. `reset` removes the uploaded site of a stopped controller (`--data`, `--config`). See
[web site and firmware](../how-to/site-and-firmware.md).

## `leverframe firmware keygen|build|sign|show`

Makes a pair of keys, an image for a hardware (`--hw`, several times if need be) and a software
version (`--sw`), perhaps with a site (`--site`); signs it with the private key, and says what an
image holds and whether the owner of a public key (`--key`) has signed it.

## `python -m leverframe.reference`

Writes this reference; `--check` only tells whether it is up to date. `make docs` does the same.
"""


def command_line_page() -> str:
    default, newest = Config(), Profile()
    options = [
        ("--host ADDRESS", default.host, "address to listen on"),
        ("--port PORT", str(default.port), "port to listen on; 0 takes any that is free"),
        ("--data DIR", default.data, "folder in which settings, counters and history are kept"),
        ("--config FILE", "", "TOML file with these options"),
        (
            "--hw VERSION",
            newest.hw,
            "hardware version of a new data folder; later it keeps its own",
        ),
        (
            "--sw VERSION",
            newest.sw,
            "software version of a new data folder; later it keeps its own",
        ),
        ("--timezone ZONE", default.timezone, "time zone of the schedule, like Europe/Warsaw"),
        ("--virtual-time", "", "time stands still until `/sim.cgi?advance=SECONDS` moves it"),
        ("--lenient", "", "skip bad commands and answer 200, as real units do"),
        (
            "--capture",
            "with --virtual-time",
            "keep messages in `/api/outbox` instead of sending them; `--no-capture` sends them",
        ),
        (
            "--allow-local-targets",
            "",
            "let HTTP1-HTTP4 request this machine, link-local addresses and metadata services",
        ),
        ("--ca-file FILE", "", "PEM file with further certificate authorities to trust"),
        ("--serial-port PATH", "", "where the serial module is, like /dev/ttyUSB0"),
        ("--no-discovery", "", "do not answer UDP discovery in the network"),
        ("--no-mdns", "", "do not announce the controller by mDNS"),
        ("--tls", "", "answer by HTTPS only, with a certificate made at the first start"),
        ("--tls-certificate FILE", "", "certificate to use instead (PEM); SIGHUP reads it again"),
        ("--tls-key FILE", "", "its private key (PEM)"),
        (
            "--log-level LEVEL",
            default.log_level,
            "log from this level on: debug, info, warning or error; info tells what happens",
        ),
        ("--log-format FORMAT", default.log_format, "log lines as text or as json"),
        ("--syslog WHERE", "", "log to a socket, a host or host:port of syslog, too"),
        ("--verbose", "", "the same as `--log-level debug`"),
    ]
    lines = [
        (code(option), code(usual) if usual else "", prose(words))
        for option, usual, words in options
    ]
    return f"{_OPENING}\n{table(('option', 'default', ''), lines)}\n{_COMMANDS}"
