"""What stands for the GSM modem where no serial port is configured: everything is refused.

That is so in most controllers; they then load nothing of the real one.
"""

from leverframe.engine.effects import SendModem
from leverframe.hardware.modem_status import ModemStatus

NOT_CONNECTED = "No GSM modem is connected."


class ModemUnavailable(Exception):
    """The modem cannot do this now: one sentence why."""


class AbsentModem:
    def __init__(self) -> None:
        self.status = ModemStatus()

    async def send_sms(self, number: str, text: str) -> None:
        raise ModemUnavailable(NOT_CONNECTED)

    def command(self, effect: SendModem) -> None:
        self.status.note_command(effect.command)
        self.status.note_answer((NOT_CONNECTED,))
