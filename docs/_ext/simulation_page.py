"""The page about simulation: plants and faults from the program's tables, and scenarios."""

from collections.abc import Iterator, Mapping

from docs._ext.markdown import code, prose, table
from leverframe.devices.simulated.fault_catalogue import FAULTS, SCOPES, FaultKind
from leverframe.devices.simulated.plant_wiring import KINDS, REQUIRED, Field, Kind

_OPENING = """\
# Simulation

## Plants

A plant connects outputs and inputs of the simulated board, so that the regulator, rules and
protections have a process to control. Set it up with
`/sim.cgi?plant=KIND*FIELD:VALUE*FIELD:VALUE...`, for example
`/sim.cgi?plant=room*heater:PWM0*reading:DS1*outside:5*power:30*time_constant:1h`, or with a
`[[plants]]` table in a scenario, with `kind` and the same fields as keys. Write times like `90s`,
`1h30m` or `7d`, or in seconds.

A new plant replaces the previous source of its readings; `plant=none` removes all plants. A
switched output affects readings after a tenth of a second at the earliest. `DS1=none` unplugs a
reading even if it has a plant; `DS1=plant` plugs it in again. A value set by hand lasts until the
plant changes it. While the values of all plants are constant, no events are due, and a day of
virtual time needs almost no CPU time.
"""
_FAULTS = """\

## Faults

Faults simulate failures of units, networks and sensors. Set a fault with
`/sim.cgi?fault=KIND*FIELD:VALUE*FIELD:VALUE...`, for example
`/sim.cgi?fault=slow*delay:5s*path:/json/all.json*times:2`, in the `sim` of a scenario, on the page
Simulated board, or in Python with the functions of `leverframe.testing.faults`. `/api/sim` lists
the active faults with their numbers; `fault=end:3` ends the fault with this number, and
`fault=none` ends all faults. The journal records the effects of a fault.

Each fault also accepts some of these fields, which set where, when and how often it acts:
"""
_RULES_OF_FAULTS = """\

If several faults match a request, the newest acts; `slow` and `raw` act in addition to any other.
Faults do not affect requests of the test bench itself (`/sim.cgi`, `/api/sim`...), except that a
closed port is closed for all requests. A request is carried out even if its answer is faulty; only
the fault `status` prevents this.

Delays of answers use real time, because clients do; all other times use the controller's clock. If
that clock is virtual and a request makes the controller unreachable (`refuse`, `reboot`,
`brown_out`), the virtual clock follows real time until the controller is reachable again. Such a
fault ends within an hour. The request that sets it is carried out but gets no answer.

Random values, noise and garbage are derived from the `seed` or, without it, from the number of the
fault, so the same faults have the same effects. Faults are part of [snapshots](http.md).
"""
_SCENARIOS = """\

## Scenarios

`leverframe simulate SCENARIO.toml` runs a controller through a scenario in virtual time and prints
the events with their causes. Examples are in `examples/`. The keys of the file, all optional:

- `start = 2026-06-01T05:00:00`: local date and time of the start.
- `timezone = "Europe/Warsaw"`: time zone of the controller (default UTC).
- `profile = { hw = "3.9", sw = "1.75" }`: version of the controller.
- `record = ["DS1", "OUT0", "PWM0.duty"]`: labels for `--csv` and the summary (default: the inputs
  and outputs of the plants).
- `sim = "DS2=8&INPD1=1"`: initial readings of the board, as for `/sim.cgi`.
- `commands = ["/outs.cgi?ortime=05"]`: requests at the start; each is applied completely or not at
  all. Append a body after a space: `"/post.cgi?sched_save &s0=lamp*0*1*64800*0*127*1&&"`.
- `[[plants]]`: tables as above.
- `[[at]]`: later events, with `time`, and `sim`, `commands` or both. The time is a time of day
  (`"06:00"`, the next time that the local clock shows it), a duration from the start (`"+90s"`,
  `"2d 3h"`), or a local date and time.

A mistake in the file is reported with its line before the run starts. A command that is rejected
during the run, for example because outputs are locked, ends the run.
"""


def simulation_page() -> str:
    kinds = "\n".join(_kind(name, kind) for name, kind in KINDS.items())
    scopes = table(("field", "default", "allowed", ""), _fields(SCOPES))
    faults = "\n".join(_fault(name, kind) for name, kind in FAULTS.items())
    return f"{_OPENING}\n{kinds}\n{_FAULTS}\n{scopes}\n{_RULES_OF_FAULTS}\n{faults}\n{_SCENARIOS}"


def _fault(name: str, kind: FaultKind) -> str:
    heading = f"### {code(name)}\n\n{prose(kind.doc)} On real units: {prose(kind.real)}\n"
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
