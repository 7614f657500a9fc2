"""Every benchmark, one after the other, in one report: `bench/RESULTS.md`.

Each benchmark is a script of its own that prints a Markdown table with its reference measured in
the same run, because machines are noisy and only ratios travel.

    python bench/run.py [NAME ...]
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
#: Script, heading, arguments.
BENCHMARKS = (
    ("http_load", "HTTP", ()),
    ("http_accounts", "HTTP with accounts", ()),
    ("engine_speed", "Engine and virtual time", ()),
    ("outbox", "Outbox", ()),
    ("notify", "MQTT", ()),
    ("modbus_tcp", "Modbus TCP", ()),
)


def machine() -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True
    ).stdout.strip()
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, commit {commit or 'unknown'}"
    )


def run(name: str, arguments: tuple[str, ...]) -> str:
    done = subprocess.run(
        [sys.executable, str(HERE / f"{name}.py"), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def main() -> None:
    wanted = sys.argv[1:] or [name for name, _, _ in BENCHMARKS]
    known = {name for name, _, _ in BENCHMARKS}
    unknown = set(wanted) - known
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(sorted(unknown))}; there are {sorted(known)}")
    parts = ["# Results", f"Measured with `make bench` on: {machine()}."]
    for name, heading, arguments in BENCHMARKS:
        if name in wanted:
            print(f"{heading} ...", file=sys.stderr, flush=True)
            parts += [f"## {heading}", run(name, arguments)]
    RESULTS.write_text("\n\n".join(parts) + "\n")
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
