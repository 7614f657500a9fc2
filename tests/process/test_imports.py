"""What a controller loads: little at its start, and nothing on the way of a request."""

import subprocess
import sys

#: Large libraries of features that most controllers do not use; each is loaded beside the loop
#: when its feature is switched on.
LARGE = {
    "PIL",
    "anyio",
    "argon2",
    "certifi",
    "cryptography",
    "httpx",
    "luma",
    "pyasn1",
    "pysnmp",
    "serialx",
    "smtplib",
    "zeroconf",
}


def test_the_start_loads_no_library_of_a_feature_that_is_off() -> None:
    program = "import leverframe.process.serve, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert {name.partition(".")[0] for name in done.stdout.split()} & LARGE == set()
