"""A real Mosquitto on loopback, with a password and, if wanted, TLS; and real clients of it.

By default it writes what it has to disk after every change, so that it can be killed and started
again without losing the subscriptions of others.
"""

import asyncio
import contextlib
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import trustme

from tests.patience import PATIENCE_S
from tests.ports import free_port

USER, PASSWORD = "cellar", "correct horse"


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does, as short as it takes."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


@dataclass(frozen=True)
class Heard:
    topic: str
    payload: str
    retained: bool


class Broker:
    def __init__(
        self,
        folder: Path,
        *,
        tls: bool = False,
        durable: bool = True,
        inflight: int = 0,
        queued: int = 0,
    ) -> None:
        self.port = free_port()
        self.ca_file = folder / "ca.pem" if tls else None
        self._folder = folder
        self._config = folder / "mosquitto.conf"
        self._process: asyncio.subprocess.Process | None = None
        self._write_configuration(tls, durable, inflight, queued)

    def require_certificates(self) -> tuple[Path, Path]:
        """Let only clients in that show a certificate; gives the files of one and its key."""
        with self._config.open("a") as config:
            config.write(f"require_certificate true\ncafile {self.ca_file}\n")
        certificate = self._authority.issue_cert("leverframe")
        files = self._folder / "client.crt", self._folder / "client.key"
        certificate.cert_chain_pems[0].write_to_path(files[0])
        certificate.private_key_pem.write_to_path(files[1])
        return files

    def allow(self, *lines: str) -> None:
        """Write the access list, and let a broker that runs read it."""
        text = "\n".join((f"user {USER}", *(f"topic {line}" for line in lines))) + "\n"
        (self._folder / "acl").write_text(text)
        (self._folder / "acl").chmod(0o644)
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def _write_configuration(self, tls: bool, durable: bool, inflight: int, queued: int) -> None:
        passwords = self._folder / "passwords"
        subprocess.run(["mosquitto_passwd", "-b", "-c", str(passwords), USER, PASSWORD], check=True)
        passwords.chmod(0o644)
        self._folder.chmod(0o777)
        self.allow("readwrite #")
        lines = [
            f"listener {self.port} 127.0.0.1",
            "allow_anonymous false",
            f"password_file {passwords}",
            f"acl_file {self._folder}/acl",
            f"persistence {str(durable).lower()}",
            f"persistence_location {self._folder}/",
            "autosave_interval 1",
            "autosave_on_changes true",
            "set_tcp_nodelay true",
            f"max_queued_messages {queued}",
            # What it has acknowledged is on its way to the listener, not in its memory.
            f"max_inflight_messages {inflight}",
            "user root",
        ]
        if self.ca_file is not None:
            self._authority = authority = trustme.CA()
            authority.cert_pem.write_to_path(self.ca_file)
            certificate = authority.issue_cert("localhost")
            certificate.private_key_pem.write_to_path(self._folder / "key.pem")
            certificate.cert_chain_pems[0].write_to_path(self._folder / "cert.pem")
            lines += [f"certfile {self._folder}/cert.pem", f"keyfile {self._folder}/key.pem"]
        self._config.write_text("\n".join(lines) + "\n")

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            "mosquitto",
            "-c",
            str(self._config),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await until(self._listens)

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def has_stored(self, name: str) -> bool:
        """Is this text (a client, its name and subscription) in the file that the broker reads?"""
        stored = self._folder / "mosquitto.db"
        return stored.exists() and name.encode() in stored.read_bytes()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def stop(self) -> None:
        """A clean end: what it has taken for others is on its disk."""
        if self._process is not None:
            self._process.terminate()
            await self._process.wait()
            self._process = None

    async def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    def client(self, program: str, *options: str) -> list[str]:
        """The command line of one of Mosquitto's clients."""
        tls = ["--cafile", str(self.ca_file)] if self.ca_file is not None else []
        host = ["-h", "localhost", "-p", str(self.port), "-u", USER, "-P", PASSWORD]
        return [program, *host, *tls, *options]

    async def publish(self, topic: str, text: str, *options: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *self.client("mosquitto_pub", "-q", "1", "-t", topic, "-m", text, *options)
        )
        assert await process.wait() == 0


class Listener:
    """A subscriber of everything whose session the broker keeps."""

    def __init__(self, broker: Broker, topic: str = "#") -> None:
        self.heard: list[Heard] = []
        self._broker = broker
        self._topic = topic
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.start_as("listener")
        # Its own message shows that the subscription is there.
        while not self.of("listening"):
            await self._broker.publish("listening", "now")
            await asyncio.sleep(0.02)

    async def start_as(self, name: str) -> None:
        options = ["-q", "1", "-c", "-i", name, "-t", self._topic, "-F", "%r %t %p"]
        self._process = await asyncio.create_subprocess_exec(
            *self._broker.client("mosquitto_sub", *options),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            retained, topic, payload = line.decode().rstrip("\n").split(" ", 2)
            self.heard.append(Heard(topic, payload, retained == "1"))

    def of(self, topic: str) -> list[str]:
        """What was heard under a topic, in order."""
        return [heard.payload for heard in self.heard if heard.topic == topic]

    async def until_last(self, topic: str, payload: str) -> None:
        await until(lambda: self.of(topic)[-1:] == [payload])

    async def stop(self) -> None:
        """End it; the broker keeps its session.

        Not by SIGTERM: mosquitto_sub then takes locks in its signal handler, and hangs if it was
        just holding one of them for a message that had come.
        """
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        if self._task is not None:
            await self._task
