"""Build the Debian package: the program and all its locked libraries, in `/opt/leverframe`.

    python -m tools.deb [--python 3.13] [--machine aarch64] [--folder dist]

A package is for one Python, that of a Debian release, and for one kind of machine. By default these
are the Python and the machine that build it; others need nothing but the package index. The same
commit and locked lists give the same file, byte for byte.
"""

import argparse
import gzip
import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.markers import Marker

from tools.locked_wheels import GLIBC_MINOR, PYTHONS, Target
from tools.release import PROJECT, build, commit_time, read_version

LOCKED = PROJECT / "requirements" / "package.txt"
PARTS = PROJECT / "packaging" / "debian"
HOME = Path("opt/leverframe")
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
CONFIGURATION = "etc/leverframe/main.toml"
DOCUMENTS = "usr/share/doc/leverframe"
#: Debian's names of the machines.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
#: Folders of the wheel's `share`, and where Debian's programs look for their files.
SHARED = {
    "man": "usr/share/man",
    "bash-completion": "usr/share/bash-completion",
    "zsh/site-functions": "usr/share/zsh/vendor-completions",
    "fish": "usr/share/fish",
    "leverframe/systemd": "usr/lib/systemd/system",
    "leverframe/examples": f"{DOCUMENTS}/examples",
}
_ENTRY = re.compile(r"^\S+==\S+(?: ; ([^\\\n]+?))?(?: \\\n(?:    .*\n?)+|\n)", re.MULTILINE)
_LAUNCHER = f"""\
#!/{HOME}/bin/python
import sys

from leverframe.__main__ import main

sys.exit(main())
"""


class Deb:
    """A package for one Python and one machine, with its name and version."""

    def __init__(self, target: Target, version: str) -> None:
        self.target = target
        self.python = ".".join(target.python.split(".")[:2])
        self.architecture = ARCHITECTURES[target.machine]
        #: The package for Debian's next release, which has a newer Python, replaces this one.
        self.version = f"{version}-1+py{self.python}"
        self.site = HOME / "lib" / f"python{self.python}" / "site-packages"

    @property
    def file_name(self) -> str:
        return f"leverframe_{self.version}_{self.architecture}.deb"


def choose_target(python: str, machine: str) -> Target:
    """Return the supported Python of a minor version on a machine."""
    (full,) = (one for one in PYTHONS if one.rpartition(".")[0] == python)
    return Target(full, machine)


def select_locked(locked: str, target: Target) -> str:
    """Return the entries of a locked list that the target installs, with their hashes."""
    return "".join(
        entry[0].replace(f" ; {entry[1]}", "")
        for entry in _ENTRY.finditer(locked)
        if entry[1] is None or Marker(entry[1]).evaluate(target.environment)
    )


def pip_for(target: Target, task: str) -> list[str]:
    """Return a command of pip that acts for a target, which need not be this machine."""
    version = ".".join(target.python.split(".")[:2])
    platforms = [f"manylinux_2_{minor}" for minor in range(GLIBC_MINOR, 4, -1)]
    platforms += ["manylinux2014", "manylinux2010", "manylinux1", "linux"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", task, "--quiet"]
    command += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", version]
    for name in platforms:
        command += ["--platform", f"{name}_{target.machine}"]
    return command


@contextmanager
def write_locked_list(target: Target) -> Iterator[list[str]]:
    """Write the locked list of a target; yield the arguments with which pip follows it."""
    with TemporaryDirectory() as folder:
        chosen = Path(folder) / "package.txt"
        locked = LOCKED.read_text(encoding="utf-8")
        chosen.write_text(select_locked(locked, target), encoding="utf-8")
        yield ["--no-deps", "--require-hashes", "--requirement", str(chosen)]


def install_libraries(target: Target, to: Path) -> None:
    """Install the locked libraries of a target into a folder."""
    with write_locked_list(target) as list_arguments:
        command = [*pip_for(target, "install"), "--no-compile", "--target", str(to)]
        subprocess.run([*command, *list_arguments], check=True)
    # Programs of the libraries, and their manuals; they name the Python that builds the package.
    for name in ("bin", "share", "include"):
        shutil.rmtree(to / name, ignore_errors=True)


def unpack_wheel(wheel: Path, deb: Deb, root: Path) -> None:
    """Unpack the program, and put what it shares where Debian expects it."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            shared = name.partition(".data/data/share/")[2]
            path = root / (_place_of(shared) if shared else deb.site / name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
    for page in (root / "usr/share/man").rglob("*.1"):
        _compress(page.read_bytes(), page.with_name(f"{page.name}.gz"))
        page.unlink()


def _place_of(shared: str) -> str:
    (folder,) = (one for one in SHARED if shared.startswith(f"{one}/"))
    return SHARED[folder] + shared.removeprefix(folder)


def _compress(data: bytes, to: Path) -> None:
    # Without the time, so that two builds are identical.
    to.write_bytes(gzip.compress(data, mtime=0))


def write_environment(deb: Deb, root: Path) -> None:
    """Write a virtual environment of Debian's Python, as `python -m venv` would create it there."""
    programs = root / HOME / "bin"
    programs.mkdir(parents=True)
    (root / HOME / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {deb.python}\n"
    )
    (programs / "python").symlink_to(f"/usr/bin/python{deb.python}")
    (programs / "leverframe").write_text(_LAUNCHER)
    (programs / "leverframe").chmod(0o755)
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/leverframe").symlink_to(f"/{HOME}/bin/leverframe")


def write_debian_files(root: Path) -> None:
    """Write the configuration, the user of the service, and the documents."""
    _copy(PARTS / "main.toml", root / CONFIGURATION)
    _copy(PARTS / "user.conf", root / "usr/lib/systemd/system/leverframe@.service.d/user.conf")
    _copy(PROJECT / "LICENSE", root / DOCUMENTS / "copyright")
    _compress((PROJECT / "CHANGELOG.md").read_bytes(), root / DOCUMENTS / "changelog.gz")


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, to)


