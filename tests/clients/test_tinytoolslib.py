"""The makers' own Python library works as with their units: it finds, reads and sets everything.

The library is what many installations use. It decides by the version it finds which files it reads
and how, so all of this is asked of four versions.
"""

from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from tinytoolslib.exceptions import TinyToolsUnsupported
from tinytoolslib.flash import Flasher
from tinytoolslib.models import DeviceModel, async_get_version, get_version

from leverframe.core.profile import Profile

from .served_twin import HOST, LoopThread, ServedTwin, serve_twin

NEWEST = Profile("3.9", "1.75")
PROFILES = (NEWEST, Profile("3.5", "1.49"), Profile("3.5", "1.36"), Profile("3.0", "1.58a"))
#: With event variables that a client can set.
HW_35_ON = [profile for profile in PROFILES if profile.hw != "3.0"]
ONE_ID, OTHER_ID = "28:FF:64:1E:8C:16:03:5A", "28:11:22:33:44:55:66:77"


@pytest.fixture(scope="module")
def thread() -> Iterator[LoopThread]:
    loop_thread = LoopThread()
    yield loop_thread
    loop_thread.close()


@pytest.fixture(params=PROFILES, ids=str)
def twin(request: pytest.FixtureRequest, thread: LoopThread) -> Iterator[ServedTwin]:
    with serve_twin(thread, request.param) as one:
        yield one


@pytest.fixture
def device(twin: ServedTwin) -> DeviceModel:
    """The library's object for the controller, as the library itself makes it."""
    found = get_version(HOST, port=twin.port, with_device=True)
    assert found is not None
    device: DeviceModel = found["device_model"]
    return device


def outputs(device: DeviceModel) -> list[int]:
    read = device.get_all()
    return [read[f"out{n}"] for n in range(6)]


# --- finding --------------------------------------------------------------------------------------


def test_library_finds_the_version(twin: ServedTwin) -> None:
    found = get_version(HOST, port=twin.port, with_device=True)
    assert found is not None
    profile = twin.twin.controller.profile
    assert (found["hardware_version"], found["software_version"]) == (profile.hw, profile.sw)
    models = {"3.9": "LK HW 3.9", "3.5": "LK HW 3.5", "3.0": "LK HW 3.0"}
    assert found["model"] == models[profile.hw]
    assert found["network_info"]["schema"] == "http"


def test_library_reads_the_identity(twin: ServedTwin, device: DeviceModel) -> None:
    read = device.get_all()
    identity = twin.get("/json/network.json").json()
    assert read["mac"] == identity["mac"]
    assert read["hardware_version"] == identity["hw"]
    assert read["software_version"] == identity["sw"]


# --- reading --------------------------------------------------------------------------------------


def test_readings_come_back_in_real_units(twin: ServedTwin, device: DeviceModel) -> None:
    device.set_analog_input(2, 1)
    twin.set_readings(
        VCC=12.34, TEMP=31.5, DS1=21.5, DS8=-12.3, T1=22.4, H1=48.6, P1=1003.25, INPA2=2.41
    )
    twin.set_readings(CO2=612, **{"PM1.0": 0.4, "PM2.5": 4.2, "PM4.0": 5.5, "PM10.0": 12.3})
    read = device.get_all()
    measured = {
        **{"boardVoltage": 12.34, "boardTemp": 31.5, "ds1": 21.5, "ds8": -12.3},
        **{"i2cTemp": 22.4, "i2cHum": 48.6, "i2cPressure": 1003.25, "iAValue2": 2.41},
        **{"co2": 612, "pm1.0": 0.4, "pm2.5": 4.2, "pm4.0": 5.5, "pm10.0": 12.3},
    }
    assert {name: read[name] for name in measured} == measured


def test_unconnected_sensor_is_read_as_its_known_sign(
    twin: ServedTwin, device: DeviceModel
) -> None:
    twin.set_readings(DS1=21.5)
    twin.set_readings(DS1=None)
    read = device.get_all()
    assert {read[f"ds{n}"] for n in range(1, 9)} == {-60.0}
    assert (read["i2cTemp"], read["i2cHum"], read["i2cPressure"]) == (-60.0, -60.0, -6.0)
    assert read["co2"] == -1


