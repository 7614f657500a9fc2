"""Rules that can be judged from outside: what the state must be, from what was fed alone."""

from random import Random
from typing import Any

from tests.soak.controller import Client, Gone, SoakedController

#: DS1 at least 20 switches OUT4; INPD1 or INPD2, but not both, OUT5; DS2 at least 20, with a
#: hysteresis of 2, EVENT2.
COMMANDS = (
    "/inpa.cgi?event=0*10*0*2000*0*0*4*0*0*0*0*0*1*0*0*0&eventon=0*1",
    "/inpa.cgi?event=1*100*0*1*0*5*5*101*0*1*0*0*1*0*0*0&eventon=1*1",
    "/inpa.cgi?event=2*11*0*2000*200*0*11*0*0*0*0*0*1*0*0*0&eventon=2*1",
)
DEGREES = (15.0, 17.9, 18.0, 19.0, 19.9, 20.0, 21.0, 25.0, None)


class RuleModel:
    def __init__(self, controller: SoakedController) -> None:
        self._controller = controller
        self._life = 0
        #: Of DS1 and DS2; None until a value decides.
        self._warm: dict[str, bool | None] = {}

    async def feed_and_check(self, client: Client, chance: Random) -> None:
        fed: dict[str, float | int | None] = {
            "DS1": chance.choice(DEGREES),
            "DS2": chance.choice(DEGREES),
            "INPD1": chance.randrange(2),
            "INPD2": chance.randrange(2),
        }
        items = (f"{name}={'none' if value is None else value}" for name, value in fed.items())
        self._forget_after_a_kill()
        try:
            answer = await client.get("/sim.cgi?" + "&".join(items))
            state = await client.json("/api/state")
        except Gone:
            self._warm = {}
            raise
        if self._life != self._controller.life:
            # It waited for the next life, and fed that; nothing is known of it yet.
            self._life, self._warm = self._controller.life, {}
            return
        ledger = self._controller.ledger
        ledger.require(answer.status == 200, f"feeding was answered {answer.status}")
        for name, hysteresis in (("DS1", 0.0), ("DS2", 2.0)):
            self._judge(name, fed[name], hysteresis)
        self._compare(fed, state)

    def _forget_after_a_kill(self) -> None:
        if self._life != self._controller.life:
            self._life = self._controller.life
            self._warm = {"DS1": False, "DS2": False}

    def _judge(self, name: str, value: float | int | None, hysteresis: float) -> None:
        """A value between the thresholds, or none, leaves the result as it was."""
        if value is not None and value >= 20.0:
            self._warm[name] = True
        elif value is not None and value < 20.0 - hysteresis:
            self._warm[name] = False

    def _compare(self, fed: dict[str, Any], state: dict[str, Any]) -> None:
        expected = {
            "OUT4": self._warm.get("DS1"),
            "EVENT2": self._warm.get("DS2"),
            "OUT5": fed["INPD1"] != fed["INPD2"],
        }
        for label, on in expected.items():
            if on is not None:
                self._controller.ledger.require(
                    state[label] == int(on), f"{label} is {state[label]} after {fed}"
                )
