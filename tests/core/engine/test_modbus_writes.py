"""MODBUS WRITE 1 to 8: what rules have written to modules, when they begin to act and cease."""

import pytest

from leverframe.core.engine.calls import WriteModbus, WriteToModule
from leverframe.core.settings import ModbusWrite

from .bench import Bench
from .rule_bench import COOL, WARM, rule

SETPOINT = ModbusWrite("Night", 2, 100, "int16", 180.0, 215.0, "byte")


def bench_with_write(write: ModbusWrite = SETPOINT, **fields: object) -> Bench:
    acting = rule(action="MODBUS WRITE 2", **fields)
    bench = Bench({"rules": (acting,), "modbus_writes.1": write})
    bench.sense(DS1=COOL)
    bench.effects()
    return bench


def values_written_to_module(bench: Bench) -> list[float]:
    return [effect.value for effect in bench.effects(WriteModbus)]


def test_rule_writes_one_value_at_its_start_and_another_at_its_end() -> None:
    bench = bench_with_write()
    bench.sense(DS1=WARM)
    assert bench.effects(WriteModbus) == [
        WriteModbus(2, 100, "int16", "byte", 180.0, "rule 1", is_asked=False)
    ]
    bench.sense(DS1=COOL)
    assert values_written_to_module(bench) == [215.0]


@pytest.mark.parametrize(("mode", "values"), [(0, [180.0, 215.0]), (1, [180.0]), (2, [215.0])])
def test_mode_of_a_rule_decides_which_of_the_two_are_written(
    mode: int, values: list[float]
) -> None:
    bench = bench_with_write(mode=mode)
    bench.sense(DS1=WARM)
    bench.sense(DS1=COOL)
    assert values_written_to_module(bench) == values


def test_condition_that_stays_met_writes_once_also_where_it_is_permanent() -> None:
    bench = bench_with_write(permanent=True)
    for reading in (WARM, WARM + 1, WARM + 2):
        bench.sense(DS1=reading)
    assert values_written_to_module(bench) == [180.0]


def test_write_is_recorded_in_the_journal_with_its_rule() -> None:
    bench = bench_with_write()
    bench.sense(DS1=WARM)
    entry = bench.engine.machine.journal.entries()[-1]
    assert (str(entry.cause), entry.text) == ("rule 1", "writes 180 to Modbus slot 2 register 100")


def test_write_that_is_not_set_up_is_reported_and_does_nothing() -> None:
    bench = bench_with_write(ModbusWrite())
    bench.sense(DS1=WARM)
    assert values_written_to_module(bench) == []
    entry = bench.engine.machine.journal.entries()[-1]
    assert entry.text == "MODBUS WRITE 2 is not set up: nothing is written"


def test_command_asks_for_an_answer() -> None:
    bench = Bench()
    bench.do(WriteToModule(1, 5, "coil", "none", 1.0))
    (effect,) = bench.effects(WriteModbus)
    assert (effect.is_asked, effect.reason, effect.target) == (
        *(True, "command test", "slot 1 coil 5"),
    )
