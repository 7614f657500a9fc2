"""All files written from the program: pages below `docs/`, files below `packaging/`."""

from leverframe.reference.command_line_page import command_line_page
from leverframe.reference.commands_page import commands_page
from leverframe.reference.completion import completions
from leverframe.reference.configuration_page import configuration_page
from leverframe.reference.files_page import files_page
from leverframe.reference.http_page import http_page
from leverframe.reference.library_page import library_page
from leverframe.reference.man_page import man_page
from leverframe.reference.metrics_page import metrics_page
from leverframe.reference.modbus_page import modbus_page
from leverframe.reference.settings_page import settings_page
from leverframe.reference.simulation_page import simulation_page
from leverframe.reference.text_codes_page import text_codes_page
from leverframe.wire.snmp_mib import mib_text

_NOTICE = "<!-- Written by `make docs` from the program itself: changes here are lost. -->"
_OVERVIEW = """\
# Reference

- [Commands](reference/commands.md): every command of every version, with its fields, codes and
  limits, an example, and its settings
- [Settings](reference/settings.md): all settings of a controller, with their defaults
- [Reading codes](reference/text-codes.md): values in the texts of messages and on the display
- [HTTP](reference/http.md): requests, answers, statuses, and paths other than commands
- [Status files](reference/files.md): every key of the JSON and XML files
- [Modbus](reference/modbus.md): the addresses of the TCP server, and the readings of the modules
- [Metrics](reference/metrics.md): every metric for Prometheus
- [SNMP](LEVERFRAME-MIB.txt): the MIB, with every readable or writable object
- [Simulation](reference/simulation.md): plants for the simulated board, and scenarios
- [Command line](reference/command-line.md): the program's commands and options
- [Configuration](reference/configuration.md): every key of the file, its variable and its option
- [Library](reference/library.md): modules for Python programs and tests

A running controller documents its own version: `/api/commands` returns the command table and
`/api/openapi.json` the whole interface. `leverframe commands` lists the commands in the terminal.
"""


def pages() -> dict[str, str]:
    """Return every page of the reference by its place below `docs/`."""
    texts = {
        "reference.md": _OVERVIEW,
        "reference/commands.md": commands_page(),
        "reference/settings.md": settings_page(),
        "reference/text-codes.md": text_codes_page(),
        "reference/http.md": http_page(),
        "reference/files.md": files_page(),
        "reference/modbus.md": modbus_page(),
        "reference/simulation.md": simulation_page(),
        "reference/command-line.md": command_line_page(),
        "reference/configuration.md": configuration_page(),
        "reference/metrics.md": metrics_page(),
        "reference/library.md": library_page(),
    }
    noticed = {place: f"{_NOTICE}\n\n{text.strip()}\n" for place, text in texts.items()}
    return {**noticed, "LEVERFRAME-MIB.txt": mib_text()}


def list_packaged_files() -> dict[str, str]:
    """Return the man page and shell completion by their place below `packaging/`."""
    scripts = {f"completion/{name}": text for name, text in completions().items()}
    return {"leverframe.1": man_page(), **scripts}
