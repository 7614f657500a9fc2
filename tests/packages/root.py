"""A clean Debian as a folder, run by chroot, without network.

Commands run in namespaces of their own, so that nothing is left mounted or running at the end.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.package_trials import archive_of

PATIENCE_S = 600
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    # pip installs from the wheels that are brought here.
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": "/root/wheels",
}
#: Mounts what programs expect and becomes the first process, which reaps all others.
_INIT = """
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
ip link set lo up
exec chroot "$1" bash -c 'sleep infinity & wait'
"""


class Root:
    """A running Debian: its folder, and the process whose namespaces its commands share."""

    def __init__(self, folder: Path, first_process: int) -> None:
        self.folder = folder
        self._process = first_process

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command; return how it ended, with all that it printed."""
        within = ["nsenter", f"--target={self._process}", "--all", "--root", "--wd"]
        return subprocess.run(
            [*within, *command],
            env={**_ENVIRONMENT, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )

    def succeed(self, *command: str, **environment: str) -> str:
        """Run a command that must succeed; return all that it printed."""
        done = self.run(*command, **environment)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
        return done.stdout

    def shell(self, script: str, **environment: str) -> str:
        return self.succeed("sh", "-ec", script, **environment)

    def path(self, name: str) -> Path:
        """Return the path outside of a file inside."""
        return self.folder / name.lstrip("/")

    def bring(self, file: Path) -> str:
        """Copy a file into the home of root; return its path inside."""
        shutil.copy(file, self.folder / "root")
        return f"/root/{file.name}"

    def size_mb(self, *places: str) -> float:
        """Return the size of folders on disk."""
        printed = self.succeed("du", "-sk", *places)
        return sum(int(line.split()[0]) for line in printed.splitlines()) / 1024


@contextmanager
def run_root(suite: str, folder: Path) -> Iterator[Root]:
    """Unpack a release of Debian into a folder and run it, without network."""
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-xf", archive_of(suite), "-C", folder], check=True)
    command = [
        "setpriv",
        "--pdeathsig=KILL",
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--ipc",
        "--uts",
        "--fork",
        "--kill-child",
    ]
    command += ["bash", "-c", _INIT, "-", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as outer:
        try:
            yield Root(folder, _first_process(outer, folder))
        finally:
            outer.kill()


def _first_process(outer: "subprocess.Popen[bytes]", folder: Path) -> int:
    """Wait until the first process is inside; return its number outside."""
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
    while outer.poll() is None:
        for number in children.read_text().split():
            if Path(f"/proc/{number}/root").readlink() == folder:
                return int(number)
        time.sleep(0.01)
    sys.exit("The namespaces of a clean Debian could not be created; this needs root.")
