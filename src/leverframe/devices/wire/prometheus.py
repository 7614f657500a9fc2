"""The text format that Prometheus reads: families of samples."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

GAUGE, COUNTER = "gauge", "counter"

Labels = Mapping[str, str]
#: A sample without a value is omitted.
Sample = tuple[Labels, float | None]
NO_LABELS: Labels = {}


class Family(Struct, frozen=True):
    name: str
    kind: str
    help: str
    samples: Iterable[Sample]


def gauge(name: str, words: str, value: float) -> Family:
    return Family(name, GAUGE, words, [(NO_LABELS, value)])


def counter(name: str, words: str, value: float) -> Family:
    return Family(name, COUNTER, words, [(NO_LABELS, value)])


def prometheus_text(families: Iterable[Family]) -> bytes:
    lines: list[str] = []
    for family in families:
        samples = [
            f"{family.name}{_format_labels(labels)} {value}"
            for labels, value in family.samples
            if value is not None
        ]
        if samples:
            lines.append(f"# HELP {family.name} {family.help}")
            lines.append(f"# TYPE {family.name} {family.kind}")
            lines += samples
    return ("\n".join(lines) + "\n").encode()


def _format_labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items()) + "}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
