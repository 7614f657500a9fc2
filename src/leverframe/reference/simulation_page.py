"""The page about simulation: plants and faults from the program's tables, and scenarios."""

from collections.abc import Iterator, Mapping

from leverframe.hardware.described_fields import REQUIRED, Field
from leverframe.hardware.fault_catalogue import FAULTS, SCOPES, FaultKind
from leverframe.hardware.plant_wiring import KINDS, Kind
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
_FAULTS = """\

## Faults

What goes wrong with units, networks and sensors can be let go wrong on purpose: with
`/sim.cgi?fault=KIND*FIELD:VALUE*FIELD:VALUE...`, for example
`/sim.cgi?fault=slow*delay:5s*path:/json/all.json*times:2`, in the `sim` of a scenario, on the page
Simulated board, or in Python with the functions of `leverframe.testing.faults`. `/api/sim` lists
what is set, each with a number; `fault=end:3` ends that one, `fault=none` all of them. What a fault
did is in the journal.

Each takes some of these fields, too, which say where, when and how often it acts:
"""
_RULES_OF_FAULTS = """\

Of several faults that meet one request the newest acts; `slow` and `raw` act beside any other.
Requests of the test bench itself (`/sim.cgi`, `/api/sim`...) meet none, but a closed port is closed
for them, too. A request is carried out also where its answer is faulty, except by `status`.

How long an answer takes is real time, in which clients live; everything else goes by the
controller's clock. Where that is virtual and a request makes the controller unreachable (`refuse`,
`reboot`, `brown_out`), the virtual clock follows the real one until it is reachable again, so that
somebody can ask; such a fault has an end within an hour. The request that sets it gets no answer
either, and has been carried out.

Chance, noise and garbage come from the `seed`, else from the number of the fault: the same faults
do the same again. Faults are part of [snapshots](http.md).
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
    scopes = table(("field", "default", "allowed", ""), _fields(SCOPES))
    faults = "\n".join(_fault(name, kind) for name, kind in FAULTS.items())
    return f"{_OPENING}\n{kinds}\n{_FAULTS}\n{scopes}\n{_RULES_OF_FAULTS}\n{faults}\n{_SCENARIOS}"


def _fault(name: str, kind: FaultKind) -> str:
    heading = f"### {code(name)}\n\n{prose(kind.doc)} Really: {prose(kind.real)}\n"
    also = f"\nAlso: {', '.join(map(code, kind.scopes))}.\n"
    if not kind.fields:
        return heading + also
    fields = table(("field", "default", "allowed", ""), _fields(kind.fields))
    return f"{heading}\n{fields}\n{also}"


def _kind(name: str, kind: Kind) -> str:
    heading = f"### {code(name)}\n\n{prose(kind.doc[0].upper() + kind.doc[1:])}.\n"
    return f"{heading}\n{table(('field', 'default', 'allowed', ''), _fields(kind.fields))}\n"


def _fields(fields: Mapping[str, Field]) -> Iterator[tuple[str, str, str, str]]:
    for name, field in fields.items():
        yield code(name), _default(field), prose(field.type.allowed), prose(field.doc)


def _default(field: Field) -> str:
    if field.default is REQUIRED:
        return "required"
    if field.default is None:
        return ""
    return code(field.default if isinstance(field.default, str) else f"{field.default:g}")
