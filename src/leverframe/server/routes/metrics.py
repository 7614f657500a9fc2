"""`/metrics`: every reading, state and counter, in the text format that Prometheus reads.

Absent readings have no sample, as Prometheus requires. Parts around the controller (the outbox, the
HTTP server) add their samples through functions in `controller.figures`.
"""

import sys
from collections.abc import Iterable, Mapping
from time import process_time
from typing import Protocol

from leverframe import __version__
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.labels import ENERGIES, READINGS, STATES
from leverframe.core.settings import number_rules
from leverframe.devices.module_slot import SlotStatistics
from leverframe.devices.wire.prometheus import (
    COUNTER,
    GAUGE,
    Family,
    counter,
    gauge,
    prometheus_text,
)
from leverframe.host.controller import Controller
from leverframe.interface.names import unit_of
from leverframe.notify.outbox import ChannelFigures
from leverframe.server.fair_shares import FULL, SHARE, TLS, DescriptorBudget
from leverframe.server.http.messages import Reply
from leverframe.server.http.server_state import ServerState
from leverframe.server.routes.context import Context, StreamShares
from leverframe.storage.history.worker import Figures

METRICS = "text/plain; version=0.0.4; charset=utf-8"


def metrics(context: Context) -> Reply:
    return Reply(200, METRICS, prometheus_text(families(context.controller)))


def families(controller: Controller) -> Iterable[Family]:
    yield from controller_families(controller)
    yield from process_families()


def controller_families(controller: Controller) -> Iterable[Family]:
    """Return the samples of a controller without those of its process."""
    yield from _of_machine(controller)
    yield from _of_readings(controller)
    yield from _of_rules(controller)
    if controller.history is not None:
        yield from history_families(controller.history.figures)
    for families_of in controller.figures:
        yield from families_of()


def _of_machine(controller: Controller) -> Iterable[Family]:
    engine, at = controller.engine, controller.clock.read()
    identity = {
        "version": __version__,
        "hw": controller.profile.hw,
        "sw": controller.profile.sw,
        "board": controller.board.kind,
    }
    yield Family("leverframe_info", GAUGE, "Identity of the controller.", [(identity, 1)])
    yield gauge(
        "leverframe_uptime_seconds", "Time since the controller started.", engine.uptime(at)
    )
    yield gauge(
        "leverframe_restart_flag",
        "Whether the command restart_power_on has set the restart flag.",
        int(engine.machine.restart_flag),
    )
    yield gauge(
        "leverframe_troubles",
        "Parts around the controller that have a problem.",
        len(controller.troubles),
    )
    severities = [finding.severity for finding in controller.findings.report()]
    yield Family(
        "leverframe_findings",
        GAUGE,
        "Findings by severity.",
        [({"severity": one}, severities.count(one)) for one in ("fault", "attention")],
    )
    yield counter(
        "leverframe_log_entries_total",
        "Log entries since the start.",
        engine.machine.journal.count,
    )


def _of_readings(controller: Controller) -> Iterable[Family]:
    values, settings = controller.engine.values, controller.engine.settings
    yield Family(
        "leverframe_reading",
        GAUGE,
        "Measured or computed value, in its unit; absent readings are left out.",
        [
            ({"label": label, "unit": unit_of(label, settings)}, values[label])
            for label in READINGS
            if label not in ENERGIES and values[label] is not None
        ],
    )
    yield Family(
        "leverframe_energy_total",
        COUNTER,
        "Count of a meter, in its unit.",
        [
            ({"label": label, "unit": unit_of(label, settings)}, values[label])
            for label in ENERGIES
            if values[label] is not None
        ],
    )
    yield Family(
        "leverframe_state",
        GAUGE,
        "State of an output, input, event variable or the MQTT connection: 1 or 0.",
        [({"label": label}, values[label]) for label in STATES],
    )
    yield Family(
        "leverframe_pwm_duty_percent",
        GAUGE,
        "Current duty of a PWM output.",
        [({"label": label.partition(".")[0]}, values[label]) for label in DUTIES],
    )


def _of_rules(controller: Controller) -> Iterable[Family]:
    rules = number_rules(controller.engine.settings.rules)
    explained = controller.engine.rules.explain()
    labels = [{"rule": str(number), "name": rule.name} for number, rule in rules]
    yield Family(
        "leverframe_rule_enabled",
        GAUGE,
        "Whether a rule is enabled.",
        [(label, int(rule.enabled)) for label, (_, rule) in zip(labels, rules, strict=True)],
    )
    yield Family(
        "leverframe_rule_met",
        GAUGE,
        "Whether the condition of a rule is met.",
        [(label, int(rule.met)) for label, rule in zip(labels, explained, strict=True)],
    )


