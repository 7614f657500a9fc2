"""The machine's disk: Debian with systemd, Debian's kernel, and Leverframe as in its guide.

Everything comes from Debian's mirror and from the package index. Slow intermediate results are kept
in `build/kernel`, under names derived from their inputs.
"""

import compileall
import hashlib
import py_compile
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.kernel.initramfs import (
    Entry,
    archive_of,
    from_folder,
    from_tar,
    link,
    text_file,
    write_archive,
)

PROJECT = Path(__file__).parents[2]
HERE = Path(__file__).parent
BUILD = PROJECT / "build" / "kernel"
SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
PYTHON = "3.11"
ROOT_PACKAGES = ("systemd", "systemd-sysv", "libnss-systemd", "udev", "dbus", "kmod", "python3")
#: Packages beyond those of a controller: for pins and buses, and for the tests.
MORE_PACKAGES = ("gpiod", "smbus2", "luma-core", "luma-oled", "cbor2", "pytest", "pluggy")
MORE_PACKAGES += ("iniconfig", "packaging")
UNREAD = ("doc", "man", "locale", "info", "lintian", "bash-completion")
#: The folders of the program, as in the guide, and of its tests.
PROGRAM, TESTS = "opt/leverframe", "opt/tests"
COPIED_TESTS = ("__init__.py", "devices/__init__.py", "hardware/fake_i2c.py")
UNWANTED = shutil.ignore_patterns("__pycache__")
#: Units that only slow down the start.
NOT_NEEDED = (
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer"),
    *("e2scrub_all.timer", "systemd-tmpfiles-clean.timer", "systemd-tmpfiles-setup.service"),
    *("systemd-update-utmp.service", "systemd-random-seed.service", "systemd-sysusers.service"),
    *(
        "systemd-pstore.service",
        "systemd-journal-flush.service",
        "systemd-boot-system-token.service",
    ),
)
FIRST_LINE, LAST_LINE = "LEVERFRAME-TESTS-BEGIN", "LEVERFRAME-TESTS-END"

RUN_TESTS = f"""\
#!/bin/sh
cd /{TESTS}
echo {FIRST_LINE}
/{PROGRAM}/bin/python -m pytest -p no:cacheprovider --rootdir /{TESTS} \\
    --confcutdir=tests/kernel -o python_files='check_*.py' --override-ini=addopts= \\
    --color=no --tb=short --verbose -rs "$@" tests/kernel 2>&1
echo {LAST_LINE} $?
"""
UNIT = """\
[Unit]
Description=Tests of Leverframe on this kernel
Wants=basic.target dbus.socket
After=basic.target systemd-udev-trigger.service

[Service]
Type=oneshot
Environment=COLUMNS=100
ExecStart=/opt/tests/run
ExecStopPost=/bin/systemctl poweroff --force --force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
"""
START = f"""\
#!/{PROGRAM}/bin/python
import sys
from leverframe.__main__ import main
sys.exit(main())
"""
VENV = f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {PYTHON}\n"


class Architecture(NamedTuple):
    #: The name in Debian, and the name in Python's wheels.
    debian: str
    wheels: str


def kernel_kit(architecture: Architecture) -> Path:
    """Return the folder with Debian's kernel and modules; create it once."""
    made_from = [HERE / name for name in ("Kbuild", "make-kernel", "wanted.txt")]
    kit = BUILD / f"kernel-{architecture.debian}-{_key(made_from, SUITE)}"
    if not (kit / "vmlinuz").exists():
        print("Building Debian's kernel modules; takes some minutes, once", flush=True)
        fresh = _fresh(kit)
        packages = f"linux-headers-{architecture.debian},linux-source,make,xz-utils,kmod"
        places = {
            "Kbuild": "/modules/Kbuild",
            "make-kernel": "/make",
            "wanted.txt": "/modules/wanted",
        }
        hooks = ['mkdir "$1/modules"']
        hooks += [f"upload {HERE / name} {place}" for name, place in places.items()]
        hooks += ['chroot "$1" sh /make', f"sync-out /out {fresh}"]
        _debian(["--variant=apt", f"--include={packages}"], hooks, "-", "--format=null")
        fresh.rename(kit)
    return kit


def root_archive() -> Path:
    """Return the archive with Debian itself; create it once."""
    path = BUILD / f"debian-{_key([], SUITE, *ROOT_PACKAGES)}.cpio"
    if not path.exists():
        print("Installing Debian into an archive; takes a minute, once", flush=True)
        BUILD.mkdir(parents=True, exist_ok=True)
        tar, fresh = path.with_suffix(".tar"), path.with_suffix(".new")
        leave_out = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in UNREAD]
        include = f"--include={','.join(ROOT_PACKAGES)}"
        _debian(["--variant=minbase", include, *leave_out], [], str(tar), "--format=tar")
        with fresh.open("wb") as to:
            write_archive(from_tar(tar), to)
        tar.unlink()
        fresh.rename(path)
    return path


