"""Kill a node at random moments while all its controllers are written to, and look what is missing.

Each controller has a writer that counts a number up in it. After a `kill -9` every controller must
hold at least what was acknowledged to its own writer, and no more than one number beyond.

The suite runs a few rounds. For many:

    python -m tests.crash.node_kill --rounds 100
"""

import argparse
import http.client
import json
import random
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.crash.kill_rounds import wait_for_the_first
from tests.crash.killed_program import KilledProgram
from tests.patience import PATIENCE_S

CONTROLLERS = 20
_FLEET = "".join(f'[[controllers]]\nname = "c{n}"\n' for n in range(CONTROLLERS))


class KilledNode(KilledProgram):
    def __init__(self, folder: Path) -> None:
        config = folder / "fleet.toml"
        config.write_text(f'data = "{folder / "data"}"\nport = 0\ndiscovery = false\n{_FLEET}')
        arguments = ("fleet", "run", "--config", str(config), "--json")
        super().__init__(*arguments, timeout_s=PATIENCE_S)

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)


def _ask(connection: http.client.HTTPConnection, controller: int, target: str) -> bytes:
    connection.request("GET", target, headers={"Host": f"c{controller}.localhost"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise AssertionError(f"{target} of c{controller} was answered with {answer.status}")
    return body


def _write(node: KilledNode, controller: int, acknowledged: list[int]) -> None:
    """Count up until the node is gone."""
    connection, number = node.connection(), acknowledged[controller]
    try:
        while True:
            number += 1
            _ask(connection, controller, f"/eeprom.cgi?dword0={number}")
            acknowledged[controller] = number
    except (OSError, http.client.HTTPException):
        return
    finally:
        connection.close()


def check(node: KilledNode, acknowledged: list[int]) -> None:
    """Nothing acknowledged is missing, of no controller, and no damage is reported."""
    connection = node.connection()
    connection.request("GET", "/health")
    health: Any = json.loads(connection.getresponse().read())
    assert health["status"] == "ok", health
    for controller, confirmed in enumerate(acknowledged):
        settings: Any = json.loads(_ask(connection, controller, "/api/settings"))
        stored = settings["variables"]["dwords"][0]
        assert confirmed <= stored <= confirmed + 1, f"c{controller}: {stored}, not {confirmed}"
        acknowledged[controller] = stored
    connection.close()


def node_kills(folder: Path, rounds: int, seed: int) -> list[int]:
    """Return the numbers that the controllers have come to."""
    chance = random.Random(seed)
    acknowledged = [0] * CONTROLLERS
    for number in range(rounds + 1):
        node = KilledNode(folder)
        writers: list[threading.Thread] = []
        try:
            check(node, acknowledged)
            if number < rounds:
                writers = [
                    threading.Thread(target=_write, args=(node, controller, acknowledged))
                    for controller in range(CONTROLLERS)
                ]
                for writer in writers:
                    writer.start()
                if number == 0:
                    wait_for_the_first(lambda: sum(acknowledged))
                threading.Event().wait(chance.uniform(0.0, 0.5))
        finally:
            node.kill()
        for writer in writers:
            writer.join()
        if rounds > 20 and number % 10 == 9:
            print(f"{number + 1} kills, {sum(acknowledged)} changes acknowledged", flush=True)
    return acknowledged


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = node_kills(Path(folder), chosen.rounds, chosen.seed)
    print(f"{chosen.rounds} kills, {sum(done)} acknowledged changes, none is missing")


if __name__ == "__main__":
    main()
