"""Run the commands of documents that install, which the tests leave out.

    python -m tests.docs.installing

needs some minutes and the package index. Everything runs in a clone of the last commit in a
temporary folder: /etc, /opt and /var are folders in it. Two small programs replace systemd and
start the command of the unit in a network namespace.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.docs.blocks import PROJECT, SHELL, Block, blocks
from tests.docs.shell_page import PORTS, exchange_ports
from tests.ports import free_ports

PATIENCE_S = 600
#: In the order in which a reader would meet them.
PAGES = ("README.md", "docs/how-to/service.md", "docs/how-to/several-controllers.md")
TUTORIAL = "docs/tutorial.md"
INSTALLING = re.compile(r"pip install|systemctl")

_SYSTEMCTL = """\
#!/usr/bin/env bash
# Starts the service of each name as its unit says, and waits until it answers.
set -eu
root={root}
case $1 in
enable)
  for name in "${{@:3}}"; do
    unit=$root/etc/systemd/system/leverframe@.service
    command=$(sed -n "s|%i|${{name#*@}}|g; s| /| $root/|g; s|^ExecStart=|$root|p" $unit)
    mkdir -p $root/var/lib/leverframe
    said=$root/journal-$name
    unshare --map-root-user --net -- sh -c "ip link set lo up && exec $command" > $said 2>&1 &
    for _ in $(seq 300); do
      grep -q 'answers at' $said && continue 2
      sleep 0.1
    done
    cat $said
    exit 1
  done ;;
daemon-reload | list-units | edit) ;;
*) exit 1 ;;
esac
"""
_JOURNALCTL = "#!/usr/bin/env bash\ncat {root}/journal-$2\n"


def type_pages(root: Path, clone: Path) -> None:
    """Run the blocks of each page in one shell, as a user types them in the project folder."""
    _write_program(root / "bin" / "systemctl", _SYSTEMCTL.format(root=root))
    _write_program(root / "bin" / "journalctl", _JOURNALCTL.format(root=root))
    (root / "etc/systemd/system").mkdir(parents=True)
    (root / "opt").mkdir()
    # Use the packages that are installed here, not those of this script.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["PATH"] = f"{root / 'bin'}:{root / 'opt/leverframe/bin'}:{environment['PATH']}"
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    for page in PAGES:
        steps = [block for block in blocks(PROJECT / page) if _is_typed(block)]
        script = "set -euxo pipefail\n" + "\n".join(
            _move_paths(block.text, root) for block in steps
        )
        with subprocess.Popen(
            ["bash", "-c", exchange_ports(script, ports)],
            cwd=clone,
            env=environment,
            start_new_session=True,
        ) as shell:
            try:
                if shell.wait(PATIENCE_S):
                    raise SystemExit(f"The commands of {page} fail.")
            finally:
                # Background processes of the page end with it.
                with suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)


def _is_typed(block: Block) -> bool:
    if block.is_hidden:
        return block.text.strip().startswith(("cp examples/", "mkdir"))
    writes_files = "fleet" in block.text and "mkdir" in block.text
    return block.language in SHELL and bool(INSTALLING.search(block.text) or writes_files)


def _move_paths(text: str, root: Path) -> str:
    text = re.sub(r"(?<=[\s=>])/(etc|opt|var)/", rf"{root}/\1/", text)
    # There are no pins here, so the check fails.
    return re.sub(r"board check --config \S+", r"\g<0> || [ $? = 1 ]", text)


def make_run(clone: Path, command: str) -> None:
    """Run `make run` until it answers."""
    (port,) = free_ports(1)
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=clone,
        env={**os.environ, "LEVERFRAME_PORT": str(port), "LEVERFRAME_DATA": "tried"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        try:
            answered = any("answers at" in line for line in running.stdout)
        finally:
            os.killpg(running.pid, signal.SIGTERM)
    if not answered:
        raise SystemExit(f"{command} never answered.")


def _write_program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="leverframe-") as folder:
        root, clone = Path(folder) / "root", Path(folder) / "clone"
        root.mkdir()
        subprocess.run(["git", "clone", "--quiet", PROJECT, clone], check=True)
        (first,) = (x for x in blocks(PROJECT / TUTORIAL) if x.text.startswith("make run"))
        for command in ("make run", first.text.strip()):
            make_run(clone, command)
        type_pages(root, clone)
    print("All installations of the documents work.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
