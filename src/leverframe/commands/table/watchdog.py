"""Rows: the watchdog, as real units take it (the document only mentions it)."""

from typing import Any

from leverframe.commands.table import codes
from leverframe.commands.table.params import Flag, Int, Record, Text, Word
from leverframe.commands.table.row import row
from leverframe.commands.table.stage import Stage
from leverframe.engine.actions import ResumeWatchdog
from leverframe.engine.settings import WatchdogEntry

HOST = Text(
    63,
    pattern=r"[A-Za-z0-9.:_-]*",
    form="a host name or address",
    fitting=("", "192.168.1.1", "router.example", "fe80::1"),
    unfitting=("two words", "a/b", "$(x)"),
)
ENTRY = Record(
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
#: The seven numbers behind the host in the example.
TIMES = "3*2*60*120*10*0*60"


def set_all(stage: Stage, **entries: dict[str, Any]) -> None:
    stage.set("watchdog", tuple(WatchdogEntry(**entries[letter]) for letter in "ABCDEF"))
    stage.do(ResumeWatchdog())


ROWS = (
    row(
        "GET /stm.cgi?wdog1=<A>&wdog2=<B>&wdog3=<C>&wdog4=<D>&wdog5=<E>&wdog6=<F>",
        A=ENTRY,
        B=ENTRY,
        C=ENTRY,
        D=ENTRY,
        E=ENTRY,
        F=ENTRY,
        run=set_all,
        limits={f"watchdog.*.{name}": param for name, param in ENTRY.fields},
        example={"A": f"1*0*0*192.168.1.1*{TIMES}", **dict.fromkeys("BCDEF", f"0*0*0**{TIMES}")},
        doc="Set all six watchdog entries, each: enabled, e-mail, output (0-5 OUT, 6-9 PWM), host, "
        "failures before acting, timeout, interval, wait after a restart, length of the restart, "
        "restarts before giving up (0 never), delay after the start; times in seconds.",
    ),
)
