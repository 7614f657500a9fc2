"""A GSM modem on a pseudo terminal: a SIM800L as far as its data sheet goes, with surprises.

It answers like the real one, with echo until it is switched off, keeps its settings, stores
received messages and collects sent ones. A surprise is something else that happens, once, instead
of the answer to the next command that begins with given letters: a reset, silence, nonsense.
"""

import asyncio
import os
import tty
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.devices.wire.incoming_sms import incoming
from tests.devices.wire.sms_oracle import decodeSmsPdu

#: What stands for the text of a message among surprises.
TEXT = "text of a message"


@dataclass
class Surprise:
    command: str
    what: Callable[[], None]
    #: The number of such commands that are answered before it.
    after: int


class ScriptedModem:
    def __init__(self) -> None:
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.path = os.ttyname(self._slave)
        self._heard = b""
        self._text_wanted = False
        self._echo = True
        self._announces_messages = False
        self._surprises: list[Surprise] = []
        self.sim = "READY"
        self.pin = "1234"
        self.registration = 1
        self.apn: str | None = None
        self.stored: dict[int, str] = {}
        self.commands: list[str] = []
        self.resets = 0
        #: Number and text of each message that was handed to the network.
        self.sent: list[tuple[str, str]] = []
        asyncio.get_running_loop().add_reader(self._master, self._read)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)
        os.close(self._slave)

    # --- what a test does to it -------------------------------------------------------------------

    def surprise(self, command: str, what: Callable[[], None], after: int = 0) -> None:
        self._surprises.append(Surprise(command, what, after))

    def be_silent(self) -> None:
        """Not a word."""

    def say(self, *lines: str) -> None:
        for line in lines:
            self._write(f"\r\n{line}\r\n")

    def send_bytes(self, data: bytes) -> None:
        """Be something else than a modem for a moment."""
        os.write(self._master, data)

    def reset(self) -> None:
        """Power fails and returns."""
        self.forget()
        self.say("RDY", "+CFUN: 1", "+CPIN: READY", "Call Ready", "SMS Ready")

    def forget(self) -> None:
        """A reset without a word: only the echo gives it away."""
        self.resets += 1
        self._echo, self._text_wanted, self._announces_messages = True, False, False
        self.apn = None
        self._heard = b""

    def receive(self, sender: str, text: str) -> None:
        """An SMS arrives."""
        for digits in incoming(sender, text):
            index = max(self.stored, default=0) + 1
            self.stored[index] = digits
            if self._announces_messages:
                self.say(f'+CMTI: "SM",{index}')

    # --- how it answers ---------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        os.write(self._master, text.encode())

    def _read(self) -> None:
        self._heard += os.read(self._master, 4096)
        while self._heard:
            end = b"\x1a" if self._text_wanted else b"\r"
            if self._heard.startswith(b"\x1b"):
                self._heard, self._text_wanted = self._heard[1:], False
                continue
            line, found, rest = self._heard.partition(end)
            if not found:
                return
            self._heard = rest
            if self._text_wanted:
                self._take_text(line.decode())
            else:
                self._take_command(line.decode())

    def _plays_surprise(self, command: str) -> bool:
        for surprise in self._surprises:
            if command.startswith(surprise.command):
                surprise.after -= 1
                if surprise.after < 0:
                    self._surprises.remove(surprise)
                    surprise.what()
                    return True
                return False
        return False

    def _take_command(self, command: str) -> None:
        self.commands.append(command)
        if self._echo:
            self._write(command + "\r")
        if self._plays_surprise(command):
            return
        name, _, value = command.partition("=")
        answers: dict[str, Callable[[], Any]] = {
            "AT": lambda: self.say("OK"),
            "ATE0": self._switch_echo_off,
            "AT+CPIN?": self._say_sim,
            "AT+CPIN": lambda: self._enter_pin(value),
            "AT+CSQ": lambda: self.say("+CSQ: 20,0", "OK"),
            "AT+CREG?": lambda: self.say(f"+CREG: 0,{self.registration}", "OK"),
            "AT+COPS?": lambda: self.say('+COPS: 0,0,"Orange PL"', "OK"),
            "AT+CIPSHUT": lambda: self.say("SHUT OK"),
            "AT+CSTT": lambda: self._set_apn(value),
            "AT+CNMI": self._announce_messages,
            "AT+CMGL": self._list,
            "AT+CMGD": lambda: self._delete(int(value)),
            "AT+CMGS": self._want_text,
            "AT+CMEE": lambda: self.say("OK"),
            "AT+CMGF": lambda: self.say("OK" if value == "0" else "ERROR"),
        }
        answers.get(name, lambda: self.say("ERROR"))()

    def _switch_echo_off(self) -> None:
        self._echo = False
        self.say("OK")

    def _say_sim(self) -> None:
        if self.sim == "SIM not inserted":
            self.say(f"+CME ERROR: {self.sim}")
        else:
            self.say(f"+CPIN: {self.sim}", "OK")

    def _enter_pin(self, pin: str) -> None:
        if pin == self.pin:
            self.sim = "READY"
            self.say("OK", "+CPIN: READY")
        else:
            self.say("+CME ERROR: incorrect password")

    def _set_apn(self, value: str) -> None:
        self.apn = value
        self.say("OK")

    def _announce_messages(self) -> None:
        self._announces_messages = True
        self.say("OK")

    def _list(self) -> None:
        for index, digits in sorted(self.stored.items()):
            self._write(f"\r\n+CMGL: {index},0,,{len(digits) // 2 - 8}\r\n{digits}\r\n")
        self.say("OK")

    def _delete(self, index: int) -> None:
        self.stored.pop(index, None)
        self.say("OK")

    def _want_text(self) -> None:
        self._text_wanted = True
        self._write("\r\n> ")

    def _take_text(self, digits: str) -> None:
        self._text_wanted = False
        if self._plays_surprise(TEXT):
            return
        message = decodeSmsPdu(digits)
        self.sent.append((message["number"], message["text"]))
        self.say(f"+CMGS: {len(self.sent)}", "OK")
