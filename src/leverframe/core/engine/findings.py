"""Findings: deviations between the settings and the state.

A finding is a problem that the user should know about: an output in another state than a rule or
the schedule wants, mail without a server, a sensor that no longer responds. Parts around
the engine have their own findings (`host/controller/findings.py`).

A finding is data: its kind selects the sentence in each language, and `label` and `figures` are
inserted into that sentence. Findings are computed from the state on request, so they add no work to
the engine.
"""

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from leverframe.core.engine.actuator import MESSAGES
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.live_rule import BOTH_WAYS, ONLY_WHEN_IT_STARTS, ONLY_WHEN_IT_STOPS
from leverframe.core.engine.sources import is_set_up, sources_of
from leverframe.core.engine.timers import SET_CLOCK, Moment
from leverframe.core.engine.watchdog import GIVEN_UP, IS_OFF, RESTARTING
from leverframe.core.engine.wishes import is_by_hand, name_mover
from leverframe.core.labels import MAPPED, PWMS
from leverframe.core.settings import Settings, module_mapping, number_rules

#: The moments at which a rule sends a message, by its mode: True when it begins, False when it
#: ends.
_MOMENTS = {
    BOTH_WAYS: (True, False),
    ONLY_WHEN_IT_STARTS: (True,),
    ONLY_WHEN_IT_STOPS: (False,),
}

#: The sentence of each kind. `{name}` is the user's name for the label.
SENTENCES = {
    "sensor_lost": "{name} no longer responds.",
    "sensor_silent": "{name} is set up but has not answered yet.",
    "sensor_powered_up": "{name} shows 85 °C, as a DS18B20 does that has not measured since its "
    "power came back.",
    "slot_unmapped": "The module in Modbus slot {slot} is set up, but none of its readings is "
    "used.",
    "slot_silent": "The module in Modbus slot {slot} is set up but has not answered yet.",
    "rule_waits": "Rule {rule} waits for {name}, which has had no value yet.",
    "rule_never_acts": "Rule {rule} can never act, because its conditions can never be met.",
    "rule_held": "{name} is {state} by hand although rule {rule} is met.",
    "rule_overruled": "{name} is {state} although rule {rule} is met. Cause: {mover}.",
    "schedule_overruled": "{name} is {state} although schedule entry {entry} has not ended. "
    "Cause: {mover}.",
    "schedule_missed": "Schedule entry {entry} did not run on {time} because the controller was "
    "off.",
    "schedule_caught_up": "Schedule entry {entry} did not run on {time} because the controller was "
    "off. It was caught up on {caught_up}.",
    "rules_fight": "Rules {rule} and {other} set {name} to different states when both are met.",
    "rules_endless": "Rules trigger each other endlessly, at most once a second: {labels}.",
    "pid_output_off": "The PID regulator is on, but its output {name} is off.",
    "pid_input_missing": "The PID regulator keeps its last duty cycle because {name} has no value.",
    "watchdog_restarts": "Watchdog {number} is restarting {name} because {host} does not answer.",
    "watchdog_gave_up": "Watchdog {number} has given up: {host} does not answer.",
    "watchdog_fails": "Watchdog {number}: unanswered pings to {host}: {failures}.",
    "clock_not_set": "The clock is not set, so the schedule acts at wrong times.",
    "email_not_set_up": "Mail cannot be sent: no server or recipient is set.",
    "http_not_set_up": "HTTP request {slot} cannot be sent: it has no address.",
    "sms_not_set_up": "SMS {slot} cannot be sent: it has no telephone number.",
    "snmp_not_set_up": "SNMP traps cannot be sent: no receiver is switched on.",
    "mqtt_not_set_up": "MQTT messages cannot be sent: MQTT is switched off.",
    "email_without_text": "Mail {slot} is not sent because its text is empty.",
    "sms_without_text": "SMS {slot} is not sent because its text is empty.",
}


#: Figures that identify a finding among those of its kind; the other figures may change.
_DISTINGUISHING = ("rule", "other", "entry", "number", "slot", "part", "account")


class Finding(Struct, frozen=True):
    kind: str
    #: The page on which the user can fix the problem, such as `rules?edit=3`.
    page: str
    label: str | None = None
    figures: dict[str, int | float | str] = {}
    #: Wall time; if unknown, None until the first check that finds the problem sets it.
    since: float | None = None
    is_fault: bool = False

    @property
    def id(self) -> str:
        """An identifier that stays the same while the finding exists."""
        which = [str(self.figures[name]) for name in _DISTINGUISHING if name in self.figures]
        return ".".join((self.kind, *which, *([self.label] if self.label else ())))


