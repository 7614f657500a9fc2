"""A controller with two neighbours: one does all that is hostile, the other switches an output.

Whatever the first one does, every switch of the second is answered in a second and done.
"""

import asyncio
import ssl
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.ports import free_port
from tests.soak.controller import Client, Gone, SoakedController
from tests.soak.hostile_neighbour import ACCOUNT, basic
from tests.soak.ledger import Ledger
from tests.soak.real_time import own_lateness

OWNER = ("chief", "long admin secret")
MAX_ANSWER_S = 1.0
EVERY_S = 1.0
#: Until the hostile one is at work.
HEAD_START_S = 2.0
MAX_MB = 250
#: How much longer it may take until all limits are reached, on a busy machine.
PATIENCE_S = 60.0
REFUSALS = (
    'leverframe_connections_refused_total{server="http",reason="share"}',
    'leverframe_connections_refused_total{server="tls",reason="share"}',
    'leverframe_connections_refused_total{server="modbus",reason="share"}',
    "leverframe_streams_refused_total",
    'leverframe_http_requests_total{status="401"}',
)


class Neighbours:
    def __init__(self, controller: SoakedController, ports: tuple[int, int]) -> None:
        self.ledger = controller.ledger
        self._controller = controller
        self._ports = ports
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
        self._kept = self._client()

    def _client(self) -> Client:
        return Client(self._controller, tls=self._tls, headers=f"{basic(*OWNER)}\r\n")

    async def run(self, seconds: float) -> None:
        await self._controller.start()
        await self._set_up()
        hostile = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.soak.hostile_neighbour"),
            *map(str, (self._controller.port, *self._ports)),
            stderr=subprocess.PIPE,
        )
        try:
            await asyncio.sleep(HEAD_START_S)
            end = time.monotonic() + seconds
            number = 0
            while time.monotonic() < end or (
                time.monotonic() < end + PATIENCE_S and await self._refusals_missing()
            ):
                next_at = time.monotonic() + EVERY_S
                await self._switch(number)
                self._look()
                number += 1
                await asyncio.sleep(max(0.0, next_at - time.monotonic()))
            self.ledger.require(hostile.returncode is None, "the hostile neighbour has given up")
        finally:
            if hostile.returncode is None:
                hostile.kill()
            _, said = await hostile.communicate()
        if said:
            self.ledger.violation(f"the hostile neighbour failed: {said.decode()[-500:]}")
        missing = await self._refusals_missing()
        # Else nothing was shown.
        self.ledger.require(not missing, f"it did not come to these limits: {missing}")
        self._kept.close()
        status = await self._controller.stop()
        self.ledger.require(status == 0, f"it ended with status {status}")
        self._check_log()

    async def _set_up(self) -> None:
        fields = "*".join(b64encode(text.encode()).decode() for text in (*OWNER, *ACCOUNT))
        for target in (
            "/stm.cgi?modbuson=1",
            "/stm.cgi?snmp=1*watch*&snmpv3=keeper*auth-key-123*priv-key-123",
            f"/stm.cgi?auth=11{fields}",
        ):
            answer = await self._kept.get(target)
            assert answer.status == 200, f"{target}: {answer.body!r}"

    async def _switch(self, number: int) -> None:
        """Switch on a kept connection, or on a new one, and see that it is done."""
        level = number % 2
        client = self._kept if number % 4 < 2 else self._client()
        lateness = asyncio.create_task(own_lateness())
        began, waited_s = time.monotonic(), self._controller.seconds_waited()
        try:
            answer = await client.get(f"/outs.cgi?out0={level}")
            took_s = time.monotonic() - began
        except Gone:
            self.ledger.violation(f"switch {number} was not answered")
            return
        finally:
            lateness.cancel()
        late_s = await lateness + self._controller.seconds_waited() - waited_s
        self.ledger.counts["switches"] += 1
        self.ledger.note("ms for a switch", 1000 * took_s)
        self.ledger.require(
            took_s - late_s <= MAX_ANSWER_S,
            f"switch {number} took {took_s:.2f} s, {late_s:.2f} s the machine's",
        )
        is_done = answer.status == 200 and b"<out>%d" % level in answer.body
        self.ledger.require(is_done, f"switch {number}: {answer.status} {answer.body[:100]!r}")
        if client is not self._kept:
            client.close()

    def _look(self) -> None:
        self._controller.note_figures()
        most = self.ledger.greatest
        self.ledger.require(most["MB"] <= MAX_MB, f"it has {most['MB']:.0f} MB")

    async def _refusals_missing(self) -> list[str]:
        """The limits that the hostile one has not come to yet."""
        metrics = (await self._kept.get("/metrics")).body.decode()
        figures = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if line[0] != "#")
        for name in REFUSALS:
            self.ledger.counts[name] = round(float(figures.get(name, 0)))
        return [name for name in REFUSALS if not self.ledger.counts[name]]

    def _check_log(self) -> None:
        log = self._controller.log.read_text()
        self.ledger.require("Traceback" not in log, f"there is a trace in the log: {log[-800:]}")
        self.ledger.require(len(log) < 100_000, f"the log has {len(log)} bytes")


@asynccontextmanager
async def neighbours(folder: Path, name: str) -> AsyncIterator[Neighbours]:
    ports = free_port(), free_port()
    controller = SoakedController(
        folder,
        Ledger(name),
        "--tls",
        *("--modbus-port", str(ports[0])),
        *("--snmp-port", str(ports[1])),
    )
    try:
        yield Neighbours(controller, ports)
    finally:
        await controller.kill()
