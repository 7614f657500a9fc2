"""The present findings of a controller: one list, with the time and the sentence of each.

Findings of the engine (`core/engine/findings.py`), problems of the parts around it (`troubles`) and
findings of such parts are evaluated together whenever a client requests them. A request changes
nothing; the journal is updated by separate evaluations. An evaluation runs immediately if a finding
may have begun or ended because of settings, an output in another state than wanted, a part or a
lost sensor; soon after any other change; and periodically by the controller's clock.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.core.engine import findings as engine_findings_module
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.findings import (
    Finding,
    engine_findings,
    messages_never_sent,
    page_of,
)
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.missed_runs import MissedRun
from leverframe.core.engine.rule_advice import fights, find_idle_rules
from leverframe.core.engine.timers import Moment
from leverframe.core.engine.wishes import Deviation
from leverframe.core.labels import LABELS
from leverframe.core.runtime.clock import Clock
from leverframe.core.settings import Settings, rule_numbered
from leverframe.devices.module_slot import SLOT_TROUBLES
from leverframe.interface.names import name_of
from leverframe.interface.table.codes import I2C_SENSORS

# The parts of a controller that can have problems: their names for users, and their pages.
#
# A part reports a problem under a short name, such as `http1` or `1-Wire sensor 28:FF:...`. The
# names here are those of the pages; `words/parts.json` has their translations.


class TroubledPart(Struct, frozen=True):
    #: Its `{}` placeholders are filled from the groups of the pattern.
    name: str
    page: str


_EMAIL, _HTTP, _GSM, _MQTT, _SNMP = (
    f"messages?open={group}" for group in ("email", "http", "gsm", "mqtt", "snmp")
)
_DISPLAY, _MODBUS_SERVER, _STORAGE = (
    f"system?open={group}" for group in ("display", "modbus_server", "storage")
)
_SENSORS, _JOURNAL = "things?thing=all-sensors", "log"

#: The part by the pattern of its short name. A part without an entry is shown by its short name.
PARTS = {
    "email": TroubledPart("E-mail", _EMAIL),
    r"http(\d)": TroubledPart("HTTP request {}", _HTTP),
    "sms": TroubledPart("SMS", _GSM),
    "GSM modem": TroubledPart("GSM modem", _GSM),
    "mqtt": TroubledPart("MQTT", _MQTT),
    "MQTT broker": TroubledPart("MQTT broker", _MQTT),
    "MQTT access": TroubledPart("MQTT access", _MQTT),
    "snmp": TroubledPart("SNMP traps", _SNMP),
    r"snmp(\d)": TroubledPart("SNMP traps {}", _SNMP),
    "SNMP agent": TroubledPart("SNMP agent", _SNMP),
    "Modbus TCP server": TroubledPart("Modbus server", _MODBUS_SERVER),
    **{
        slot: TroubledPart(slot, page_of(f"SLOT{number}")) for number, slot in SLOT_TROUBLES.items()
    },
    **{
        rf"{slot} {kind} (\d+)": TroubledPart(f"{slot}, {kind} {{}}", page_of(f"SLOT{number}"))
        for number, slot in SLOT_TROUBLES.items()
        for kind in ("coil", "register")
    },
    "1-Wire bus": TroubledPart("1-Wire bus", _SENSORS),
    "1-Wire sensor (.+)": TroubledPart("1-Wire sensor {}", _SENSORS),
    r"I2C bus (\d+)": TroubledPart("I2C bus {}", _SENSORS),
    **{sensor: TroubledPart(sensor, _SENSORS) for sensor in ("SPS30", *I2C_SENSORS)},
    "converter (.+)": TroubledPart("Converter {}", _SENSORS),
    "serial port": TroubledPart("Serial port", _SENSORS),
    "serial module": TroubledPart("Serial module", _SENSORS),
    "display": TroubledPart("Display", _DISPLAY),
    "store": TroubledPart("Storage", _STORAGE),
    "recovery": TroubledPart("Recovery", _STORAGE),
    "secrets": TroubledPart("Stored secrets", _STORAGE),
    "history": TroubledPart("History", _STORAGE),
    "snapshots": TroubledPart("Snapshots", _STORAGE),
    "HTTPS redirect": TroubledPart("HTTPS redirect", _JOURNAL),
    "bootloader": TroubledPart("Bootloader", _JOURNAL),
    "node": TroubledPart("Node", _JOURNAL),
    "discovery": TroubledPart("Discovery", _JOURNAL),
}


def part_of(noted: str) -> TroubledPart:
    """Return the name of a part for users, and the page that sets it up."""
    if noted in LABELS:
        return TroubledPart(noted, page_of(noted))
    for pattern, part in PARTS.items():
        if found := re.fullmatch(pattern, noted):
            return replace(part, name=part.name.format(*found.groups()))
    return TroubledPart(noted, _JOURNAL)


#: The kind of a cause in the journal that is a finding, and the kind of a finding about a part.
FINDING, TROUBLE = "finding", "trouble"

FindingSource = Callable[[], Iterable[Finding]]

#: The settings on which `of_settings_alone` depends; a test ensures that none is missing. Trying
#: each pair of twenty rules takes up to a millisecond, as long as a whole change of other settings.
DEPENDED_ON = attrgetter(
    *("rules", "analog_inputs", "onewire", "weather", "watchdog"),
    *("email", "gsm", "http", "mqtt", "snmp"),
)

#: Settings on which no finding depends, such as names. If only these change, findings are not
#: evaluated; an evaluation would take a tenth of the time of the whole change.
_OF_NO_CONCERN = frozenset(("name", "outputs", "oled", "ui", "layout"))
_of_concern: Callable[[Settings], tuple[Any, ...]] = attrgetter(
    *(name for name in Settings.__struct_fields__ if name not in _OF_NO_CONCERN)
)

SENTENCES = engine_findings_module.SENTENCES | {
    TROUBLE: "{part}: {sentence}",
    "password_weak": "The password of {account} is easy to guess.",
    "certificate_ends": "The certificate of this controller expires soon. Days left: {days}.",
    "certificate_ended": "The certificate of this controller has expired: browsers reject it.",
}
#: Figures that identify a rule; they are shown as the name of the rule, if it has one.
_RULES = ("rule", "other")
#: Kinds that only administrators may see, because they would help an intruder.
_FOR_ADMIN = frozenset(("password_weak",))
#: Seconds between two evaluations: the first while values change, the second while nothing changes.
#: At the first, evaluations take a twentieth of the time of a busy controller. While nothing
#: changes, only a certificate can expire; waking ten thousand quiet controllers then takes about
#: 0.1 % of a core.
LOOK_SOON_S, LOOK_EVERY_S = 10.0, 300.0


class FindingReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A finding as pages and programs receive it."""

    id: Annotated[str, Meta(description="Stays the same while the finding exists.")]
    kind: Annotated[str, Meta(description="The kind of finding; each kind has its own sentence.")]
    severity: Literal["fault", "attention"]
    since: Annotated[float, Meta(description="Seconds since 1970.")]
    text: str
    label: Annotated[
        str | None, Meta(description="The label of the thing concerned, if it has one.")
    ]
    figures: Annotated[
        dict[str, int | float | str], Meta(description="Further values that the sentence contains.")
    ]
    page: Annotated[
        str, Meta(description="The page where it can be fixed, as in the address after `#/`.")
    ]

    @property
    def is_public(self) -> bool:
        """Whether users who may only switch can see it."""
        return self.kind not in _FOR_ADMIN


