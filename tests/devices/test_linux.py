"""The Linux board beyond the contract: what fails, what comes and goes, what settings choose."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leverframe.core.settings import ModbusMapping
from leverframe.devices.wire import i2c_chips
from leverframe.devices.wiring import AdcChannel, OneWireWiring, Pin, PwmChannel
from tests.patience import PATIENCE_S

from .fake_i2c import CommandPart, bme280_part, full_bus, hts221_part, sps30_part
from .fake_lines import CHIP
from .linux_bench import OTHER_SENSOR, SENSOR, LinuxBench
from .sysfs_tree import POWER_ON_TEXT, w1_text
from .waiting import until

EXTRA = "28:01:BB:C2:13:17:03:E6"
SPARE = "28:02:BB:C2:13:17:03:BF"
OTHER_CHIP = "/dev/gpiochip1"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[LinuxBench]:
    bench = LinuxBench(tmp_path)
    await bench.open()
    yield bench
    await bench.close()


# --- pins -----------------------------------------------------------------------------------------


async def test_level_at_the_start_is_known_and_no_edge(tmp_path: Path) -> None:
    bench = LinuxBench(tmp_path)
    bench.lines.held[11] = 0
    await bench.open()
    assert bench.sensed["INPD1"] == 0
    assert bench.sensed["INPD2"] == 1
    assert bench.reports == []
    await bench.close()


async def test_open_input_reads_its_pull(bench: LinuxBench) -> None:
    bench.board.set_pull_up(2, False)
    await bench.poll()
    assert bench.sensed["INPD3"] == 0
    bench.board.set_pull_up(2, True)
    await bench.poll()
    assert bench.sensed["INPD3"] == 1


async def test_input_that_breaks_down_is_opened_again(bench: LinuxBench) -> None:
    bench.lines.held[11] = 0
    broken = bench.lines.inputs[11]
    broken.break_down()
    await bench.poll()
    await bench.poll()
    assert bench.lines.inputs[11] is not broken
    levels = [report["INPD1"] for report in bench.reports if "INPD1" in report]
    assert levels == [None, 0]
    assert "INPD1" not in bench.troubles


async def test_missing_chip_is_reported_and_the_rest_runs(tmp_path: Path) -> None:
    outputs = {"OUT0": Pin(CHIP, 0), "OUT1": Pin("/dev/gpiochip9", 1)}
    bench = LinuxBench(tmp_path, outputs=outputs)
    await bench.open()
    bench.board.drive_output(0, True)
    bench.board.drive_output(1, True)
    bench.board.drive_output(5, True)
    await bench.poll()
    assert bench.lines.driven == {0: True}
    assert bench.troubles["OUT1"] == "/dev/gpiochip9 is not there."
    assert "OUT0" not in bench.troubles
    bench.lines.chips.add("/dev/gpiochip9")
    bench.board.drive_output(1, False)
    await bench.poll()
    assert bench.lines.driven == {0: True, 1: False}
    assert "OUT1" not in bench.troubles
    await bench.close()


async def test_chip_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    outputs = {"OUT0": Pin(CHIP, 0), "OUT1": Pin(OTHER_CHIP, 1)}
    inputs = {"INPD1": Pin(CHIP, 11)}
    bench = LinuxBench(tmp_path, outputs=outputs, digital_inputs=inputs)
    bench.lines.chips.add(OTHER_CHIP)
    bench.lines.hanging[OTHER_CHIP] = free = threading.Event()
    await bench.open()
    heard = asyncio.Event()
    bench.board.connect(lambda readings: heard.set() if "INPD1" in readings else None)
    bench.board.drive_output(1, True)
    bench.board.drive_output(1, False)
    bench.board.drive_output(1, True)
    bench.board.drive_output(0, True)
    bench.set_level("INPD1", 0)
    async with asyncio.timeout(PATIENCE_S):
        await heard.wait()
    assert 1 not in bench.lines.driven
    free.set()
    await bench.poll()
    assert bench.lines.driven == {0: True, 1: True}
    await bench.close()


async def test_outputs_are_driven_to_the_end_and_left_as_they_are(tmp_path: Path) -> None:
    bench = LinuxBench(tmp_path)
    await bench.open()
    bench.board.drive_output(4, True)
    await bench.close()
    assert bench.lines.driven[4] is True


async def test_pwm_channel_is_brought_up_before_it_is_used(tmp_path: Path) -> None:
    bench = LinuxBench(tmp_path, pwm={"PWM0": PwmChannel(1, 3)})
    bench.tree.put("class/pwm/pwmchip1/export", "")
    await bench.open()
    bench.board.drive_pwm(0, 0.5)
    await bench.poll()
    assert bench.tree.read("class/pwm/pwmchip1/export") == "3"
    assert "pwmchip1/pwm3/duty_cycle is missing" in bench.troubles["PWM0"]
    bench.tree.add_pwm(1, 4)
    bench.board.drive_pwm(0, 0.5)
    await bench.poll()
    assert bench.tree.pwm(1, 3) == (1_000_000, 500_000, 1)
    assert bench.troubles.keys().isdisjoint({"PWM0"})
    await bench.close()


async def test_pwm_channel_is_used_when_udev_has_given_the_rights(tmp_path: Path) -> None:
    bench = LinuxBench(tmp_path, pwm={"PWM0": PwmChannel(1, 3)})
    bench.tree.put("class/pwm/pwmchip1/export", "")
    await bench.open()
    bench.board.drive_pwm(0, 0.5)
    await until(lambda: bench.tree.read("class/pwm/pwmchip1/export") == "3")
    # The channel appears with all its files together.
    bench.tree.add_pwm(9, 4)
    chips = bench.tree.root / "class/pwm"
    (chips / "pwmchip9/pwm3").rename(chips / "pwmchip1/pwm3")
    await bench.poll()
    assert bench.tree.pwm(1, 3) == (1_000_000, 500_000, 1)
    assert "PWM0" not in bench.troubles
    await bench.close()


async def test_each_pwm_group_has_its_own_frequency(bench: LinuxBench) -> None:
    for index in range(4):
        bench.board.drive_pwm(index, 0.5)
    bench.board.set_pwm_frequency(0, 50)
    bench.board.set_pwm_frequency(1, 25_000)
    await bench.poll()
    assert [bench.tree.pwm(0, index)[0] for index in range(4)] == [20_000_000, *[40_000] * 3]


# --- converters -----------------------------------------------------------------------------------


async def test_scale_and_offset_of_a_converter_are_applied(tmp_path: Path) -> None:
    analog = {
        "INPA1": AdcChannel("ads1015", "voltage0"),
        "TEMP": AdcChannel("ads1015", "temp"),
        "VCC": AdcChannel("ads1015", "voltage2", factor=4.0),
    }
    bench = LinuxBench(tmp_path, analog=analog)
    folder = "bus/iio/devices/iio:device3"
    bench.tree.put(f"{folder}/name", "ads1015\n")
    bench.tree.put(f"{folder}/in_voltage0_raw", "1100\n")
    bench.tree.put(f"{folder}/in_voltage0_scale", "2.000000000\n")
    bench.tree.put(f"{folder}/in_voltage_scale", "7\n")
    bench.tree.put(f"{folder}/in_voltage_offset", "-100\n")
    bench.tree.put(f"{folder}/in_temp_input", "31500\n")
    bench.tree.put(f"{folder}/in_voltage2_raw", "400\n")
    await bench.open()
    assert (bench.sensed["INPA1"], bench.sensed["TEMP"]) == (2.0, 31.5)
    assert bench.sensed["VCC"] == pytest.approx((400 - 100) * 7 / 1000 * 4)
    await bench.close()


async def test_failing_channel_is_absent_and_reported_until_it_is_back(bench: LinuxBench) -> None:
    bench.set_voltage("INPA2", 1.0)
    file = bench.tree.root / "bus/iio/devices/iio:device0/in_voltage2_raw"
    file.unlink()
    await bench.poll()
    assert bench.sensed["INPA2"] is None
    assert bench.sensed["INPA1"] == 0.0
    assert "in_voltage2_raw is missing" in bench.troubles["INPA2"]
    file.write_text("garbage\n")
    await bench.poll()
    assert bench.troubles["INPA2"].endswith("contains 'garbage', which is not a number.")
    bench.set_voltage("INPA2", 1.0)
    await bench.poll()
    assert bench.sensed["INPA2"] == 1.0
    assert "INPA2" not in bench.troubles


async def test_two_converters_of_one_name_are_not_guessed_at(tmp_path: Path) -> None:
    bench = LinuxBench(tmp_path, analog={"VCC": AdcChannel("ina219", "voltage0")})
    for number in (1, 2):
        bench.tree.put(f"bus/iio/devices/iio:device{number}/name", "ina219\n")
    await bench.open()
    assert "choose one of iio:device1, iio:device2" in bench.troubles["VCC"]
    await bench.close()


# --- 1-Wire ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (w1_text(22.0, "NO"), "answers with wrong checksums; the line is disturbed"),
        (POWER_ON_TEXT, "was reset and has not measured since; check its supply."),
        ("", "does not answer; check its wires"),
        ("garbage", "does not answer; check its wires"),
    ],
)
async def test_one_bad_look_keeps_the_value_and_a_second_makes_it_absent(
    bench: LinuxBench, text: str, complaint: str
) -> None:
    bench.plug_onewire(SENSOR, 21.5)
    await bench.board.poll()
    bench.tree.set_onewire(SENSOR, text)
    await bench.board.poll()
    assert bench.sensed[SENSOR] == 21.5
    await bench.board.poll()
    assert bench.sensed[SENSOR] is None
    assert bench.troubles[f"1-Wire sensor {SENSOR}"].startswith(complaint)
    bench.plug_onewire(SENSOR, 20.0)
    await bench.board.poll()
    assert bench.sensed[SENSOR] == 20.0
    assert f"1-Wire sensor {SENSOR}" not in bench.troubles


@pytest.mark.parametrize(
    ("code", "complaint"),
    [("-5", "answers with wrong checksums"), ("-19", "does not answer"), (None, "does not answer")],
)
async def test_sensor_without_a_text_is_asked_for_the_reason(
    bench: LinuxBench, code: str | None, complaint: str
) -> None:
    """Since Linux 5.8 `w1_slave` is empty for a wrong checksum, too; `resolution` has the code."""
    bench.tree.set_onewire(SENSOR, "")
    if code is not None:
        next(bench.tree.root.rglob("w1_slave")).with_name("resolution").write_text(f"{code}\n")
    await bench.poll()
    assert bench.troubles[f"1-Wire sensor {SENSOR}"].startswith(complaint)


async def test_unassigned_sensors_are_listed_and_read_in_turn(bench: LinuxBench) -> None:
    bench.plug_onewire(SENSOR, 21.5)
    bench.plug_onewire(EXTRA, 4.0)
    bench.plug_onewire(SPARE, 5.0)
    await bench.board.poll()
    assert bench.sensed["onewire"] == (EXTRA, SPARE, SENSOR)
    assert [one in bench.sensed for one in (SENSOR, EXTRA, SPARE)] == [True, True, False]
    await bench.board.poll()
    assert bench.sensed[SPARE] == 5.0
    # What does not answer has no position that could miss it.
    bench.tree.set_onewire(SPARE, "")
    await bench.poll()
    await bench.poll()
    assert bench.sensed[SPARE] is None
    assert f"1-Wire sensor {SPARE}" not in bench.troubles
    bench.set("onewire.4.id", EXTRA)
    bench.tree.set_onewire(EXTRA, w1_text(6.0))
    await bench.poll()
    assert bench.sensed[EXTRA] == 6.0
    bench.set("onewire.4.id", bench.settings.onewire[5].id)
    await bench.poll()
    await bench.poll()
    assert bench.sensed[EXTRA] == 6.0


async def test_machine_without_1_wire_bus_says_so(tmp_path: Path) -> None:
    bench = LinuxBench(tmp_path)
    (bench.tree.root / "bus/w1/devices/w1_bus_master1").rmdir()
    (bench.tree.root / "bus/w1/devices").rmdir()
    await bench.open()
    assert "Is the w1 driver loaded?" in bench.troubles["1-Wire bus"]
    assert bench.sensed["onewire"] == ()
    assert bench.sensed["INPA1"] == 0.0
    await bench.close()


async def test_additional_sensors_are_mapping_slots_4_to_6(tmp_path: Path) -> None:
    bench = LinuxBench(tmp_path, onewire=OneWireWiring((EXTRA, OTHER_SENSOR)))
    bench.plug_onewire(EXTRA, 4.5)
    bench.plug_onewire(OTHER_SENSOR, 5.5)
    mapping = (ModbusMapping(4, 0), ModbusMapping(5, 0), ModbusMapping(6, 0), ModbusMapping(4, 1))
    await bench.open()
    bench.set("modbus_mapping", mapping + bench.settings.modbus_mapping[4:])
    await bench.poll()
    assert [bench.sensed[label] for label in ("m1", "m2", "m3", "m4")] == [4.5, 5.5, None, None]
    assert "m5" not in bench.sensed
    bench.unplug_onewire(EXTRA)
    await bench.poll()
    assert bench.sensed["m1"] is None
    bench.set("modbus_mapping.1", ModbusMapping(0, 0))
    await bench.poll()
    assert bench.sensed["m2"] is None
    await bench.close()


# --- I2C ------------------------------------------------------------------------------------------


async def test_chosen_sensor_is_read_and_no_other(bench: LinuxBench) -> None:
    bench.bus.parts.update(full_bus().parts)
    await bench.poll()
    assert (bench.sensed["T1"], bench.sensed["H1"]) == (21.5, 50.0)
    assert "P1" not in bench.sensed
    bench.set("i2c.primary", "BME280")
    await bench.poll()
    assert (bench.sensed["T1"], bench.sensed["P1"]) == (25.08, 1006.53)
    bench.set("i2c.primary", "HTS221")
    await bench.poll()
    assert (bench.sensed["T1"], bench.sensed["H1"]) == (26.0, 40.0)
    assert bench.sensed["P1"] is None
    bench.set("i2c.primary", "NONE")
    await bench.poll()
    assert (bench.sensed["T1"], bench.sensed["H1"]) == (None, None)


@pytest.mark.parametrize(
    ("address", "part", "name"),
    [
        (0x76, bme280_part(), "BME280"),
        (0x77, bme280_part(), "BME280"),
        (0x5F, hts221_part(), "HTS221"),
    ],
)
async def test_sensor_that_was_not_chosen_is_detected(
    bench: LinuxBench, address: int, part: object, name: str
) -> None:
    await bench.poll()
    assert bench.sensed["i2c"] is None
    bench.bus.parts = {address: part}  # type: ignore[dict-item]
    await bench.poll()
    assert bench.sensed["i2c"] == name
    assert "AM2320" in bench.troubles


async def test_damaged_answer_is_held_once_and_then_absent(bench: LinuxBench) -> None:
    bench.plug_weather(20.0, 40.0)
    await bench.board.poll()
    part = bench.bus.parts[i2c_chips.AM2320_ADDRESS]
    part.answer = part.answer[:-1] + b"\0"  # type: ignore[union-attr]
    await bench.board.poll()
    assert bench.sensed["T1"] == 20.0
    await bench.board.poll()
    assert bench.sensed["T1"] is None
    assert bench.troubles["AM2320"].startswith("answers with wrong checksums on I2C bus 1")


async def test_damaged_answer_of_the_secondary_sensor_is_reported(bench: LinuxBench) -> None:
    part = bench.bus.parts[i2c_chips.SPS30_ADDRESS] = sps30_part(1.5, 2.5, 3.5, 4.5)
    part.answers[i2c_chips.SPS30_READ] = bytes(60)
    bench.set("i2c.sps30", True)
    await bench.poll()
    await bench.poll()
    assert bench.troubles["SPS30"].startswith("answers with wrong checksums on I2C bus 1")
    part.answers[i2c_chips.SPS30_DATA_READY] = b"\0\1\0"
    await bench.poll()
    assert bench.sensed["PM2.5"] is None
    assert bench.troubles["SPS30"].startswith("answers with wrong checksums on I2C bus 1")


async def test_sensor_that_is_plugged_in_again_is_set_up_again(bench: LinuxBench) -> None:
    bench.set("i2c.primary", "HTS221")
    bench.bus.parts[i2c_chips.HTS221_ADDRESS] = hts221_part()
    await bench.poll()
    del bench.bus.parts[i2c_chips.HTS221_ADDRESS]
    await bench.poll()
    assert bench.sensed["T1"] is None
    fresh = bench.bus.parts[i2c_chips.HTS221_ADDRESS] = hts221_part()
    await bench.poll()
    assert bench.sensed["T1"] == 26.0
    assert fresh.written == [
        bytes((i2c_chips.HTS221_CONTROL_REGISTER, i2c_chips.HTS221_MEASURE_EVERY_SECOND))
    ]


async def test_secondary_sensor_measures_while_it_is_chosen(bench: LinuxBench) -> None:
    part = sps30_part(1.5, 2.5, 3.5, 4.5)
    bench.bus.parts[i2c_chips.SPS30_ADDRESS] = part
    await bench.poll()
    assert "PM2.5" not in bench.sensed
    bench.set("i2c.sps30", True)
    await bench.poll()
    masses = [bench.sensed[label] for label in ("PM1.0", "PM2.5", "PM4.0", "PM10.0")]
    assert masses == [1.5, 2.5, 3.5, 4.5]
    bench.set("i2c.sps30", False)
    await bench.poll()
    assert bench.sensed["PM2.5"] is None
    assert part.commands[-1] == i2c_chips.SPS30_STOP


async def test_dead_primary_sensor_leaves_the_secondary_alone(bench: LinuxBench) -> None:
    bench.bus.parts = {i2c_chips.SPS30_ADDRESS: sps30_part(1.0, 2.0, 3.0, 4.0)}
    bench.set("i2c.sps30", True)
    await bench.poll()
    assert bench.sensed["PM10.0"] == 4.0
    assert bench.troubles["AM2320"].startswith("does not answer on I2C bus 1")
    part = bench.bus.parts[i2c_chips.SPS30_ADDRESS]
    assert isinstance(part, CommandPart)
    assert part.commands.count(i2c_chips.start_sps30_command()) == 1


async def test_bus_faster_than_its_setting_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = LinuxBench(tmp_path)
    node = bench.tree.root / "bus/i2c/devices/i2c-1/of_node"
    node.mkdir(parents=True)
    (node / "clock-frequency").write_bytes((100_000).to_bytes(4, "big"))
    await bench.open()
    assert "faster than" not in caplog.text
    bench.set("i2c.frequency", 50)
    await bench.poll()
    assert "runs at 100 kHz, faster than the 50 kHz that are set" in caplog.text
    await bench.close()
