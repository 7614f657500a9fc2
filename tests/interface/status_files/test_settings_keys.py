"""Settings in the files: a key is called like the command that sets it, and shows what it took."""

import pytest

from leverframe.core.engine.calls import NextOneWireId
from leverframe.core.profile import Profile
from leverframe.interface.status_files.catalogue import FILES
from leverframe.interface.status_files.settings import command_keys
from leverframe.interface.table.lookup import TABLE
from tests.cases import for_each

from .files_bench import FilesBench

ONE_ID = "28:FF:64:1E:8C:16:03:5A"
OUTPUTS, INPUTS, PWMPID = "/json/outputs.json", "/json/inputs.json", "/json/pwmpid.json"
DSI2C, STATUS, NETWORK = "/json/dsi2c.json", "/json/status.json", "/json/network.json"


@for_each(
    ("request_", "path", "key", "shown"),
    [
        ("/stm.cgi?oname=3Pump", OUTPUTS, "oname3", "Pump"),
        ("/stm.cgi?outnn=1", OUTPUTS, "outnn", "1"),
        ("/stm.cgi?outblock=1", OUTPUTS, "outblock", "1"),
        ("/outs.cgi?ortime=260", OUTPUTS, "ortime2", "60"),
        ("/outs.cgi?aout=11", OUTPUTS, "aout1", "1"),
        ("/outs.cgi?atout=5*7", OUTPUTS, "atout5", "7"),
        ("/outs.cgi?atout=11*8", OUTPUTS, "atout11", "8"),
        ("/outs.cgi?oafs=41", OUTPUTS, "oafs4", "1"),
        ("/outs.cgi?ouet=09", OUTPUTS, "ouet0", "9"),
        ("/outs.cgi?roafs=51", OUTPUTS, "roafs5", "1"),
        ("/stm.cgi?iname=5Light", INPUTS, "iname5", "Light"),
        ("/inpa.cgi?sensor=013", INPUTS, "sensor0", "13"),
        ("/inpa.cgi?sensor=11&igain=13", INPUTS, "igain1", "3"),
        ("/inpa.cgi?calibration=2-15", INPUTS, "calibration2", "-15"),
        ("/inpa.cgi?multiplier=3115", INPUTS, "multiplier3", "115"),
        ("/stm.cgi?idname=0Door", INPUTS, "idname0", "Door"),
        ("/stm.cgi?inpdp=5", INPUTS, "inpdp", "5"),
        ("/stm.cgi?inpdnn=6", INPUTS, "inpdnn", "6"),
        ("/stm.cgi?inpdb=9", INPUTS, "inpdb", "9"),
        ("/stm.cgi?inpdbt=330", INPUTS, "inpdbt3", "30"),
        ("/stm.cgi?imptimen=2", INPUTS, "imptimen", "2"),
        ("/stm.cgi?diffname=4Gap", INPUTS, "diffname4", "Gap"),
        (
            "/inpa.cgi?diffsel=5*6*1*7",
            INPUTS,
            "diffsel",
            "0*0*0*0*0*6*0*0*0*0*0*7*0*0*0*0*0*1",
        ),
        ("/stm.cgi?pname=1Fan", PWMPID, "pname1", "Fan"),
        ("/stm.cgi?pwmp=33", PWMPID, "pwmp", "33"),
        ("/stm.cgi?pwmt=290", PWMPID, "pwmt2", "90"),
        ("/stm.cgi?pwmf=1500", PWMPID, "pwmf1", "500"),
        ("/stm.cgi?pidvalue=1*10*-215*1*2*3*2", PWMPID, "pidvalue", "1*10*-215*1*2*3*2"),
        (f"/stm.cgi?dswrite=8:{ONE_ID}", DSI2C, "dsid8", ONE_ID),
        ("/stm.cgi?dsOffset=2:-15", DSI2C, "dsOffset2", "-15"),
        ("/stm.cgi?onewirename21=Soil", DSI2C, "onewirename21", "Soil"),
        ("/stm.cgi?i2csensors=24", DSI2C, "i2csensors", "24"),
        ("/stm.cgi?i2csfreq=50", DSI2C, "i2csfreq", "50"),
        ("/stm.cgi?pmeter=-10", DSI2C, "pmeter", "-10"),
        ("/stm.cgi?tname=9Air", DSI2C, "tname", "*********Air"),
        ("/stm.cgi?p1name=Baro", STATUS, "pressureName", "Baro"),
        ("/inpa.cgi?pown=5Grid", STATUS, "pown5", "Grid"),
        ("/stm.cgi?eventname=7Night", STATUS, "eventname7", "Night"),
        ("/inpa.cgi?powsave=1", STATUS, "powsave", "1"),
        ("/stm.cgi?lang=0", STATUS, "lang", "0"),
        ("/eeprom.cgi?word0=12", STATUS, "word0", "12"),
        ("/eeprom.cgi?bit7=1", STATUS, "bit7", "1"),
        ("/eeprom.cgi?byte3=-128", STATUS, "byte3", "-128"),
        ("/eeprom.cgi?dword2=-5", STATUS, "dword2", "-5"),
        ("/eeprom.cgi?string1=x", STATUS, "string1", "x"),
        ("/stm.cgi?modbuson=1", NETWORK, "modbuson", "1"),
    ],
)
def test_key_shows_what_its_command_took(request_: str, path: str, key: str, shown: str) -> None:
    bench = FilesBench()
    before = bench.json(path)
    assert before[key] != shown
    bench.send(request_)
    assert bench.json(path)[key] == shown


