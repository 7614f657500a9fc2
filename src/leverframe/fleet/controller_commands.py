"""The tasks of `leverframe fleet` except `run`: send requests to a node, and print the answers.

Bulk commands exit with status 1 if any controller rejects them, and list each one with the reason.
"""

import sys
from collections.abc import Iterator, Sized
from contextlib import contextmanager, suppress
from datetime import tzinfo
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from leverframe.core.durations import (
    moment_words,
    seconds_from_text,
    text_from_seconds,
    with_zone,
    zone_named,
)
from leverframe.core.errors import DONE, NO, printable_json
from leverframe.fleet.client import CommandLineClient, NodeClient, NodeRefused
from leverframe.fleet.progress import NOT_DONE
from leverframe.host.terminal import bar_of, is_watched, progress_bar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Number of controllers that one request creates.
AT_A_TIME = 50
#: Number of steps in which time advances if progress is shown.
STEPS = 50

#: The label of the progress bar for each command.
_DOING = {
    "send": "sending",
    "remove": "removing",
    "tag": "tagging",
    "snapshot": "taking snapshots",
    "restore": "restoring",
    "fault": "setting faults",
}

JsonObject = dict[str, Any]


def list_controllers(client: CommandLineClient, as_json: bool, options: JsonObject) -> None:
    """Print the chosen controllers as a table, or as one JSON object per line."""
    found = client.get("list", options)
    about = client.get("", {})
    if as_json:
        print_json(found)
    else:
        _print_table(found, zone_of(about))
    # If the user named the controllers, a warning about others is not needed.
    if not options["name"]:
        _print_not_started(about)


def zone_of(about: JsonObject) -> tzinfo:
    """Return the time zone of a node from its report; nodes of older versions report none."""
    return zone_named(about.get("timezone", ""))


def _print_table(found: list[JsonObject], zone: tzinfo) -> None:
    of_tenants = ("tenant",) if any(one["tenant"] for one in found) else ()
    of_nodes = ("node",) if any(one["node"] for one in found) else ()
    time = with_zone("time", zone)
    columns = ("name", "version", "tags", *of_tenants, "health", time, "address", *of_nodes)
    table = table_of(*columns)
    for one in found:
        table.add_row(
            one["name"],
            f"{one['hw']}/{one['sw']}",
            ", ".join(one["tags"]),
            *(one[key] for key in of_tenants),
            "; ".join(one["troubles"]) or "ok",
            "" if one["time"] is None else moment_words(one["time"], zone),
            _places(one),
            *(one[key] or "" for key in of_nodes),
        )
    tables().print(table)


def _print_not_started(about: JsonObject) -> None:
    """Warn about controllers missing from a table; scripts use the overview and metrics."""
    # Nodes of older versions do not report them.
    sentences: list[str] = about.get("not_started", [])
    if not sentences:
        return
    some = "1 controller" if len(sentences) == 1 else f"{len(sentences)} controllers"
    print(f"leverframe: {some} failed to start:", file=sys.stderr)
    for sentence in sentences:
        print(f"  {sentence}", file=sys.stderr)
    if about.get("can_start"):
        print("`leverframe fleet start` retries them.", file=sys.stderr)


def _places(controller: JsonObject) -> str:
    """Return the addresses of a controller: its name, and its own address or port, if any."""
    own = [
        controller["address"] or "",
        "" if controller["port"] is None else f"port {controller['port']}",
    ]
    return ", ".join([controller["url"], *filter(None, own)])


def show_controller(client: CommandLineClient, as_json: bool, name: str) -> None:
    answer = client.get("show", {"name": name})
    if as_json:
        print_json([answer])
        return
    zone = zone_of(client.get("", {}))
    report = answer.pop("report")
    settings = answer.pop("settings")
    if report["time"] is not None:
        report["time"] = with_zone(moment_words(report["time"], zone), zone)
    for key, value in {**report, **answer}.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        print(f"{key} = {'' if shown is None else shown}")
    for path, value in settings.items():
        print(f"{path} = {msgspec.json.encode(value).decode()}")


