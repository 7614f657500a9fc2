"""The Containerfile, step by step in clean Debians, where no registry and no network is needed.

Each stage is a root; the instructions have the meaning that they have for podman and Docker.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.packages.root import Root, run_root
from tools.package_trials import wheels_of
from tools.release import PROJECT

BASE = "trixie"
PATIENCE_S = 60


class Image:
    """The last stage, and what its instructions say about running it."""

    def __init__(self, folder: Path, roots: ExitStack) -> None:
        self._folder, self._roots = folder, roots
        self._stages: dict[str, Root] = {}
        self.environment: dict[str, str] = {}
        self.settings: dict[str, str] = {}

    def follow(self, text: str) -> None:
        for line in text.splitlines():
            if line and not line.startswith("#"):
                instruction, _, words = line.partition(" ")
                self._carry_out(instruction, words)

    def _carry_out(self, instruction: str, words: str) -> None:
        if instruction == "FROM":
            name = words.partition(" AS ")[2] or "image"
            folder = self._folder / name
            self.root = self._stages[name] = self._roots.enter_context(run_root(BASE, folder))
            shutil.copytree(wheels_of(BASE), self.root.path("/root/wheels"))
        elif instruction == "COPY":
            self._copy(words.split())
        elif instruction == "RUN":
            self.root.shell(words)
        elif instruction == "ENV":
            self.environment |= dict(pair.split("=") for pair in words.split())
        elif instruction != "ARG":
            self.settings[instruction] = words

    def _copy(self, words: list[str]) -> None:
        source = PROJECT
        if words[0].startswith("--from="):
            source = self._stages[words.pop(0).removeprefix("--from=")].folder
        *names, to = words
        for name in names:
            path, place = source / name.lstrip("/"), self.root.path(to)
            if path.is_dir():
                shutil.copytree(path, place, symlinks=True)
            else:
                place = place / path.name if to.endswith("/") else place
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place)

    def as_user(self, *words: str) -> tuple[str, ...]:
        user, _, group = self.settings["USER"].partition(":")
        return ("setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *words)

    def check_health(self) -> subprocess.CompletedProcess[str]:
        words = json.loads(self.settings["HEALTHCHECK"].partition("CMD ")[2])
        return self.root.run(*self.as_user(*words), **self.environment)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    began, text = time.monotonic(), (PROJECT / "Containerfile").read_text(encoding="utf-8")
    with ExitStack() as roots:
        image = Image(tmp_path_factory.mktemp("image"), roots)
        image.follow(text)
        size = image.root.size_mb("/opt/leverframe")
        print(f"container: {time.monotonic() - began:.0f} s, {size:.1f} MB over its base")
        yield image


def test_health_check_fails_before_the_start(image: Image) -> None:
    assert image.check_health().returncode == 1


def test_container_becomes_healthy_as_a_user_without_rights(image: Image) -> None:
    words = [*json.loads(image.settings["ENTRYPOINT"]), *json.loads(image.settings["CMD"])]
    command = shlex.join(image.as_user(*words))
    image.root.shell(
        f"cd {image.settings['WORKDIR']}; {command} > /tmp/log 2>&1 &", **image.environment
    )
    deadline = time.monotonic() + PATIENCE_S
    while (done := image.check_health()).returncode and time.monotonic() < deadline:
        pass
    log = image.root.path("/tmp/log").read_text()
    assert '"status":"ok"' in done.stdout, log
    assert re.search(r"password", log), log


def test_data_is_in_the_volume_and_belongs_to_the_user(image: Image) -> None:
    folder = image.root.path(image.settings["VOLUME"])
    assert (folder / "store.db").exists()
    user = int(image.settings["USER"].partition(":")[0])
    assert {path.stat().st_uid for path in [folder, *folder.rglob("*")]} == {user}
    assert os.stat(folder).st_mode & 0o077 == 0


def test_image_has_no_pip(image: Image) -> None:
    assert not image.root.path("/opt/leverframe/bin/pip").exists()
