"""Run the project's checks one after the other and sum them up.

`checks.py check` runs the quick ones (lint, format, types, known weaknesses of the code and of its
dependencies, layers), `checks.py test` all of them.
A failing check does not stop the later ones: one run shows everything there is to mend. The exit
status is 0 only if every check passed.
"""

import subprocess
import sys
import time

LINT = {
    "lint": ["ruff", "check"],
    "format": ["ruff", "format", "--check"],
    "types": ["mypy"],
    # What it finds with little confidence are assertions and SQL without any text from outside.
    "security": ["bandit", "-q", "-r", "-ll", "-ii", "src"],
    "weakness": ["tools.audit_dependencies"],
    "pages": ["tools.pages"],
}
CHECKS = {
    "check": LINT | {"layers": ["pytest", "-q", "tests/test_layers.py"]},
    "test": LINT
    | {
        "tests": ["pytest", "-n", "2", "--cov", "--cov-report=term"],
        "coverage": ["tools.coverage_goals"],
    },
}


def run_check(name: str, command: list[str]) -> tuple[bool, float]:
    """Run one tool of this Python environment; whether it passed, and its seconds."""
    print(f"\n--- {name}: {' '.join(command)}", flush=True)
    start = time.monotonic()
    passed = subprocess.run([sys.executable, "-m", *command], check=False).returncode == 0
    return passed, time.monotonic() - start


def main(selection: str) -> int:
    """Run a selection of checks and print one line for each."""
    results = {name: run_check(name, command) for name, command in CHECKS[selection].items()}
    print("\n--- summary")
    for name, (passed, seconds) in results.items():
        print(f"{name:8} {'passed' if passed else 'FAILED'} {seconds:6.1f} s")
    return 0 if all(passed for passed, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
