"""Boot Debian's own kernel in QEMU and run `tests/kernel` on its GPIO, PWM, 1-Wire, I2C and IIO.

    python -m tools.kernel [--minutes 15] [ARGUMENTS OF PYTEST]

The exit status is that of the tests. The machine's output is in build/kernel/console.log.
"""

import argparse
import os
import platform
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tools.kernel.image import BUILD, FIRST_LINE, LAST_LINE, PROJECT, Architecture, write_image

CONSOLE = BUILD / "console.log"
SIGN_OF_LIFE_S = 20.0
MEMORY = "2048"


class Machine(NamedTuple):
    architecture: Architecture
    package: str
    command: tuple[str, ...]
    console: str


MACHINES = {
    # The GPIO chip of this machine is a PL061.
    "aarch64": Machine(
        Architecture("arm64", "aarch64"),
        "qemu-system-arm",
        ("qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a72"),
        "ttyAMA0",
    ),
    "x86_64": Machine(
        Architecture("amd64", "x86_64"),
        "qemu-system-x86",
        ("qemu-system-x86_64", "-machine", "q35", "-cpu", "max"),
        "ttyS0",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.kernel")
    parser.add_argument("--minutes", type=float, default=15, help="for the machine, then it ends")
    options, arguments = parser.parse_known_args()
    machine = MACHINES.get(platform.machine())
    if machine is None:
        print(f"There is no machine for {platform.machine()}; known are {', '.join(MACHINES)}.")
        return 2
    _install(machine)
    kernel, image = write_image(machine.architecture, arguments)
    return _boot(machine, kernel, image, options.minutes * 60)


def _install(machine: Machine) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    wanted = BUILD / "debian.txt"
    listed = (Path(__file__).parent / "debian.txt").read_text()
    wanted.write_text(f"{listed}{machine.package}\n")
    subprocess.run([PROJECT / "tools" / "debian-packages", wanted], check=True, timeout=900)


def _boot(machine: Machine, kernel: Path, image: Path, limit_s: float) -> int:
    """Run the machine until it ends or its time is over; print the output of the tests."""
    accelerators = ("-accel", "kvm") if os.access("/dev/kvm", os.W_OK) else ("-accel", "tcg")
    words = f"console={machine.console} quiet loglevel=3 systemd.show_status=no panic=-1"
    # With these protections, each system call would discard the emulation's translated code.
    words += " nokaslr kpti=off mitigations=off"
    words += " systemd.unit=leverframe-tests.service"
    command = [*machine.command, *accelerators, "-smp", "2", "-m", MEMORY, "-nographic"]
    command += ["-no-reboot", "-nic", "none", "-kernel", str(kernel), "-initrd", str(image)]
    command += ["-append", words]
    print(f"Booting {kernel.parent.name} ({' '.join(accelerators[1:])})", flush=True)
    began = time.monotonic()
    with (
        CONSOLE.open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process,
        selectors.DefaultSelector() as selector,
    ):
        assert process.stdout is not None
        selector.register(process.stdout, selectors.EVENT_READ)
        report = Report(began)
        try:
            while time.monotonic() < began + limit_s:
                if selector.select(SIGN_OF_LIFE_S):
                    data = os.read(process.stdout.fileno(), 65536)
                    log.write(data)
                    log.flush()
                    report.take(data)
                    if not data:
                        break
                else:
                    report.still_here()
            else:
                print(f"The time is over ({limit_s / 60:g} minutes); see {CONSOLE}.")
        finally:
            process.kill()
    if report.status is None:
        print(f"The machine ended without a result; see {CONSOLE}.")
        return 1
    print(f"{time.monotonic() - began:.0f} seconds")
    return report.status


class Report:
    """The output of the tests, extracted from the console."""

    def __init__(self, began: float) -> None:
        self.status: int | None = None
        self._began = began
        self._is_shown = False
        self._rest = b""

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take_line(line.decode(errors="replace").rstrip("\r"))

    def still_here(self) -> None:
        what = "testing" if self._is_shown else "booting"
        print(f"... {what}, {time.monotonic() - self._began:.0f} s", flush=True)

    def _take_line(self, line: str) -> None:
        if line.endswith(FIRST_LINE):
            self._is_shown = True
        elif LAST_LINE in line:
            self._is_shown, self.status = False, int(line.split()[-1])
        elif self._is_shown:
            print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