def engine_findings(engine: Engine, at: Moment) -> Iterator[Finding]:
    """Yield all findings about the state, in the order of the engine's features."""
    inputs = engine.inputs
    if engine.machine.absent_since or inputs.bound_onewire or inputs.powered_up:
        yield from _silent_sensors(engine)
    yield from _silent_slots(engine)
    yield from _waiting_rules(engine)
    yield from _deviations(engine)
    yield from _find_missed_runs(engine)
    if engine.machine.resting:
        yield from _endless_rules(engine)
    if engine.pid.is_enabled:
        yield from _pid(engine)
    yield from _watchdog(engine)
    schedule = engine.settings.schedule
    if at.wall < SET_CLOCK and any(entry is not None and entry.active for entry in schedule):
        yield Finding("clock_not_set", "system?open=interface")


def page_of(label: str) -> str:
    """Return the page on which a label is configured."""
    return f"things?thing={label.replace('ENERGY', 'POWER')}"


def _silent_sensors(engine: Engine) -> Iterator[Finding]:
    machine = engine.machine
    for label, since in machine.absent_since.items():
        # A sensor that was removed from the settings is not reported as missing.
        if is_set_up(label, engine.settings) and not _is_without_source(label, engine):
            yield Finding("sensor_lost", page_of(label), label, since=since)
    for label in engine.inputs.bound_onewire:
        if machine.values[label] is None and label not in machine.absent_since:
            if machine.has_had_value(label):
                yield Finding("sensor_lost", page_of(label), label, since=machine.started.wall)
            else:
                yield Finding("sensor_silent", page_of(label), label)
    for label in sorted(engine.inputs.powered_up):
        yield Finding("sensor_powered_up", page_of(label), label)


def _is_without_source(label: str, engine: Engine) -> bool:
    """Return whether a source of the reading is absent; that source has its own finding."""
    sources = sources_of(label, engine.settings)
    return any(source in engine.machine.absent_since for source in sources)


def _silent_slots(engine: Engine) -> Iterator[Finding]:
    """Find modules of which no reading is mapped, or that have never delivered a mapped one."""
    machine, settings = engine.machine, engine.settings
    numbered = enumerate(settings.modbus_slots, start=1)
    in_use = [number for number, slot in numbered if slot.module != "OFF"]
    if not in_use:
        return
    mapped: dict[int, list[str]] = {}
    for label, source in zip(MAPPED, module_mapping(settings), strict=True):
        mapped.setdefault(source.slot, []).append(label)
    # A module that rules only write to needs no readings.
    written = {write.slot for write in settings.modbus_writes}
    for number in in_use:
        labels = mapped.get(number, ())
        has_answered = any(
            machine.values[label] is not None or label in machine.absent_since for label in labels
        )
        if not labels and number not in written:
            yield Finding("slot_unmapped", page_of(f"SLOT{number}"), None, {"slot": number})
        elif labels and not has_answered:
            yield Finding("slot_silent", page_of(f"SLOT{number}"), None, {"slot": number})


def _waiting_rules(engine: Engine) -> Iterator[Finding]:
    for number, absent in sorted(engine.rules.absent_sources().items()):
        machine = engine.machine
        is_lost = absent in machine.absent_since or (
            absent in engine.inputs.bound_onewire and machine.has_had_value(absent)
        )
        if not is_lost:
            yield Finding("rule_waits", f"rules?edit={number}", absent, {"rule": number})


def _deviations(engine: Engine) -> Iterator[Finding]:
    """Find targets in another state than a rule or the schedule wants, and what has set it."""
    for deviation in engine.find_deviations():
        wish, label, since = deviation.wish, deviation.label, deviation.since
        figures: dict[str, int | float | str] = {"rule": wish.rule, "state": deviation.state}
        page = f"rules?edit={wish.rule}"
        if wish.rule and is_by_hand(deviation):
            yield Finding("rule_held", page, label, figures, since)
            continue
        figures["mover"] = name_mover(deviation.mover)
        if wish.rule:
            yield Finding("rule_overruled", page, label, figures, since)
        else:
            figures.pop("rule")
            figures["entry"] = wish.cause.detail
            page = f"schedule?edit={wish.entry - 1}"
            yield Finding("schedule_overruled", page, label, figures, since)


def _find_missed_runs(engine: Engine) -> Iterator[Finding]:
    for run in engine.schedule.list_missed_runs():
        figures: dict[str, int | float | str] = {
            "entry": run.entry,
            "time": _local_minute(engine, run.time),
        }
        page = f"schedule?edit={run.index}"
        kind, since = "schedule_missed", run.time
        if run.caught_up is not None:
            kind, since = "schedule_caught_up", run.caught_up
            figures["caught_up"] = _local_minute(engine, run.caught_up)
        yield Finding(kind, page, run.label, figures, since)