class ObservedTroubles(dict[str, str]):
    """The sentences by part; `changed` is called immediately whenever one of them changes."""

    __slots__ = ("_changed", "revision")

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed
        #: The number of changes.
        self.revision = 0

    def __setitem__(self, part: str, sentence: str) -> None:
        if self.get(part) != sentence:
            super().__setitem__(part, sentence)
            self._notify()

    def __delitem__(self, part: str) -> None:
        super().__delitem__(part)
        self._notify()

    def pop(self, part: str, *default: Any) -> Any:
        was_there = part in self
        sentence = super().pop(part, *default)
        if was_there:
            self._notify()
        return sentence

    def note(self, part: str, sentence: str | None) -> None:
        """Set the problem of a part; None if it has none."""
        if sentence is None:
            self.pop(part, None)
        else:
            self[part] = sentence

    def _notify(self) -> None:
        self.revision += 1
        self._changed()


class FindingsState(Struct, frozen=True, forbid_unknown_fields=True):
    """The results of earlier evaluations, as plain data."""

    since: dict[str, float]
    journalled: dict[str, Fact]
    looked_at: float


class FindingsWatch:
    live_name: ClassVar[str] = "findings"
    live_type: ClassVar[Any] = tuple[dict[str, float], dict[str, Fact], float]

    __slots__ = (
        "_clock",
        "_depended_on",
        "_engine",
        "_is_behind",
        "_journalled",
        "_looked_absent",
        "_looked_at",
        "_looked_immediate",
        "_looked_troubles",
        "_of_settings",
        "_seen_of_concern",
        "_seen_settings",
        "_since",
        "_troubles",
        "sources",
    )

    def __init__(
        self, engine: Callable[[], Engine], clock: Clock, troubles: ObservedTroubles
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._troubles = troubles
        #: The findings of parts around the controller.
        self.sources: list[FindingSource] = []
        #: When each finding of the last evaluation began, by its id.
        self._since: dict[str, float] = {}
        #: The findings that the journal contains.
        self._journalled: dict[str, Fact] = {}
        self._looked_at = -LOOK_EVERY_S
        self._looked_troubles = 0
        self._looked_absent: dict[str, float] = {}
        self._seen_settings: Settings | None = None
        self._seen_of_concern: tuple[Any, ...] = ()
        #: Deviations, missed runs, and sensors that show their power-on value.
        self._looked_immediate: tuple[list[Deviation], list[MissedRun], frozenset[str]]
        self._looked_immediate = ([], [], frozenset())
        #: Whether something has changed since the last evaluation.
        self._is_behind = False
        #: The findings from settings alone, and the settings that they depend on.
        self._depended_on: tuple[Any, ...] = ()
        self._of_settings: tuple[Finding, ...] = ()

    def report(self) -> list[FindingReport]:
        """Evaluate and list the findings: faults first, then by their age."""
        at, engine = self._clock.read(), self._engine()
        depended_on = DEPENDED_ON(engine.settings)
        if depended_on != self._depended_on:
            self._depended_on = depended_on
            self._of_settings = tuple(of_settings_alone(engine.settings))
        found = [
            *(one for one in engine_findings(engine, at) if not self._is_reported_by_part(one)),
            *self._of_settings,
            *self._of_parts(),
        ]
        reports = [self._report(one, at.wall) for one in found]
        self._since = {report.id: report.since for report in reports}
        return sorted(reports, key=lambda one: (one.severity != "fault", one.since))

    def check_if_due(self) -> None:
        """Update the journal if the last evaluation is old, or if findings may have changed."""
        now, engine = self._clock.now(), self._engine()
        machine = engine.machine
        absent = machine.absent_since
        immediate = (
            engine.find_deviations(),
            list(engine.schedule.list_missed_runs()),
            frozenset(engine.inputs.powered_up),
        )
        self._is_behind = not (
            now - self._looked_at >= LOOK_SOON_S
            or self._troubles.revision != self._looked_troubles
            or self._settings_of_concern_changed(machine.settings)
            # An output left the state that a rule or the schedule wants, or is in it again; or a
            # sensor lost its power, or has measured again.
            or immediate != self._looked_immediate
            # A sensor was lost, or is back.
            or absent != self._looked_absent
        )
        if not self._is_behind:
            self._looked_at, self._looked_troubles = now, self._troubles.revision
            self._looked_absent, self._looked_immediate = absent.copy(), immediate
            self._write_journal({one.id: _as_fact(one) for one in self.report()})

    def _settings_of_concern_changed(self, settings: Settings) -> bool:
        """Return whether settings that findings depend on have changed since the last call."""
        if settings is self._seen_settings:
            return False
        former, self._seen_of_concern = self._seen_of_concern, _of_concern(settings)
        self._seen_settings = settings
        return self._seen_of_concern != former

    def next_deadline(self) -> float:
        """Return when to evaluate next if nothing calls the watchers."""
        return self._looked_at + (LOOK_SOON_S if self._is_behind else LOOK_EVERY_S)

    def tick(self, at: Moment) -> None:
        if at.now < self.next_deadline():
            return
        known = self._journalled.keys()
        self.check_if_due()
        if self._journalled.keys() != known:
            # This also notifies the parts that show the findings.
            self._engine().machine.mark("findings")

    def check_again(self) -> None:
        """Evaluate again at the next call of the watchers: a source has other findings now."""
        self._looked_at = -LOOK_EVERY_S

    def live_state(self) -> tuple[dict[str, float], dict[str, Fact], float]:
        return self._since, self._journalled, self._looked_at

    def resume_from(self, state: tuple[dict[str, float], dict[str, Fact], float]) -> None:
        self._since, self._journalled, self._looked_at = state

    def portable(self) -> FindingsState:
        return FindingsState(self._since, self._journalled, self._looked_at)

    def fill(self, state: FindingsState) -> None:
        self._since, self._journalled = dict(state.since), dict(state.journalled)
        self._looked_at = state.looked_at

    def _of_parts(self) -> Iterator[Finding]:
        for part, sentence in self._troubles.items():
            yield trouble_of(part, sentence)
        for source in self.sources:
            yield from source()

    def _is_reported_by_part(self, finding: Finding) -> bool:
        """Return whether a part reports the problem itself, with the reason."""
        slot = finding.figures.get("slot")
        return (
            finding.kind == "slot_silent"
            and isinstance(slot, int)
            and SLOT_TROUBLES[slot] in self._troubles
        )

    def _report(self, finding: Finding, now: float) -> FindingReport:
        since = self._since.get(finding.id, now) if finding.since is None else finding.since
        settings = self._engine().settings
        figures = {key: _figure(key, figure, settings) for key, figure in finding.figures.items()}
        labels = {"name": finding.label, "part": figures.get("part")}
        names = {
            key: name_of(label, settings) or label
            for key, label in labels.items()
            if isinstance(label, str)
        }
        return FindingReport(
            finding.id,
            finding.kind,
            "fault" if finding.is_fault else "attention",
            since,
            SENTENCES[finding.kind].format_map(figures | names),
            finding.label,
            figures,
            finding.page,
        )

    def _write_journal(self, facts: dict[str, Fact]) -> None:
        known, self._journalled = self._journalled, facts
        if facts.keys() == known.keys():
            return
        machine = self._engine().machine
        # In real time, use the clock: the engine of a quiet controller knows only the moment of its
        # last change. In virtual time, the clock may be later than the moment to report.
        wall = machine.at.wall if self._clock.is_virtual else self._clock.wall()
        add = machine.journal.add
        for identity in sorted(facts.keys() - known.keys()):
            add(wall, Cause(FINDING, identity), facts[identity])
        for identity in sorted(known.keys() - facts.keys()):
            add(wall, Cause(FINDING, identity), replace(known[identity], what="finding_over"))


def trouble_of(part: str, sentence: str) -> Finding:
    """Return the finding about a part that has a problem."""
    figures: dict[str, int | float | str] = {"part": part, "sentence": sentence}
    return Finding(TROUBLE, part_of(part).page, figures=figures, is_fault=True)


def trouble_sentences(troubles: Mapping[str, str], settings: Settings) -> list[str]:
    """Return the problems of parts in the words of findings, each with the name of its part."""
    called = {part: part_of(part).name for part in sorted(troubles)}
    return [
        SENTENCES[TROUBLE].format(part=name_of(name, settings) or name, sentence=troubles[part])
        for part, name in called.items()
    ]


def _as_fact(report: FindingReport) -> Fact:
    figures = {"finding": report.kind, "text": report.text, "figures": report.figures}
    return Fact("finding", report.label or "", figures=figures)


def is_of_trouble(cause: Cause) -> bool:
    """Return whether a cause in the journal is a problem of a part."""
    return cause.kind == FINDING and cause.detail.startswith(f"{TROUBLE}.")


def _figure(key: str, figure: int | float | str, settings: Settings) -> int | float | str:
    """Return a figure as the name of the thing, or the names of the things, that it identifies."""
    if key in _RULES and isinstance(figure, int):
        rule = rule_numbered(settings.rules, figure)
        return (rule.name if rule else "") or figure
    if key == "labels":
        # A page of several controllers does not know their names.
        return ", ".join(name_of(one, settings) or one for one in str(figure).split(", "))
    return part_of(figure).name if key == "part" and isinstance(figure, str) else figure


def of_settings_alone(settings: Settings) -> Iterator[Finding]:
    """Find problems of the settings alone: of messages, and rules that conflict or never act."""
    yield from messages_never_sent(settings)
    for number in find_idle_rules(settings):
        yield Finding("rule_never_acts", f"rules?edit={number}", None, {"rule": number})
    for advice in fights(settings):
        if advice.kind == "fight":
            first, second = advice.rules
            figures: dict[str, int | float | str] = {"rule": first, "other": second}
            yield Finding("rules_fight", f"rules?edit={first}", advice.labels[0], figures)
