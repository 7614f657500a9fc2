"""The work of `leverframe fleet`, besides `run`: ask a node, and tell people or scripts.

What concerns many controllers ends with 1 where some of them refused it, and tells which and why.
"""

import sys
from collections.abc import Iterator, Sized
from contextlib import contextmanager, suppress
from datetime import tzinfo
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from leverframe.durations import seconds_from_text, text_from_seconds
from leverframe.exit_codes import DONE, NO
from leverframe.fleet.answer_headers import NOT_DONE
from leverframe.fleet.node_client import CommandLineClient, NodeClient, NodeRefused
from leverframe.moments import moment_words, with_zone, zone_named
from leverframe.plain_text import printable_json
from leverframe.process.progress_bar import bar_of, is_watched, progress_bar

#: Controllers that are made by one request.
AT_A_TIME = 50
#: Steps in which time is moved where somebody watches it.
STEPS = 50

#: What is under way, where somebody watches it.
_DOING = {
    "send": "sending",
    "remove": "removing",
    "tag": "tagging",
    "snapshot": "taking snapshots",
    "restore": "going back",
    "fault": "setting faults",
}

JsonObject = dict[str, Any]


def list_controllers(client: CommandLineClient, as_json: bool, given: JsonObject) -> None:
    """Print the chosen controllers as a table, or one JSON object a line."""
    found = client.get("list", given)
    about = client.get("", {})
    if as_json:
        print_json(found)
    else:
        _print_table(found, zone_of(about))
    # Who asks for some by name misses nobody else.
    if not given["name"]:
        _print_not_started(about)


def zone_of(about: JsonObject) -> tzinfo:
    """Return the zone of a node by what it tells of itself; one of an older program tells none."""
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
    """Warn people of controllers missing from the list; scripts have the overview and metrics."""
    # A node of an older program tells none.
    sentences: list[str] = about.get("not_started", [])
    if not sentences:
        return
    some = "1 controller" if len(sentences) == 1 else f"{len(sentences)} controllers"
    print(f"leverframe: {some} did not start:", file=sys.stderr)
    for sentence in sentences:
        print(f"  {sentence}", file=sys.stderr)
    if about.get("can_start"):
        print("`leverframe fleet start` tries again.", file=sys.stderr)


def _places(one: JsonObject) -> str:
    """Return where a controller answers: by its name, and by what it has for itself."""
    own = [one["address"] or "", "" if one["port"] is None else f"port {one['port']}"]
    return ", ".join([one["url"], *filter(None, own)])


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
    given: JsonObject,
) -> None:
    """Make controllers, some at a time; all are checked before the first is made."""
    body = None if template is None else _template(template)
    whole = {**given, "count": count, "first": first, "address": address, "port": port}
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
                made.append(client.post("add", {**given, **places}, body))
                advance(part)
    finally:
        # Also where the rest is refused meanwhile: nobody else knows their password.
        if made:
            _print_made(made, as_json)


def _later(address: str, places: int) -> str:
    return str(ip_address(address) + places)


def rename_controller(client: CommandLineClient, as_json: bool, name: str, to: str) -> None:
    answer = client.post("rename", {"name": name, "to": to})
    if as_json:
        print_json([answer])
    else:
        print(f"{name} is {to} now, at {answer['url']}")
        # A node of an older program does not tell.
        if answer.get("is_made_anew"):
            print(named_in_file("The file of the node", name))


def named_in_file(file: str, name: str) -> str:
    return (
        f"{file} names {name}: take it out there, or the next start makes another controller of"
        " that name, which has nothing of this one."
    )


def place_controllers(
    client: CommandLineClient,
    as_json: bool,
    names: list[str],
    address: str | None,
    port: int | None,
) -> None:
    """Give the first its place and the others the next ones; a refusal ends it there."""
    for count, name in enumerate(names):
        wanted: JsonObject = {"name": name, "address": address, "port": port}
        if address is not None:
            # `none` is no address, and for all the same.
            with suppress(ValueError):
                wanted["address"] = _later(address, count)
        if port:
            wanted["port"] = port + count
        answer = client.post("place", wanted)
        if as_json:
            print_json([answer])
        else:
            print(f"{name} answers at {_places(answer)}")


def start_controllers_again(client: CommandLineClient, as_json: bool, names: list[str]) -> int:
    """Try again to start controllers that did not start, and print whether each runs."""
    with _followed(client, "starting"):
        answer = client.post("start", {"name": names})
    if as_json:
        print_json(answer["results"])
    else:
        for one in answer["results"]:
            print(one["detail"])
            if password := one.get("password"):
                print(f"Its administrator has the password {password}, which is shown this once.")
        if not answer["results"]:
            print("There is nothing to start: all controllers that are stored run.")
    return NO if answer["refused"] else DONE


def send_command(client: CommandLineClient, as_json: bool, command: str, given: JsonObject) -> int:
    target, _, body = command.strip().partition(" ")
    asked = {**given, "command": target}
    return _do_for_chosen("send", client, as_json, asked, body.encode() or None)