def outbox_families(channels: Mapping[str, ChannelFigures]) -> Iterable[Family]:
    for name, kind, words in (
        ("waiting", GAUGE, "Messages waiting to be sent."),
        ("attempts", COUNTER, "Attempts to send a message."),
        ("sent", COUNTER, "Messages sent."),
        ("failed", COUNTER, "Messages abandoned after all attempts."),
        ("captured", COUNTER, "Messages captured instead of sent."),
        ("dropped", COUNTER, "Messages dropped because the queue was full."),
    ):
        total = "_total" if kind == COUNTER else ""
        yield Family(
            f"leverframe_outbox_{name}{total}",
            kind,
            words,
            [
                ({"channel": channel}, getattr(figures, name))
                for channel, figures in channels.items()
            ],
        )


def history_families(figures: Figures) -> Iterable[Family]:
    kept, lost = "Stored values and intervals.", "Values that could not be stored."
    yield gauge("leverframe_history_points", kept, figures.points)
    yield gauge(
        "leverframe_history_bytes", "Size of the stored values and intervals.", figures.bytes
    )
    yield counter("leverframe_history_dropped_total", lost, figures.dropped)


def modbus_families(slots: Mapping[str, SlotStatistics]) -> Iterable[Family]:
    for name, words in (
        ("requests", "Requests to the module in a Modbus slot."),
        ("answers", "Responses of the module, exceptions included."),
        ("timeouts", "Requests without a response from the module."),
        ("crc_errors", "Responses that arrived damaged."),
    ):
        samples = [({"slot": slot}, getattr(one, name)) for slot, one in slots.items()]
        yield Family(f"leverframe_modbus_{name}_total", COUNTER, words, samples)
    yield Family(
        "leverframe_modbus_exceptions_total",
        COUNTER,
        "Requests rejected by the module, by exception code.",
        [
            ({"slot": slot, "code": code}, count)
            for slot, one in slots.items()
            for code, count in one.exceptions.items()
        ],
    )
    for name, words in (
        ("last", "Duration of the module's last response."),
        ("mean", "Average duration of the module's responses."),
    ):
        seconds = ((slot, getattr(one, f"{name}_answer_s")) for slot, one in slots.items())
        yield Family(
            f"leverframe_modbus_{name}_answer_seconds",
            GAUGE,
            words,
            [({"slot": slot}, took_s) for slot, took_s in seconds if took_s is not None],
        )


class CountedServer(Protocol):
    """A server whose connections and answers are counted."""

    state: ServerState
    descriptors: DescriptorBudget

    @property
    def connection_count(self) -> int: ...


def server_families(server: CountedServer) -> Iterable[Family]:
    state = server.state
    yield Family(
        "leverframe_http_requests_total",
        COUNTER,
        "Answered requests by status.",
        [({"status": str(status)}, count) for status, count in sorted(state.answers.items())],
    )
    yield gauge("leverframe_http_connections", "Open connections.", server.connection_count)
    descriptors = server.descriptors
    yield gauge(
        "leverframe_client_connections",
        "Client connections to all servers together, TLS handshakes included.",
        descriptors.clients.used,
    )
    yield gauge(
        "leverframe_client_connections_max",
        "Maximum of client connections, derived from the limit of open files.",
        descriptors.clients.limit,
    )
    yield Family(
        "leverframe_connections_refused_total",
        COUNTER,
        "Refused connections, by server, and by reason: the address had used up its share, or no"
        " connection was left.",
        [
            ({"server": name, "reason": reason}, descriptors.refused[name, reason])
            for name in ("http", TLS, "modbus")
            for reason in (SHARE, FULL)
        ],
    )
    yield gauge(
        "leverframe_loop_lag_seconds",
        "Delay of the event loop, measured once a second while a client is connected.",
        state.lag_s,
    )
    yield gauge(
        "leverframe_loop_longest_lag_seconds",
        "Largest measured delay of the event loop.",
        state.longest_lag_s,
    )


def stream_families(streams: StreamShares | None) -> Iterable[Family]:
    """Count the streams of a controller; `streams` is None before the first request."""
    used, refused = (0, 0) if streams is None else (streams.used, streams.refused)
    yield gauge("leverframe_streams", "Open streams of the live state.", used)
    yield counter(
        "leverframe_streams_refused_total",
        "Streams refused because the account or the address had used up its share.",
        refused,
    )


def process_families() -> Iterable[Family]:
    yield counter(
        "process_cpu_seconds_total", "Processor time used by the process.", process_time()
    )
    try:
        import resource
    except ModuleNotFoundError:
        return  # Windows
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield gauge(
        "process_max_resident_memory_bytes",
        "Peak memory of the process.",
        most if sys.platform == "darwin" else most * 1024,
    )
