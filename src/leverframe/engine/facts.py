"""What the journal can say: every kind of entry, once, with its sentence in English.

A fact has the kind (`what`), the label that it is about (`which`), the values before and after, and
the other figures of its sentence. The sentence is built only when it is read: most entries are
never read. The pages say the same in five languages (`web/words/journal.json`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

#: Of the engine: what is switched, decided, done or left undone.
_OF_ENGINE = {
    "on": "{which} on",
    "off": "{which} off",
    "pulse": "{which} on",
    "opened": "{which} opened",
    "closed": "{which} closed",
    "opened_often": "{which} changed {count} more times in {seconds} s and is open",
    "closed_often": "{which} changed {count} more times in {seconds} s and is closed",
    "periodic_on": "{which} periodic switching on",
    "periodic_off": "{which} periodic switching off",
    "rule_waits": "met: {which} follows in {seconds} s",
    "rule_waits_to_end": "no longer met: {which} follows in {seconds} s",
    "rule_delay_dropped": "delay dropped: {which} stays as it is",
    "rule_leaves": "no longer met: {which} is left to rule {rule}, which is met",
    "rule_unconfirmed": "{labels} unknown {seconds} s after startup: counts as not met",
    "rules_stopped": "stopped after {steps} steps, unsettled: {labels}",
    "schedule_never_runs": "never runs: the calendar has no {date}",
    "schedule_missed": "not run: more than a minute late",
    "watchdog_restarts": "{host} failed {failures} times: {which} restarts for {seconds} s",
    "watchdog_gives_up": "gives up on {host} after {restarts} restarts",
    "pid_on": "PID regulator on",
    "pid_off": "PID regulator off",
    "pid_regulates": "{which} regulated",
    "pid_holds": "{source} is absent: {which} duty held",
    "pid_goes_on": "{which} duty regulated again",
    "energy_set": "{which} was set to {value:g}",
    "energy_counts": "{which} counts",
    "energy_stops": "{which} stopped counting",
    "module_write": "writes {value:.10g} to Modbus {target}",
    "module_write_not_set_up": "{which} is not set up: nothing is written",
    "screen": "display shows screen {screen}",
    "no_such_action": "there is no action {action!r}: nothing was done",
    "restart_flag": "restart flag raised",
    "restarts": "controller restarts",
    "bootloader": "bootloader starts",
}
#: Of requests and of the parts around the engine.
_OF_OTHERS = {
    "settings": "{text}",
    "signed_in": "signed in",
    "wrong_password": "wrong password for {account!r}",
    "wrong_password_nobody": "wrong password for an account that does not exist",
    "wrong_code": "wrong code",
    "wrong_code_waits": "wrong code; the next code from this sender is checked in {seconds} s",
    "command_skipped": "skipped {command}: {problem}",
    "firmware_refused": "firmware refused: {problem}",
    "message_delayed": "cannot deliver to {target}: {problem}",
    "message_refused": "{problem}",
    "message_given_up": "gave up on a message to {target}: {problem}",
    "messages_again": "delivery resumed",
    "messages_dropped": "{count} messages dropped so far, oldest first, because {waiting} are "
    "waiting. {problem}",
    "mqtt_left_behind": "The broker at {place} keeps {count} announcements of this controller "
    "that could not be withdrawn without a connection. Home Assistant shows them until the "
    "controller connects there again, or until the retained messages below {topic}/ are deleted on "
    "that broker.",
    "module_written": "{value:.10g} to {target}: written and read back",
    "module_not_written": "{value:.10g} to {target}: {problem}",
    "started": "started, version {version}",
    "went_on": "resumed: its node changed or was restarted",
    "journal_gap": "{count} entries lost: they came faster than they could be recorded",
    "message_sent": "sent to {target}",
    "message_captured": "captured instead of sent to {target}",
    "finding": "{text}",
    "finding_over": "resolved: {text}",
}
#: Of the test bench: what is made to happen, and the faults that are injected.
_OF_BENCH = {
    "bench": "{text}",
    "fault_begins": "begins: {text}",
    "fault_ends": "ended; it acted {times}",
    "fault_acts": "acts on {on}",
    "fault_reads": "{which} reads {shown} instead of {value}",
    "fault_relay": "{which} was switched {told} but is {does}",
    "fault_edges": "{which} changes to {level} with {count} further edges",
    "fault_power_goes": "the controller is off for {seconds:g} s",
    "fault_power_comes": "the controller starts",
    "fault_clock": "the clock jumps by {seconds:g} s",
}
SENTENCES: Mapping[str, str] = _OF_ENGINE | _OF_OTHERS | _OF_BENCH

#: Shared by most facts, of which many are kept.
_NO_FIGURES: Mapping[str, Any] = MappingProxyType({})


class Fact(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    what: str
    #: A label; empty where the fact is about none.
    which: str = ""
    old: float | int | None = None
    new: float | int | None = None
    figures: Mapping[str, Any] = _NO_FIGURES

    def __str__(self) -> str:
        return SENTENCES[self.what].format(which=self.which, **self.figures).rstrip()

    def as_fact(self) -> "Fact":
        return self


def switchings(label: str) -> tuple[Fact, Fact]:
    """Return the facts that a label went off and on."""
    return Fact("off", label, 1, 0), Fact("on", label, 0, 1)