def python_packages(architecture: Architecture) -> Path:
    """Return the folder with the locked packages for Debian's Python; create it once."""
    names = {_name(line) for line in _pins("run.txt")} | set(MORE_PACKAGES)
    wanted = "".join(pin for pin in _pins("test.txt") if _name(pin) in names)
    folder = BUILD / f"packages-{architecture.debian}-{_key([], wanted)}"
    if not folder.exists():
        print("Installing Python packages", flush=True)
        fresh = _fresh(folder)
        listed = fresh.with_suffix(".txt")
        listed.write_text(wanted)
        platforms = [
            f"manylinux_2_{minor}_{architecture.wheels}" for minor in (17, 24, 26, 28, 31, 34)
        ]
        platforms += [f"manylinux2014_{architecture.wheels}"]
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        command += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile"]
        command += [f"--platform={platform}" for platform in platforms]
        command += [f"--python-version={PYTHON}", "--implementation=cp", f"--target={fresh}"]
        subprocess.run([*command, f"--requirement={listed}"], check=True, timeout=600)
        listed.unlink()
        _compile(fresh)
        fresh.rename(folder)
    return folder


def write_image(architecture: Architecture, arguments: Sequence[str]) -> tuple[Path, Path]:
    """Write the whole disk; return the paths of the kernel and the disk."""
    kit, root, packages = kernel_kit(architecture), root_archive(), python_packages(architecture)
    image = BUILD / "image.cpio"
    with image.open("wb") as to:
        with root.open("rb") as source:
            shutil.copyfileobj(source, to)
        # Debian's /lib is a link to /usr/lib; a folder named lib would replace the link.
        to.write(archive_of(from_folder(kit / "root/lib", "usr/lib")))
        to.write(archive_of(_program(packages)))
        to.write(archive_of(_tests(arguments)))
    return kit / "vmlinuz", image


def _program(packages: Path) -> Iterator[Entry]:
    site = f"{PROGRAM}/lib/python{PYTHON}/site-packages"
    yield from text_file(f"{PROGRAM}/pyvenv.cfg", VENV)
    yield from link(f"{PROGRAM}/bin/python", "/usr/bin/python3")
    yield from text_file(f"{PROGRAM}/bin/leverframe", START, 0o755)
    yield from from_folder(packages, site)
    source = BUILD / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(PROJECT / "src" / "leverframe", source, ignore=UNWANTED)
    _compile(source)
    yield from from_folder(source, f"{site}/leverframe")
    unit = PROJECT / "packaging" / "systemd" / "leverframe@.service"
    yield from text_file(f"etc/systemd/system/{unit.name}", unit.read_text())


def _tests(arguments: Sequence[str]) -> Iterator[Entry]:
    for name in COPIED_TESTS:
        yield from text_file(f"{TESTS}/tests/{name}", (PROJECT / "tests" / name).read_text())
    for path in sorted((PROJECT / "tests" / "kernel").glob("*.py")):
        yield from text_file(f"{TESTS}/tests/kernel/{path.name}", path.read_text())
    guide = (PROJECT / "docs" / "how-to" / "linux-board.md").read_text()
    yield from text_file(f"{TESTS}/linux-board.md", guide)
    chosen = " ".join(f"'{argument}'" for argument in arguments)
    yield from text_file(f"{TESTS}/run", RUN_TESTS.replace('"$@"', chosen), 0o755)
    yield from text_file("etc/systemd/system/leverframe-tests.service", UNIT)
    for name in NOT_NEEDED:
        yield from link(f"etc/systemd/system/{name}", "/dev/null")
    yield from link("init", "/lib/systemd/systemd")


def _debian(options: Sequence[str], hooks: Sequence[str], target: str, form: str) -> None:
    command = ["mmdebstrap", "--quiet", form, *options, "--aptopt=Acquire::Retries=2"]
    command += [f"--customize-hook={hook}" for hook in hooks]
    subprocess.run([*command, SUITE, target, MIRROR], check=True, timeout=900)


def _pins(name: str) -> list[str]:
    text = (PROJECT / "requirements" / name).read_text()
    return re.findall(r"^[a-z0-9][^\n]*\n(?:    [^\n]*\n)*", text, re.MULTILINE)


def _compile(folder: Path) -> None:
    """Compile modules if the Python versions match; the machine would need long at every start."""
    if sys.version_info[:2] == tuple(map(int, PYTHON.split("."))):
        compileall.compile_dir(
            folder, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )


def _name(pin: str) -> str:
    return pin.partition("==")[0]


def _key(files: Sequence[Path], *words: str) -> str:
    found = hashlib.sha256(repr(words).encode())
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


def _fresh(place: Path) -> Path:
    fresh = place.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    return fresh
