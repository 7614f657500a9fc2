"""Any story on a whole controller: commands, readings, restarts and time in any order."""

import asyncio

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from leverframe.core.labels import ENERGIES, OUTPUTS, PWMS
from leverframe.core.settings import number_rules
from leverframe.core.tree import settings_from_leaves
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.effort import examples

OUTPUT = st.integers(0, 5)
BIT = st.integers(0, 1)
SECONDS = st.integers(0, 30)
#: Outputs, event variables, digital inputs, DS1 and POWER1 as sources of rules.
SOURCE = st.sampled_from([112, 113, 104, 105, 100, 101, 10, 27])
ACTION = st.sampled_from([0, 1, 2, 6, 10, 11, 18, 36, 47])


class AnyStory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = MemoryStore()
        self.energies = [0.0] * 6

    @initialize()
    def start(self) -> None:
        self.twin = self.loop.run_until_complete(LoopTwin.start(store=self.store))

    def teardown(self) -> None:
        self.loop.close()

    def send(self, target: str) -> int:
        return self.loop.run_until_complete(self.twin.ask(target)).status

    def states(self) -> list[object]:
        values = self.twin.controller.engine.values
        return [values[label] for label in (*OUTPUTS, *PWMS)]

    def is_locked(self) -> bool:
        return self.twin.controller.engine.settings.output_flags.lock

    @rule(index=OUTPUT, value=BIT)
    def switch(self, index: int, value: int) -> None:
        before, locked = self.states(), self.is_locked()
        for command in (f"out{index}={value}", f"out=out{index}", f"pwm{index % 4}={value}"):
            assert self.send(f"/outs.cgi?{command}") == (423 if locked else 200)
        if locked:
            assert self.states() == before

    @rule(on=BIT)
    def lock(self, on: int) -> None:
        assert self.send(f"/stm.cgi?outblock={on}") == 200

    @rule(index=OUTPUT, time=SECONDS, on=SECONDS, off=SECONDS, flags=st.tuples(BIT, BIT, BIT))
    def set_output_up(
        self, index: int, time: int, on: int, off: int, flags: tuple[int, int, int]
    ) -> None:
        periodic, after_start, remember = flags
        query = (
            f"ortime={index}{time}&atout={index}*{on}&atout={index + 6}*{off}"
            f"&aout={index}{periodic}&oafs={index}{after_start}&roafs={index}{remember}"
        )
        before, locked = self.states(), self.is_locked()
        is_periodic = self.twin.controller.engine.settings.outputs[index].periodic
        refused = locked and (time or periodic or is_periodic)
        assert self.send(f"/outs.cgi?{query}") == (423 if refused else 200)
        if locked:
            assert self.states() == before

    @rule(index=st.integers(0, 3), duty=st.integers(0, 100), seconds=SECONDS)
    def ramp(self, index: int, duty: int, seconds: int) -> None:
        status = 423 if self.is_locked() else 200
        assert self.send(f"/stm.cgi?pwmt={index}{seconds}&pwmd={index}{duty}") == status

    @rule(
        entry=st.integers(0, 19),
        source=SOURCE,
        action=ACTION,
        delays=st.tuples(SECONDS, SECONDS),
        depends=st.integers(0, 40),
        flags=st.tuples(BIT, BIT),
        value=st.integers(0, 2),
    )
    def set_rule(
        self,
        entry: int,
        source: int,
        action: int,
        delays: tuple[int, int],
        depends: int,
        flags: tuple[int, int],
        value: int,
    ) -> None:
        reference = 1 if source >= 100 else 1000
        fields = f"{entry}*{source}*0*{reference}*100*0*{action}*0*0*0*0"
        query = f"event={fields}*{delays[0]}*{value}*{delays[1]}*{depends}*0"
        assert self.send(f"/inpa.cgi?{query}") == 200
        query = f"eventon={entry}*{flags[0]}&eventper={entry}*{flags[1]}"
        assert self.send(f"/inpa.cgi?{query}") == 200

    @precondition(lambda self: self.twin.controller.engine.settings.rules)
    @rule(data=st.data())
    def delete_rule(self, data: st.DataObject) -> None:
        rules = self.twin.controller.engine.settings.rules
        index = data.draw(st.sampled_from([n for n, rule in enumerate(rules) if rule]))
        assert self.send(f"/inpa.cgi?eventdel={index}") == 200
        left = self.twin.controller.engine.settings.rules
        kept = [rule and (rule.source, rule.action) for rule in rules]
        del kept[index]
        while kept and kept[-1] is None:
            kept.pop()
        assert [rule and (rule.source, rule.action) for rule in left] == kept

    @rule(label=st.sampled_from(["INPD1", "INPD2", "DS1"]), value=st.integers(0, 1))
    def set_readings(self, label: str, value: int) -> None:
        shown = value * 20 if label == "DS1" else value
        assert self.send(f"/sim.cgi?{label}={shown}") == 200

    @rule(power=st.integers(-5, 50))
    def consume(self, power: int) -> None:
        assert self.send("/inpa.cgi?powsave=1&powsel=0*10") == 200
        assert self.send(f"/sim.cgi?m1={power}") == 200

    @rule(seconds=st.sampled_from([0.1, 1, 7, 61, 600]))
    def wait(self, seconds: float) -> None:
        assert self.send(f"/sim.cgi?advance={seconds}") == 200

    @rule()
    def restart(self) -> None:
        assert self.send("/stm.cgi?devrestart=1") == 200

    @invariant()
    def energy_never_falls_but_by_a_reset(self) -> None:
        engine = self.twin.controller.engine
        rules = number_rules(engine.settings.rules)
        resets = any(rule.action.startswith("RESET") for _, rule in rules)
        present = [float(engine.values[label] or 0) for label in ENERGIES]
        if not resets:
            assert all(new >= old for new, old in zip(present, self.energies, strict=True))
        self.energies = present

    @invariant()
    def no_deadline_lies_in_the_past(self) -> None:
        deadline = self.twin.controller.next_deadline()
        assert deadline is None or deadline >= self.twin.controller.clock.read().now

    @invariant()
    def the_engine_uses_what_is_stored(self) -> None:
        controller = self.twin.controller
        stored, unfit = settings_from_leaves(controller.profile, self.store.load().settings)
        assert not unfit
        assert stored == controller.engine.settings == controller.pending

    @invariant()
    def duties_are_percentages(self) -> None:
        values = self.twin.controller.engine.values
        assert all(0 <= float(values[f"{label}.duty"] or 0) <= 100 for label in PWMS)


AnyStory.TestCase.settings = examples(60, stateful_step_count=30)
TestAnyStory = AnyStory.TestCase
