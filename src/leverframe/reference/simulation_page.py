"""The page about simulation: plants and their fields from the program's table, and scenarios."""

from collections.abc import Iterator

from leverframe.hardware.plant_wiring import KINDS, REQUIRED, Field, Kind
from leverframe.reference.markdown import code, prose, table

_OPENING = """\
# Simulation

## Plants

A plant lies between outputs and inputs of the simulated board, so that the regulator, rules and
protections have something to act on. It is wired with
`/sim.cgi?plant=KIND*FIELD:VALUE*FIELD:VALUE...`, for example
`/sim.cgi?plant=room*heater:PWM0*reading:DS1*outside:5*power:30*time_constant:1h`, or by a
`[[plants]]` table in a scenario with `kind` and the same fields as keys. Times are written like
`90s`, `1h30m` or `7d`, or as seconds.

A plant takes its readings over from the one that gave them before; `plant=none` removes all. What
is switched shows at the earliest a tenth of a second later. `DS1=none` unplugs a reading whatever
its plant does, `DS1=plant` plugs it in again; a value set by hand lasts until the plant moves.
Without a plant that moves nothing is due, and a day on virtual time costs nothing.
"""
_SCENARIOS = """\

## Scenarios

`leverframe simulate SCENARIO.toml` lets a controller live through a scenario on virtual time and
prints what happened and why. Examples are in `examples/`. The keys of the file, none of which is
required:

- `start = 2026-06-01T05:00:00`: local date and time of the start.
- `timezone = "Europe/Warsaw"`: of the controller; UTC if not given.
- `profile = { hw = "3.9", sw = "1.75" }`: the version.
- `record = ["DS1", "OUT0", "PWM0.duty"]`: what `--csv` and the summary show; if not given, what the
  plants follow and give.
- `sim = "DS2=8&INPD1=1"`: what the board senses at first, as for `/sim.cgi`.
- `commands = ["/outs.cgi?ortime=05"]`: requests at the start, each all or nothing. A body stands
  behind a space: `"/post.cgi?sched_save &s0=lamp*0*1*64800*0*127*1&&"`.
- `[[plants]]`: tables as above.
- `[[at]]`: what happens later, with `time`, and `sim`, `commands` or both. The time is one of day
  (`"06:00"`, the next time that the local clock shows it), a duration from the start (`"+90s"`,
  `"2d 3h"`), or a local date and time.

A mistake in the file is told with its line before anything runs. A command that is refused in the
run, for example because outputs are locked, ends it.
"""


def simulation_page() -> str:
    kinds = "\n".join(_kind(name, kind) for name, kind in KINDS.items())
    return f"{_OPENING}\n{kinds}\n{_SCENARIOS}"


def _kind(name: str, kind: Kind) -> str:
    heading = f"### {code(name)}\n\n{prose(kind.doc[0].upper() + kind.doc[1:])}.\n"
    return f"{heading}\n{table(('field', 'default', 'allowed', ''), _fields(kind))}\n"


def _fields(kind: Kind) -> Iterator[tuple[str, str, str, str]]:
    for name, field in kind.fields.items():
        yield code(name), _default(field), prose(field.type.allowed), prose(field.doc)


def _default(field: Field) -> str:
    if field.default is REQUIRED:
        return "required"
    return "" if field.default is None else code(f"{field.default:g}")
