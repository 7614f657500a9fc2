"""The page of the command line. Written by hand but for the options of `leverframe run`; a test
compares it with the real options.
"""

from leverframe.config.described import Key, keys
from leverframe.reference.markdown import code, prose, table

_OPENING = """\
# Command line

Mistakes end in a line that says what to do, and in exit code 1; a command line that cannot be
understood ends in 2.

## `leverframe run`

Runs one controller until it is stopped. `--config FILE` names a TOML file; every other option is
also a key of that file and an environment variable, see [configuration](configuration.md). Options
win over variables, and variables over the file.
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

## `leverframe config check|example`

`example` prints a complete [configuration](configuration.md) with every key, its default and its
meaning. `check` takes the options of `run` and prints every value that is in force and where it
comes from; the exit code is 1, with a line for each mistake, if something is wrong.

## `leverframe board check --config FILE`

Looks at every device that the `[board]` table of the file wires and says what is there, what is
missing and what to do. Nothing is driven. The exit code is 1 if something is missing.

## `leverframe backup show|diff|convert|restore`

Prints a backup as TOML (`--json`: as JSON), prints what differs between two (exit code 1 if
anything does), writes one in another form or for another version (`--hw`, `--sw`), or restores one
into the data folder of a stopped controller (`--data`, `--config`). The ending of a file's name
says its form: `.bin`, `.toml` or `.json`. `--passphrase` takes sealed passwords along. See
[backup](../how-to/backup.md).

## `leverframe data check|repair|show|export|reset`

Works on the data folder of a stopped controller (`--data`, `--config`): says whether its store and
snapshots are sound (exit code 1 if the store is not), puts a damaged store right, prints everything
but secrets as JSON, writes the history as CSV (`--labels`, `--from`, `--to`, `--output`), or goes
back to the factory settings (`--accounts`: accounts too).

## `leverframe site build FOLDER`, `leverframe site reset`

Packs a folder of pages for `/post.cgi?wwwfileupload`, into FOLDER.site or the file that `--output`
names. `reset` removes the uploaded site of a stopped controller (`--data`, `--config`). See
[web site and firmware](../how-to/site-and-firmware.md).

## `leverframe firmware keygen|build|sign|show`

Makes a pair of keys, an image for a hardware (`--hw`, several times if need be) and a software
version (`--sw`), perhaps with a site (`--site`); signs it with the private key, and says what an
image holds and whether the owner of a public key (`--key`) has signed it.

## `python -m leverframe.reference`

Writes this reference; `--check` only tells whether it is up to date. `make docs` does the same and
builds the site.
"""


def command_line_page() -> str:
    lines = [
        (code(_option(key)), code(key.usual) if key.usual else "", prose(key.description))
        for key in keys()
    ]
    lines.append((code("--verbose"), "", prose("The same as `--log-level debug`.")))
    return f"{_OPENING}\n{table(('option', 'default', ''), lines)}\n{_COMMANDS}"


def _option(key: Key) -> str:
    if key.is_switch:
        return f"{key.flag}, --no-{key.flag[2:]}"
    return f"{key.flag} {key.metavar}"