def test_digital_inputs_are_read_with_their_negation(twin: ServedTwin, device: DeviceModel) -> None:
    twin.set_readings(INPD2=0)
    read = device.get_all()
    assert [read[f"iDValue{n}"] for n in range(1, 5)] == [1, 0, 1, 1]
    twin.get("/stm.cgi?inpdnn=3")
    read = device.get_all()
    assert [read[f"iDValue{n}"] for n in range(1, 5)] == [0, 1, 1, 1]


def test_differentials_are_read_in_the_unit_of_their_inputs(
    twin: ServedTwin, device: DeviceModel
) -> None:
    twin.get("/inpa.cgi?diffsel=06&diffsel=37&sensor=01&diffsel=10&diffsel=41")
    twin.get("/inpa.cgi?sensor=11")
    twin.set_readings(DS1=21.5, DS2=-3.5, INPA1=2.41, INPA2=1.2)
    read = device.get_all()
    assert (read["diff1"], read["diff2"]) == (25.0, 1.21)


def test_power_and_energy_are_read_in_kilowatts(twin: ServedTwin, device: DeviceModel) -> None:
    device.set_analog_input(1, 1)
    twin.get("/inpa.cgi?powset=1273490&powsel=01")
    twin.set_readings(INPA1=2.0, INPA2=0.0)
    read = device.get_all()
    assert read["power2"] == 0.46
    assert read["energy2"] == 273.49


def test_readings_of_modules_are_read(twin: ServedTwin, device: DeviceModel) -> None:
    profile = twin.twin.controller.profile
    if profile.since("1.36", ("3.5", "3.9")):
        twin.get("/stm.cgi?modbusmapping=112*25" + "*00" * 28)
    twin.set_readings(m1=230.5, m2=-1.25)
    read = device.get_all()
    assert (read["mValue1"], read["mValue2"], read["mValue3"]) == (230.5, -1.25, 0)


# --- setting --------------------------------------------------------------------------------------


def test_outputs_are_switched_alone_and_together(device: DeviceModel) -> None:
    device.set_out(1, 1)
    assert outputs(device) == [0, 1, 0, 0, 0, 0]
    device.set_out([0, 1, 5], [1, 0, 1])
    assert outputs(device) == [1, 0, 0, 0, 0, 1]
    device.set_out([0, 2, 3], 1)
    assert outputs(device) == [1, 0, 1, 1, 0, 1]


def test_outputs_are_toggled(device: DeviceModel) -> None:
    device.set_out(3)
    device.set_out([3, 4], None)
    assert outputs(device) == [0, 0, 0, 0, 1, 0]


def test_inverted_display_turns_the_library_round(twin: ServedTwin, device: DeviceModel) -> None:
    twin.get("/stm.cgi?outnn=1")
    assert outputs(device) == [1] * 6
    device.set_out(2, 0)
    assert outputs(device) == [1, 1, 0, 1, 1, 1]
    assert twin.state()["OUT2"] == 1


def test_pwm_is_switched_toggled_and_set(device: DeviceModel) -> None:
    device.set_pwm(0, 1)
    device.set_pwm([1, 2], [1, 0])
    device.set_pwm(3, None)
    device.set_pwm_duty(2, 73)
    device.set_pwm_duty([0, 1], [5, 100])
    device.set_pwm_freq(0, 500)
    device.set_pwm_freq(1, 25000)
    read = device.get_all()
    assert [read[f"pwm{n}"] for n in range(4)] == [1, 1, 0, 1]
    assert [read[f"pwmDuty{n}"] for n in range(4)] == [5, 100, 73, 50]
    assert (read["pwmFrequency0"], read["pwmFrequency13"]) == (500, 25000)


