"""Run the commands of a page in one shell, one folder and with free ports.

Small programs come first on the path. `leverframe` assigns free ports to a controller if neither
its options nor its file name one. `curl` fails on a refusal, and waits like `mbpoll` for a port
that is still being opened. Ports in the page are replaced by free ones. The output of a block goes
into a separate file. Its effects are checked afterwards, for a limited time, because some need a
moment.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from shlex import quote

from tests.conftest import PROGRAM_FOLDERS
from tests.docs.blocks import PROJECT, SHELL, Block
from tests.ports import free_ports

PATIENCE_S = 300
#: Default ports of a controller, and further ports of pages.
USUAL_PORTS = {"port": 8080, "modbus_port": 5020, "snmp_port": 1161, "tftp_port": 1069}
PORTS = (*USUAL_PORTS.values(), *range(8081, 8090), *range(5021, 5024), *range(1162, 1165), 1883)

_LEVERFRAME = """\
#!/usr/bin/env bash
config=/dev/null
for word in "$@"; do
  [ "${{before-}}" = --config ] && config=$word
  before=$word
done
if [ "${{1-}}" = run ]; then
  shift
  set -- run {options} "$@"
elif [ "${{1-}} ${{2-}}" = "fleet run" ]; then
  shift 2
  set -- fleet run --port {port} --modbus-port {modbus_port} "$@"
elif [ "${{1-}}" = rule ]; then
  set -- "$@" --to http://127.0.0.1:{port}
elif [ "${{1-}}" = fleet ] && [ "${{2-}}" != simulate ]; then
  set -- "$@" --node http://127.0.0.1:{port}
  # On a busy machine a node takes longer to start than a page waits.
  for _ in $(seq 600); do
    (exec 3<> /dev/tcp/127.0.0.1/{port}) 2> /dev/null && break
    sleep 0.1
  done
fi
exec {program} -m leverframe "$@"
"""
_OPENING = """\
set -euo pipefail
# As in any sh; jobs are those of bash, because sh has none without a terminal.
set +B
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
exec 3>&1 4>&2
"""
#: `expect WHERE TEXT`, see `blocks.py`.
_EXPECT = """\
expect() {
  for _ in $(seq TRIES); do
    case $1 in
    said) found=$(cat .block) ;;
    /*) found=$(curl "http://127.0.0.1:8080$1" 2>&1 || true) ;;
    [0-9]*/*) found=$(curl "http://127.0.0.1:$1" 2>&1 || true) ;;
    *) found=$(cat "$1" 2>&1 || true) ;;
    esac
    case $found in *"$2"*) return ;; esac
    sleep 0.2
  done
  printf 'NO EFFECT: %s does not have %s, but:\\n%s\\n' "$1" "$2" "$found"
  return 1
}
"""
_CURL = """\
#!/usr/bin/env bash
exec {program} --silent --show-error --fail-with-body --max-time 30 \\
  --retry 60 --retry-delay 1 --retry-connrefused "$@"
"""

_MBPOLL = """\
#!/usr/bin/env bash
for _ in $(seq 60); do
  said=$({program} "$@" 2>&1) && result=0 || result=$?
  [[ $said == *"Connection refused"* ]] || break
  sleep 0.5
done
echo "$said"
exit $result
"""


def run_page(
    blocks: list[Block], folder: Path, patience_s: int = 60
) -> subprocess.CompletedProcess[str]:
    """Run the blocks of one page in an empty folder beside `examples` and `packaging`.

    An effect may appear up to `patience_s` after its command.
    """
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    _write_programs(folder / ".programs", ports)
    for name in ("examples", "packaging"):
        (folder / name).symlink_to(PROJECT / name)
    expect = _EXPECT.replace("TRIES", str(5 * patience_s))
    script = _OPENING + expect + "".join(map(_step, blocks))
    with (folder / ".said").open("wb") as said:
        shell = subprocess.Popen(
            # Ends even if the tests are killed.
            ["timeout", str(PATIENCE_S), "bash", "-c", exchange_ports(script, ports)],
            cwd=folder,
            env={
                **os.environ,
                "PATH": f"{folder / '.programs'}:{PROGRAM_FOLDERS}",
                # An installation has it; a clone may be older than its installation.
                "PYTEST_PLUGINS": "leverframe.testing.pytest_plugin",
            },
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            # A separate group, so that background processes of the page end with it.
            start_new_session=True,
        )
    try:
        shell.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    said = [folder / ".said", *folder.glob(".block")]
    text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in said)
    return subprocess.CompletedProcess(script, shell.returncode, text)


def _step(block: Block) -> str:
    if not _is_run(block):
        return ""
    expected = "".join(f"expect {quote(where)} {quote(text)}\n" for where, text in block.effects)
    # Append, because background processes keep writing there.
    begun, ended = ": > .block; exec >> .block 2>&1", "exec >&3 2>&4\ncat .block"
    return f"\necho '### {block}'\n{begun}\n{block.text}\n{ended}\n{expected}"


def _is_run(block: Block) -> bool:
    return block.language in SHELL and not block.not_run


def exchange_ports(text: str, ports: dict[int, int]) -> str:
    return re.sub(r"(?<![\d.])\d{4}(?!\d)", lambda x: str(ports.get(int(x[0]), x[0])), text)


def _write_programs(folder: Path, ports: dict[int, int]) -> None:
    options = " ".join(
        f"$(grep -qs '^{key} *=' \"$config\" || echo --{key.replace('_', '-')} {ports[usual]})"
        for key, usual in USUAL_PORTS.items()
    )
    programs = {
        "leverframe": _LEVERFRAME.format(
            options=options,
            port=ports[8080],
            modbus_port=ports[5020],
            program=sys.executable,
        ),
        "curl": _CURL.format(program=shutil.which("curl", path=PROGRAM_FOLDERS)),
        "mbpoll": _MBPOLL.format(program=shutil.which("mbpoll", path=PROGRAM_FOLDERS)),
        "python3": f'#!/usr/bin/env bash\nexec {sys.executable} "$@"\n',
    }
    folder.mkdir()
    for name, text in programs.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
