"""All files written from the program: pages below `docs/`, files below `packaging/`."""

from bench import trend
from docs._ext.benchmarks_page import benchmarks_page
from docs._ext.command_line_page import command_line_page
from docs._ext.commands_page import commands_page
from docs._ext.configuration_page import configuration_page
from docs._ext.files_page import files_page
from docs._ext.http_page import http_page
from docs._ext.library_page import library_page
from docs._ext.man_page import man_page
from docs._ext.metrics_page import metrics_page
from docs._ext.modbus_page import modbus_page
from docs._ext.public_interface import public_interface
from docs._ext.settings_page import settings_page
from docs._ext.simulation_page import simulation_page
from docs._ext.snmp_mib import mib_text
from docs._ext.text_codes_page import text_codes_page
from leverframe.host.command_line.listings import completions

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
- [Benchmarks](reference/benchmarks.md): how fast the program is, commit by commit

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
        "reference/benchmarks.md": benchmarks_page(trend.read()),
    }
    noticed = {place: f"{_NOTICE}\n\n{text.strip()}\n" for place, text in texts.items()}
    return {**noticed, "LEVERFRAME-MIB.txt": mib_text()}


def list_packaged_files() -> dict[str, str]:
    """Return the generated files of the package by their place below `packaging/`."""
    scripts = {f"completion/{name}": text for name, text in completions().items()}
    return {
        "leverframe.1": man_page(),
        "public-interface.txt": public_interface(),
        **scripts,
    }
