"""Twins where the system is not Linux: what it lacks is taken away before Leverframe is loaded.

What only another kernel can show (its sockets, its files) is not shown here.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Runs before a program: loads what Python itself needs, then takes away what the platform lacks.
WITHOUT = """
import asyncio, logging.handlers, multiprocessing, os, select, shutil, signal, socket, sqlite3, ssl
import subprocess, sys, sysconfig, tempfile, urllib.request

sysconfig.get_config_vars()

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

for name in {modules!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
sys.platform = {platform!r}
for module, names in {names!r}.items():
    for name in names.split():
        vars(sys.modules[module]).pop(name, None)
"""

#: Its usual event loop watches no sockets, and the one that does starts no processes. No folder is
#: opened as a file.
MANNERS_OF_WINDOWS = """
def not_there(*_, **__):
    raise NotImplementedError

class ProactorLike(asyncio.SelectorEventLoop):
    add_reader = add_writer = remove_reader = remove_writer = not_there

asyncio.SelectorEventLoop.subprocess_exec = not_there
asyncio.SelectorEventLoop.add_signal_handler = not_there
asyncio.new_event_loop = ProactorLike

open_any = os.open

def open_file(path, *rest, **named):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return open_any(path, *rest, **named)

os.open, shutil._use_fd_functions = open_file, False
"""

WINDOWS = (
    WITHOUT.format(
        platform="win32",
        modules={"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop"},
        names={
            "os": "chown chroot fchmod fchown fdatasync fork forkpty geteuid getgid getgroups "
            "getloadavg getuid initgroups killpg major mkfifo nice pathconf pread pwrite "
            "register_at_fork sched_getaffinity sched_setaffinity setgid setsid setuid sync "
            "sysconf uname O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC",
            "signal": "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGUSR1 SIGUSR2 SIGXCPU "
            "pthread_sigmask setitimer sigwait",
            "socket": "AF_NETLINK AF_PACKET CMSG_LEN CMSG_SPACE MSG_DONTWAIT "
            "MSG_NOSIGNAL SCM_RIGHTS SOCK_CLOEXEC SOCK_NONBLOCK SO_REUSEPORT",
            "select": "epoll poll",
        },
    )
    + MANNERS_OF_WINDOWS
)
MACOS = WITHOUT.format(
    platform="darwin",
    modules={"spwd"},
    names={
        "os": "fdatasync getrandom posix_fadvise posix_fallocate prlimit sched_getaffinity "
        "sched_setaffinity splice O_DIRECT O_TMPFILE",
        "signal": "SIGPWR SIGSTKFLT",
        "socket": "AF_NETLINK AF_PACKET MSG_NOSIGNAL SOCK_CLOEXEC SOCK_NONBLOCK",
        "select": "epoll",
    },
)

#: What tests do with twins.
TESTS = """
from urllib.request import urlopen
from leverframe.testing import Fleet, Twin, TwinRefused, faults

with Twin(modbus=True, snmp=True, accounts={"admin": "a long word"}) as twin:
    twin.rule(when="DS1 >= 30", then="eMail 1")
    twin.sense(DS1=31)
    assert len(twin.outbox.emails) == 1
    assert '"ds1":"310"' in twin.get("/json/all.json")
    assert "process_cpu_seconds_total" in twin.get("/metrics")
    twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
    twin.until("OUT0 = 0")
    moment = twin.snapshot()
    twin.advance("1h")
    twin.restore(moment)
    with twin.fork() as other:
        assert other.now == twin.now
    twin.reset()
    assert twin.settings["rules"] == []

with Twin(tls=True) as twin:
    assert twin.get("/json/status.json")

with Twin() as twin:
    for fault in (faults.status(503), faults.reset_after(300)):
        with twin.fault(fault, times=1):
            try:
                twin.get("/json/all.json")
            except (OSError, TwinRefused):
                pass
            else:
                raise AssertionError(fault)
    with twin.fault(faults.refuse()):
        try:
            urlopen(twin.url, timeout=5)
        except OSError:
            pass
    assert urlopen(twin.url + "/outs.cgi").status == 200

with Fleet(2) as fleet:
    fleet.send("outs.cgi?out0=1")
    fleet.advance("1h")
    assert [twin.state["OUT0"] for twin in fleet] == [1, 1]
"""


def run(platform: str, program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program where Python finds the platform first, also in the processes that it starts."""
    (folder / "sitecustomize.py").write_text(platform)
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


#: Work that takes a process of its own elsewhere, the handle of a socket, and a port.
PECULIAR_TO_WINDOWS = """
import asyncio, json, socket
from urllib.request import urlopen
from leverframe.server.fair_shares import DescriptorBudget
from leverframe.server.http.server import listening_sockets
from leverframe.testing import Twin

with Twin() as twin:
    twin.command("outs.cgi?ortime=0600")
    with urlopen(twin.url + "/api/what-if?for=1h", b"outs.cgi?out0=1", timeout=10) as answer:
        tried = json.loads(answer.read())
    assert [change["text"] for change in tried["differing"]] == ["OUT0 on", "OUT0 off"]
    assert twin.state["OUT0"] == 0
assert DescriptorBudget().lease("http", "127.0.0.1", 50_000) is not None
(listening,) = asyncio.run(listening_sockets("127.0.0.1", 0))
assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0
"""


#: A process with a folder on disk.
PECULIAR_TO_MACOS = """
with Twin.process() as twin:
    twin.command("stm.cgi?sname=Cellar")
    twin.kill()
    twin.start()
    assert twin.settings["name"] == "Cellar"
"""


@pytest.mark.parametrize(
    ("platform", "program"),
    [
        pytest.param(WINDOWS, TESTS + PECULIAR_TO_WINDOWS, id="windows"),
        pytest.param(MACOS, TESTS + PECULIAR_TO_MACOS, id="macos", marks=pytest.mark.thorough),
    ],
)
def test_twins_need_no_linux(platform: str, program: str, tmp_path: Path) -> None:
    done = run(platform, program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


#: Pyodide: one thread, no processes, and of the packages only msgspec and tzdata.
BROWSER = (
    WITHOUT.format(
        platform="emscripten",
        modules={
            *{"_posixsubprocess", "fcntl", "grp", "pwd", "resource", "syslog", "termios", "uvloop"},
            *{"PIL", "aiosmtplib", "argon2", "cryptography", "gmqtt", "httptools", "httpx"},
            *{"icmplib", "pysnmp", "rich", "serialx", "tomlkit", "zeroconf"},
        },
        names={"os": "fork forkpty posix_spawn", "signal": "pthread_sigmask sigwait"},
    )
    + """
import threading

def not_there(*_, **__):
    raise RuntimeError("can't start new thread")

async def run_here(function, *values, **named):
    return function(*values, **named)

threading.Thread.start = asyncio.create_subprocess_exec = not_there
asyncio.to_thread = run_here
"""
)
#: Pages, commands, rules, virtual time, and work that takes a process of its own elsewhere.
IN_A_TAB = """
import asyncio
import json
from leverframe.testing.in_tab import TabTwin

class Client:
    def __init__(self):
        self.body, self.done = b"", asyncio.Event()

    def begin(self, status, headers):
        self.status = status

    def send(self, piece):
        self.body += piece

    def finish(self):
        self.done.set()

    lose = finish

async def ask(twin, target, method="GET", body=b""):
    client = Client()
    twin.answer(1, method, target, [], body, client)
    await client.done.wait()
    return client.status, client.body

async def main():
    twin = await TabTwin.start()
    for target in ("/", "/api/start", "/api/rules", "/api/timeline", "/metrics"):
        status, _ = await ask(twin, target)
        assert status == 200, target
    rule = b"when DS1 >= 30 then OUT1 on"
    assert (await ask(twin, "/api/rules", "POST", rule))[0] == 200
    await ask(twin, "/outs.cgi?ortime=0600&out0=1")
    await ask(twin, "/sim.cgi?DS1=31&advance=3600")
    state = json.loads((await ask(twin, "/api/state"))[1])
    assert (state["OUT0"], state["OUT1"]) == (0, 1)
    status, tried = await ask(twin, "/api/what-if?for=1h", "POST", b"outs.cgi?out0=1")
    assert [one["text"] for one in json.loads(tried)["differing"]] == ["OUT0 on", "OUT0 off"]
    form = b"username=admin&password=x"
    status, refused = await ask(twin, "/post.cgi?signin", "POST", form)
    assert (status, b"package argon2" in refused) == (501, True), refused
    await twin.close()

asyncio.run(main())
"""


def test_twin_in_a_tab_needs_no_threads_processes_or_compiled_packages(tmp_path: Path) -> None:
    done = run(BROWSER, IN_A_TAB, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


NO_HTTPTOOLS = WITHOUT.format(platform=sys.platform, modules={"httptools"}, names={})
PAST_THE_NETWORK = """
from leverframe.testing import Twin, TwinRefused

with Twin() as twin:
    twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
    twin.until("OUT0 = 0")
    twin.reset()
    try:
        twin.get("/outs.cgi")
    except TwinRefused as error:
        print(error)
"""


def test_twin_without_httptools_is_there_for_its_test(tmp_path: Path) -> None:
    done = run(NO_HTTPTOOLS, PAST_THE_NETWORK, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "httptools is not installed" in done.stdout


def test_on_windows_a_controller_with_a_folder_is_refused_in_one_sentence(tmp_path: Path) -> None:
    program = "from leverframe.__main__ import main; main(['run', '--data', 'folder'])"
    done = run(WINDOWS, program, tmp_path)
    assert "The data folder folder cannot be used: Windows" in done.stderr
    assert "Traceback" not in done.stderr