@pytest.mark.parametrize("twin", HW_35_ON, ids=str, indirect=True)
def test_event_variables_are_set(device: DeviceModel) -> None:
    device.set_var(8, 1)
    device.set_var([1, 2], [1, 0])
    read = device.get_all()
    assert [read[f"event{n}"] for n in range(1, 9)] == [1, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("twin", [Profile("3.0", "1.58a")], ids=str, indirect=True)
def test_library_sets_no_event_variables_on_hw_30(device: DeviceModel) -> None:
    with pytest.raises(TinyToolsUnsupported):
        device.set_var(1, 1)


def test_onewire_sensors_are_found_one_after_the_other(
    twin: ServedTwin, device: DeviceModel
) -> None:
    twin.get(f"/sim.cgi?onewire={ONE_ID}&onewire={OTHER_ID}")
    assert [device.get_ds_id(), device.get_ds_id()] == [ONE_ID, OTHER_ID]


def test_onewire_sensor_is_bound_to_its_place(twin: ServedTwin, device: DeviceModel) -> None:
    device.set_ds(3, ONE_ID)
    twin.get(f"/sim.cgi?onewire={ONE_ID}")
    assert device.get_all()["ds3"] == 20.0


def test_sensor_of_an_analog_input_is_chosen(twin: ServedTwin, device: DeviceModel) -> None:
    device.set_analog_input(6, 1)
    device.set_analog_input([1, 2], [2, 13])
    sensors = [one["sensor"] for one in twin.settings()["analog_inputs"]]
    assert sensors == ["vin=33V/55V", "PT1000", "off", "off", "off", "vin=3.3V/5V"]


def test_sensor_calibration_and_multiplier_are_set_together(
    twin: ServedTwin, device: DeviceModel
) -> None:
    """The library writes `sensor=01calibration=010multiplier=0150`, without a separator."""
    device.set_analog_input(1, 1, calibration=-10)
    device.set_analog_input(2, 1, multiplier=1.5)
    device.set_analog_input([3, 4], [1, 2], calibration=[7, 8], multiplier=[2.0, 327.67])
    inputs = twin.settings()["analog_inputs"][:4]
    fields = ("sensor", "calibration", "multiplier")
    assert [tuple(setting[field] for field in fields) for setting in inputs] == [
        ("vin=3.3V/5V", -10, 1.0),
        ("vin=3.3V/5V", 0, 1.5),
        ("vin=3.3V/5V", 7, 2.0),
        ("vin=33V/55V", 8, 327.67),
    ]


# --- restart, defaults, firmware ------------------------------------------------------------------


def test_restart_keeps_settings_and_drops_states(twin: ServedTwin, device: DeviceModel) -> None:
    device.set_out(0, 1)
    device.set_pwm_duty(1, 12)
    twin.get("/stm.cgi?restart_power_on=1")
    assert twin.get("/json/status.json").json()["restart"] == "1"
    device.restart()
    read = device.get_all()
    assert (read["out0"], read["pwmDuty1"]) == (0, 12)
    assert twin.get("/json/status.json").json()["restart"] == "0"


def test_reset_brings_back_the_defaults(twin: ServedTwin, device: DeviceModel) -> None:
    device.set_pwm_duty(1, 12)
    device.set_analog_input(1, 13)
    twin.get("/stm.cgi?oname=0Pump&outnn=1")
    device.reset_to_defaults()
    settings = twin.settings()
    assert settings["outputs"][0]["name"] == ""
    assert settings["analog_inputs"][0]["sensor"] == "off"
    read = device.get_all()
    assert (read["out0"], read["pwmDuty1"]) == (0, 50)


def test_flasher_allows_updates_and_starts_the_bootloader(twin: ServedTwin) -> None:
    accounts = twin.get("/xml/st.xml").text.partition("<userpass>")[2].partition("<")[0]
    twin.get(f"/stm.cgi?auth=00{accounts}")
    assert not twin.settings()["access"]["updates_allowed"]
    flasher = Flasher()
    with flasher._session:
        assert flasher.start_bootloader(HOST, "", "", "http", twin.port)
    controller = twin.twin.controller
    assert controller.bootloader_until is not None
    assert controller.engine.settings.access.updates_allowed
    assert controller.engine.settings.access.admin.name == "admin"


# --- the asynchronous half of the library ---------------------------------------------------------


@pytest.mark.filterwarnings("ignore:verify_ssl is deprecated:DeprecationWarning")
async def test_asynchronous_half_works_too(twin: ServedTwin) -> None:
    async with aiohttp.ClientSession() as session:
        found = await async_get_version(HOST, port=twin.port, with_device=True, session=session)
        assert found is not None
        device: Any = found["device_model"]
        await device.async_set_out([0, 4], 1)
        await device.async_set_pwm_duty(3, 7)
        read = await device.async_get_all()
    assert [read[f"out{n}"] for n in range(6)] == [1, 0, 0, 0, 1, 0]
    assert read["pwmDuty3"] == 7
