"""Rows: schedule and watchdog in the form of real units; the document only mentions them."""

from datetime import date, timedelta
from typing import Any

from leverframe.core.engine.calls import ResumeWatchdog
from leverframe.core.engine.schedule_times import WEEKDAYS
from leverframe.core.profile import ALWAYS
from leverframe.core.settings import SCHEDULE_ENTRIES, ScheduleEntry, WatchdogEntry
from leverframe.interface.table import codes
from leverframe.interface.table.bodies import ListBody
from leverframe.interface.table.codes import HW35_SW
from leverframe.interface.table.params import Changed, Flag, Int, Param, Record, Text, Word
from leverframe.interface.table.refusals import BadValue, Conflict
from leverframe.interface.table.row import row
from leverframe.interface.table.shape import Item
from leverframe.interface.table.stage import Stage

# Rows: the watchdog in the form of real units (the document only mentions it).

HOST = Text(
    63,
    pattern=r"[A-Za-z0-9.:_-]*",
    form="a host name or address",
    fitting=("", "192.168.1.1", "router.example", "fe80::1"),
    unfitting=("two words", "a/b", "$(x)"),
)
WATCHDOG_ENTRY = Record(
    (
        ("enabled", Flag()),
        ("email", Flag()),
        ("output", Word(codes.WATCHDOG_OUTPUTS)),
        ("host", HOST),
        ("failures", Int(1, 255)),
        ("timeout", Int(1, 60)),
        ("interval", Int(1, 86400)),
        ("wait", Int(0, 86400)),
        ("length", Int(1, 86400)),
        ("limit", Int(0, 65535)),
        ("delay", Int(0, 86400)),
    )
)
#: The seven numbers after the host in the example.
TIMES = "3*2*60*120*10*0*60"


def set_all(stage: Stage, **entries: dict[str, Any]) -> None:
    stage.set("watchdog", tuple(WatchdogEntry(**entries[letter]) for letter in "ABCDEF"))
    stage.do(ResumeWatchdog())


WATCHDOG_ROWS = (
    row(
        "GET /stm.cgi?wdog1=<A>&wdog2=<B>&wdog3=<C>&wdog4=<D>&wdog5=<E>&wdog6=<F>",
        A=WATCHDOG_ENTRY,
        B=WATCHDOG_ENTRY,
        C=WATCHDOG_ENTRY,
        D=WATCHDOG_ENTRY,
        E=WATCHDOG_ENTRY,
        F=WATCHDOG_ENTRY,
        run=set_all,
        limits={f"watchdog.*.{name}": param for name, param in WATCHDOG_ENTRY.fields},
        example={"A": f"1*0*0*192.168.1.1*{TIMES}", **dict.fromkeys("BCDEF", f"0*0*0**{TIMES}")},
        doc="Set all six watchdog entries, each: enabled, e-mail, output (0-5 OUT, 6-9 PWM), host, "
        "failures before acting, timeout, interval, wait after a restart, length of the restart, "
        "restarts before giving up (0 never), delay after the start; times in seconds.",
    ),
)


# Rows: the schedule in the form of real units (the document only mentions it).

EPOCH = date(1970, 1, 1)
LAST_DAY = (date.max - EPOCH).days
SECONDS_OF_DAY = 86400
PERIODIC_BIT = 256
#: Always zero on the pages of real units.
EVERY_DAY_BIT = 128
ALL_DAYS = 127
ENTRY = Int(0, SCHEDULE_ENTRIES - 1)
FIELDS: dict[str, Param] = {
    "A": ENTRY,
    "B": Text(15),
    "C": Word(codes.SCHEDULE_ACTIONS),
    "D": Changed(((HW35_SW["1.45"], Int(0, 2)), (ALWAYS, Int(0, 1)))),
    "E": Int(0, SECONDS_OF_DAY),
    "F": Int(0, LAST_DAY),
    "G": Int(0, 383),
    "H": Flag(),
}


