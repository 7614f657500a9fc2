"""Kill the server at random moments under load, start it again, and look for what is missing.

Writers change settings as fast as they are answered: each owns a number that it counts up, and one
pair of names that must always be equal because both are set in one request. After a `kill -9` the
store must open, hold at least what was acknowledged, and never half a request.

The suite runs a few rounds. For many:

    python -m tests.crash.kill_rounds --rounds 500
"""

import argparse
import http.client
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.killed_program import KilledProgram
from tests.patience import PATIENCE_S

WRITERS = 4


@dataclass
class Acknowledged:
    """What the server has confirmed so far; a later value may be on disk as well."""

    numbers: list[int] = field(default_factory=lambda: [0] * WRITERS)
    name: int = 0
    requests: int = 0


class Server(KilledProgram):
    def __init__(self, data: Path, *options: str) -> None:
        arguments = ("run", "--port", "0", "--data", str(data), *options)
        super().__init__(*arguments, timeout_s=PATIENCE_S)

    def settings(self) -> dict[str, object]:
        return self.document("/api/settings")

    def document(self, target: str) -> dict[str, object]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", target)
        document: dict[str, object] = json.loads(connection.getresponse().read())
        connection.close()
        return document


def _write(server: Server, writer: int, acknowledged: Acknowledged) -> None:
    """Count up until the server is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    number = acknowledged.numbers[writer] if writer < WRITERS else acknowledged.name
    try:
        while True:
            number += 1
            target = f"/eeprom.cgi?dword{writer}={number}"
            if writer == WRITERS:
                target = f"/stm.cgi?oname=0n{number}&oname=5n{number}"
            connection.request("GET", target)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise AssertionError(f"{target} was answered with {answer.status}")
            if writer == WRITERS:
                acknowledged.name = number
            else:
                acknowledged.numbers[writer] = number
            acknowledged.requests += 1
    except (OSError, http.client.HTTPException):
        return
    finally:
        connection.close()


def wait_for_the_first(acknowledged: Callable[[], int]) -> None:
    """A busy machine may get to nothing in the time until a kill, and nothing could be lost."""
    end = time.monotonic() + PATIENCE_S
    while not acknowledged():
        assert time.monotonic() < end, "no change is acknowledged"
        threading.Event().wait(0.01)


def check(server: Server, acknowledged: Acknowledged) -> None:
    """Nothing acknowledged is missing, nothing is half applied, and no damage is reported."""
    health = server.document("/health")
    assert health["status"] == "ok", health
    settings = server.settings()
    dwords = settings["variables"]["dwords"]  # type: ignore[index]
    for stored, confirmed in zip(dwords, acknowledged.numbers, strict=True):
        assert confirmed <= stored <= confirmed + 1, f"stored {stored}, acknowledged {confirmed}"
    names = [settings["outputs"][index]["name"] for index in (0, 5)]  # type: ignore[index]
    assert names[0] == names[1], f"half a request was stored: {names}"
    stored_name = int(names[0].removeprefix("n") or 0)
    assert acknowledged.name <= stored_name <= acknowledged.name + 1
    acknowledged.numbers = list(dwords)
    acknowledged.name = stored_name


def kill_rounds(data: Path, rounds: int, seed: int) -> Acknowledged:
    chance = random.Random(seed)
    acknowledged = Acknowledged()
    for number in range(rounds):
        server = Server(data)
        try:
            check(server, acknowledged)
            writers = [
                threading.Thread(target=_write, args=(server, writer, acknowledged))
                for writer in range(WRITERS + 1)
            ]
            for writer in writers:
                writer.start()
            if number == 0:
                wait_for_the_first(lambda: acknowledged.requests)
            threading.Event().wait(chance.uniform(0.0, 0.3))
        finally:
            server.kill()
        for writer in writers:
            writer.join()
        if rounds > 20 and number % 10 == 9:
            print(f"{number + 1} kills, {acknowledged.requests} changes acknowledged", flush=True)
    server = Server(data)
    try:
        check(server, acknowledged)
    finally:
        server.kill()
    return acknowledged


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rounds", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = kill_rounds(Path(folder, "data"), chosen.rounds, chosen.seed)
    print(f"{chosen.rounds} kills, {done.requests} changes acknowledged, none lost")


if __name__ == "__main__":
    main()
