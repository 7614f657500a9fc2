"""Files in `examples/` that other programs read: every name in them exists."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from docs._ext.metrics_page import metrics_page
from tests.conftest import PROGRAM_FOLDERS
from tests.docs.blocks import DOCS, PROJECT, blocks
from tests.docs.test_blocks_are_sound import PATHS, commands_in, names_at

EXAMPLES = PROJECT / "examples"
_METRIC = re.compile(r"\b(?:leverframe|process)_\w+")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


DASHBOARDS = sorted((EXAMPLES / "grafana").iterdir())
RULES = EXAMPLES / "prometheus" / "fleet-rules.yml"


def metrics_in(path: Path) -> set[str]:
    """Return the metrics in the queries of a file."""
    text = path.read_text(encoding="utf-8")
    queries = re.findall(r'"(?:expr|query)": "(.*)"', text) + re.findall(r"expr: (.*)", text)
    return {name for query in queries for name in _METRIC.findall(query)}


@pytest.mark.parametrize(
    ("path", "least"),
    [
        *((dashboard, 12) for dashboard in DASHBOARDS),
        (RULES, 10),
        (DOCS / "how-to" / "prometheus-grafana.md", 3),
    ],
    ids=lambda it: it.name if isinstance(it, Path) else "",
)
def test_dashboards_and_alarms_use_existing_metrics(path: Path, least: int) -> None:
    used = metrics_in(path)
    assert len(used) >= least
    assert used - set(_METRIC.findall(metrics_page())) == set()


def test_every_cluster_metric_is_charted_or_alarmed() -> None:
    metrics = {name for name in _METRIC.findall(metrics_page()) if "_cluster_" in name}
    drawn = set().union(*map(metrics_in, (*DASHBOARDS, RULES)))
    assert metrics - drawn == set()


@pytest.mark.needs_program("promtool")
def test_prometheus_accepts_the_rules() -> None:
    done = subprocess.run(
        ["promtool", "check", "rules", str(RULES)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": PROGRAM_FOLDERS},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{RULES.read_text('utf-8').count('- alert:')} rules found" in done.stdout


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda it: it.stem)
def test_panels_of_a_dashboard_do_not_overlap(path: Path) -> None:
    dashboard = read(path)
    cells: list[tuple[int, int]] = []
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        columns = range(place["x"], place["x"] + place["w"])
        rows = range(place["y"], place["y"] + place["h"])
        cells += [(x, y) for x in columns for y in rows]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_flow_is_connected_and_uses_existing_requests() -> None:
    path = EXAMPLES / "node-red" / "leverframe.json"
    nodes = {node["id"]: node for node in read(path)}
    ends = {end for node in nodes.values() for wires in node.get("wires", ()) for end in wires}
    assert ends <= nodes.keys()
    text = path.read_text(encoding="utf-8")
    paths = set(re.findall(r"\}(/[\w./]+)", text))
    assert paths
    assert paths <= PATHS
    assert text.count("127.0.0.1") == 1, "the address is in one place"
    sent = {f"/outs.cgi?{x}" for x in re.findall(r"[\"`](out\d=)", text)}
    assert sent
    assert all(name in names_at(path) for x in sent for path, name in commands_in(x))


def test_quoted_lines_of_a_page_are_in_the_example() -> None:
    files = {
        "js": EXAMPLES / "javascript" / "twin.test.mjs",
        "java": EXAMPLES / "java" / "TwinTest.java",
        "go": EXAMPLES / "go" / "twin_test.go",
    }
    page = DOCS / "how-to" / "other-languages.md"
    shown = {block.language: block.text for block in blocks(page) if block.language in files}
    assert shown.keys() == files.keys()
    for language, text in shown.items():
        lines = {line.strip() for line in files[language].read_text("utf-8").splitlines()}
        assert {line.strip() for line in text.splitlines()} - lines == set()


def test_examples_of_other_languages_use_existing_requests() -> None:
    files = [x for y in ("javascript", "java", "go") for x in (EXAMPLES / y).iterdir()]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
    targets = re.findall(r"[\"`}](/(?:\w+/)*\w+(?:\.\w+)?)(?=[\"`?])", text)
    assert len(set(targets)) > 6
    assert set(targets) - PATHS == set()