def write_control(deb: Deb, root: Path) -> None:
    """Write the files that dpkg reads; all others must be in place."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    control = root / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(
        (PARTS / "control")
        .read_text(encoding="utf-8")
        .format(
            version=deb.version,
            architecture=deb.architecture,
            python=deb.python,
            installed_kib=sum(-(-path.stat().st_size // 1024) for path in files),
        )
    )
    (control / "conffiles").write_text(f"/{CONFIGURATION}\n")
    (control / "md5sums").write_text("".join(_sum_line(path, root) for path in files))
    for name in SCRIPTS:
        _copy(PARTS / name, control / name)
        (control / name).chmod(0o755)


def _sum_line(path: Path, root: Path) -> str:
    number = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    return f"{number}  {path.relative_to(root)}\n"


def set_modes(root: Path) -> None:
    """Set the same modes whatever the umask of the builder."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            is_open = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if is_open else 0o644)


def build_deb(
    deb: Deb, wheel: Path, libraries: Path, folder: Path, built_at: int, compression: str = "xz"
) -> Path:
    """Build the package of a wheel and a folder of installed libraries into a folder."""
    with TemporaryDirectory() as temporary:
        root = Path(temporary) / "root"
        shutil.copytree(libraries, root / deb.site)
        unpack_wheel(wheel, deb, root)
        write_environment(deb, root)
        write_debian_files(root)
        write_control(deb, root)
        set_modes(root)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / deb.file_name
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", f"-Z{compression}", "--build", str(root), str(path)],
            env={**os.environ, "SOURCE_DATE_EPOCH": str(built_at)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
    return path


def build_wheel(folder: Path, built_at: int) -> Path:
    """Build the wheel of the program into a new folder."""
    folder.mkdir()
    (wheel,) = (x for x in build(PROJECT, folder, built_at) if x.match("leverframe-*.whl"))
    return wheel


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.deb", description="Build the Debian package.")
    known = [python.rpartition(".")[0] for python in PYTHONS]
    own = ".".join(platform.python_version_tuple()[:2])
    parser.add_argument("--python", choices=known, default=own, help="the Python of the release")
    parser.add_argument("--machine", choices=ARCHITECTURES, default=platform.machine())
    parser.add_argument("--folder", type=Path, default=PROJECT / "dist")
    options = parser.parse_args()
    if shutil.which("dpkg-deb") is None:
        print("dpkg-deb is missing; install the package dpkg, or build on Debian.", file=sys.stderr)
        return 1
    deb = Deb(choose_target(options.python, options.machine), read_version(PROJECT))
    built_at = commit_time(PROJECT)
    with TemporaryDirectory() as folder:
        libraries = Path(folder) / "libraries"
        install_libraries(deb.target, libraries)
        wheel = build_wheel(Path(folder) / "wheel", built_at)
        path = build_deb(deb, wheel, libraries, options.folder, built_at)
    print(f"{path}  {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