def advance_time(
    client: CommandLineClient,
    as_json: bool,
    duration: str | None,
    rate: float | None,
    freeze: bool,
    given: JsonObject,
) -> None:
    """Move the time of all together; in steps where somebody watches."""
    if freeze or rate is not None:
        answer = client.post("advance", {**given, "rate": 0 if freeze else rate})
    elif duration is None:
        answer = client.post("advance", given)
    else:
        seconds = seconds_from_text(duration)
        steps = STEPS if is_watched() else 1
        answer = client.post("advance", {**given, "for": "0s"})
        with progress_bar("advancing", steps) as advance:
            for _ in range(steps):
                answer = client.post("advance", {**given, "for": f"{seconds / steps:.9f}"})
                advance(1)
    if given["tag"] and answer.get("earliest") is None:
        _check_chosen((), given)
    if as_json:
        print_json([answer])
    else:
        runs = f", running at {answer['rate']:g}" if answer["rate"] else ""
        print(f"{_done_by_step(answer)}It is {_time_of_moved(answer)}{runs}")


def _done_by_step(answer: JsonObject) -> str:
    """Return what a step has come to; nothing where there was none, or the node does not tell."""
    due = answer.get("due")
    if due is None:
        return ""
    if due == 0:
        return "Nothing was due. "
    of = "1 controller" if answer["moved"] == 1 else f"{answer['moved']} controllers"
    after = text_from_seconds(answer["moved_s"])
    return f"What was due after {after} is done, for {due} of {of}. "


def _time_of_moved(answer: JsonObject) -> str:
    """Return what time it is for those that were moved; the common time where nobody was."""
    zone = zone_of(answer)
    if answer.get("earliest") is None:
        return with_zone(moment_words(answer["time"], zone), zone)
    earliest, latest = (moment_words(answer[key], zone) for key in ("earliest", "latest"))
    return with_zone(earliest if earliest == latest else f"{earliest} to {latest}", zone)


def fork_controller(client: CommandLineClient, as_json: bool, given: JsonObject) -> None:
    answer = client.post("fork", given)
    _print_made([answer], as_json)


def export_controllers(
    client: CommandLineClient, as_json: bool, folder: Path, given: JsonObject
) -> None:
    """Write a fleet file and a settings file for each controller into a new folder."""
    # Imported here, as below: to load a whole controller takes most commands twice their time.
    from leverframe.fleet.export_folder import FLEET_FILE, write_export
    from leverframe.fleet.operations.reports import ExportedController

    with _followed(client, "collecting"):
        answer = client.get("export", given)
    _check_chosen(answer, given)
    found = msgspec.convert(answer, list[ExportedController])
    with progress_bar("writing", len(found)) as wrote:
        files = write_export(folder, found, wrote)
    if as_json:
        fleet = str(folder / FLEET_FILE)
        print_json(
            [{"name": name, "settings": str(file), "fleet": fleet} for name, file in files.items()]
        )
        return
    print(f"{len(files)} controllers are in {folder}; leverframe fleet run --config reads it")


def _template(file: Path) -> bytes:
    from leverframe.maintenance.given_settings import template_body

    return template_body(file)


# --- telling --------------------------------------------------------------------------------------


def do_for_chosen(what: str, client: CommandLineClient, as_json: bool, given: JsonObject) -> int:
    """Send something to the chosen controllers, and print who refuses it."""
    return _do_for_chosen(what, client, as_json, given, None)


def _do_for_chosen(
    what: str, client: CommandLineClient, as_json: bool, given: JsonObject, body: bytes | None
) -> int:
    with _followed(client, _DOING[what]):
        answer = client.post(what, given, body)
    _check_chosen(answer["results"], given)
    if as_json:
        print_json(answer["results"])
    else:
        print_results(answer)
    return NO if answer["refused"] else DONE


remove_controllers = partial(do_for_chosen, "remove")
tag_controllers = partial(do_for_chosen, "tag")
set_faults = partial(do_for_chosen, "fault")


def _check_chosen(found: Sized, given: JsonObject) -> None:
    """Refuse to be done where nobody was chosen: nothing has happened."""
    if found:
        return
    is_chosen = given.get("name") or given["tag"]
    whom = "has these names and all of these tags" if is_chosen else "is there"
    raise NodeRefused(f"Nobody is chosen: no controller {whom}.")


def print_results(answer: JsonObject) -> None:
    """Print who refuses something and why, then how many there are.

    Those that were held back, because others refuse it, are counted only.
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
    print(f"{would}made: {len(names)} ({some})")
    for answer in made:
        if answer["password"] is not None:
            first, last = answer["names"][0], answer["names"][-1]
            print(f"The administrators of {first} to {last} have the password {answer['password']}")


def print_json(objects: list[Any]) -> None:
    for one in objects:
        print(printable_json(msgspec.json.encode(one).decode()))


def table_of(*titles: str) -> Table:
    """Make a table in which nothing is cut: what is too long for a column goes on below."""
    table = Table()
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def tables() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else 200)


@contextmanager
def _followed(client: NodeClient, what: str) -> Iterator[None]:
    """Show how far the node is with what it is asked for, to people who look at a terminal."""
    if not is_watched():
        yield
        return
    with bar_of(what) as bar:
        task = bar.add_task("", total=None)
        with client.followed(lambda done, of: bar.update(task, completed=done, total=of or None)):
            yield