def add_controllers(
    client: CommandLineClient,
    as_json: bool,
    count: int,
    first: int,
    template: Path | None,
    address: str | None,
    port: int | None,
    dry_run: bool,
    options: JsonObject,
) -> None:
    """Create controllers in batches, after all of them have been checked."""
    body = None if template is None else _template(template)
    whole = {**options, "count": count, "first": first, "address": address, "port": port}
    answer = client.post("add", {**whole, "dry_run": True}, body)
    if dry_run:
        _print_made([answer], as_json)
        return
    made: list[JsonObject] = []
    try:
        with progress_bar("making", count) as advance:
            for begin in range(0, count, AT_A_TIME):
                part = min(AT_A_TIME, count - begin)
                places: JsonObject = {"count": part, "first": first + begin}
                if address is not None:
                    places["address"] = _later(address, begin)
                if port is not None:
                    places["port"] = port + begin
                made.append(client.post("add", {**options, **places}, body))
                advance(part)
    finally:
        # Print them even if the next batch is refused: only these responses contain the passwords.
        if made:
            _print_made(made, as_json)


def _later(address: str, places: int) -> str:
    return str(ip_address(address) + places)


def rename_controller(client: CommandLineClient, as_json: bool, name: str, to: str) -> None:
    answer = client.post("rename", {"name": name, "to": to})
    if as_json:
        print_json([answer])
    else:
        print(f"Renamed {name} to {to}, at {answer['url']}")
        # Nodes of older versions do not report it.
        if answer.get("is_made_anew"):
            print(name_warning("the file of the node", name))


def name_warning(file: str, name: str) -> str:
    return f"Remove {name} from {file}, or the next start creates an empty controller of that name."


def place_controllers(
    client: CommandLineClient,
    as_json: bool,
    names: list[str],
    address: str | None,
    port: int | None,
) -> None:
    """Set the address or port of the first controller; the others get consecutive ones.

    Stop at the first refusal.
    """
    for count, name in enumerate(names):
        wanted: JsonObject = {"name": name, "address": address, "port": port}
        if address is not None:
            # `none` removes the address of every controller.
            with suppress(ValueError):
                wanted["address"] = _later(address, count)
        if port:
            wanted["port"] = port + count
        answer = client.post("place", wanted)
        if as_json:
            print_json([answer])
        else:
            print(f"{name} is available at {_places(answer)}")


def start_controllers_again(client: CommandLineClient, as_json: bool, names: list[str]) -> int:
    """Retry failed controllers, and print whether each runs."""
    with _show_progress(client, "starting"):
        answer = client.post("start", {"name": names})
    if as_json:
        print_json(answer["results"])
    else:
        for one in answer["results"]:
            print(one["detail"])
            if password := one.get("password"):
                print(f"Its administrator has the password {password}, which is shown only once.")
        if not answer["results"]:
            print("Nothing to start: all stored controllers run.")
    return NO if answer["refused"] else DONE


def send_command(
    client: CommandLineClient, as_json: bool, command: str, options: JsonObject
) -> int:
    target, _, body = command.strip().partition(" ")
    asked = {**options, "command": target}
    return _do_for_chosen("send", client, as_json, asked, body.encode() or None)


def advance_time(
    client: CommandLineClient,
    as_json: bool,
    duration: str | None,
    rate: float | None,
    freeze: bool,
    options: JsonObject,
) -> None:
    """Advance the time of controllers together, in steps if progress is shown."""
    if freeze or rate is not None:
        answer = client.post("advance", {**options, "rate": 0 if freeze else rate})
    elif duration is None:
        answer = client.post("advance", options)
    else:
        seconds = seconds_from_text(duration)
        steps = STEPS if is_watched() else 1
        answer = client.post("advance", {**options, "for": "0s"})
        with progress_bar("advancing", steps) as advance:
            for _ in range(steps):
                answer = client.post("advance", {**options, "for": f"{seconds / steps:.9f}"})
                advance(1)
    if options["tag"] and answer.get("earliest") is None:
        _check_chosen((), options)
    if as_json:
        print_json([answer])
    else:
        runs = f", running at {answer['rate']:g}" if answer["rate"] else ""
        print(f"{_step_result(answer)}It is {_time_of_moved(answer)}{runs}")


def _step_result(answer: JsonObject) -> str:
    """Return the result of a step; empty without a step, or if the node does not report it."""
    due = answer.get("due")
    if due is None:
        return ""
    if due == 0:
        return "Nothing was due. "
    of = "1 controller" if answer["moved"] == 1 else f"{answer['moved']} controllers"
    after = text_from_seconds(answer["moved_s"])
    return f"{due} of {of} had tasks due within {after}. "


def _time_of_moved(answer: JsonObject) -> str:
    """Return the time of the controllers that were advanced; the common time if there were none."""
    zone = zone_of(answer)
    if answer.get("earliest") is None:
        return with_zone(moment_words(answer["time"], zone), zone)
    earliest, latest = (moment_words(answer[key], zone) for key in ("earliest", "latest"))
    return with_zone(earliest if earliest == latest else f"{earliest} to {latest}", zone)


