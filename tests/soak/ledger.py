"""What happened in a soak: counts, which faults are there, and what must not have happened."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

#: A change that was asked for during a fault may be answered so much later.
AFTERMATH_S = 6.0


class Ledger:
    def __init__(self, name: str) -> None:
        self.name = name
        #: What was done and seen, by what it is.
        self.counts: Counter[str] = Counter()
        #: The greatest of each figure.
        self.greatest: dict[str, float] = {}
        self.violations: list[str] = []
        self._began = time.monotonic()
        self._present: Counter[str] = Counter()
        self._ended: dict[str, float] = {}

    def violation(self, sentence: str) -> None:
        line = f"{self.name}, second {time.monotonic() - self._began:.0f}: {sentence}"
        self.violations.append(line)
        print(f"VIOLATION {line}", flush=True)

    def require(self, holds: bool, sentence: str) -> None:
        self.counts["checks"] += 1
        if not holds:
            self.violation(sentence)

    def note(self, figure: str, value: float) -> None:
        self.greatest[figure] = max(value, self.greatest.get(figure, value))

    @contextmanager
    def fault(self, kind: str) -> Iterator[None]:
        self.counts[f"fault: {kind}"] += 1
        self._present[kind] += 1
        try:
            yield
        finally:
            self._present[kind] -= 1
            self._ended[kind] = time.monotonic()

    def is_troubled(self, *kinds: str, aftermath_s: float = AFTERMATH_S) -> bool:
        """Is one of these faults there, or was just now?"""
        now = time.monotonic()
        return any(
            self._present[kind] or now - self._ended.get(kind, -1e9) < aftermath_s for kind in kinds
        )

    def line(self) -> str:
        faults = sum(n for kind, n in self.counts.items() if kind.startswith("fault: "))
        figures = ", ".join(f"{name} {value:.0f}" for name, value in self.greatest.items())
        return (
            f"{self.name}: {self.counts['requests']} requests, {self.counts['checks']} checks,"
            f" {faults} faults, {len(self.violations)} violations; most: {figures}"
        )

    def summary(self) -> str:
        lines = [self.name, *(f"  {n:8} {what}" for what, n in sorted(self.counts.items()))]
        lines += [f"  {value:8.0f} greatest {figure}" for figure, value in self.greatest.items()]
        return "\n".join([*lines, f"  {len(self.violations):8} violations", *self.violations])