def _local_minute(engine: Engine, wall: float) -> str:
    return datetime.fromtimestamp(wall, engine.machine.timezone).strftime("%Y-%m-%d %H:%M")


def _endless_rules(engine: Engine) -> Iterator[Finding]:
    labels = ", ".join(sorted(engine.machine.resting))
    yield Finding("rules_endless", "rules", None, {"labels": labels})


def _pid(engine: Engine) -> Iterator[Finding]:
    pid = engine.settings.pid
    if not engine.machine.values[PWMS[pid.pwm]]:
        yield Finding("pid_output_off", "pid", PWMS[pid.pwm])
    if engine.pid.is_holding:
        yield Finding("pid_input_missing", "pid", pid.source)


def _watchdog(engine: Engine) -> Iterator[Finding]:
    entries = engine.settings.watchdog
    enabled = [index for index, entry in enumerate(entries) if entry.enabled]
    if not enabled:
        return
    explanations = engine.watchdog.explain()
    for index in enabled:
        entry, explained, number = entries[index], explanations[index], index + 1
        if explained.state == IS_OFF:
            continue
        figures: dict[str, int | float | str] = {"number": number, "host": entry.host}
        page = page_of(f"WDOG{number}")
        if explained.state == RESTARTING:
            yield Finding("watchdog_restarts", page, entry.output, figures, is_fault=True)
        elif explained.state == GIVEN_UP:
            yield Finding("watchdog_gave_up", page, None, figures, is_fault=True)
        elif explained.failures > 0:
            figures["failures"] = explained.failures
            yield Finding("watchdog_fails", page, None, figures)


def messages_never_sent(settings: Settings) -> Iterator[Finding]:
    """Find messages that are to be sent but have no destination or no text."""
    wanted = sorted(_messages_to_send(settings))
    ways = {_way(channel, slot) for channel, slot, _ in wanted}
    without_way = {way for way in ways if not _is_set_up(*way, settings)}
    for channel, slot in sorted(without_way):
        is_one_of_many = slot and channel != "email"
        figures: dict[str, int | float | str] = {"slot": slot} if is_one_of_many else {}
        yield Finding(f"{channel}_not_set_up", _page_of(channel), None, figures)
    # A message without a destination is reported only once.
    unsaid = {
        (channel, slot)
        for channel, slot, moments in wanted
        if _way(channel, slot) not in without_way
        and not _has_text(channel, slot, moments, settings)
    }
    for channel, slot in sorted(unsaid):
        yield Finding(f"{channel}_without_text", _page_of(channel), None, {"slot": slot})


def _way(channel: str, slot: int) -> tuple[str, int]:
    """Return the channel and slot of the destination; all mail texts share one server."""
    return channel, 1 if channel == "email" else slot


def _page_of(channel: str) -> str:
    return f"messages?open={'gsm' if channel == 'sms' else channel}"


def _messages_to_send(settings: Settings) -> set[tuple[str, int, tuple[bool, ...]]]:
    """Return the channel and slot of each message, and the moments (`_MOMENTS`) that send it."""
    wanted = {
        (*MESSAGES[rule.action], _MOMENTS.get(rule.mode, _MOMENTS[BOTH_WAYS]))
        for _, rule in number_rules(settings.rules)
        if rule.enabled and rule.action in MESSAGES
    }
    if any(entry.enabled and entry.email for entry in settings.watchdog):
        wanted.add(("email", 1, (True,)))
    return wanted


def _has_text(channel: str, slot: int, moments: tuple[bool, ...], settings: Settings) -> bool:
    """Return whether a message has a text for one of its moments, or needs no text."""
    if channel == "email":
        email = settings.email
        return any((email.on_texts if begins else email.off_texts)[slot - 1] for begins in moments)
    if channel == "sms":
        sms = settings.gsm.sms[slot - 1]
        return any(sms.on_text if begins else sms.off_text for begins in moments)
    return True


def _is_set_up(channel: str, slot: int, settings: Settings) -> bool:
    match channel:
        case "email":
            return bool(settings.email.host and settings.email.recipient)
        case "http":
            return bool(settings.http[slot - 1].url)
        case "sms":
            return any(settings.gsm.sms[slot - 1].numbers)
        case "snmp":
            return any(receiver.enabled for receiver in settings.snmp.receivers)
    return settings.mqtt.enabled