def fork_controller(client: CommandLineClient, as_json: bool, options: JsonObject) -> None:
    answer = client.post("fork", options)
    _print_made([answer], as_json)


def export_controllers(
    client: CommandLineClient, as_json: bool, folder: Path, options: JsonObject
) -> None:
    """Write a fleet file and a settings file for each controller into a new folder."""
    # Imported here, as below: loading the whole controller would double the time of most commands.
    from leverframe.fleet.client import FLEET_FILE, write_export
    from leverframe.fleet.operations.nodes import ExportedController

    with _show_progress(client, "collecting"):
        answer = client.get("export", options)
    _check_chosen(answer, options)
    found = msgspec.convert(answer, list[ExportedController])
    with progress_bar("writing", len(found)) as wrote:
        files = write_export(folder, found, wrote)
    if as_json:
        fleet = str(folder / FLEET_FILE)
        print_json(
            [{"name": name, "settings": str(file), "fleet": fleet} for name, file in files.items()]
        )
        return
    print(f"{len(files)} controllers written to {folder}; leverframe fleet run --config reads it")


def _template(file: Path) -> bytes:
    from leverframe.host.maintenance.configuration import template_body

    return template_body(file)


# --- printing -------------------------------------------------------------------------------------


def do_for_chosen(what: str, client: CommandLineClient, as_json: bool, options: JsonObject) -> int:
    """Send an operation to the chosen controllers, and print the refusals."""
    return _do_for_chosen(what, client, as_json, options, None)


def _do_for_chosen(
    what: str, client: CommandLineClient, as_json: bool, options: JsonObject, body: bytes | None
) -> int:
    with _show_progress(client, _DOING[what]):
        answer = client.post(what, options, body)
    _check_chosen(answer["results"], options)
    if as_json:
        print_json(answer["results"])
    else:
        print_results(answer)
    return NO if answer["refused"] else DONE


remove_controllers = partial(do_for_chosen, "remove")
tag_controllers = partial(do_for_chosen, "tag")
set_faults = partial(do_for_chosen, "fault")


def _check_chosen(found: Sized, options: JsonObject) -> None:
    """Fail if no controller was chosen: nothing was done."""
    if found:
        return
    is_chosen = options.get("name") or options["tag"]
    whom = "matches these names and tags" if is_chosen else "exists"
    raise NodeRefused(f"No controller {whom}.")


def print_results(answer: JsonObject) -> None:
    """Print the refusals with their reasons, then the counts.

    Controllers that would have accepted the command, but were held back because others refuse it,
    are only counted.
    """
    held_back = sum(one["status"] == NOT_DONE for one in answer["results"])
    refused = [one for one in answer["results"] if one["status"] not in (200, NOT_DONE)]
    would = "would be " if answer["dry_run"] else ""
    print_refused(refused)
    rest = f", held back: {held_back}" if held_back else ""
    print(f"{would}done: {answer['done']}, {would}refused: {answer['refused'] - held_back}{rest}")


def print_refused(refused: list[JsonObject]) -> None:
    if refused:
        table = table_of("name", "status", "why")
        for one in refused:
            table.add_row(one["name"], str(one["status"]), one.get("detail", ""))
        tables().print(table)


def _print_made(made: list[JsonObject], as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    names = [name for answer in made for name in answer["names"]]
    some = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    would = "would be " if made[0]["dry_run"] else ""
    print(f"{would}created: {len(names)} ({some})")
    for answer in made:
        if answer["password"] is not None:
            first, last = answer["names"][0], answer["names"][-1]
            print(f"The administrators of {first} to {last} have the password {answer['password']}")


def print_json(objects: list[Any]) -> None:
    for one in objects:
        print(printable_json(msgspec.json.encode(one).decode()))


def table_of(*titles: str) -> "Table":
    """Create a table that cuts no text: long cells continue on the next line."""
    # Imported here and below: commands without a table must not need the extra of the library.
    from rich.table import Table

    table = Table()
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def tables() -> "Console":
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 200)


@contextmanager
def _show_progress(client: NodeClient, what: str) -> Iterator[None]:
    """Show the progress of a request on a terminal."""
    if not is_watched():
        yield
        return
    with bar_of(what) as bar:
        task = bar.add_task("", total=None)
        with client.follow_progress(
            lambda done, of: bar.update(task, completed=done, total=of or None)
        ):
            yield
