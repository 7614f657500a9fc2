"""The GSM modem over a real terminal: set up, send, receive, and everything that goes wrong."""

import asyncio
from collections.abc import Callable

from hardware.scripted_modem import ScriptedModem
from leverframe.engine.effects import SendModem
from leverframe.engine.settings import Gsm, Settings
from leverframe.hardware.modem import NAME, Modem
from leverframe.hardware.modem_line import Pace
from leverframe.hardware.serial_port import Pauses, SerialPortService
from leverframe.profile import Profile

FAST = Pace(
    answer_s=0.4,
    network_s=0.5,
    attention_s=0.2,
    attempts=2,
    settle_s=0.01,
    look_s=60.0,
    retry_s=0.02,
)
NUMBER = "+48501234567"
PATIENCE_S = 10.0


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another party does."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.002)


class Bench:
    """A scripted modem, and ours on the other end of the line."""

    def __init__(self) -> None:
        self.other = ScriptedModem()
        self.troubles: dict[str, str] = {}
        self.received: list[tuple[str, str]] = []
        self.reply: str | None = None
        self.gsm = Gsm()
        self.modem = Modem(lambda: self.gsm, self._take, self.troubles, FAST)
        self.port = SerialPortService(
            self.other.path,
            {NAME: lambda: self.modem},
            self.troubles,
            unreadable={},
            pauses=Pauses(0.02, 0.02),
        )

    async def _take(self, sender: str, text: str) -> str | None:
        self.received.append((sender, text))
        return self.reply

    def start(self) -> None:
        settings = Settings.of(Profile()) if hasattr(Settings, "of") else Settings()
        self.port.start(
            settings.with_module(NAME) if hasattr(settings, "with_module") else settings
        )

    def state(self) -> str:
        state: str = self.modem.status.shown()["state"]
        return state

    async def ready(self) -> None:
        await until(lambda: self.state() == "ready")

    async def typed(self, command: str) -> list[str]:
        self.modem.command(SendModem(command))
        await until(lambda: self.modem.status.shown_in_full()["answer"] is not None)
        return list(self.modem.status.shown_in_full()["answer"])
