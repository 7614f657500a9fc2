"""Kill a controller with messages waiting, start it again, and see that every one arrives.

The controller's HTTP1 goes to a server of ours that is switched off at first. Rules fire many
times, each message with a number of its own; then the process is killed, and killed again in the
middle of delivering. At the end every number has arrived, in order, some perhaps twice.

The suite runs a short form. For the whole:

    python -m tests.crash.outbox_kill --messages 1000
"""

import argparse
import http.client
import http.server
import json
import tempfile
import threading
import time
from pathlib import Path

from tests.crash.kill_rounds import Server

PATIENCE_S = 90
#: EVENT1 = 1 does HTTP1 on both edges; m1 is the number of the message.
RULE = "/inpa.cgi?event=0*{source}*0*1*0*0*24*0*0*0*0*0&eventon=0*1"
EVENT1 = 104


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is what this is about."""


class Receiver:
    """Counts what arrives; answers 503 while it is switched off."""

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self.on = False
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if receiver.on:
                    receiver.arrived.append(int(self.path.rpartition("=")[2]))
                self.send_response(200 if receiver.on else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                """No test reads it."""

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Controller:
    def __init__(self, data: Path) -> None:
        self._server = Server(data, "--allow-local-targets")
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", self._server.port, timeout=PATIENCE_S
        )

    def get(self, target: str) -> bytes:
        self._connection.request("GET", target)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise AssertionError(f"{target} was answered with {answer.status}: {body!r}")
        return body

    def waiting(self) -> int:
        count: int = json.loads(self.get("/api/outbox"))["channels"]["http1"]["waiting"]
        return count

    def kill(self) -> None:
        self._connection.close()
        self._server.kill()


def fire(controller: Controller, port: int, messages: int) -> None:
    """Let the rule fire this number of times; a command is answered when its messages are on
    disk."""
    controller.get(f"/stm.cgi?http1=127.0.0.1:{port}/in?n=%250500")
    controller.get(RULE.format(source=EVENT1))
    for number in range(1, messages + 1):
        controller.get(f"/sim.cgi?m1={number}")
        controller.get(f"/outs.cgi?vout0={number % 2}")


def wait_for(receiver: Receiver, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(set(receiver.arrived)) < count:
        if time.monotonic() > deadline:
            raise AssertionError(f"only {len(set(receiver.arrived))} of {count} arrived")
        threading.Event().wait(0.02)


def check(receiver: Receiver, messages: int) -> int:
    """Every message arrived, in order; gives how many came twice."""
    first_arrivals = list(dict.fromkeys(receiver.arrived))
    assert first_arrivals == list(range(1, messages + 1)), "messages are missing or out of order"
    return len(receiver.arrived) - messages


def outbox_kill(data: Path, messages: int) -> int:
    receiver = Receiver()
    controller = Controller(data)
    try:
        fire(controller, receiver.port, messages)
        # Immediately after the answer to the last command.
        controller.kill()
        receiver.on = True
        controller = Controller(data)
        wait_for(receiver, messages // 2)
        controller.kill()
        controller = Controller(data)
        wait_for(receiver, messages)
        return check(receiver, messages)
    finally:
        controller.kill()
        receiver.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--messages", type=int, default=1000)
    messages = options.parse_args().messages
    with tempfile.TemporaryDirectory() as folder:
        twice = outbox_kill(Path(folder, "data"), messages)
    print(
        f"killed twice with up to {messages} messages waiting: all arrived, {twice} of them twice"
    )


if __name__ == "__main__":
    main()
