"""Kill a controller or node, damage one of its files, start it again: is any loss silent?

Each round damages another file of the folder in another way (`file_damage.py`). After the start
every acknowledged change is there, or `/health` is degraded and the log names the damage, or the
program refuses to start in a sentence. Every tenth round damages nothing, and kills the program
once more while it starts: then nothing may be missing or reported.

The suite plays kills within its own process (`tests/storage/test_damaged_files.py`) and runs a few
rounds of this. For many:

    python -m tests.crash.damage_rounds --rounds 200
    python -m tests.crash.damage_rounds --rounds 200 --node
"""

import argparse
import http.client
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.crash.file_damage import DAMAGES
from tests.crash.killed_program import ADDRESS
from tests.patience import PATIENCE_S

ROUNDS_PER_KILL = 10
CONTROLLERS = ("c0", "c1", "c2")


class Refused(Exception):
    """The program failed to start: its output."""


class Subject:
    """A controller in a folder, or a node with a few of them."""

    def __init__(self, folder: Path, *, is_node: bool) -> None:
        self._folder = folder
        self.is_node = is_node
        self.names = CONTROLLERS if is_node else ("localhost",)
        self._log = folder / "log.txt"
        self._program: subprocess.Popen[str] | None = None
        self._port = 0

    def launch(self, data: Path) -> None:
        """Start the program without waiting for anything."""
        options = ["run", "--port", "0", "--data", str(data), "--capture"]
        if self.is_node:
            config = self._folder / "fleet.toml"
            of_each = "".join(f'[[controllers]]\nname = "{name}"\n' for name in CONTROLLERS)
            config.write_text(f'data = "{data}"\nport = 0\ndiscovery = false\n{of_each}')
            options = ["fleet", "run", "--config", str(config), "--json"]
        with self._log.open("w") as log:
            self._program = subprocess.Popen(
                [sys.executable, "-m", "leverframe", *options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def start(self, data: Path) -> None:
        """Start the program and wait until it answers; raise Refused where it ends instead."""
        self.launch(data)
        assert self._program is not None
        assert self._program.stdout is not None
        lines = iter(self._program.stdout.readline, "")
        found = next(filter(None, map(ADDRESS.search, lines)), None)
        if found is None:
            self.kill()
            raise Refused(self.log())
        self._port = int(found[1])

    def log(self) -> str:
        return self._log.read_text()

    def kill(self) -> None:
        assert self._program is not None
        assert self._program.stdout is not None
        self._program.kill()
        self._program.wait(PATIENCE_S)
        self._program.stdout.close()

    def ask(self, name: str, target: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)
        host = {"Host": f"{name}.localhost" if name in CONTROLLERS else "localhost"}
        connection.request("GET", target, headers=host)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status in (200, 503), f"{target}: {answer.status} {body!r}"
        return json.loads(body) if target.startswith(("/api", "/health")) else body

    def content(self) -> dict[str, Any]:
        return {name: _content(self.ask(name, "/api/settings")) for name in self.names}

    def problems(self) -> list[str]:
        """What is wrong with the node and with each controller."""
        documents = [self.ask(name, "/health") for name in (*self.names, "localhost")]
        return [str(one) for one in documents if one["status"] != "ok"]


def _content(settings: Any) -> tuple[Any, ...]:
    names = tuple(output["name"] for output in settings["outputs"])
    return (*settings["variables"]["dwords"], names, bool(settings["email"]["password"]))


def write_and_kill(subject: Subject, folder: Path, chance: random.Random) -> dict[str, Any]:
    """Change settings, copy the files on the way, kill; return all that was acknowledged."""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    for _ in range(chance.randrange(1, 3)):
        subject.start(data)
        try:
            for number in range(chance.randrange(3, 40)):
                name, value = chance.choice(subject.names), chance.randrange(10**9)
                subject.ask(name, f"/eeprom.cgi?dword{chance.randrange(4)}={value}")
                subject.ask(name, f"/stm.cgi?oname={chance.randrange(6)}n{value}")
                if chance.random() < 0.05:
                    subject.ask(
                        name, f"/stm.cgi?em1=h&em2=25&em3=u&em4=s{value}&em5=r&em6=f&em7=t&em8=x"
                    )
                if number == 1 or chance.random() < 0.1:
                    copy_files(data, folder / "older")
            subject.ask(subject.names[0], "/api/history?labels=DS1")
            acknowledged = subject.content()
        finally:
            subject.kill()
    return acknowledged


def copy_files(data: Path, older: Path) -> None:
    """Copy what is there; a snapshot that is being made may end on the way."""
    shutil.rmtree(older, ignore_errors=True)
    older.mkdir()
    for file in data.iterdir():
        with suppress(FileNotFoundError):
            shutil.copyfile(file, older / file.name)


def kill_while_it_starts(subject: Subject, data: Path, chance: random.Random) -> None:
    subject.launch(data)
    threading.Event().wait(chance.uniform(0.0, 2.0))
    subject.kill()


def start_again(subject: Subject, data: Path, expected: dict[str, Any]) -> str:
    """Return `whole`, `reported`, `refused` or `silent`."""
    try:
        subject.start(data)
    except Refused as refusal:
        is_sentence = str(refusal).strip() and "Traceback" not in str(refusal)
        return "refused" if is_sentence else "silent"
    try:
        is_whole, problems = subject.content() == expected, subject.problems()
    finally:
        subject.kill()
    if problems and "ERROR" in subject.log():
        return "reported and whole" if is_whole else "reported"
    return "whole" if is_whole and not problems else "silent"


def damage_rounds(folder: Path, rounds: int, seed: int, *, is_node: bool) -> Counter[str]:
    """Return how often what came of the damage; raise AssertionError where a loss was silent."""
    chance, outcomes = random.Random(seed), Counter[str]()
    subject = Subject(folder, is_node=is_node)
    expected: dict[str, Any] = {}
    for number in range(rounds):
        if number % ROUNDS_PER_KILL == 0:
            expected = write_and_kill(subject, folder, chance)
        damaged = folder / "damaged"
        shutil.copytree(folder / "data", damaged)
        if number % ROUNDS_PER_KILL == 0:
            kill_while_it_starts(subject, damaged, chance)
            outcome, what = start_again(subject, damaged, expected), "no damage"
            assert outcome == "whole", f"round {number}: {what}, {outcome}; {subject.log()}"
        else:
            file = chance.choice(sorted(one for one in damaged.iterdir() if one.is_file()))
            damage = chance.choice(DAMAGES)
            damage(file, folder / "older", chance)
            what = f"{damage.__name__} of {file.name}"
            outcome = start_again(subject, damaged, expected)
            assert outcome != "silent", f"round {number}: {what}, {outcome}; {subject.log()}"
        outcomes[outcome] += 1
        shutil.rmtree(damaged)
        if rounds > 20:
            print(f"{number + 1}: {what}: {outcome}", flush=True)
    return outcomes


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--node", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = damage_rounds(Path(folder), chosen.rounds, chosen.seed, is_node=chosen.node)
    print(f"{chosen.rounds} rounds, no loss was silent: {dict(outcomes)}")


if __name__ == "__main__":
    main()