def entry_from_fields(fields: dict[str, Any]) -> ScheduleEntry:
    days, periodic = fields["G"], bool(fields["G"] & PERIODIC_BIT)
    if days & EVERY_DAY_BIT and not days & ALL_DAYS:
        # Public clients use this bit to mean every day; it is ignored if days are also set.
        days |= ALL_DAYS
    if fields["E"] == SECONDS_OF_DAY and not periodic:
        raise BadValue(
            f"{fields['E']} is not a second of the day.",
            field="E",
            value=str(fields["E"]),
            allowed=f"0 to {SECONDS_OF_DAY - 1}, or a period with bit 8 of G set",
        )
    return ScheduleEntry(
        name=fields["B"],
        action=fields["C"],
        value=fields["D"],
        time=fields["E"],
        date=(EPOCH + timedelta(days=fields["F"])).isoformat() if fields["F"] else None,
        days=tuple(day for bit, day in enumerate(WEEKDAYS) if days >> bit & 1),
        periodic=periodic,
        active=fields["H"],
    )


def fields_of_entry(entry: ScheduleEntry) -> dict[str, Any]:
    """Return the fields from which `entry_from_fields` creates the entry."""
    return {
        "B": entry.name,
        "C": entry.action,
        "D": entry.value,
        "E": entry.time,
        "F": day_number(entry),
        "G": days_mask(entry),
        "H": entry.active,
    }


def days_mask(entry: ScheduleEntry) -> int:
    """Return field G of an entry."""
    weekdays = sum(1 << bit for bit, day in enumerate(WEEKDAYS) if day in entry.days)
    return weekdays + PERIODIC_BIT * entry.periodic


def day_number(entry: ScheduleEntry) -> int:
    """Return field F of an entry."""
    return (date.fromisoformat(entry.date) - EPOCH).days if entry.date else 0


def save(stage: Stage, items: list[dict[str, Any]]) -> None:
    """Replace the complete schedule by the entries sent."""
    entries: list[ScheduleEntry | None] = [None] * SCHEDULE_ENTRIES
    for item in items:
        entries[item["A"]] = entry_from_fields(item)
    stage.set("schedule", tuple(entries))


def set_entry(stage: Stage, A: int, **fields: Any) -> None:
    stage.set(f"schedule.{A}", entry_from_fields(fields))


def delete_entry(stage: Stage, A: int) -> None:
    _must_exist(stage, A)
    stage.set(f"schedule.{A}", None)


def set_active(stage: Stage, A: int, B: bool) -> None:
    _must_exist(stage, A)
    stage.set(f"schedule.{A}.active", B)


def _must_exist(stage: Stage, index: int) -> None:
    if stage.settings.schedule[index] is None:
        raise Conflict(
            f"There is no schedule entry {index}. Add it with POST /post.cgi?sched_save.",
            field="A",
            value=str(index),
        )


#: An example: lamps on weekday mornings.
_MORNING = {"A": "0", "B": "Morning", "C": "0", "D": "1", "E": "21600", "F": "0", "G": "31"}

ROWS = (
    row(
        "POST /post.cgi?sched_save",
        body=ListBody(Item("s<A>=<B>*<C>*<D>*<E>*<F>*<G>*<H>"), FIELDS, SCHEDULE_ENTRIES),
        run=save,
        example=_MORNING,
        doc="Replace the schedule: name, action, value, second of the day (or period), date as "
        "days since 1970 (0 for none), days (bits 0-6 Monday to Sunday, bit 7 alone every day, "
        "bit 8 periodically), active.",
    ),
    row(
        "GET /inpa.cgi?schedon=<A>*<B>",
        A=ENTRY,
        B=Flag(),
        run=set_active,
        example={"A": "0"},
        doc="Switch one schedule entry on or off.",
    ),
)

#: Our own rows: `sched_save` would overwrite recent changes of other clients, and cannot be joined
#: with other commands.
ENTRY_ROWS = (
    row(
        "GET /inpa.cgi?schedset=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>",
        A=FIELDS["A"],
        B=FIELDS["B"],
        C=FIELDS["C"],
        D=FIELDS["D"],
        E=FIELDS["E"],
        F=FIELDS["F"],
        G=FIELDS["G"],
        H=FIELDS["H"],
        run=set_entry,
        example=_MORNING | {"H": "1"},
        doc="Set one schedule entry, with the fields of `sched_save`; the other entries do "
        "not change.",
    ),
    row(
        "GET /inpa.cgi?scheddel=<A>",
        A=ENTRY,
        run=delete_entry,
        example={"A": "0"},
        doc="Delete one schedule entry; the other entries keep their positions.",
    ),
    row(
        "GET /inpa.cgi?schedcatch=<A>",
        A=Flag(),
        sets="schedule_catch_up",
        doc="Choose what happens at the start to schedule entries that were to switch something "
        "while the controller was off: 0 they are only reported, 1 they are caught up.",
    ),
)