@pytest.mark.parametrize("profile", [Profile(), Profile("3.0", "1.10")], ids=str)
def test_layouts_are_shown_as_their_commands_take_them(profile: Profile) -> None:
    bench = FilesBench(profile=profile)
    shown = bench.json(STATUS)
    top = "*".join(str(n) for n in range(shown["postop"].count("*") + 1))
    visible = "01" * (len(shown["echeck"]) // 2) + "0" * (len(shown["echeck"]) % 2)
    bench.send(f"/stm.cgi?postop=0*{top}&posleft=0*{top}&echeck={visible}")
    shown = bench.json(STATUS)
    assert (shown["postop"], shown["posleft"], shown["echeck"]) == (top, top, visible)


def test_last_onewire_id_is_shown() -> None:
    bench = FilesBench()
    bench.sense(onewire=(ONE_ID,))
    assert bench.json(DSI2C)["dsid"] == "00:00:00:00:00:00:00:00"
    bench.do(NextOneWireId())
    assert bench.json(DSI2C)["dsid"] == ONE_ID


def test_words_that_a_version_does_not_know_are_shown_as_code_0() -> None:
    """Settings come from files, too; a file must be readable all the same."""
    unknown = {
        "pid.source": "DIFF6",
        "i2c.primary": "SHT31",
        "analog_inputs.0.sensor": "HV DC meter",
        "differentials.0.first": "VCC",
    }
    bench = FilesBench(unknown, profile=Profile("3.0", "1.36"))
    assert bench.json(PWMPID)["pidvalue"].startswith("0*0*")
    assert bench.json(DSI2C)["i2csensors"] == "1"
    assert bench.json(INPUTS)["sensor0"] == "0"
    assert bench.json("/json/all.json")["diffsel"].startswith("0*")


def test_text_scanned_last_is_shown() -> None:
    bench = FilesBench()
    assert bench.json(STATUS)["barcode"] == ""
    bench.sense(barcode="5901234123457")
    assert bench.json("/json/all.json")["barcode"] == "5901234123457"


def test_every_key_that_a_row_declares_is_in_a_file() -> None:
    commands = [row.form.items[0].name.literals[0] for row in TABLE if row.shown]
    assert len(set(commands)) == len(commands)
    in_files = {keys for file in FILES.values() for keys in file.keys}
    assert {keys.meaning for keys in command_keys(*commands) if keys not in in_files} == set()
