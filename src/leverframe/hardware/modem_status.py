"""The status of the GSM modem: SIM card, signal, network, and the last typed command.

Answers that are not what they should be leave a value unknown; nothing here fails.
"""

import re

from msgspec import Struct, structs

from leverframe.wire.at import AtAnswer

_READY = "READY"
_HINTS = {
    "SIM PIN": " Enter the PIN with the command gsmcmd=AT%2BCPIN=1234.",
    "SIM PUK": ' Enter PUK and a new PIN with the command gsmcmd=AT%2BCPIN="PUK","PIN".',
}
_REGISTRATIONS = {
    0: "not registered",
    1: "home",
    2: "searching",
    3: "denied",
    4: "unknown",
    5: "roaming",
}
_REGISTERED = ("home", "roaming")
#: 99 is unknown.
_MAX_SIGNAL = 31
_KEPT_UNASKED = 20
#: Commands whose values are secrets.
_SECRET = r"(AT\+(?:CPIN|CPWD|CLCK|CSTT|SAPBR)=).*"


def mask_command(command: str) -> str:
    """Show a typed command without a PIN or password."""
    return re.sub(_SECRET, r"\1***", command, flags=re.IGNORECASE)


class ModemState(Struct, frozen=True):
    """The state of the modem, for all accounts that may read the state."""

    state: str
    sim: str | None
    registration: str | None
    operator: str | None
    signal_dbm: int | None
    apn: str | None


class ModemReport(ModemState, frozen=True):
    """The state of the modem for the administrator, with the dialogue and unsolicited lines."""

    command: str | None
    answer: tuple[str, ...] | None
    unasked: list[str]


class ModemStatus:
    def __init__(self) -> None:
        self.state = "not connected"
        self.apn: str | None = None
        self.sim: str | None = None
        self.registration: str | None = None
        self.operator: str | None = None
        self.signal_dbm: int | None = None
        self._command: str | None = None
        self._answer: tuple[str, ...] | None = None
        self._unasked: list[str] = []

    @property
    def sim_ready(self) -> bool:
        return self.sim == _READY

    @property
    def sim_hint(self) -> str:
        return _HINTS.get(self.sim or "", "")

    @property
    def registered(self) -> bool:
        return self.registration in _REGISTERED

    def reset(self, state: str) -> None:
        """Forget everything: nothing is known any more."""
        self.state = state
        self.apn = self.sim = self.registration = self.operator = self.signal_dbm = None

    def took_sim(self, answer: AtAnswer) -> None:
        self.sim = answer.after("+CPIN:") or answer.result.partition(":")[2].strip() or "unknown"

    def took_signal(self, answer: AtAnswer) -> None:
        """Note the signal: 0 to 31 stand for -113 dBm to -51 dBm in steps of two."""
        strength = _number(answer.after("+CSQ:"), 0)
        if strength is None or strength > _MAX_SIGNAL:
            self.signal_dbm = None
        else:
            self.signal_dbm = -113 + 2 * strength

    def took_registration(self, answer: AtAnswer) -> None:
        code = _number(answer.after("+CREG:"), 1)
        self.registration = _REGISTRATIONS.get(code, "unknown") if code is not None else "unknown"

    def took_operator(self, answer: AtAnswer) -> None:
        found = re.search(r'"([^"]*)"', answer.after("+COPS:") or "")
        self.operator = found[1] if found else None

    def note_command(self, command: str) -> None:
        self._command, self._answer = mask_command(command), None

    def note_answer(self, lines: tuple[str, ...]) -> None:
        self._answer = lines

    def note_unasked(self, line: str) -> None:
        self._unasked = [*self._unasked, line][-_KEPT_UNASKED:]

    def report(self) -> ModemState:
        return ModemState(
            self.state, self.sim, self.registration, self.operator, self.signal_dbm, self.apn
        )

    def full_report(self) -> ModemReport:
        return ModemReport(
            **structs.asdict(self.report()),
            command=self._command,
            answer=self._answer,
            unasked=self._unasked,
        )


def _number(fields: str | None, place: int) -> int | None:
    parts = (fields or "").split(",")
    text = parts[place].strip() if place < len(parts) else ""
    return int(text) if re.fullmatch("[0-9]{1,3}", text) else None
