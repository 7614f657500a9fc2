"""`/metrics`, read by the parser that Prometheus' own client library has."""

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from leverframe.core.labels import ENERGIES, READINGS, STATES
from leverframe.core.settings import AccessSettings
from leverframe.devices.wire.prometheus import GAUGE, Family, prometheus_text
from leverframe.server.routes.metrics import server_families
from leverframe.testing import LoopTwin
from tests.server.http.http_peer import serving


def samples_in(text: bytes) -> list[Sample]:
    families = list(text_string_to_metric_families(text.decode()))
    assert len({family.name for family in families}) == len(families)
    assert all(family.documentation and family.type != "unknown" for family in families)
    return [sample for family in families for sample in family.samples]


async def samples_of(twin: LoopTwin) -> list[Sample]:
    return samples_in((await twin.ok("/metrics")).body)


def value(samples: list[Sample], name: str, /, **labels: str) -> float:
    (found,) = [
        sample.value
        for sample in samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return found


async def test_every_value_that_is_not_absent_is_there_and_parses() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?DS1=21.5&INPD2=0&m3=-7.25&VCC=12")
    samples = await samples_of(twin)
    values = twin.controller.engine.values
    for label in READINGS:
        name = "leverframe_energy_total" if label in ENERGIES else "leverframe_reading"
        report = [x.value for x in samples if x.name == name and x.labels["label"] == label]
        assert report == ([] if values[label] is None else [values[label]]), label
    for label in STATES:
        assert value(samples, "leverframe_state", label=label) == values[label]
    assert value(samples, "leverframe_reading", label="DS1", unit="°C") == 21.5
    assert value(samples, "leverframe_pwm_duty_percent", label="PWM0") == 50.0


async def test_rules_are_labelled_by_number_and_name() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/inpa.cgi?event=0*104*0*1*0*0*0*0*0*0*0*0*1*0*0*0")
    await twin.ok("/inpa.cgi?eventon=0*1")
    await twin.ok("/inpa.cgi?rulename=0*Night%20heating")
    await twin.ok("/outs.cgi?vout0=1")
    samples = await samples_of(twin)
    assert value(samples, "leverframe_rule_enabled", rule="1", name="Night heating") == 1
    assert value(samples, "leverframe_rule_met", rule="1", name="Night heating") == 1


async def test_outbox_is_reported_by_channel() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?http1=example.org/x")
    await twin.ok("/inpa.cgi?event=0*104*0*1*0*0*24*0*0*0*0*0*1*0*0*1")
    await twin.ok("/inpa.cgi?eventon=0*1")
    await twin.ok("/outs.cgi?vout0=1")
    samples = await samples_of(twin)
    assert value(samples, "leverframe_outbox_captured_total", channel="http1") == 1
    assert value(samples, "leverframe_outbox_waiting", channel="mqtt") == 0


async def test_requests_are_counted_by_status_and_the_loop_is_watched() -> None:
    twin = await LoopTwin.start()
    async with serving(twin.web.handle) as running:
        twin.controller.figures.append(lambda: server_families(running.server))
        client = await running.connect()
        for path in ("/outs.cgi?out0=1", "/outs.cgi?out0=1", "/nothing"):
            await client.ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        samples = await samples_of(twin)
    assert value(samples, "leverframe_http_requests_total", status="200") == 2
    assert value(samples, "leverframe_http_requests_total", status="404") == 1
    assert value(samples, "leverframe_http_connections") == 1
    assert value(samples, "leverframe_loop_lag_seconds") >= 0


async def test_only_the_administrator_reads_the_metrics() -> None:
    twin = await LoopTwin.start()
    settings = twin.controller.engine.settings
    assert settings.access == AccessSettings()
    await twin.ok("/metrics")
    await twin.ok("/stm.cgi?auth=11YWRtaW4=*c2VjcmV0MTIz*dXNlcg==*c2VjcmV0MTIz")
    await twin.refused("/metrics", 401)


def test_any_text_of_a_label_reads_back() -> None:
    text = 'a "quoted" \\ and\nbroken line'
    (sample,) = samples_in(
        prometheus_text([Family("x", GAUGE, "An x.", [({"name": text}, 1.5), ({}, None)])])
    )
    assert sample.labels == {"name": text}
    assert sample.value == 1.5
